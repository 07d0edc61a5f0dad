"""The profile by stages counts every moment once, and runs what `cepheid.match` runs."""

from __future__ import annotations

from itertools import count

import pytest

import cepheid as cep
from benchmarks.engine.habits import habits
from benchmarks.engine.stages import REST, STAGES, Clock, lines, ready, stages_of
from benchmarks.engine.workloads import WORKLOADS
from benchmarks.stream import stream


def test_time_within_a_stage_is_charged_to_the_innermost_one():
    ticks = count()  # each look at the clock is a tick
    clock = Clock(now_ns=lambda: next(ticks))
    inner = clock.wrapped(lambda: "found", "inner")
    with clock.within("outer"):
        assert inner() == "found"
    assert dict(clock.spent_ns) == {REST: 1, "outer": 2, "inner": 1}


# W2 on so many events goes to the kernel of one key, W4 to that of chains or to the general one.
@pytest.mark.parametrize(("name", "n_events"), [("W2", 21_000), ("W4", 2_000)])
def test_stages_are_those_of_a_match(name: str, n_events: int):
    table, query = stream(n_events), WORKLOADS[name].query
    stages_ms, (n_matches, work) = stages_of(ready(table, query))
    assert n_matches == len(cep.match(table, query, time="ts", type="type", time_unit="ms")) > 0
    assert list(stages_ms) == [*STAGES, REST]
    assert all(ms > 0 for ms in stages_ms.values())
    assert work.n_events == n_events > work.n_stepped > 0
    told = lines(name, n_matches, work, stages_ms).splitlines()
    assert told[0].startswith(f"{name}: {n_events:,} events, {n_matches:,} matches")
    assert len(told) == 2 + len(stages_ms)


def test_without_a_match_id_none_is_made():
    query = f"{WORKLOADS['W2'].query} RETURN a.id AS a"
    stages_ms, _ = stages_of(ready(stream(2_000), query))
    assert stages_ms["match_id"] == 0


def test_habits_that_keep_the_meaning_find_the_same():
    pairs = habits(n_events=4_000, n_events_slow=3_000)
    for pair in pairs:
        slow, quick = pair.slow(), pair.quick()
        assert slow == quick if pair.same else slow > quick, pair.what
    assert sum(pair.same for pair in pairs) >= 7
