"""A job from Kafka to Kafka: killed and started again, each match comes once for each key, and none is missing."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.query import Query
from tests.kafka.job_process import JobProcess
from tests.kafka.topics import consume, produce
from tests.ports import free_port
from workloads.payments_kafka.produce import payments

if TYPE_CHECKING:
    from scripts.kafka import Broker

LAST = {"ts": "2024-05-02T10:00:00+00:00", "kind": "Payment", "card": "last", "place": "Oslo", "amount": 1.0}
"""It moves the watermark over all events before it, so that all matches are decided."""

WORKLOAD = Path(__file__).resolve().parents[2] / "workloads" / "payments_kafka"


@pytest.fixture
def folder(broker: Broker, tmp_path: Path) -> Iterator[Path]:
    """A copy of the workload in a folder of its own, its topics empty."""
    for topic in ("payments", "retried"):
        broker.create(topic, 2)
    for file in ("job.toml", "retried.cep"):
        (tmp_path / file).write_text((WORKLOAD / file).read_text())
    yield tmp_path
    for topic in ("payments", "retried"):
        broker.delete(topic)
    time.sleep(1)  # a topic that goes is there for a moment


def started(folder: Path, broker: Broker, more: str = "") -> JobProcess:
    job = folder / "job.toml"
    # A test may wait for longer than events do, and what comes then must not be late.
    text = job.read_text().replace('idle_flush = "1 minute"\n', "")
    assert "idle_flush" not in text
    if more:
        text += more
    text += '\n[spark]\n"spark.sql.shuffle.partitions" = "2"\n"spark.driver.memory" = "1g"\n'
    run = folder / "run.toml"
    run.write_text(text)
    return JobProcess(run, {"KAFKA_SERVERS": broker.servers, "PAYMENTS_FOLDER": str(folder)})


def expected(events: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    table = pa.Table.from_pylist(events)
    found = cep.match(table, Query.from_file(WORKLOAD / "retried.cep"), time="ts", type="kind")
    return {told_of(row) for row in found.to_pylist()}


def told_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells a match from others."""
    return datetime.fromisoformat(row["first_seen"]), row["card"], row["amount"], row["place"]


def found_in(broker: Broker) -> tuple[int, dict[str, Any]]:
    """How many records there are, and one for each key."""
    records = consume(broker.servers, "retried")
    by_key: dict[str, Any] = {}
    for record in records:
        assert record.key is not None
        assert by_key.setdefault(record.key, record.value) == record.value, "one key, one match"
        assert record.headers == {"rule": "retried"}
    return len(records), by_key


@pytest.mark.oldest
@pytest.mark.timeout(900)
def test_killed_and_started_again(broker: Broker, folder: Path) -> None:
    events = list(payments(4000))
    wanted = expected(events)
    assert len(wanted) > 100
    parts = [events[:1000], events[1000:2000], events[2000:3000], events[3000:]]

    job = started(folder, broker)
    produce(broker.servers, "payments", [*parts[0], b"{nope"], key="card")
    job.wait_for(r"batch 0: ")
    produce(broker.servers, "payments", parts[1], key="card")
    time.sleep(2.0)  # into a batch
    job.kill()

    job = started(folder, broker)
    job.wait_for(r"going on from .*: batch \d+ is done.*; read so far: payments/0 to \d+, payments/1 to \d+")
    produce(broker.servers, "payments", parts[2], key="card")
    job.wait_for(r"batch \d+: [1-9][\d,]* events")
    job.kill()

    produce(broker.servers, "payments", [*parts[3], LAST], key="card")
    job = started(folder, broker)
    wait_until(lambda: len(found_in(broker)[1]) >= len(wanted), job)
    assert job.stop(signal.SIGINT) == 0, job.said
    assert re.search(r"stopped after \d+ batches: .*; the last batch was \d+", job.said)
    assert "error: " not in job.said

    n_records, by_key = found_in(broker)
    assert {told_of(value) for value in by_key.values()} == wanted
    assert n_records >= len(by_key)
    rejected = [json.loads(line) for file in (folder / "rejected").glob("*") for line in file.read_text().splitlines()]
    assert [(row["reason"], row["raw"]) for row in rejected] == [("not a JSON object", "{nope")]
    assert not (folder / "late").exists()


def wait_until(done: Callable[[], bool], job: JobProcess, timeout_s: float = 240) -> None:
    """Wait for something that the job does."""
    until = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < until, job.said
        time.sleep(2)


def figures_of(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        return str(answer.read().decode())


@pytest.mark.timeout(600)
def test_a_broker_that_is_away_for_a_while(broker: Broker, folder: Path) -> None:
    events = list(payments(2000, seed=2))
    port = free_port()
    produce(broker.servers, "payments", events[:1000], key="card")
    job = started(folder, broker, f"metrics_port = {port}\n")
    job.wait_for(r"batch 0: ")
    broker.stop()
    time.sleep(30)
    broker.start()
    produce(broker.servers, "payments", [*events[1000:], LAST], key="card")
    n_events = 'cepheid_events_total{source="kafka payments"} '
    wait_until(lambda: f"{n_events}2001.0" in figures_of(port), job)
    assert "cepheid_partial_matches " in figures_of(port)
    assert job.stop() == 0, job.said
    _, by_key = found_in(broker)
    assert {told_of(value) for value in by_key.values()} == expected(events)


@pytest.mark.timeout(600)
def test_a_topic_that_is_gone_and_fields_that_change(broker: Broker, folder: Path) -> None:
    events = list(payments(300, seed=3))
    drifted = [{**event, "amount": str(event["amount"])} for event in events[200:]]
    produce(broker.servers, "payments", [*events[:200], *drifted], key="card")
    job = started(folder, broker)
    job.wait_for(r"batch 0: 200 events, .* 100 rejected")
    broker.delete("payments")
    assert job.ended(300) == 1
    assert re.search(
        r"error: (a topic of the job is not there|records that the job had still to read are gone)", job.said
    )
    assert "Traceback" not in job.said
    rows = [json.loads(line) for file in (folder / "rejected").glob("*") for line in file.read_text().splitlines()]
    assert {(row["column"], row["reason"]) for row in rows} == {("amount", "not a float")}
    assert {row["place"].rsplit("/", 1)[0] for row in rows} == {"payments/0", "payments/1"}
    broker.create("payments", 2)
