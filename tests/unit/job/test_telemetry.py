"""What a running job tells of itself."""

from __future__ import annotations

import urllib.request

import pytest

from cepheid.job.metrics import PrometheusMetrics
from cepheid.job.telemetry import Batch, Decided, Held, Telemetry, Written
from tests.ports import free_port


class Told:
    """Telemetry with a clock that tests set."""

    def __init__(self, *sources: str, metrics: PrometheusMetrics | None = None) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.telemetry = Telemetry(
            self.lines.append, self.warnings.append, sources=sources, metrics=metrics, clock=lambda: self.now
        )

    def batch(self, number: int, n_events: dict[str, int], watermark: str | None, written: Written, **newest: int):
        self.telemetry.written(number, written)
        self.telemetry.done(Batch(number, n_events, newest, watermark, 0.5, 1000))


WAITING = Written(n_matches=1, n_late=2, latency_s=(0.5, 1.0, 2.0), held={0: Held(3, 4, 100), 1: Held(1, 0, 50)})


def test_a_line_for_each_batch_in_which_something_happens():
    told = Told("pay")
    told.batch(0, {"pay": 1200}, "2024-05-01T10:00:00.000Z", WAITING, pay=0)
    told.batch(1, {"pay": 0}, "2024-05-01T10:00:00.000Z", Written(held={0: Held(0, 0, 0)}))
    told.now = 61.0
    told.batch(2, {"pay": 0}, "2024-05-01T10:00:00.000Z", Written())
    assert told.lines == [
        "batch 0: 1,200 events, 1 match, 2 late; holding 4 partial matches, 4 waiting events, 1,000 bytes of state; "
        "watermark 2024-05-01T10:00:00.000Z; latency p50 0.50 s, p95 1.00 s, p99 2.00 s; 0.50 s",
        "batch 2: 0 events, 0 matches; holding 0 partial matches, 1 waiting event, 1,000 bytes of state; "
        "watermark 2024-05-01T10:00:00.000Z; 0.50 s",
    ]
    assert told.telemetry.totals.n_events == 1200
    assert told.telemetry.totals.held_bytes == 50


def test_a_watermark_that_stands_still_is_told_once_a_minute_with_the_source_that_holds_it_back():
    told = Told("Txn", "Login")
    for now in range(0, 200, 10):
        told.now = float(now)
        told.batch(now, {"Txn": 5, "Login": 0}, None, WAITING, Txn=10_000_000)
        told.telemetry.look()
    assert len(told.warnings) == 3
    assert told.warnings[0].startswith(
        "4 events wait because the watermark has stood still for 60 s (there is none yet): "
        "no event has come from Login;"
    )
    told.batch(300, {"Txn": 0, "Login": 1}, "1970-01-01T00:00:01.000Z", WAITING, Login=2_000_000)
    told.now = 290.0
    told.telemetry.look()
    assert told.warnings[3].startswith(
        "4 events wait because the watermark has stood still for 100 s (1970-01-01T00:00:01.000Z): "
        "Login holds it back: "
        "its newest event is of 1970-01-01T00:00:02Z, and its last one came 100 s ago;"
    )
    told.batch(301, {"Txn": 0, "Login": 0}, "1970-01-01T00:00:01.000Z", Written(held={0: Held(0, 0, 0)}))
    told.batch(302, {"Txn": 0, "Login": 0}, "1970-01-01T00:00:01.000Z", Written(held={1: Held(0, 0, 0)}))
    told.now = 900.0
    told.telemetry.look()
    assert len(told.warnings) == 4, "nothing waits"


def test_figures_for_prometheus():
    pytest.importorskip("prometheus_client")
    port = free_port()
    metrics = PrometheusMetrics(port)
    try:
        told = Told("pay", metrics=metrics)
        told.batch(0, {"pay": 1200}, "1970-01-01T00:01:40.000Z", WAITING)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            figures = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    finally:
        metrics.close()
    assert figures['cepheid_events_total{source="pay"}'] == "1200.0"
    assert figures["cepheid_matches_total"] == "1.0"
    assert figures["cepheid_late_events_total"] == "2.0"
    assert figures["cepheid_partial_matches"] == "4.0"
    assert figures["cepheid_waiting_events"] == "4.0"
    assert figures["cepheid_watermark_seconds"] == "100.0"
    assert figures['cepheid_latency_seconds{quantile="0.95"}'] == "1.0"


PLANS = (
    Decided(3, "", "/c b a", True, "evaluation plan eager -> /c b a; a last event before eager: waits 1.2 ms"),
    Decided(4, "", "eager", False, "evaluation plan eager stays"),
)


def test_a_change_of_plan_has_a_line_of_its_own_with_the_numbers_that_led_to_it():
    told = Told("pay")
    told.batch(7, {"pay": 0}, None, Written(plans=PLANS))
    assert told.lines == [
        "batch 7: 0 events, 0 matches; holding 0 partial matches, 0 waiting events, 1,000 bytes of state; "
        "2 decisions on plans, 1 switch; 0.50 s",
        "batch 7, bucket 3: evaluation plan eager -> /c b a; a last event before eager: waits 1.2 ms",
    ]
    assert (told.telemetry.totals.n_plan_decisions, told.telemetry.totals.n_plan_switches) == (2, 1)
    assert str(Decided(1, "rare", "eager", False, "stays")) == "bucket 1, rare: stays"


def test_prometheus_counts_decisions_and_changes_of_plans():
    port = free_port()
    metrics = PrometheusMetrics(port)
    try:
        Told("pay", metrics=metrics).batch(0, {"pay": 5}, None, Written(plans=PLANS))
        with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    finally:
        metrics.close()
    assert "cepheid_plan_decisions_total 2.0" in text
    assert 'cepheid_plan_switches_total{plan="/c b a",query=""} 1.0' in text
