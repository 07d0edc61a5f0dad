"""Several queries over one DataFrame: those whose events are spread alike share one pass.

One operator runs all queries of a group on each partition. Its rows are tagged with the number of the query, and hold
its columns as a struct; the matches of a query are the rows with its tag. The tagged rows are persisted, so that they
are found once however many of the results are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.engine.output_schema import output_schema
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.together import Together
from cepheid.events.arrow_memory import array_of
from cepheid.language.bound import BoundQuery
from cepheid.spark import batch
from cepheid.spark.frames import Events
from cepheid.spark.operator import OUTPUT_BATCH_ROWS, Detection, streams_in, tell_dropped
from cepheid.spark.shipment import through

TAG = "query"
"""The column of the number of the query that a row is a match of."""


class Detected(dict[str, DataFrame]):
    """Name of a query -> its matches.

    Queries that share a pass share persisted rows: `unpersist` gives their memory back.
    """

    def __init__(self, found: Mapping[str, DataFrame], shared: tuple[DataFrame, ...]) -> None:
        """Put results together.

        Args:
            found: name -> matches.
            shared: the persisted DataFrames that they come from.
        """
        super().__init__(found)
        self._shared = shared

    def unpersist(self) -> None:
        """Forget the rows that the queries share; results that are asked for later are computed anew."""
        for frame in self._shared:
            frame.unpersist()


@dataclass(frozen=True)
class SetDetection:
    """Finds the matches of several queries in one partition; runs on the executors.

    Attributes:
        detections: one for each query, alike but for the query and its output.
        output: the Arrow schema of the tagged rows, as Spark expects it.
    """

    detections: tuple[Detection, ...]
    output: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The matches in the RecordBatches of one partition, as tagged RecordBatches."""
        first = self.detections[0]
        for events in streams_in(batches, first.bound.schema, first.keys, pieces=first.pieces):
            bounds = {str(number): detection.bound for number, detection in enumerate(self.detections)}
            together = Together(bounds, events, settings=first.settings)
            for number, detection in enumerate(self.detections):
                run = together.run(str(number))
                tell_dropped(detection.bound, run.works[-1])
                found = detection.output_of(events, run.matches)
                for part in found.to_batches(max_chunksize=OUTPUT_BATCH_ROWS):
                    yield self._tagged(number, part)

    def _tagged(self, number: int, rows: Any) -> Any:
        columns = [array_of(np.full(len(rows), number, np.int32))]
        for other, field in enumerate(list(self.output)[1:]):
            if other == number:
                struct = pa.StructArray.from_arrays(rows.columns, fields=list(field.type))
                columns.append(struct)
            else:
                columns.append(pa.nulls(len(rows), field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.output)


def detect_set(
    events: Events,
    bounds: Mapping[str, BoundQuery],
    *,
    n_partitions: int | None = None,
    observation: Observation | None = None,
    settings: Settings = DEFAULTS,
) -> Detected:
    """The matches of each query of a set, parameters filled in; see `cepheid.spark.detect.detect`."""
    groups: dict[object, list[str]] = {}
    for name, bound in bounds.items():
        alike = None if bound.inner is not None else batch.spread_by(events, bound)
        groups.setdefault(("alone", name) if alike is None else alike, []).append(name)
    found: dict[str, DataFrame] = {}
    shared = []
    for names in groups.values():
        if len(names) == 1:
            bound = bounds[names[0]]
            found[names[0]] = batch.detect(
                events, bound, n_partitions=n_partitions, observation=observation, settings=settings
            )
        else:
            tagged, columns = _tagged(events, [bounds[name] for name in names], n_partitions, observation, settings)
            shared.append(tagged)
            for number, name in enumerate(names):
                rows = tagged.where(F.col(TAG) == F.lit(number))
                found[name] = rows.select(F.col(f"q{number}.*")).toDF(*columns[number])
        observation = None  # counts the events once
    return Detected({name: found[name] for name in bounds}, tuple(shared))


def _tagged(
    events: Events,
    bounds: list[BoundQuery],
    n_partitions: int | None,
    observation: Observation | None,
    settings: Settings,
) -> tuple[DataFrame, list[list[str]]]:
    """The matches of queries that are spread alike, tagged and persisted; and the names of the columns of each."""
    placed = batch.place(events, bounds, n_partitions, observation)
    fields = [spark.StructField(TAG, spark.IntegerType(), True)]
    detections, names = [], []
    for number, bound in enumerate(placed.bounds):
        declared, output = batch.declared_schema(output_schema(bound, placed.schema.arrow))
        detections.append(Detection(bound, output, keys=placed.keys, pieces=placed.pieces, settings=settings))
        names.append(declared.names)
        plain = [spark.StructField(f"c{i}", field.dataType, True) for i, field in enumerate(declared.fields)]
        fields.append(spark.StructField(f"q{number}", spark.StructType(plain), True))
    declared, output = batch.declared_schema_of(spark.StructType(fields))
    frame = through(placed.frame, SetDetection(tuple(detections), output), declared)
    return frame.persist(), names
