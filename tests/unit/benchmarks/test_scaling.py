"""The figure of scaling counts what the oracle counts, and says what grows too fast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.engine.workloads import WORKLOADS
from benchmarks.figures.scaling.cases import AXES, CASES, Setting, events
from benchmarks.figures.scaling.measure import Point, counts, faults, point
from tests.unit.benchmarks.test_engine_benchmark import matches_by_oracle

SETTING = Setting(600, 10, 100)


@pytest.mark.parametrize("name", CASES)
def test_beginnings_count_what_the_oracle_counts(name: str) -> None:
    table = events(SETTING)
    case = replace(CASES[name], n_rules=2) if CASES[name].n_rules else CASES[name]
    texts = case.texts(SETTING.window_ms)
    by_oracle = [sum(len(matches_by_oracle(table, text)) for text in queries.values()) for queries in texts]
    if case.loops:
        found = matches_by_oracle(table, texts[0][""])
        events_of = [[event for _, event in one.bindings] for one in found]
        # The beginnings of matches from two events on, each counted once.
        by_oracle.append(len({tuple(map(id, one[:n])) for one in events_of for n in range(2, len(one))}))
    assert counts(table, case, SETTING.window_ms) == by_oracle
    assert all(by_oracle[1:]) or case.n_rules
    assert by_oracle[0] or name in ("W12", "W1strict")  # of so few events, three seldom are neighbours


@pytest.mark.parametrize("name", CASES)
def test_they_are_the_workloads(name: str) -> None:
    if CASES[name].n_rules:
        assert CASES[name].texts(60_000)[0] == {
            n: q.replace("60 s", "60000 ms") for n, q in WORKLOADS[name].queries.items()
        }
    else:
        assert CASES[name].texts(1000)[0] == {"": WORKLOADS[name].query}


def test_each_axis_grows_in_one_thing() -> None:
    for axis, settings in AXES.items():
        values = {(s.n_events, s.n_keys, s.window_ms) for s in settings}
        assert [len({v[i] for v in values}) for i in range(3)].count(3) == 1, axis


@pytest.mark.slow
def test_a_point_has_its_work() -> None:
    table = events(SETTING)
    case = replace(CASES["W1strict"], beginnings=CASES["W1strict"].beginnings[:1])
    found = counts(table, case, SETTING.window_ms)
    measured = point("W1strict", case, "window", 1, SETTING)
    assert measured.work == 1 + sum(found) / SETTING.n_events
    assert measured.n_matches == found[0]
    assert measured.cost_us > 0


FIRST = Point("W6", "window", 1, cost_us=1.0, work=2.0, n_matches=5)


@pytest.mark.parametrize(
    ("then", "wrong"),
    [
        ([replace(FIRST, factor=10, cost_us=9.0, work=10.0)], []),
        ([replace(FIRST, factor=10, cost_us=11.0, work=10.0)], ["x10"]),
        ([replace(FIRST, factor=10, cost_us=1.9, work=1.0)], []),
        ([replace(FIRST, factor=10, cost_us=2.1, work=1.0)], ["x10"]),
        # Held to the cheaper of the two before it.
        ([replace(FIRST, factor=10, cost_us=0.2), replace(FIRST, factor=100, cost_us=0.5)], ["x100"]),
        ([replace(FIRST, workload="W7", cost_us=9.0)], []),
    ],
)
def test_what_grows_too_fast_is_told(then: list[Point], wrong: list[str]) -> None:
    found = faults([FIRST, *then])
    assert len(found) == len(wrong)
    assert all(which in fault for which, fault in zip(wrong, found, strict=True))


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.figures.scaling.draw import draw

    draw([FIRST, replace(FIRST, factor=10, cost_us=2.0), replace(FIRST, axis="keys")], tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 0
