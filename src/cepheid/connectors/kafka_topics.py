"""Topics of Kafka without Spark: made, written, read to their ends. Needs ``pip install cepheid[kafka]``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.errors import SetupError

_LONGEST_S = 30.0


@dataclass(frozen=True)
class TopicRecord:
    """A record of a topic.

    Attributes:
        key, value: its bytes, or None.
    """

    key: bytes | None
    value: bytes | None


class Topics:
    """The topics of a broker; each has one partition, so that its records have an order."""

    def __init__(self, servers: str) -> None:
        """Connect.

        Args:
            servers: ``host:port``, several with commas between.

        Raises:
            SetupError: the client is not installed, or no broker answers.
        """
        self.servers = servers
        self._client = _client()
        admin = self._client.admin
        self._admin = admin.AdminClient({"bootstrap.servers": servers, "log_level": 2})
        self._new_topic = admin.NewTopic
        try:
            self._admin.list_topics(timeout=_LONGEST_S)
        except self._client.KafkaException as error:
            raise SetupError(
                f"no broker answers at {servers}", remedy="start one, or correct servers under [deploy]"
            ) from error

    def create(self, names: Iterable[str]) -> tuple[str, ...]:
        """Make those that there are not; returns them."""
        there = self._admin.list_topics(timeout=_LONGEST_S).topics
        missing = tuple(name for name in names if name not in there)
        if missing:
            for made in self._admin.create_topics([self._new_topic(name, 1, 1) for name in missing]).values():
                made.result()
        return missing

    def write(self, records: Iterable[tuple[str, bytes]]) -> int:
        """Write (topic, value) pairs in their order; returns how many.

        Raises:
            SetupError: some did not arrive.
        """
        producer = self._client.Producer(
            {"bootstrap.servers": self.servers, "enable.idempotence": True, "linger.ms": 20, "log_level": 2}
        )
        n_records = 0
        for topic, value in records:
            n_records += 1
            while True:
                try:
                    producer.produce(topic, value)
                    break
                except BufferError:
                    producer.poll(0.1)
        left = producer.flush(120)
        if left:
            raise SetupError(f"{left} of {n_records} records did not arrive at {self.servers}")
        return n_records

    def reader(self, names: Sequence[str]) -> TopicReader:
        """What reads topics from their beginnings."""
        return TopicReader(self._client, self.servers, names)


class TopicReader:
    """Reads topics of one partition, further with each call."""

    def __init__(self, client: Any, servers: str, names: Sequence[str]) -> None:
        self._client = client
        self._names = tuple(names)
        self._consumer = client.Consumer(
            {"bootstrap.servers": servers, "group.id": "cepheid", "enable.auto.commit": False, "log_level": 2}
        )
        self._read: dict[str, int] = dict.fromkeys(self._names, 0)
        self._consumer.assign([client.TopicPartition(name, 0, 0) for name in self._names])

    def more(self) -> Iterator[tuple[str, TopicRecord]]:
        """What there is now and was not given before, as (topic, record).

        Raises:
            SetupError: the broker does not give it in time.
        """
        ends = {name: self._end(name) for name in self._names}
        until = time.monotonic() + _LONGEST_S
        while any(self._read[name] < ends[name] for name in self._names):
            if time.monotonic() > until:
                raise SetupError("the broker does not give the records of its topics")
            for message in self._consumer.consume(2000, 0.5):
                if message.error() is not None:
                    raise SetupError(f"a topic cannot be read: {message.error()}")
                self._read[message.topic()] = message.offset() + 1
                yield message.topic(), TopicRecord(message.key(), message.value())

    def _end(self, name: str) -> int:
        place = self._client.TopicPartition(name, 0)
        return int(self._consumer.get_watermark_offsets(place, timeout=_LONGEST_S, cached=False)[1])

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()


def records_by_topic(topics: Topics, names: Sequence[str]) -> Mapping[str, list[TopicRecord]]:
    """All records that topics hold now."""
    reader = topics.reader(names)
    try:
        found: dict[str, list[TopicRecord]] = {name: [] for name in names}
        for name, record in reader.more():
            found[name].append(record)
        return found
    finally:
        reader.close()


def _client() -> Any:
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError as error:
        raise SetupError("the Kafka client is not installed", remedy="pip install 'cepheid[kafka]'") from error
    return confluent_kafka
