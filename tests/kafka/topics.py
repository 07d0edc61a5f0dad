"""Topics as the tests write and read them, by a client that shares nothing with Spark's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition


@dataclass(frozen=True)
class Record:
    """A record of a topic."""

    key: str | None
    value: Any
    headers: dict[str, str]
    partition: int
    offset: int


def produce(
    servers: str, topic: str, values: Iterable[Any], *, key: str | None = None, headers: Mapping[str, str] | None = None
) -> None:
    """Write values: bytes, None, or what becomes JSON; those of one ``key`` field go to one partition."""
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        is_plain = value is None or isinstance(value, bytes)
        data = value if is_plain else json.dumps(value).encode()
        name = str(value[key]).encode() if key and not is_plain else None
        while True:
            try:
                producer.produce(topic, data, name, headers=dict(headers or {}))
                break
            except BufferError:
                producer.poll(0.1)
    left = producer.flush(60)
    assert not left, f"{left} records did not arrive"


def consume(servers: str, topic: str, *, n_partitions: int = 2) -> list[Record]:
    """Everything that a topic holds now, committed or not."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "tests", "enable.auto.commit": False})
    ends = {
        partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1]
        for partition in range(n_partitions)
    }
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(n_partitions)])
    records: list[Record] = []
    until = time.monotonic() + 60
    while len(records) < sum(ends.values()) and time.monotonic() < until:
        for message in consumer.consume(1000, 0.5):
            assert message.error() is None, message.error()
            value = message.value()
            key = message.key()
            records.append(
                Record(
                    None if key is None else key.decode(),
                    None if value is None else json.loads(value),
                    {name: data.decode() for name, data in message.headers() or []},
                    message.partition(),
                    message.offset(),
                )
            )
    consumer.close()
    return records
