"""A site as one streaming query of Spark: its topics in, its state in Spark's store, its outputs to topics."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout

from cepheid import __version__
from cepheid.spark.shipment import opened, packed
from cepheid.spark.sites.program import SiteProgram
from cepheid.spark.sites.site import Record, Site
from cepheid.spark.state_info import mend
from cepheid.spark.stream_query import Progress, StreamRun

_STATE = "token string, snapshot binary"
_RECORDS = "topic string, key string, value binary"
_CLIENT = {
    # A link that is down for a while is waited for.
    "kafka.delivery.timeout.ms": "600000",
    "kafka.request.timeout.ms": "20000",
    "kafka.max.block.ms": "600000",
}
_MOST_ROWS = 4096

mend()

_programs: dict[bytes, SiteProgram] = {}
_warm: dict[bytes, tuple[str, Site]] = {}


@dataclass(frozen=True)
class SiteShipment:
    """A `SiteProgram` as bytes; callable as `applyInPandasWithState` wants it.

    The site of the batch before stays in the worker beside the token of the state that it wrote, and is used again
    where Spark hands over that very state.

    Attributes:
        version: the version of cepheid on the driver.
        payload: the pickled program.
        digest: a hash of it.
    """

    version: str
    payload: bytes
    digest: bytes

    @classmethod
    def of(cls, program: SiteProgram) -> SiteShipment:
        """Pack a program."""
        payload = packed(program)
        return cls(__version__, payload, hashlib.blake2b(payload, digest_size=16).digest())

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], group: Any) -> Iterator[pd.DataFrame]:
        """Run the site over one batch."""
        kept = group.get if group.exists else None
        site = self._site(kept)
        records = [
            Record(topic, value, offset=offset)
            for frame in frames
            for topic, offset, value in zip(frame["topic"], frame["offset"], frame["value"], strict=True)
        ]
        written = site.process(records)
        token = uuid4().hex
        group.update((token, site.snapshot()))
        _warm[self.digest] = (token, site)
        for start in range(0, len(written), _MOST_ROWS):
            part = written[start : start + _MOST_ROWS]
            yield pd.DataFrame(
                {
                    "topic": [record.topic for record in part],
                    "key": [record.key for record in part],
                    "value": [record.value for record in part],
                }
            )

    def _site(self, kept: tuple[str, bytes] | None) -> Site:
        token, site = _warm.pop(self.digest, (None, None))
        if site is not None and kept is not None and token == kept[0]:
            return site
        program = _programs.get(self.digest)
        if program is None:
            program = _programs[self.digest] = opened(self.version, self.payload)
        return Site(program, None if kept is None else bytes(kept[1]))


def site_rows(session: SparkSession, program: SiteProgram, servers: str, options: Mapping[str, str]) -> DataFrame:
    """The stream of what a site writes.

    Args:
        session: with Spark's Kafka connector; one partition for shuffles, so that what a site writes keeps its order.
        program: of the site.
        servers: of the broker.
        options: further ones of the source.
    """
    reader = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", ",".join(program.topics.read))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "20000")
    )
    records = reader.options(**options).load().select(F.lit(0).alias("site"), "topic", "offset", "value")
    return records.groupBy("site").applyInPandasWithState(
        SiteShipment.of(program), _RECORDS, _STATE, "append", GroupStateTimeout.NoTimeout
    )


def run_site(
    session: SparkSession,
    program: SiteProgram,
    servers: str,
    *,
    checkpoint: str,
    trigger: Mapping[str, Any],
    told: Callable[[Progress], None],
    options: Mapping[str, str] | None = None,
) -> StreamRun:
    """Start a site.

    Args:
        session, program, servers: see `site_rows`.
        checkpoint: the folder of the site.
        trigger: arguments of `DataStreamWriter.trigger`.
        told: is told of each batch when it is done.
        options: further ones of the source.

    Raises:
        CepheidError: Spark refuses the query.
    """

    def write(rows: DataFrame, number: int) -> None:
        writer = rows.write.format("kafka").option("kafka.bootstrap.servers", servers)
        writer.options(**_CLIENT).save()

    return StreamRun(
        session,
        site_rows(session, program, servers, options or {}),
        write=write,
        told=told,
        checkpoint=checkpoint,
        trigger=trigger,
        name=f"site {program.site}",
    )
