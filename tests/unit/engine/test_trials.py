"""Trials of plans: each event is timed, and what ends a match is told."""

from __future__ import annotations

import time
from resource import RUSAGE_THREAD, getrusage

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler.columns import events_of
from cepheid.engine import trials
from cepheid.engine.session import prepare, run_plan
from cepheid.engine.trials import N_SHUFFLED, arrangements, paced, trial, tried_on
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events, schema_of
from cepheid.kernels import layout as k
from cepheid.kernels.ticks import now_ns
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.plan.evaluation import asked_for


def prepared(pattern: str, n: int = 300, nulls: bool = False) -> tuple[BoundQuery, EventBatch]:
    random = np.random.default_rng(4)
    x = pa.array(random.integers(0, 50, n), mask=random.random(n) < (0.1 if nulls else 0.0))
    table = pa.table({"ts": np.arange(n), "kind": random.choice(list("ABCX"), n), "x": x})
    schema = schema_of(table, time="ts", time_unit="ms", type="kind")
    return bind(parse(f"PATTERN {pattern} POLICY any"), schema), read_events(table, schema)


@pytest.mark.parametrize("plan", ["eager", "/b a", "a/b"])
def test_every_event_is_timed_and_those_that_end_matches_are_known(plan: str):
    bound, batch = prepared("SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 40 ms")
    compiled = prepare(bound, evaluation=asked_for(bound, plan))
    found = trial(compiled, batch)
    assert found is not None
    kinds = np.array(batch.table["kind"].to_pylist())
    taken = np.flatnonzero(kinds != "X")  # the others never reach the kernel
    matches = run_plan(compiled, batch)
    ends = np.zeros(len(batch), np.bool_)
    ends[matches.positions[2::3]] = True
    assert ends.any()
    assert np.array_equal(found.ends, ends[taken])
    assert np.array_equal(found.final, kinds[taken] == "C")
    assert found.services_s.shape == (len(taken),)
    assert (found.services_s >= 0).all()
    assert found.services_s.sum() > 0


def test_a_replay_waits_for_the_arrivals():
    bound, batch = prepared("SEQ(A a, B b) WHERE a.x < b.x WITHIN 40 ms", 40)
    compiled = prepare(bound)
    events = events_of(compiled, batch)
    arrivals = time.perf_counter_ns() + 1_000_000 + np.arange(events.n, dtype=np.int64) * 200_000
    run = paced(compiled, events, arrivals)
    assert run is not None
    times = run[1]
    assert (times[::2] >= arrivals).all()
    assert (times[1::2] >= times[::2]).all()
    assert (times[2::2] >= times[1:-1:2]).all()


def test_no_memory_is_handed_out_while_events_are_timed(monkeypatch: pytest.MonkeyPatch):
    bound, batch = prepared("SEQ(A a, B b) WHERE a.x < b.x WITHIN 40 ms", 100_000)
    faults = []

    def step(*given: object) -> int:
        times = given[-1]
        assert isinstance(times, np.ndarray)
        before = getrusage(RUSAGE_THREAD).ru_minflt
        times[:] = 0
        faults.append(getrusage(RUSAGE_THREAD).ru_minflt - before)
        return k.DONE

    monkeypatch.setattr(trials, "paced_kernel", lambda chain: step)
    compiled = prepare(bound)
    events = events_of(compiled, batch)
    assert paced(compiled, events, np.zeros(events.n, np.int64)) is not None
    assert faults == [0]


def test_the_clock_of_kernels_is_that_of_python():
    if not isinstance(now_ns, type(time.perf_counter_ns)):
        pytest.skip("a kernel reads it here: the replay compares the two")
    assert abs(now_ns() - time.perf_counter_ns()) < 10**9


def test_what_cannot_be_timed():
    bound, batch = prepared("SEQ(A a, B+ b, C c) WITHIN 10 ms")
    assert trial(prepare(bound), batch) is None  # neither a chain nor lazy
    bound, batch = prepared("SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 ms", nulls=True)
    assert trial(prepare(bound), batch) is None  # a chain that meets NULL
    lazy = trial(prepare(bound, evaluation=asked_for(bound, "/a")), batch)
    assert lazy is not None
    bound, batch = prepared("SEQ(X a, Y b) WITHIN 10 ms")
    assert trial(prepare(bound, evaluation=asked_for(bound, "/a")), batch) is not None
    assert trial(prepare(bound), read_events(batch.table.slice(0, 0), batch.schema)) is None


@pytest.mark.parametrize("plan", ["eager", "/b a"])
def test_events_are_tried_in_other_orders_too_each_from_an_empty_window_on(plan: str):
    bound, batch = prepared("SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 40 ms")
    orders = list(arrangements(batch))
    assert len(orders) == 1 + N_SHUFFLED
    for order in orders:
        assert np.array_equal(order.time_us, batch.time_us)
        assert sorted(order.table["x"].to_pylist()) == sorted(batch.table["x"].to_pylist())
    assert len({tuple(order.table["x"].to_pylist()) for order in orders}) == len(orders)
    compiled = prepare(bound, evaluation=asked_for(bound, plan))
    found = tried_on(compiled, arrangements(batch))
    assert found is not None
    assert found.n_runs == len(orders)
    ends = [trial(compiled, order).ends for order in orders]
    assert np.array_equal(found.ends, np.concatenate(ends))
    assert len(found.services_s) == found.n_runs * len(ends[0])
    hosted, events = prepared("SEQ(A a, B+ b, C c) WITHIN 10 ms")
    assert tried_on(prepare(hosted), arrangements(events)) is None
