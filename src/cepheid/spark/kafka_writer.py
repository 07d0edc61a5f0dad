"""Rows of any output of a stream as records of Kafka, micro-batch by micro-batch.

from cepheid.spark.kafka_writer import kafka_writer

outputs = cep.detect(events, query, ..., outputs=("matches", "late", "timed_out"))
write = outputs.written_by({
    "matches": kafka_writer("broker:9092", "found"),
    "late": kafka_writer("broker:9092", "late"),
})
outputs.tagged.writeStream.foreachBatch(write)...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.spark.json_texts import json_text
from cepheid.spark.kafka import MATCH_ID, write_kafka

_ROW_ID = "cepheid row id"
_ID_DIGITS = 32


@dataclass(frozen=True)
class KafkaWriter:
    """Writes each micro-batch as records; those of one that comes again after a failure have the same keys.

    Attributes:
        servers, topic, headers, options, without: see `cepheid.spark.kafka.write_kafka`.
        key: the column that is the key; None for ``match_id`` where the rows have it, else for a hash of all columns.
    """

    servers: str
    topic: str
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Write the rows of one micro-batch."""
        key, without = self.key, tuple(self.without)
        if key is None and MATCH_ID in rows.columns:
            key = MATCH_ID
        if key is None:
            key, without = _ROW_ID, (*without, _ROW_ID)
            rows = rows.withColumn(_ROW_ID, F.substring(F.sha2(json_text(rows.schema), 256), 1, _ID_DIGITS))
        write_kafka(
            rows, self.servers, self.topic, key=key, headers=self.headers, options=self.options, without=without
        )


def kafka_writer(
    servers: str,
    topic: str,
    *,
    key: str | None = None,
    headers: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> KafkaWriter:
    """A writer for `cepheid.spark.streams.outputs.Tagged.written_by`; see `KafkaWriter`.

    Args:
        servers: ``host:port``, several with commas between.
        topic: it exists.
        key: the column that is the key of the records; else ``match_id``, or a hash of the row where there is none.
        headers: header -> its value, the same for all records.
        options: further ones for Spark's sink and, behind ``kafka.``, for its clients.
        without: columns that are not in the objects.
    """
    return KafkaWriter(servers, topic, key, dict(headers or {}), dict(options or {}), tuple(without))
