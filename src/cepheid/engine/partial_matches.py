"""Partial matches as they travel between engines: events, and which of them each binds to which variable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.bindings import Bindings
from cepheid.engine.matches import Matches
from cepheid.errors import DataError, SchemaError
from cepheid.events.batch import EventBatch, take_rows
from cepheid.events.column import Int64Array
from cepheid.events.dictionaries import unified
from cepheid.events.ingest import read_events
from cepheid.events.schema import Schema
from cepheid.language.bound import BoundQuery


@dataclass(frozen=True, eq=False)
class PartialMatches:
    """Rows that each bind an event to every one of some variables.

    Attributes:
        batch: the events, with all that tells them apart and in order: time, type, order key, attributes.
        variables: the names of the variables, of k.
        positions: int64, (n, k): the positions of the events in ``batch``.
    """

    batch: EventBatch
    variables: tuple[str, ...]
    positions: Int64Array

    def __post_init__(self) -> None:
        if self.positions.ndim != 2 or self.positions.shape[1] != len(self.variables):
            raise ValueError(f"positions of shape {self.positions.shape} for {len(self.variables)} variables")

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, variables: Sequence[str]) -> PartialMatches:
        """What they bind to some of the variables, each row once: an *output selector* of INEv, section 5.1.

        Args:
            variables: names of these.

        Raises:
            ValueError: they do not bind one of them.
        """
        columns = [self.variables.index(name) for name in variables]
        return PartialMatches(self.batch, tuple(variables), np.unique(self.positions[:, columns], axis=0))

    def table(self) -> Any:
        """A pyarrow Table with one row each: a struct for each variable, with all columns of its event."""
        arrays = []
        whole = self.batch.table
        for column in self.positions.T:
            events = take_rows(whole, self.batch.rows_of(np.ascontiguousarray(column))).combine_chunks()
            fields = [values.chunk(0) if values.num_chunks else pa.array([], values.type) for values in events.columns]
            arrays.append(pa.StructArray.from_arrays(fields, fields=list(whole.schema)))
        return pa.table(dict(zip(self.variables, arrays, strict=True)))


def partial_matches_of(bound: BoundQuery, batch: EventBatch, matches: Matches) -> PartialMatches:
    """The matches of a projection (`plan.projection.project`), as an engine found them.

    Args:
        bound: the projection, or any other query that binds each variable once.
        batch: the events that the matches point into.
        matches: as `engine.session.run` gives them.
    """
    bindings = Bindings(bound, batch, matches)
    names = tuple(name for name, variable in bound.variables.items() if not variable.negated)
    columns = [bindings.single(name) for name in names]
    return PartialMatches(batch, names, np.stack(columns, axis=1) if columns else np.zeros((len(matches), 0), np.int64))


def single_events(variable: str, batch: EventBatch) -> PartialMatches:
    """All events of a batch as partial matches of one variable; those that it does not take are passed over."""
    return PartialMatches(batch, (variable,), np.arange(len(batch))[:, np.newaxis])


def read_partial_matches(table: Any, schema: Schema) -> PartialMatches:
    """Partial matches from what `PartialMatches.table` gave.

    Args:
        table: a pyarrow Table with one struct column for each variable, of n rows.
        schema: of the events.

    Raises:
        SchemaError: a column is no struct, or lacks a column that ``schema`` names for time, type or order.
        DataError: an event is NULL, or has no time or no type.
    """
    n, parts = table.num_rows, []
    for name in table.column_names:
        column = table.column(name)
        if not pa.types.is_struct(column.type):
            raise SchemaError(
                f"the column {name!r} of partial matches is {column.type}, and not an event",
                remedy="give a struct of the event's columns for each variable, as PartialMatches.table() does",
            )
        if column.null_count:
            raise DataError(
                f"{column.null_count} partial matches bind no event to {name}", remedy="leave them out: they are none"
            )
        chunks = [pa.Table.from_batches([pa.RecordBatch.from_struct_array(chunk)]) for chunk in column.chunks]
        parts.append(pa.concat_tables(chunks) if chunks else pa.schema(list(column.type)).empty_table())
    if not parts:
        raise SchemaError("the table of partial matches has no column", remedy="give one for each variable")
    batch = read_events(unified(pa.concat_tables(parts)).combine_chunks(), schema)
    if len(batch.rejected):
        row = int(batch.rejected.rows[0])
        raise DataError(
            f"the event that row {row % n} binds to {table.column_names[row // n]} has no place: "
            f"{batch.rejected.reasons[0]}",
            remedy="partial matches are made of events with a time and a type",
        )
    places = np.arange(len(batch), dtype=np.int64)
    if batch.rows is not None:
        places = np.empty(len(batch), np.int64)
        places[batch.rows] = np.arange(len(batch))
    return PartialMatches(batch, tuple(table.column_names), places.reshape(len(parts), n).T.copy())
