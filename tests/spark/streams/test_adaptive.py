"""Plans that are chosen on Spark: the matches are the same, and what was decided is told, of tables and of streams."""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.settings import Settings
from cepheid.job.engines import match_spark
from cepheid.ports.evaluation import Chooser, ChooserFactory, Decision, Measure, Pattern, PlanEstimate, Sampled
from tests.spark.streams.files import found, run, stream_of

QUERY = (
    "PATTERN SEQ(A a, B b, C c) WHERE SAME[k] AND a.x <= b.x AND b.x <= c.x WITHIN 40 POLICY any "
    "RETURN a.number AS a, b.number AS b, c.number AS c"
)
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s", "order": "number"}


def restless() -> ChooserFactory:
    """What takes another plan whenever it is asked; it goes to the executors by value, as tests are not installed."""

    class Restless:
        plans = ("eager", "/b a", "b/a", "/a b", "a/b")

        def __init__(self, pattern: Pattern, measure: Measure) -> None:
            self.n = 0

        def wants(self, time_us: int, n_events: int) -> bool:
            return n_events >= 3

        def decide(self, sampled: Sampled, current: str) -> Decision | None:
            self.n += 1
            plan = self.plans[self.n % len(self.plans)]
            estimates = (PlanEstimate(plan, float("inf"), 2e-6, 5e5, 1.5, tried=True),)
            rates = dict.fromkeys("abc", 1.0)
            return Decision(sampled.until_us, current, plan, estimates, rates, (0.5, 0.25))

        def remembered(self) -> dict[str, int]:
            return {"n": self.n}

        def remember(self, said: dict[str, int]) -> None:
            self.n = said["n"]

    def make(pattern: Pattern, measure: Measure) -> Chooser:
        return Restless(pattern, measure)

    return make


def events(n: int = 160, seed: int = 4) -> pa.Table:
    random = Random(seed)
    return pa.table(
        {
            "ts": list(range(n)),
            "kind": [random.choice("ABC") for _ in range(n)],
            "k": [random.choice((1, 2)) for _ in range(n)],
            "x": [random.choice((1, 2, 3, 4)) for _ in range(n)],
            "number": list(range(n)),
        }
    )


def rows_of(table: pa.Table) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.slow
def test_a_table_has_the_same_matches_and_the_driver_is_told_what_tasks_decided(spark):
    table = events()
    wanted = rows_of(cep.match(table, QUERY, **COLUMNS))
    assert len(wanted) > 100
    settings = Settings(evaluation="adaptive", chooser=restless())
    frame = spark.createDataFrame(table.to_pandas())
    assert rows_of(cep.detect(frame, QUERY, **COLUMNS, settings=settings).toArrow()) == wanted
    schema = cep.Query.parse(QUERY)
    from cepheid.events.ingest import schema_of

    told = match_spark(
        {None: table},
        schema,
        schema_of(table, time="ts", time_unit="s", type="kind", order=("number",)),
        {},
        settings=settings,
    )
    assert rows_of(told.matches) == wanted
    assert told.decisions
    assert {one.plan for one in told.decisions} == {"/b a"}
    assert all(one.switches for one in told.decisions)


@pytest.mark.slow
def test_a_stream_has_the_same_matches_after_a_restart_too_and_tells_each_decision(spark, tmp_path: Path):
    table = events()
    wanted = rows_of(cep.match(table, QUERY, **COLUMNS))
    settings = Settings(evaluation="adaptive", chooser=restless())
    parts = [table.slice(at, 20) for at in range(0, 160, 20)]
    asked = {**COLUMNS, "settings": settings, "partitions": 2, "watermark": "0 s", "outputs": ("matches", "plans")}
    frame = stream_of(spark, tmp_path / "in", parts[:4])
    run(cep.detect(frame, QUERY, **asked).tagged, tmp_path)
    for part in parts[4:]:
        stream_of(spark, tmp_path / "in", [part])
    from cepheid.spark.streams.state import WARM

    assert len(WARM) == 0  # the state is in the workers and in the checkpoint, not here
    run(cep.detect(frame, QUERY, **asked).tagged, tmp_path)
    rows = [row for row, n in found(spark, tmp_path).items() for _ in range(n)]
    matches = sorted(tuple(row[1]) for row in rows if row[0] == "matches")
    # What lies behind the last watermark is still to come.
    assert set(matches) <= set(wanted)
    assert len(matches) > 0.8 * len(wanted)
    plans = sorted((tuple(row[2]) for row in rows if row[0] == "plans"), key=lambda one: one[2])
    assert len(plans) >= 6
    for bucket in {one[0] for one in plans}:
        own = [one for one in plans if one[0] == bucket]
        # Each goes on from the plan before, across micro-batches and the restart.
        assert [one[3] for one in own] == ["eager", *(one[4] for one in own[:-1])]
    told = plans[0]
    assert told[5:10] == (True, None, None, None, None)
    assert told[10:15] == (float("inf"), 2e-6, 5e5, 1.5, True)
    assert "evaluation plan eager -> /b a" in told[15]
    assert "conditions hold 0.5, 0.25" in told[15]


def test_decisions_are_in_the_log_where_nobody_asks_for_them(caplog: pytest.LogCaptureFixture):
    table = events()
    with caplog.at_level(logging.INFO, "cepheid.evaluation"):
        cep.match(table, QUERY, **COLUMNS, settings=Settings(evaluation="adaptive", chooser=restless()))
    assert any("evaluation plan eager -> /b a" in record.getMessage() for record in caplog.records)
