"""What timed out, as a DataFrame (SEMANTICS 7.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from cepheid.engine.output import assemble_timed_out
from cepheid.engine.output_schema import timed_out_schema
from cepheid.engine.session import prepare, run_outputs
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.language.bound import BoundQuery
from cepheid.spark.batch import declared_schema, own_events, place
from cepheid.spark.frames import Events
from cepheid.spark.operator import OUTPUT_BATCH_ROWS, as_declared, of_home, streams_in
from cepheid.spark.shipment import through


@dataclass(frozen=True)
class TimedOut:
    """Finds what timed out in one partition; runs on the executors.

    Attributes:
        bound, output, keys, pieces, settings: as in `cepheid.spark.operator.Detection`.
    """

    bound: BoundQuery
    output: Any
    keys: tuple[str, ...]
    pieces: bool
    settings: Settings = DEFAULTS

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What timed out among the RecordBatches of one partition, as RecordBatches of `output`."""
        compiled = prepare(self.bound, timed_out=True)
        for batch in streams_in(batches, self.bound.schema, self.keys, pieces=self.pieces):
            _, left = run_outputs(compiled, batch, settings=self.settings)
            if self.pieces:
                left = of_home(left, batch)
            found = as_declared(assemble_timed_out(self.bound, batch, left), self.output)
            yield from found.to_batches(max_chunksize=OUTPUT_BATCH_ROWS)


def timed_out(events: Events, bound: BoundQuery, n_partitions: int | None, settings: Settings) -> DataFrame:
    """What timed out of a bound query, its parameters filled in; columns as `cepheid.Outputs` says, in no order.

    A partition that only equalities imply is not used: an event without a key starts what may time out, too.
    """
    events, bound, _ = own_events(events, bound, n_partitions, None, settings)
    # RETURN reads what is not bound yet; the columns of all variables are needed.
    placed = place(events, [replace(bound, returns=())], n_partitions, timed_out=True)
    (bound,) = placed.bounds
    declared, output = declared_schema(timed_out_schema(bound, placed.schema.arrow))
    return through(placed.frame, TimedOut(bound, output, placed.keys, placed.pieces, settings), declared)
