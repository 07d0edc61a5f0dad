"""Each output of a job goes to a topic of its own, under keys by which what comes twice is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kafka.job_process import JobProcess
from tests.kafka.topics import consume, produce

if TYPE_CHECKING:
    from scripts.kafka import Broker

JOB = """
[source]
kind = "kafka"
servers = "${KAFKA_SERVERS}"
topics = "in"
time = "ts"
type = "kind"
columns = { card = "text", amount = "float" }
options = { maxOffsetsPerTrigger = "6" }

[query]
text = "SEQ(Txn a, Denied d) WHERE SAME[card] WITHIN 5 minutes RETURN a.card AS card"

[queries.large]
text = "Txn t WHERE t.amount > :much RETURN t.card AS card, t.amount AS amount"

[parameters]
much = 100

[stream]
checkpoint = "checkpoint"
watermark = "1 minute"
trigger = "available now"

[spark]
"spark.sql.shuffle.partitions" = "2"
"spark.driver.memory" = "1g"
"""
SINKS = {
    "sink": "matches",
    "queries.large.sink": "large",
    "sink.timed_out": "timed-out",
    "late": "late",
    "rejected": "rejected",
}


def event(minute: int, kind: str, card: str | None, amount: float = 1.0) -> dict[str, Any]:
    return {"ts": f"2024-05-01T10:{minute:02}:00Z", "kind": kind, "card": card, "amount": amount}


@pytest.mark.timeout(600)
def test_each_output_has_its_topic(broker: Broker, tmp_path: Path) -> None:
    for topic in ("in", *SINKS.values()):
        broker.create(topic, 1)
    sections = [
        f'[{name}]\nkind = "kafka"\nservers = "${{KAFKA_SERVERS}}"\ntopic = "{topic}"\n'
        for name, topic in SINKS.items()
    ]
    (tmp_path / "job.toml").write_text(JOB + "\n".join(sections) + "null_keys = true\n")
    first = [event(0, "Txn", "c1"), event(1, "Denied", "c1"), event(2, "Txn", "c2", 500.0), b"{nope"]
    second = [event(30, "Txn", None), event(31, "Txn", "c3"), event(3, "Denied", "c2"), event(40, "Txn", "c4")]
    produce(broker.servers, "in", [*first, event(20, "Other", "c1"), event(29, "Other", "c1"), *second])
    job = JobProcess(tmp_path / "job.toml", {"KAFKA_SERVERS": broker.servers})
    assert job.ended(500) == 0, job.said
    records = {topic: consume(broker.servers, topic, n_partitions=1) for topic in SINKS.values()}
    for found in records.values():
        keys = [record.key for record in found]
        assert None not in keys
        assert len(set(keys)) == len(keys)
    values = {topic: [record.value for record in found] for topic, found in records.items()}
    assert values["matches"] == [{"card": "c1"}]
    assert values["large"] == [{"card": "c2", "amount": 500.0}]
    assert sorted(row["a"]["card"] for row in values["timed-out"]) == ["c2", "c3"]
    assert [(row["card"], row["kafka_offset"]) for row in values["late"]] == [("c2", 8)]
    unread = [(row["reason"], row["place"], row["raw"]) for row in values["rejected"] if "raw" in row]
    assert unread == [("not a JSON object", "in/0/3", "{nope")]
    (without,) = [row for row in values["rejected"] if "raw" not in row]
    assert (without["column"], without["event"]["kafka_offset"]) == ("card", 6)
