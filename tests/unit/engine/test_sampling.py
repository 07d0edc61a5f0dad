"""What is sampled of a stream is what is in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cepheid.engine.calibration import EAGER, LAZY
from cepheid.engine.sampling import MOST_CALLS, MOST_EVENTS, Sampler
from cepheid.engine.session import prepare
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events, schema_of
from cepheid.events.types import DataType, Kind
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery, Catalog, Function
from cepheid.language.parser import parse
from cepheid.plan.between import conditions_between, pattern_of
from cepheid.plan.evaluation import asked_for
from cepheid.ports.evaluation import Form

INT, BOOL = DataType(Kind.INT), DataType(Kind.BOOL)


def table(n: int, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    kind = random.choice(["A", "B", "C", "D"], n, p=[0.5, 0.2, 0.2, 0.1])
    return pa.table(
        {
            "ts": np.arange(n) * 1000,
            "kind": kind,
            "k": random.integers(0, 20, n),
            "x": np.where(kind == "A", random.integers(0, 10_000, n), random.integers(0, 201, n)),
            "y": random.integers(0, 4, n),
        }
    )


def bound_of(pattern: str, events: pa.Table, catalog: Catalog | None = None) -> tuple[BoundQuery, EventBatch]:
    schema = schema_of(events, time="ts", time_unit="us", type="kind")
    bound = bind(parse(f"PATTERN {pattern} POLICY any"), schema, catalog=catalog or Catalog())
    return bound, read_events(events, schema)


def test_shares_rates_and_conditions():
    events = table(60_000)
    bound, whole = bound_of(
        "SEQ(A a, B b, C c) WHERE SAME[k] AND a.x < b.x AND b.y = c.y AND a.ts > c.ts AND b.y > 1 WITHIN 1 s", events
    )
    sampler = Sampler(prepare(bound))
    for at in range(0, 60_000, 20_000):  # pushes that are larger than a sample
        part = read_events(events.slice(at, 20_000), whole.schema)
        sampler.add(replace(part, numbers=at + np.arange(len(part))), 20_000)
    assert sampler.n_events == 60_000
    sampled = sampler.sample()
    assert (sampled.n_events, sampled.elapsed_us, sampled.until_us) == (60_000, 59_999_000, 59_999_000)
    for share, wanted in zip(sampled.shares, (0.5, 0.2 / 2, 0.2), strict=True):
        assert share == pytest.approx(wanted, abs=4 * (wanted / MOST_EVENTS) ** 0.5)
    less, equal, never = (held / tried for held, tried in sampled.held)
    # Values of A below 201 are few: 40 of 2,000.
    assert less == pytest.approx(0.01, abs=4 * 0.01 / 40**0.5)
    assert equal == pytest.approx(0.25, abs=0.03)
    assert never == 0  # only events in the order of the pattern are looked at
    assert sampled.same is not None
    assert sampled.same[0] / sampled.same[1] == pytest.approx(1 / 20, abs=0.005)
    sampler.add(read_events(events.slice(0, 1), whole.schema), 1)
    assert sampler.sample().n_events == 1


def test_small_pushes_are_put_together_and_only_the_last_are_held():
    events = table(3 * MOST_EVENTS)
    bound, whole = bound_of("SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 s", events)
    sampler = Sampler(prepare(bound))
    for at in range(0, len(events), 100):
        part = read_events(events.slice(at, 100), whole.schema)
        sampler.add(replace(part, numbers=at + np.arange(len(part))), len(part))
    assert sum(map(len, sampler._batches)) < MOST_EVENTS + 200
    assert sampler.sample().n_events == 3 * MOST_EVENTS


def test_a_registered_function_is_called_a_few_times():
    calls = 0

    def near(x: int, y: int) -> bool:
        nonlocal calls
        calls += 1
        return x == y

    catalog = Catalog(functions={"near": Function("near", (INT, INT), BOOL, near)})
    events = table(3000)
    bound, batch = bound_of("SEQ(A a, B b) WHERE near(a.y, b.y) WITHIN 1 s", events, catalog)
    sampler = Sampler(prepare(bound))
    sampler.add(batch, len(batch))
    ((held, tried),) = sampler.sample().held
    assert calls <= tried == MOST_CALLS
    assert 0 < held < tried


def test_loops_and_aggregates_count_as_of_one_event():
    events = table(3000)
    bound, batch = bound_of("SEQ(A a, B+ b, C c) WHERE avg(b.y) > c.y AND count(b) > a.y WITHIN 1 s", events)
    sampler = Sampler(prepare(bound))
    sampler.add(batch, len(batch))
    above, below = (held / tried for held, tried in sampler.sample().held)
    assert above == pytest.approx(6 / 16, abs=0.05)
    assert below == pytest.approx(1 / 4, abs=0.05)


def test_a_type_that_never_comes():
    events = table(500)
    bound, batch = bound_of("SEQ(A a, X x, C c) WHERE a.x < x.x WITHIN 1 s", events)
    sampler = Sampler(prepare(bound))
    sampler.add(batch, len(batch))
    sampled = sampler.sample()
    assert sampled.shares[1] == 0
    assert sampled.held == ((0, 0),)


def test_the_forms_of_conditions():
    events = table(10)
    bound, _ = bound_of(
        "SEQ(A a, B+ b, C c, D d) WHERE a.x < c.x AND c.k = d.k AND a.x <> d.x AND avg(b.x) < c.x AND a.x + c.x > d.x "
        "AND c.x >= d.x + 1 AND a.k = 3 WITHIN 1 s",
        events,
    )
    found = {"".join(sorted(one.variables)): one.form for one in conditions_between(bound)}
    assert [one.form for one in conditions_between(bound)] == [
        Form.RANGE,
        Form.EQUALITY,
        Form.OTHER,
        Form.OTHER,
        Form.OTHER,
        Form.RANGE,
    ]
    assert set(found) == {"ac", "cd", "ad", "bc", "acd"}
    assert pattern_of(bound, kernel="chain", at_once=False).loops == {"b": (1, None)}


def test_streams_for_calibration_have_the_conditions_that_they_say():
    for design in (*EAGER, *LAZY):
        events = design.events()
        schema = schema_of(events, time="at", time_unit="us", type="type")
        bound = bind(parse(design.query()), schema)
        assert str(asked_for(bound, design.plan) or "eager")
        sampler = Sampler(prepare(bound))
        sampler.add(read_events(events, schema), len(events))
        sampled = sampler.sample()
        assert sampled.shares == pytest.approx(tuple(design.shares.values()), abs=0.15)
