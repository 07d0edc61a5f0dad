"""A stream in steps: for every cut and every watermark the engine says what the oracle says, when it says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cepheid.engine import carried
from cepheid.engine.composite import events_for
from cepheid.engine.output import assemble
from cepheid.engine.session import run
from cepheid.engine.stream import Stream
from cepheid.errors import NotSupportedError, QueryError
from cepheid.events.ingest import read_events
from cepheid.language.check import check
from cepheid.plan.automaton import Automaton
from cepheid.plan.build import build
from cepheid.testing.fuzz import Search, same
from cepheid.testing.harness import innermost, table_of
from cepheid.testing.oracle import OracleEvent, Watermark
from cepheid.testing.steps import Items, batch_steps, engine_steps, oracle_steps
from cepheid.testing.strategies import Example, Features, examples
from cepheid.testing.strategies_composites import composites
from tests.conformance.cases import CASES
from tests.conformance.notation import Case, stream
from tests.conformance.refusals import REFUSED

SECOND_US = 1_000_000
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True, scope="module")
def little_is_kept() -> Iterator[None]:
    """What is not needed any more is forgotten after every step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(carried, "MIN_NEW_EVENTS", 1)
        yield


def with_watermarks(events: list[OracleEvent], random: Random) -> Items:
    """The events with watermarks among them; most leave all events on time, some make later ones late."""
    items: list[OracleEvent | Watermark] = []
    reached = -(10**18)
    for number, event in enumerate(events):
        items.append(event)
        if random.random() >= 0.4:
            continue
        later = [other.time for other in events[number + 1 :]]
        if later and random.random() < 0.7:
            time = min(later) - 1
        else:
            time = random.choice(events).time + random.randint(-3, 9) * SECOND_US
        if time > reached:
            reached = time
            items.append(Watermark(time))
    return items


@SLOW
@given(examples(Features.ENGINE), st.randoms(use_true_random=False))
def test_steps_of_the_engine_are_those_of_the_oracle(example: Example, random: Random) -> None:
    items = with_watermarks(list(example.events), random)
    try:
        found = engine_steps(example.bound, items, [random.randint(1, 3) for _ in range(3)])
    except NotSupportedError:
        reject()
    assert same(found, oracle_steps(example.bound, items))


@SLOW
@given(examples(Features.ENGINE), st.randoms(use_true_random=False))
def test_a_restored_stream_goes_on_as_if_nothing_had_been(example: Example, random: Random) -> None:
    items = with_watermarks(list(example.events), random)
    restored = [random.random() < 0.5 for _ in range(3)]
    try:
        found = engine_steps(example.bound, items, [random.randint(1, 3) for _ in range(3)], restored)
    except NotSupportedError:
        reject()
    assert same(found, batch_steps(example.bound, items))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_steps_on_very_many_pairs() -> None:
    search, random, n_pairs = Search(20_240_201), Random(20_240_202), 0
    while n_pairs < 1_000:
        road = search.query()
        if road is None:
            continue
        for _ in range(10):
            items = with_watermarks(list(search.stream(road)), random)
            try:
                pushes, restored = [random.randint(1, 3) for _ in range(3)], [random.random() < 0.3 for _ in range(5)]
                found = engine_steps(road.bound, items, pushes, restored)
            except NotSupportedError:
                break
            assert same(found, batch_steps(road.bound, items)), (road.bound.text, items)
            n_pairs += 1


UNBOUNDED = Features.ENGINE & ~(Features.WITHIN | Features.EVENTS | Features.SLIDING | Features.EACH | Features.ANY)


@pytest.mark.parametrize(
    ("always", "chosen"),
    [
        (Features.ENGINE | Features.SKIP, lambda plan: plan.skips and plan.within is not None),
        (Features.ENGINE | Features.EVENTS | Features.EACH, lambda plan: plan.two_clocks),
        (UNBOUNDED | Features.SKIP, lambda plan: plan.skips and not plan.sliding and plan.within is None),
        (UNBOUNDED, lambda plan: plan.strict or plan.mixed or plan.leading),
    ],
    ids=["after match", "two clocks", "after match without a window", "without a window"],
)
def test_steps_of_plans_that_look_back(always: Features, chosen: Callable[[Automaton], bool]) -> None:
    search, random = Search(20_240_321, always=always), Random(20_240_302)
    n_pairs = n_found = 0
    while n_pairs < 24:
        road = search.query()
        if road is None or not chosen(build(road.bound)):
            continue
        try:
            check(road.bound, stream=True)
        except QueryError:
            continue
        for _ in range(8):
            items = with_watermarks(list(search.stream(road)), random)
            pushes, restored = [random.randint(1, 3) for _ in range(3)], [random.random() < 0.3 for _ in range(5)]
            expected = batch_steps(road.bound, items)
            assert same(engine_steps(road.bound, items, pushes, restored), expected), (road.bound.text, items)
            n_pairs += 1
            n_found += any(step.answers for step in expected[0])
    assert n_found > 2


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in REFUSED], ids=lambda case: case.name)
def test_case_in_steps(case: Case) -> None:
    bound, items = case.bound(), stream(case.events).items
    if bound.inner is not None:
        pytest.skip("composite events have tests of their own")
    try:
        found = engine_steps(bound, items, [1, 2])
    except NotSupportedError as error:
        pytest.skip(error.message)
    assert same(found, oracle_steps(bound, items))


def in_parts(example: Example, random: Random) -> list[object]:
    """The rows of the output of a stream, each event pushed once, the watermark never before one that is to come."""
    table, schema = table_of(example.events, innermost(example.bound).schema)
    flow = Stream(example.bound, table.schema)
    n_bytes_at_start = flow.n_bytes
    times = [event.time for event in example.events]
    outputs = []
    start = 0
    while start < len(times):
        end = random.randint(start + 1, len(times))
        flow.push(read_events(table.slice(start, end - start), schema))
        start = end
        if random.random() < 0.8:
            outputs.append(flow.advance(min(times[start:], default=max(times) + SECOND_US) - random.randint(1, 2)))
    outputs.append(flow.advance(2**63 - 1))
    assert flow.n_bytes == n_bytes_at_start
    assert len({output.schema for output in outputs}) == 1
    rows: list[object] = pa.concat_tables(outputs).to_pylist()
    return rows


@SLOW
@given(composites(Features.ENGINE), st.randoms(use_true_random=False))
def test_composite_events_in_steps(example: Example, random: Random) -> None:
    try:
        found = in_parts(example, random)
    except QueryError:  # not supported, or an output with two columns of one name
        reject()
    table, schema = table_of(example.events, innermost(example.bound).schema)
    batch = events_for(example.bound, read_events(table, schema))
    assert same(found, assemble(example.bound, batch, run(example.bound, batch)).to_pylist())


@SLOW
@given(examples(Features.ENGINE), st.randoms(use_true_random=False))
def test_output_in_steps(example: Example, random: Random) -> None:
    try:
        found = in_parts(example, random)
    except QueryError:
        reject()
    table, schema = table_of(example.events, example.bound.schema)
    batch = read_events(table, schema)
    assert same(found, assemble(example.bound, batch, run(example.bound, batch)).to_pylist())
