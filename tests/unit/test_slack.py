"""Windows that a policy closes, in `cepheid.Matcher` and `cepheid.match`."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, DataError

WITHIN = "PATTERN SEQ(A a, B b) WITHIN 200 ms RETURN a.ts AS first, b.ts AS last"
SLIDING = "PATTERN SEQ(A a, B b) WINDOW 400 ms SLIDE 100 ms RETURN a.ts AS first, b.ts AS last"


def table(seed: int, n: int, *, n_sources: int = 1, skew_ms: int = 0) -> pa.Table:
    """Events of sources that each keep their order, in the order in which they were received."""
    rng = np.random.default_rng(seed)
    parts = []
    for source in range(n_sources):
        generated = 1_700_000_000_000 + np.cumsum(rng.choice([15, 20, 30], n)) + 7 * source
        received = np.maximum.accumulate(generated + rng.geometric(0.1, n)) + skew_ms
        parts.append(np.stack((generated, received, np.full(n, source))))
    generated, received, sources = np.concatenate(parts, axis=1)
    order = np.argsort(received, kind="stable")
    kinds = np.array(["A", "B", "C"])[rng.integers(0, 3, len(order))]
    columns = {"ts": generated[order], "got": received[order], "kind": kinds, "device": sources[order]}
    return pa.table({**columns, "number": np.arange(len(order))})


def options(**more: Any) -> dict[str, Any]:
    return {"time": "ts", "type": "kind", "time_unit": "ms", "received": "got", **more}


def slack(**more: Any) -> cep.Slack:
    return cep.Slack.probabilistic(**{"miss_ratio": 0.2, "period": 500, "warm_up": 64, **more})


@pytest.mark.parametrize("query", [WITHIN, SLIDING])
@pytest.mark.parametrize(
    "how",
    [
        slack(),
        slack(per="device", fit="sliding", estimator="silence"),
        cep.Slack.latency_budget("20 ms"),
        cep.Slack.event_driven(per="device"),
        cep.Slack.fixed_delay("10 ms"),
        cep.Slack.average_delay(),
    ],
)
def test_every_cut_gives_what_the_replay_of_the_table_gives(query: str, how: cep.Slack) -> None:
    events = table(1, 700, n_sources=2)
    replayed = cep.match(events, query, outputs=("matches", "late", "closed"), slack=how, **options())
    matcher = cep.Matcher(query, slack=how, **options())
    got = events["got"].to_numpy()
    # Events that were received at one moment belong together: windows are closed when the last of them is there.
    cuts = np.unique(np.searchsorted(got, got[[100, 101, 500, 900]], "left"))
    found, late, closed = [], [], []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(events)], strict=True)):
        found.append(matcher.push(events.slice(start, end - start)))
        late += matcher.late["number"].to_pylist()
        closed.append(matcher.slack_report().decisions)
        if number == 2:
            restored = cep.Matcher(query, slack=how, **options())
            restored.restore(matcher.snapshot())
            matcher = restored
    found.append(matcher.close())
    assert late == replayed.late["number"].to_pylist()
    assert pa.concat_tables(closed)["closed_at"].to_pylist() == replayed.closed["closed_at"].to_pylist()
    assert pa.concat_tables(found).to_pylist() == replayed.matches.to_pylist()
    on_time = np.setdiff1d(np.arange(len(events)), late)
    alone = cep.match(events.take(on_time), query, time="ts", type="kind", time_unit="ms")
    assert pa.concat_tables(found).to_pylist() == alone.to_pylist()


def test_what_it_tells() -> None:
    events = table(2, 3000)
    matcher = cep.Matcher(WITHIN, slack=slack(), **options())
    matcher.push(events)
    report = matcher.slack_report()
    assert report.miss_ratio is not None
    assert 0 < report.miss_ratio <= 0.2
    assert report.n_late == len(matcher.late) > 0
    slow = cep.Matcher(WITHIN, slack=cep.Slack.event_driven(), **options())
    slow.push(events)
    assert slow.slack_report().n_missed == 0
    assert report.mean_slack_us < slow.slack_report().mean_slack_us - 5_000
    learned = [row for row in report.decisions.to_pylist() if row["reason"] == "learned"]
    assert learned
    # Ten ends lie in a window of WITHIN, so each may take a tenth of the budget; the window holds its end.
    assert max(row["p_miss"] for row in learned) <= 0.2 / 10 + 1e-9
    gaps = [row for row in report.fitted.to_pylist() if row["quantity"] == "gap"]
    assert [row["least_us"] for row in gaps] == [15_000, 20_000, 30_000]
    assert sum(row["probability"] for row in gaps) == pytest.approx(1)
    assert report.decisions["slack_us"].to_numpy().max() > 0


def test_sliding_windows_are_closed_at_their_own_ends() -> None:
    events = table(3, 400)
    closed = cep.match(events, SLIDING, outputs="closed", slack=cep.Slack.event_driven(), **options()).closed
    ends = closed["window_end"].cast(pa.int64()).to_numpy()
    assert (ends % 100_000 == 0).all()
    assert closed["slack_us"].to_pylist() == (closed["closed_at"].cast(pa.int64()).to_numpy() - ends).tolist()


def test_time_goes_on_without_events() -> None:
    events = table(4, 600)
    matcher = cep.Matcher(WITHIN, slack=slack(miss_ratio=0.5), **options())
    matcher.push(events)
    before = matcher.watermark_us
    last = int(events["got"][-1].as_py())
    matcher.tick(last + 100_000)
    assert before is not None
    assert matcher.watermark_us == pytest.approx((last + 100_000) * 1000, abs=20_000)


def test_a_source_that_falls_silent_is_given_up_with_a_warning() -> None:
    events = table(5, 10, n_sources=2)
    one = events.filter(pa.compute.equal(events["device"], 1))
    more = table(6, 3000)
    rest = more.filter(pa.compute.greater(more["got"], events["got"][-1]))
    matcher = cep.Matcher(WITHIN, slack=slack(per="device", period=10_000), **options())
    matcher.push(one)
    with pytest.warns(UserWarning, match=r"nothing had come from 1 for 10 times as long.*max_latency"):
        matcher.push(rest)
    assert matcher.slack_report().n_gave_up > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounded = cep.Matcher(WITHIN, slack=slack(per="device", max_latency="100 ms"), **options())
        bounded.push(one)
        bounded.push(rest)
    report = bounded.slack_report()
    assert "latest" in set(report.decisions["reason"].to_pylist())
    assert report.decisions["slack_us"].to_numpy().max() <= 100_000


def test_receptions_that_are_missing_or_too_early() -> None:
    events = table(7, 1500, skew_ms=-500)
    got = events["got"].to_pylist()
    holes = [None if i % 50 == 7 else value for i, value in enumerate(got)]
    matcher = cep.Matcher(WITHIN, slack=slack(), **options())
    matcher.push(events.set_column(1, "got", pa.array(holes, pa.int64())))
    report = matcher.slack_report()
    assert report.n_unreceived == 30
    assert report.miss_ratio <= 0.2
    assert report.n_windows > 1000


def test_without_receptions_events_are_received_when_they_are_pushed() -> None:
    matcher = cep.Matcher("PATTERN SEQ(A a, B b) WITHIN 1 min", time="ts", slack=cep.Slack.ignore(), type="kind")
    matcher.push(pa.table({"ts": pa.array([time.time_ns() // 1000], pa.timestamp("us")), "kind": ["A"]}))
    matcher.tick()
    assert matcher.watermark_us is None or matcher.watermark_us <= time.time_ns() // 1000
    matcher.tick("2200-01-01")
    assert matcher.watermark_us > time.time_ns() // 1000


def test_a_length_of_time_is_a_slack_too() -> None:
    events = table(8, 800)
    stamped = events.set_column(0, "ts", events["ts"].cast(pa.timestamp("ms", "UTC")))
    matcher = cep.Matcher(WITHIN, time="ts", type="kind", slack="5 ms")
    found, late = [], []
    for start in range(len(events)):
        found += matcher.push(stamped.slice(start, 1)).to_pylist()
        late += matcher.late["number"].to_pylist()
    found += matcher.close().to_pylist()
    replayed = cep.match(stamped, WITHIN, time="ts", type="kind", slack="5 ms", outputs=("matches", "late"))
    assert late == replayed.late["number"].to_pylist()
    assert found == replayed.matches.to_pylist()


def test_a_set_has_one_watermark() -> None:
    events = table(9, 600)
    queries = cep.QuerySet({"one": WITHIN, "other": "PATTERN SEQ(B b, C c) WITHIN 100 ms RETURN b.ts AS ts"})
    found = cep.match(events, queries, slack=slack(), outputs=("matches", "late"), **options())
    matcher = cep.Matcher(queries, slack=slack(), **options())
    pushed = [matcher.push(events), matcher.close()]
    for name in queries:
        assert pa.concat_tables([one[name] for one in pushed]).to_pylist() == found[name].matches.to_pylist()
    assert matcher.slack_report().n_windows > 100


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cep.match(table(1, 5), WITHIN, time="ts", type="kind", time_unit="ms", slack=slack()), "received="),
        (lambda: cep.match(table(1, 5), WITHIN, **options(slack=slack(), received="gat")), "'gat'"),
        (lambda: cep.match(table(1, 5), WITHIN, **options(slack=slack(per="phone"))), "'phone'"),
        (lambda: cep.match(table(1, 5), WITHIN, **options()), "no slack= reads it"),
        (lambda: cep.match(table(1, 5), SLIDING, **options(slack=slack(every="1 s"))), "leave every= out"),
        (lambda: cep.match(table(1, 5), "PATTERN SEQ(A a, B b)", **options(slack=slack())), "every="),
        (lambda: cep.match(table(1, 5), WITHIN, **options(slack=slack()), outputs="lat"), "'lat'"),
        (lambda: cep.match(table(1, 5), WITHIN, outputs="late", time="ts", type="kind", time_unit="ms"), "'late'"),
        (lambda: cep.Matcher(WITHIN, time="ts").tick(), "cep.Slack"),
    ],
)
def test_what_does_not_do_is_refused(make: Any, words: str) -> None:
    with pytest.raises(CepheidError) as raised:
        make()
    assert words in f"{raised.value} {raised.value.remedy}"


def test_a_snapshot_of_another_slack_is_refused() -> None:
    matcher = cep.Matcher(WITHIN, slack=slack(), **options())
    matcher.push(table(1, 50))
    other = cep.Matcher(WITHIN, slack=slack(miss_ratio=0.3), **options())
    with pytest.raises(DataError, match="slack"):
        other.restore(matcher.snapshot())


def test_what_a_replay_tells() -> None:
    events = table(10, 900)
    names = ("late", "closed", "fitted", "slack")
    found = cep.match(events, WITHIN, outputs=names, slack=slack(), **options())
    matcher = cep.Matcher(WITHIN, slack=slack(), **options())
    matcher.push(events)
    report = matcher.slack_report()
    (row,) = found.slack.to_pylist()
    assert row["miss_ratio"] == report.miss_ratio == row["n_missed"] / row["n_windows"]
    assert row["mean_slack_us"] == report.mean_slack_us
    assert row["n_late"] == report.n_late == len(found.late)
    assert found.fitted.equals(report.fitted)
    assert found.closed.equals(report.decisions)


def test_no_more_windows_miss_events_than_were_closed() -> None:
    # Late events are lost to windows that are still open, too: these count when they are closed.
    matcher = cep.Matcher(WITHIN, slack=cep.Slack.ignore(), **options())
    events = table(11, 900)
    for start in range(0, len(events), 50):
        matcher.push(events.slice(start, 50))
        report = matcher.slack_report()
        assert report.n_missed <= report.n_windows
    assert report.miss_ratio > 0.9


def test_a_length_of_time_and_an_order_of_reception() -> None:
    events = table(12, 300, n_sources=2)
    shuffled = events.take(pa.array(np.random.default_rng(1).permutation(len(events))))
    asked = {"slack": "5 ms", "outputs": ("matches", "late")}
    found = cep.match(shuffled, WITHIN, **asked, **options(order="number"))
    # Among those that were received at one moment, the one that was generated first came first.
    by_reception = events.sort_by([("got", "ascending"), ("ts", "ascending")])
    right = cep.match(by_reception, WITHIN, **asked, **{**options(order="number"), "received": None})
    assert sorted(found.late["number"].to_pylist()) == sorted(right.late["number"].to_pylist())
    assert found.matches.to_pylist() == right.matches.to_pylist()
    assert len(found.late) > 20


def test_late_events_of_windows_that_overlap_are_no_change_of_distributions() -> None:
    matcher = cep.Matcher(WITHIN, slack=cep.Slack.probabilistic(0.2), **options())
    matcher.push(table(12, 900))
    report = matcher.slack_report()
    # Each of them is missed by ten windows in a row: more than chance explains, were these not of one event.
    assert report.n_late >= 5
    assert report.n_missed > 5 * report.n_late
    assert len(report.fitted) > 10
