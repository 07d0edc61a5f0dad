"""What was learned of a stream is in its snapshots: a matcher that goes on from one goes on choosing from there.

``python -m tests.unit.test_adaptive_snapshots`` writes the snapshot of a new format; one that is there stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.snapshot import VERSION
from cepheid.engine.stream import Stream
from cepheid.policies.evaluation.adaptive import MOST_WAITED, AdaptiveEvaluation, Options
from cepheid.policies.evaluation.workload import Workload
from cepheid.ports.evaluation import Decision, Measure, Pattern, Sampled, Trial
from tests.unit.policies.test_adaptive_evaluation import measured, policy, sampled, trial_of

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "snapshots"
GOLDEN = [4]
"""Formats in which something is kept of what was learned."""

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 100 POLICY any RETURN a.ts AS a, c.ts AS c"
N_BEFORE = 530


class ByModel(AdaptiveEvaluation):
    """On a machine whose costs are known, with time for every choice, and nothing that depends on what trials take."""

    def __init__(self, pattern: Pattern, measure: Measure) -> None:
        super().__init__(pattern, measured, Options(clock=lambda: 0.0))

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        return super().decide(replace(sampled, trial=None), current)


ADAPTIVE = cep.Settings(evaluation="adaptive", chooser=ByModel)


def events(n: int = 900, seed: int = 3) -> pa.Table:
    """One in thirty is a C, which few Bs fit: it is better to wait for it."""
    random = np.random.default_rng(seed)
    kinds = random.choice(list("ABC"), n, p=[0.485, 0.485, 0.03])
    x = random.integers(0, np.where(kinds == "C", 6, 100))
    return pa.table({"ts": np.arange(n), "kind": kinds, "x": x})


def matcher(query: Any = QUERY, settings: cep.Settings = ADAPTIVE, schema: Any = None) -> cep.Matcher:
    return cep.Matcher(query, time="ts", type="kind", time_unit="s", slack=0, settings=settings, schema=schema)


def pushed(one: cep.Matcher, table: pa.Table, size: int = 30) -> list[Any]:
    return [row for at in range(0, len(table), size) for row in one.push(table.slice(at, size)).to_pylist()]


def workload(one: cep.Matcher) -> Workload:
    """What it knows of the stream."""
    assert isinstance(one._stream, Stream)
    assert one._stream.adapting is not None
    known = one._stream.adapting._chooser
    assert isinstance(known, AdaptiveEvaluation)
    return known.workload()


def plan(one: cep.Matcher) -> str:
    assert isinstance(one._stream, Stream)
    assert one._stream.adapting is not None
    return one._stream.adapting.plan


def told(decisions: tuple[Decision, ...]) -> list[tuple[int, str, str, Mapping[str, float]]]:
    return [(one.time_us, one.before, one.plan, one.rates_per_s) for one in decisions]


def test_a_restored_matcher_goes_on_with_the_plan_and_all_that_was_learned():
    table, one = events(), matcher()
    pushed(one, table.slice(0, N_BEFORE))
    assert plan(one) == "/b a"
    again = matcher()
    again.restore(one.snapshot())
    assert plan(again) == plan(one)
    assert workload(again) == workload(one)
    n = len(one.decisions)
    rest = table.slice(N_BEFORE)
    assert pushed(again, rest) == pushed(one, rest)
    # The next choices come at the same times, and from the same rates.
    assert told(again.decisions) == told(one.decisions[n:])
    assert again.decisions
    assert again.close().equals(one.close())


def test_a_snapshot_between_single_events():
    table = events()
    wanted = cep.match(table, QUERY, time="ts", type="kind", time_unit="s").to_pylist()
    one = matcher(schema=table.schema)
    rows = table.to_pylist()
    found = [row for event in rows[:N_BEFORE] for row in one.push(event)]
    again = matcher(schema=table.schema)
    again.restore(one.snapshot())
    assert plan(again) == plan(one) == "/b a"
    found += [row for event in rows[N_BEFORE:] for row in again.push(event)]
    assert [*found, *again.close()] == wanted
    # Events that no sample had taken yet count in the first one after it.
    assert sum(workload(again).rates_per_s.values()) == pytest.approx(1.0, rel=0.05)


def test_queries_of_a_set_remember_each_their_own():
    table = events()
    queries = cep.QuerySet({"rare": QUERY, "two": "PATTERN SEQ(A a, C c) WHERE a.x < c.x WITHIN 9 POLICY any"})
    one, again = matcher(queries), matcher(queries)
    one.push(table.slice(0, N_BEFORE))
    again.restore(one.snapshot())
    rest = [one.push(table.slice(N_BEFORE)), again.push(table.slice(N_BEFORE))]
    assert rest[0]["rare"].equals(rest[1]["rare"])
    assert rest[0]["two"].equals(rest[1]["two"])
    assert told(again.decisions) == [one for one in told(one.decisions) if one[0] > N_BEFORE * 10**6]


class Silent:
    """Chooses nothing, and remembers nothing."""

    def __init__(self, pattern: Pattern, measure: Measure) -> None:
        self.asked = 0

    def wants(self, time_us: int, n_events: int) -> bool:
        return False

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        return None


def test_into_a_matcher_that_chooses_otherwise_goes_the_plan_alone():
    table, one = events(), matcher()
    pushed(one, table.slice(0, N_BEFORE))
    saved = one.snapshot()
    rest = pushed(one, table.slice(N_BEFORE))
    silent = matcher(settings=cep.Settings(evaluation="adaptive", chooser=Silent))
    silent.restore(saved)
    assert plan(silent) == "/b a"
    assert pushed(silent, table.slice(N_BEFORE)) == rest
    fixed = matcher(settings=cep.Settings())
    fixed.restore(saved)
    assert pushed(fixed, table.slice(N_BEFORE)) == rest
    assert not fixed.decisions
    # And from one of a given plan comes nothing that was learned.
    again = matcher()
    again.restore(matcher_at(N_BEFORE, cep.Settings()).snapshot())
    assert plan(again) == "eager"
    assert pushed(again, table.slice(N_BEFORE)) == rest


def matcher_at(n: int, settings: cep.Settings) -> cep.Matcher:
    one = matcher(settings=settings)
    pushed(one, events().slice(0, n))
    return one


def test_what_another_version_has_learned_is_not_taken():
    one = policy()
    for t in range(1, 4):
        one.decide(sampled(t, 1, 300), "eager")
    said = one.remembered()
    again = policy()
    again.remember(said)
    assert again.workload() == one.workload()
    assert again.remembered() == said
    for other in ({**said, "format": 0}, {**said, "between": 5.0}, {**said, "held": [[1.0, [2.0]]]}, {}):
        anew = policy()
        anew.remember(other)
        assert anew.remembered()["rates"] == []
        assert not anew.remembered()["chosen"]


def test_where_plans_were_tried_the_model_alone_changes_nothing_until_they_can_be_tried_again():
    steady = np.full(40_000, 1e-4)
    asked: list[str] = []

    def trial(text: str) -> Trial | None:
        asked.append(text)
        return trial_of(steady)

    one = policy()
    full = replace(sampled(60, 60, 700), n_recent=40_000, trial=trial)
    assert one.decide(full, "eager") is not None
    few = replace(sampled(70, 10, 700), n_recent=7_000, trial=trial)
    again = policy()
    again.remember(one.remembered())
    del asked[:]
    assert again.decide(few, "/b a") is None
    assert again.decide(replace(few, until_us=80_000_000), "/b a") is None
    assert not asked
    decision = again.decide(replace(few, until_us=90_000_000, n_recent=40_000), "/b a")
    assert decision is not None
    assert asked
    # It does not wait for ever, where so many events cannot be had; nor where the rate is another one by now.
    for seen in (replace(few, n_events=MOST_WAITED), replace(sampled(70, 10, 5_000), n_recent=10, trial=trial)):
        again = policy()
        again.remember(one.remembered())
        assert again.decide(seen, "/b a") is not None


@pytest.mark.parametrize("version", GOLDEN)
def test_what_was_learned_in_every_format_is_known(version: int):
    one = matcher()
    one.restore((FOLDER / f"version_{version}" / "adaptive.snapshot").read_bytes())
    alike = matcher_at(N_BEFORE, ADAPTIVE)
    assert plan(one) == "/b a"
    assert workload(one).rates_per_s == pytest.approx(workload(alike).rates_per_s)
    assert pushed(one, events().slice(N_BEFORE)) == pushed(alike, events().slice(N_BEFORE))


def test_the_formats_before_are_learned_from_anew():
    for version in (2, 3):
        saved = (FOLDER / f"version_{version}" / "keys.snapshot").read_bytes()
        from tests.unit.test_golden_snapshots import after, expected, made

        one = made("keys", "adaptive")
        one.restore(saved)
        assert after(one) == expected("keys")


def write() -> None:
    """Write the snapshot of this format, if it is not there."""
    path = FOLDER / f"version_{VERSION}" / "adaptive.snapshot"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(matcher_at(N_BEFORE, ADAPTIVE).snapshot())


if __name__ == "__main__":
    # A snapshot names what chose, and that is of this module, not of one called __main__.
    from tests.unit import test_adaptive_snapshots

    test_adaptive_snapshots.write()
