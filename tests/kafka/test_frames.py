"""Kafka through DataFrames: batch and stream, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cepheid as cep
from tests.kafka.topics import consume, produce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scripts.kafka import Broker

pytestmark = pytest.mark.oldest

SCHEMA = "ts timestamp, kind string, card string, amount decimal(10, 2)"
EVENTS = [
    {"ts": "2024-05-01T10:00:00Z", "kind": "Txn", "card": "c1", "amount": 10.5},
    {"ts": "2024-05-01T12:01:00+02:00", "kind": "Denied", "card": "c1"},
    {"ts": "2024-05-01T10:02:00", "kind": "Txn", "card": "c1", "amount": 20},
]
POISON = [b'{"ts": ', b"\xff\xfe", None, {"ts": "soon"}, {"ts": "2024-05-01T10:00:00Z", "amount": []}, {"kind": "Txn"}]
QUERY = """
PATTERN SEQ(Txn a, Denied d, Txn b)
WHERE SAME[card] AND b.amount > a.amount
WITHIN 5 minutes
"""


def test_records_are_events_and_matches_records(spark: SparkSession, broker: Broker, topic: str) -> None:
    from cepheid.spark.kafka import KAFKA_ORDER, read_kafka, write_kafka

    produce(broker.servers, topic, [*EVENTS, *POISON], headers={"from": "till 7"})
    read = read_kafka(
        spark, broker.servers, topic, SCHEMA, streaming=False, required=["ts"], key="k", headers={"from": "till"}
    )
    events = read.events.toArrow().to_pylist()
    assert sorted(str(event["ts"]) for event in events) == [f"2024-05-01 10:0{i}:00+00:00" for i in range(3)]
    assert {event["till"] for event in events} == {"till 7"}
    assert {event["k"] for event in events} == {None}
    reasons = {(row["column"], row["reason"]) for row in read.rejected.toArrow().to_pylist()}
    assert reasons == {
        (None, "not a JSON object"),
        (None, "not UTF-8 text"),
        (None, "no value"),
        ("ts", "not an ISO 8601 time"),
        ("amount", "not a decimal(10,2)"),
        ("ts", "no ts"),
    }
    assert read.rejected.count() == len(POISON)

    matches = cep.detect(read.events, QUERY, time="ts", type="kind", order=KAFKA_ORDER)
    broker.create(f"{topic}-found", 2)
    write_kafka(matches, broker.servers, f"{topic}-found", headers={"rule": "retry"})
    (found,) = consume(broker.servers, f"{topic}-found")
    assert found.key == matches.select("match_id").first()[0]  # type: ignore[index]
    assert found.headers == {"rule": "retry"}
    assert found.value["match_id"] == found.key
    assert found.value["first_time"] == "2024-05-01T10:00:00.000000Z"
    assert found.value["b"]["amount"] == "20.00"
    assert found.value["d"]["amount"] is None


def test_streams_go_through_poison(spark: SparkSession, broker: Broker, topic: str, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from cepheid.spark.kafka import read_kafka, write_kafka

    for name in ("out", "bad"):
        broker.create(f"{topic}-{name}", 2)
    for values in ([EVENTS[0], POISON[0]], [*EVENTS[1:], *POISON[1:]]):
        produce(broker.servers, topic, values)
        read = read_kafka(spark, broker.servers, topic, SCHEMA, required=["ts"])
        frames = {"out": read.events, "bad": read.rejected}
        for name, frame in frames.items():
            place = F.concat_ws("/", "kafka_topic", "kafka_partition", "kafka_offset").alias("place")
            started = write_kafka(
                frame.select(place, "*"),
                broker.servers,
                f"{topic}-{name}",
                key="place",
                checkpoint=str(tmp_path / name),
                trigger={"availableNow": True},
            )
            started.awaitTermination()
    out, bad = (consume(broker.servers, f"{topic}-{name}") for name in ("out", "bad"))
    assert len({record.key for record in out}) == len(out) == len(EVENTS)
    assert len({record.key for record in bad}) == len(bad) == len(POISON)


def test_plain_text_and_names(spark: SparkSession, broker: Broker, topic: str) -> None:
    from cepheid.spark.kafka import kafka_records, read_kafka

    produce(broker.servers, topic, [b"one", b"two", b"\xff", None])
    read = read_kafka(spark, broker.servers, [topic], None, streaming=False)
    assert sorted(row["value"] for row in read.events.toArrow().to_pylist()) == ["one", "two"]
    reasons = sorted(row["reason"] for row in read.rejected.toArrow().to_pylist())
    assert reasons == ["no value", "not UTF-8 text"]

    with pytest.raises(cep.errors.SchemaError, match="two columns would be called 'kafka_offset'"):
        read_kafka(spark, broker.servers, topic, None, key="kafka_offset")
    with pytest.raises(cep.errors.SchemaError, match="a field 'kafka_time'"):
        read_kafka(spark, broker.servers, topic, "kafka_time timestamp")
    with pytest.raises(cep.errors.SchemaError, match="the schema cannot be read"):
        read_kafka(spark, broker.servers, topic, "ts timestampp, ,")
    with pytest.raises(cep.errors.SchemaError, match="no column 'id' for the key"):
        kafka_records(read.events, key="id")
