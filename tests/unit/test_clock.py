"""A clock that jumps back or ahead has one outcome on each road."""

import datetime as dt
from random import Random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.job.load import load
from cepheid.job.run import run

SECONDS = [0, 10, 20, 30, 40, 50, 3600, 3610]
QUERY = "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 15 s POLICY any RETURN a.x AS one, b.x AS other"
OPTIONS = {"time": "ts", "type": "kind"}


def table(order):
    return pa.table(
        {
            "ts": pa.array([SECONDS[i] for i in order], pa.timestamp("s", "UTC")),
            "kind": ["AB"[i % 2] for i in order],
            "x": list(order),
        }
    )


IN_ORDER = table(range(8))
PAIRS = [{"one": i, "other": i + 1} for i in (0, 2, 4, 6)]
JUMPS = [[4, 5, 6, 7, 0, 1, 2, 3], [7, 6, 5, 4, 3, 2, 1, 0], Random(5).sample(range(8), 8)]


@pytest.mark.parametrize("order", JUMPS, ids=str)
def test_in_a_table_events_are_where_their_times_say(order):
    assert cep.match(IN_ORDER, QUERY, **OPTIONS).to_pylist() == PAIRS
    assert cep.match(table(order), QUERY, **OPTIONS).to_pylist() == PAIRS


@pytest.mark.parametrize("order", JUMPS, ids=str)
def test_in_a_job_too(order, tmp_path):
    rows = [f"{dt.datetime.fromtimestamp(SECONDS[i], dt.UTC):%Y-%m-%dT%H:%M:%SZ},{'AB'[i % 2]},{i}\n" for i in order]
    (tmp_path / "events.csv").write_text("ts,kind,x\n" + "".join(rows))
    (tmp_path / "job.toml").write_text(
        f"[source]\npath = 'events.csv'\ntime = 'ts'\ntype = 'kind'\n[query]\ntext = '{QUERY}'\n"
    )
    assert run(load(tmp_path / "job.toml")).matches.to_pylist() == PAIRS


@pytest.mark.spark
def test_on_spark_too(spark):
    rows = [(SECONDS[i], "AB"[i % 2], i) for i in JUMPS[0]]
    frame = spark.createDataFrame(rows, "ts long, kind string, x long")
    found = cep.detect(frame, QUERY, time_unit="s", **OPTIONS).collect()
    assert sorted((row.one, row.other) for row in found) == [(p["one"], p["other"]) for p in PAIRS]


def test_a_matcher_takes_what_is_behind_by_its_slack():
    matcher = cep.Matcher(QUERY, slack=dt.timedelta(seconds=30), **OPTIONS)
    found = []
    for number in (1, 0, 3, 2, 5, 4, 7, 6):
        found += matcher.push(table([number])).to_pylist()
        assert matcher.late.num_rows == 0
    assert [*found, *matcher.close().to_pylist()] == PAIRS


def test_what_is_further_behind_is_late_and_in_no_match():
    matcher = cep.Matcher(QUERY, slack=dt.timedelta(seconds=5), **OPTIONS)
    found = matcher.push(table([2, 3, 4, 5])).to_pylist()
    found += matcher.push(table([0, 1])).to_pylist()
    assert matcher.late["x"].to_pylist() == [0, 1]
    found += matcher.push(table([6, 7])).to_pylist()
    assert matcher.late.num_rows == 0
    assert [*found, *matcher.close().to_pylist()] == PAIRS[1:]


def test_the_watermark_never_goes_back():
    matcher = cep.Matcher(QUERY, **OPTIONS)
    matcher.push(table([0, 1]))
    matcher.advance("1970-01-01 00:00:15")
    before = matcher.watermark_us
    assert matcher.advance("1970-01-01 00:00:01").num_rows == 0
    assert matcher.watermark_us == before
    matcher.push(table([0]))
    assert matcher.late["x"].to_pylist() == [0]


def test_one_event_from_far_ahead_makes_the_others_late_where_slack_moves_the_watermark():
    ahead = pa.table({"ts": pa.array([10**9], pa.timestamp("s", "UTC")), "kind": ["B"], "x": [99]})
    by_slack = cep.Matcher(QUERY, slack=dt.timedelta(seconds=5), **OPTIONS)
    by_slack.push(ahead)
    by_slack.push(IN_ORDER)
    assert by_slack.late.num_rows == 8
    assert by_slack.close().num_rows == 0
    by_hand = cep.Matcher(QUERY, **OPTIONS)
    by_hand.push(ahead)
    by_hand.push(IN_ORDER)
    assert by_hand.late.num_rows == 0
    assert by_hand.advance("1970-01-01 02:00:00").to_pylist() == PAIRS


def test_times_without_a_zone_are_utc_so_an_hour_that_is_written_twice_lies_on_itself():
    summer = pa.table({"ts": ["1970-10-25T02:30:00", "1970-10-25T02:30:05"], "kind": ["A", "B"], "x": [0, 1]})
    winter = pa.table({"ts": ["1970-10-25T02:30:02", "1970-10-25T02:30:07"], "kind": ["A", "B"], "x": [2, 3]})
    found = cep.match(pa.concat_tables([summer, winter]), QUERY, **OPTIONS).to_pylist()
    assert {"one": 0, "other": 3} in found  # an hour apart, in truth
    zoned = [
        part.set_column(0, "ts", pa.array([f"{text}{zone}" for text in part["ts"].to_pylist()]))
        for part, zone in ((summer, "+02:00"), (winter, "+01:00"))
    ]
    found = cep.match(pa.concat_tables(zoned), QUERY, **OPTIONS).to_pylist()
    assert found == [{"one": 0, "other": 1}, {"one": 2, "other": 3}]
