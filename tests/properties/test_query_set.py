"""A set of queries gives for each what it gives alone, in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cepheid.compiler import routes
from cepheid.compiler.routes import Routes
from cepheid.compiler.sieve import Sieve
from cepheid.engine import together as together_module
from cepheid.engine.matches import Matches
from cepheid.engine.session import prepare, run, run_plan
from cepheid.engine.together import Together
from cepheid.errors import NotSupportedError
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Policy
from cepheid.testing.harness import table_of
from cepheid.testing.oracle import OracleEvent
from cepheid.testing.strategies import DOMAINS, SCHEMA, SECOND_US, Features, queries, streams
from cepheid.testing.strategies_composites import composites


@pytest.fixture(autouse=True, scope="module")
def few_events_are_routed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together_module, "FEWEST", 0)
        patch.setattr(routes, "MOST_OF_EVENTS", 2.0)
        yield


SETS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
FEATURES = Features.ENGINE_1 | Features.SOURCES


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[BoundQuery], EventBatch]:
    """Queries, and events for them among many that no element takes by its type."""
    bounds = draw(st.lists(queries(FEATURES), min_size=1, max_size=3))
    events: list[OracleEvent] = []
    for bound in bounds:
        events += draw(streams(bound, FEATURES, 6))
    variables = [variable for bound in bounds for variable in bound.variables.values()]
    if any(bound.policy is Policy.ANY for bound in bounds) and any(variable.loop for variable in variables):
        events = events[:9]  # a loop under any takes every subset
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_others = draw(st.sampled_from([0, 10, 150])) if all(variable.types for variable in variables) else 0
    for _ in range(n_others):
        time = int(random.integers(0, 20)) * SECOND_US
        values = {name: domain[int(random.integers(0, len(domain)))] for name, domain in DOMAINS.items()}
        events.append(OracleEvent(time, (0,), "left", "Z", {"ts": time, "kind": "Z", **values}))
    table, schema = table_of([replace(event, order=(number,)) for number, event in enumerate(events)], SCHEMA)
    return bounds, read_events(table, schema)


def same(one: Matches, other: Matches) -> bool:
    return all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("offsets", "positions", "variables", "decided_us")
    )


def supported(bounds: Sequence[BoundQuery]) -> list[BoundQuery]:
    runs = []
    for bound in bounds:
        try:
            prepare(bound)
        except NotSupportedError:
            continue
        runs.append(bound)
    return runs


@SETS
@given(sets())
def test_each_query_gives_what_it_gives_alone(example: tuple[list[BoundQuery], EventBatch]) -> None:
    bounds, batch = example
    known = {str(number): bound for number, bound in enumerate(supported(bounds))}
    together = Together(known, batch)
    for name, bound in known.items():
        assert same(together.run(name).matches, run(bound, batch))


@SETS
@given(sets())
def test_a_query_is_routed_all_events_that_it_takes(example: tuple[list[BoundQuery], EventBatch]) -> None:
    bounds, batch = example
    plans = [prepare(bound) for bound in supported(bounds) if bound.inner is None]
    routes = Routes(batch, plans)
    sifted = Sieve(plans, batch).takers(batch) if plans else None
    for number, plan in enumerate(plans):
        routed = routes.of(number)
        if routed is not None:
            right = run_plan(plan, batch)
            assert same(run_plan(plan, batch, routed=routed), right)
            assert sifted is not None
            assert sifted[number][right.positions].all()


@SETS
@given(composites(FEATURES, shuffled=True))
def test_a_query_of_the_set_may_be_from_another(example: object) -> None:
    bound, events = example.bound, example.events  # type: ignore[attr-defined]
    assert bound.inner is not None
    if len(supported([bound.inner, bound])) < 2:
        return
    table, schema = table_of(events, bound.inner.schema)
    batch = read_events(table, schema)
    alone, together = Together({"outer": bound}, batch), Together({"outer": bound, "A": bound.inner}, batch)
    assert same(together.run("outer").matches, alone.run("outer").matches)
    assert same(together.run("A").matches, run(bound.inner, batch))
