"""Batch DataFrames whose events came late: what `cep.match` gives for the same table, however its rows lie."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepheid as cep
from cepheid.errors import CepheidError
from tests.unit.test_slack import SLIDING, WITHIN, options, slack, table

NAMES = ("matches", "late", "closed", "fitted", "slack")


def alike(found: Any, right: Any, names: tuple[str, ...]) -> None:
    """The outputs are equal, in whatever order."""
    for name in names:
        ours, expected = getattr(found, name).toArrow(), getattr(right, name)
        assert ours.schema.equals(expected.schema), name
        by_all = [(column, "ascending") for column in expected.column_names]
        assert ours.sort_by(by_all).to_pylist() == expected.sort_by(by_all).to_pylist(), name


def test_a_replay_is_that_of_a_table(spark) -> None:
    events = table(11, 600, n_sources=2)
    asked = options(slack=slack(per="device"), outputs=("matches", "late", "slack"))
    frame = spark.createDataFrame(events).repartition(3)
    right = cep.match(events, WITHIN, **asked)
    assert len(right.late) > 10
    alike(cep.detect(frame, WITHIN, order="number", **asked), right, ("matches", "late", "slack"))


@pytest.mark.slow
@pytest.mark.parametrize("query", [WITHIN, SLIDING])
@pytest.mark.parametrize("how", [slack(per="device", fit="sliding", estimator="silence"), cep.Slack.ignore()])
def test_every_output_of_a_policy_is_that_of_a_table(spark, query: str, how: cep.Slack) -> None:
    events = table(12, 700, n_sources=2)
    frame = spark.createDataFrame(events).repartition(3)
    asked = options(slack=how, outputs=NAMES)
    alike(cep.detect(frame, query, order="number", **asked), cep.match(events, query, **asked), NAMES)


@pytest.mark.slow
def test_times_of_any_type_and_a_length_of_time(spark) -> None:
    events = table(13, 500)
    text = pc.strftime(events["ts"].cast(pa.timestamp("ms", "UTC")), format="%Y-%m-%dT%H:%M:%S")
    moments = {"ts": text, "got": events["got"].cast(pa.timestamp("ms", "UTC"))}
    for name, column in moments.items():
        events = events.set_column(events.column_names.index(name), name, column)
    for how in ("1 s", slack(per="kind", every="1 s")):
        names = ("matches", "late") if isinstance(how, str) else ("matches", "late", "slack")
        asked = {"time": "ts", "type": "kind", "received": "got", "slack": how, "outputs": names}
        right = cep.match(
            events, "PATTERN SEQ(A a, B b) WITHIN 3 s RETURN a.ts AS a, b.ts AS b", order="number", **asked
        )
        found = cep.detect(
            spark.createDataFrame(events),
            "PATTERN SEQ(A a, B b) WITHIN 3 s RETURN a.ts AS a, b.ts AS b",
            order="number",
            **asked,
        )
        assert len(right.matches) > 10
        ours = {name: getattr(found, name).toArrow() for name in names}
        for name in names:
            assert sorted(map(str, ours[name].to_pylist())) == sorted(map(str, getattr(right, name).to_pylist())), name


@pytest.mark.slow
def test_the_queries_of_a_set_share_one_replay(spark) -> None:
    events = table(14, 600, n_sources=2)
    queries = cep.QuerySet({"one": WITHIN, "other": "PATTERN SEQ(B b, C c) WITHIN 400 ms RETURN b.ts AS ts"})
    asked = options(slack=slack(), outputs=("matches", "slack"))
    found = cep.detect(spark.createDataFrame(events), queries, order="number", **asked)
    right = cep.match(events, queries, **asked)
    for name in queries:
        alike(found[name], right[name], ("matches", "slack"))
    found.unpersist()


@pytest.mark.slow
def test_without_events_nothing_is_closed(spark) -> None:
    events = table(15, 50)
    found = cep.detect(
        spark.createDataFrame(events).where("device > 7"), WITHIN, **options(slack=slack(), outputs=NAMES)
    )
    assert found.slack.toArrow().to_pylist()[0]["n_windows"] == 0
    assert [getattr(found, name).count() for name in NAMES[:-1]] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"received": None, "slack": slack()}, "name it: received="),
        ({"received": None, "slack": "5 s"}, "name it: received="),
        ({"received": "gat", "slack": "5 s"}, "'gat', named as received="),
        ({"received": "kind", "slack": slack(per="phone")}, "'phone', named as per="),
        ({"received": "got", "slack": slack(), "time_unit": None, "time": "at"}, "time_unit="),
        ({"received": "got"}, "no slack= reads it"),
        ({"slack": "5 s", "outputs": "closed"}, "'closed'"),
        ({"slack": slack(), "watermark": "5 s"}, "watermark= is for streams"),
    ],
)
def test_what_does_not_do_is_refused(spark, more: dict[str, Any], words: str) -> None:
    frame = spark.sql("SELECT 1L AS ts, 1L AS got, 'A' AS kind, timestamp '2024-05-01 10:00:00' AS at")
    with pytest.raises(CepheidError) as raised:
        cep.detect(frame, WITHIN, **options(**more))
    assert words in f"{raised.value} {raised.value.remedy}"
