"""What an executor does with the events of one partition: one batch in, all its matches out.

Memory: the Arrow batches of the partition are held once, as they came, until its last match is written; the columns
that conditions name are held a second time as machine words while the engine runs. So a partition needs about twice
the size of the events that Spark hands over (after its filters and without the columns that no one asked for), and
its matches. More partitions (``spark.sql.shuffle.partitions``, or ``partitions=``) make each smaller; a key is never
split.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.adapting import run_chosen
from cepheid.engine.composite import ORDER, with_time
from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import chosen
from cepheid.engine.order_key import order_keys
from cepheid.engine.output import assemble
from cepheid.engine.output_schema import time_type
from cepheid.engine.session import Work
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.events.arrow_memory import texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import Column
from cepheid.events.convert import arrow_of, column_of
from cepheid.events.ingest import read_events
from cepheid.events.schema import Schema
from cepheid.events.types import TEXT, TIMESTAMP
from cepheid.language.bound import BoundQuery
from cepheid.language.results import SCALARS
from cepheid.spark.ordering import by_all_columns

_log = logging.getLogger("cepheid.spark")

PIECE = "cepheid piece"
"""The column of the number of the piece of time that a row was sent to."""

HOME = "cepheid home"
"""The column that is true where a row's time lies in the piece itself, false in the margins around it."""

OUTPUT_BATCH_ROWS = 65_536
"""Rows of one batch of matches on its way back to Spark."""


@dataclass(frozen=True)
class Detection:
    """Finds the matches in one partition; runs on the executors.

    Attributes:
        bound: the query over the columns that are handed over.
        output: the Arrow schema of the result, as Spark expects it.
        keys: columns of which events with different values never meet, for telling which ties matter.
        pieces: the partition holds pieces of time, each a stream of its own (columns `PIECE` and `HOME`).
        composite: the matches are to be events: their time and order key come with them.
        settings: how much may be held for one partition.
    """

    bound: BoundQuery
    output: Any
    keys: tuple[str, ...] = ()
    pieces: bool = False
    composite: bool = False
    settings: Settings = DEFAULTS

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The matches in the RecordBatches of one partition, as RecordBatches of `output`."""
        for batch in streams_in(batches, self.bound.schema, self.keys, pieces=self.pieces):
            work = Work()
            matches = run_chosen(self.bound, batch, work=work, settings=self.settings)
            tell_dropped(self.bound, work)
            found = self.output_of(batch, matches)
            yield from found.to_batches(max_chunksize=OUTPUT_BATCH_ROWS)

    def output_of(self, batch: EventBatch, matches: Matches) -> Any:
        """The matches in a stream as a table of `output`."""
        if self.pieces:
            matches = of_home(matches, batch)
        bound = self.bound
        if not bound.schema.order and (self.composite or bound.identified or not bound.returns):
            batch = identified(batch, matches)
        table = assemble(bound, batch, matches)
        if self.composite:
            table = as_events(table, bound, batch, matches)
        return as_declared(table, self.output)


def tell_dropped(bound: BoundQuery, work: Work) -> None:
    """Log what a cap made the engine forget."""
    if work.n_dropped:
        _log.warning(
            "%d partial matches were dropped, so matches may be missing: max_partial_matches of the settings, in %s",
            work.n_dropped,
            bound.text,
        )


def streams_in(batches: Iterator[Any], schema: Schema, keys: tuple[str, ...], *, pieces: bool) -> Iterator[EventBatch]:
    """The events of a partition in their order: one stream, or one for each piece of time.

    Args:
        batches: RecordBatches.
        schema: of the events.
        keys, pieces: as in `Detection`.
    """
    # Batches without rows have nothing to say, and a partition without rows no schema.
    held = [batch for batch in batches if batch.num_rows]
    if not held:
        return
    table = pa.Table.from_batches(held)
    del held
    for events in _by_piece(table) if pieces else (table,):
        yield _read(events, schema, keys)


def _read(table: Any, schema: Schema, keys: tuple[str, ...]) -> EventBatch:
    batch = read_events(table, schema)
    if len(batch.rejected):
        reasons = Counter(zip(batch.rejected.columns, batch.rejected.reasons, strict=True)).most_common(3)
        _log.warning(
            "%d events of this partition cannot be placed and were left out (%s)",
            len(batch.rejected),
            "; ".join(f"{n} x {column} {reason}" for (column, reason), n in reasons),
        )
    if schema.order:
        return batch
    ordered = by_all_columns(batch, keys)
    if ordered.n_tied:
        _log.warning(
            "%d of %d events of this partition share their time with another%s; they are ordered by the values of "
            "all columns. Name the columns that order them as order=.",
            ordered.n_tied,
            len(ordered.batch),
            " of the same key" if keys else "",
        )
    return ordered.batch


def as_events(table: Any, bound: BoundQuery, batch: EventBatch, matches: Matches) -> Any:
    """The output of matches with the time and the order key of each as a composite event."""
    if bound.returns:
        times = Column(batch.time_us[matches.positions[matches.offsets[1:] - 1]], None, TIMESTAMP)
        table = with_time(table, arrow_of(times, time_type(bound, batch.table.schema)))
    return table.append_column(ORDER, texts_of(order_keys(batch, matches)).cast(pa.string()))


def as_declared(table: Any, schema: Any) -> Any:
    """The table in the types of ``schema``: Spark takes no others, down to which values may be NULL."""
    return table if table.schema.equals(schema, check_metadata=False) else table.cast(schema)


def identified(batch: EventBatch, matches: Matches) -> EventBatch:
    """The batch with all its columns as the order key, by which ``match_id`` knows events (SEMANTICS 1.1).

    Values of lists, structs and the like stand for themselves as text, for the events of matches.
    """
    order = []
    for name, dtype in batch.schema.fields.items():
        if dtype.kind in SCALARS:
            order.append(name)
            continue
        positions = np.unique(matches.positions)
        texts = np.full(len(batch), "", object)
        texts[positions] = [repr(value) for value in batch.arrow((name,), positions).to_pylist()]
        column, _ = column_of(pa.array(texts, pa.string()), name)
        order.append(f"cepheid text of {name}")
        batch.put_column((order[-1],), column)
    fields = {**batch.schema.fields, **{name: TEXT for name in order if name not in batch.schema.fields}}
    return replace(batch, schema=replace(batch.schema, fields=fields, order=tuple(order)))


def of_home(matches: Matches, batch: EventBatch) -> Matches:
    """The matches whose last event lies in the piece of time itself (`HOME`): its neighbours report the others."""
    if not len(matches):
        return matches
    home = batch.column((HOME,)).values.astype(np.bool_)
    return chosen(matches, home[matches.positions[matches.offsets[1:] - 1]])


def _by_piece(table: Any) -> Iterator[Any]:
    """The rows of each piece of time."""
    pieces = table.column(PIECE).to_numpy()
    order = np.argsort(pieces, kind="stable")
    numbers, starts = np.unique(pieces[order], return_index=True)
    if len(numbers) == 1:
        yield table
        return
    for rows in np.split(order, starts[1:]):
        yield table.take(pa.array(rows))
