"""A batch of events as columns, in the order of the events; what the engine steps over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import SchemaError
from cepheid.events.arrow_memory import array_of, texts_of
from cepheid.events.arrow_types import data_type
from cepheid.events.column import (
    AnyColumn,
    ArrowColumn,
    Column,
    Int32Array,
    Int64Array,
    constant,
    text_column,
    unify,
)
from cepheid.events.convert import column_of, one_array, plain_numbers
from cepheid.events.schema import Schema
from cepheid.events.text import encode_text, require_utf8


@dataclass(frozen=True, eq=False)
class Rejected:
    """Events that were left out because they cannot be placed: no time, no type.

    Attributes:
        rows: positions in the caller's table, ascending, int64.
        columns: for each, the column at fault.
        reasons: for each, what is wrong.
    """

    rows: Int64Array
    columns: tuple[str, ...]
    reasons: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> Mapping[str, int]:
        """Column at fault -> number of events."""
        return Counter(self.columns)

    def table(self, first_row: int = 0) -> Any:
        """The same as a pyarrow Table with the columns row (int64), column and reason (string).

        Args:
            first_row: the number of the first row of the table.
        """
        return pa.table(
            {
                "row": array_of(self.rows + first_row),
                "column": texts_of(list(self.columns)),
                "reason": texts_of(list(self.reasons)),
            }
        )


NOTHING_REJECTED = Rejected(np.zeros(0, np.int64), (), ())


@dataclass(frozen=True, eq=False)
class EventBatch:
    """Events in the order that patterns are matched in: by time, then by order key (SEMANTICS 1.1).

    A *position* is the number of an event in that order, a *row* its number in the caller's table.

    Attributes:
        table: the caller's pyarrow Table, in the caller's order, with the rejected events.
        schema: what the columns are.
        time_us: event times, int64 microseconds since the epoch, ascending, shape (n,).
        rows: position -> row, int64, shape (n,); None where they are the same.
        rejected: the events that were left out.
        n_floored: attribute -> number of values that lost nanoseconds; complete for the time, and for the
            columns that were asked for so far.
        numbers: position -> number of the event in its stream, in the order of arrival, int64, shape (n,), where the
            batch is a part of a stream; None where it is all of it, and an event's number is its row.
        places: position -> place of the event in its partition of the stream, int64, shape (n,), -1 where that is not
            known yet; None where the batch begins the stream.
    """

    table: Any
    schema: Schema
    time_us: Int64Array
    rows: Int64Array | None = None
    rejected: Rejected = NOTHING_REJECTED
    n_floored: dict[str, int] = field(default_factory=dict)
    numbers: Int64Array | None = None
    places: Int64Array | None = None
    _columns: dict[tuple[str, ...], AnyColumn] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.time_us)

    @cached_property
    def type_codes(self) -> Int32Array | None:
        """Event types, int32 indices into `type_names`, shape (n,); None where the schema names no type column."""
        if self._types is None:
            return None
        return self._types[0] if self.rows is None else self._types[0][self.rows]

    @property
    def type_names(self) -> tuple[str, ...]:
        """The event types, each once, in no particular order; some may not occur."""
        return () if self._types is None else self._types[1]

    @cached_property
    def _types(self) -> tuple[Int32Array, tuple[str, ...]] | None:
        """A code for each row of the table, and the types that the codes stand for."""
        if self.schema.type is None:
            return None
        values = self.table.column(self.schema.type)
        if pa.types.is_null(values.type):  # all are rejected
            return np.zeros(len(values), np.int32), ()
        codes, _, dictionary = encode_text(values)
        return codes.astype(np.int32, copy=False), tuple(require_utf8(dictionary, self.schema.type).to_pylist())

    def column(self, path: tuple[str, ...]) -> AnyColumn:
        """An attribute of all events, by position; converted at the first call and kept.

        Args:
            path: the name of a column, and of the fields inside it: ``("address", "city")``.

        Returns:
            A `Column`, or an `ArrowColumn` for lists, structs and what cannot be computed with.

        Raises:
            SchemaError: there is no such column or field.
            DataError: a value does not fit int64, or a text is not UTF-8.
        """
        have = self._columns.get(path)
        if have is not None:
            return have
        name = ".".join(path)
        column, n_floored = column_of(self._nested(path), name)
        if n_floored:
            self.n_floored[name] = n_floored
        if self.rows is not None:
            column = column.take(self.rows)
        self._columns[path] = column
        return column

    def column_at(self, path: tuple[str, ...], positions: Int64Array) -> AnyColumn:
        """An attribute of some events; numbers that `column` was not asked for are converted for these alone.

        Args:
            path: as for `column`.
            positions: of the events, not negative.

        Raises:
            SchemaError, DataError: as `column`.
        """
        numbers = self.plain(path)
        if numbers is not None:
            taken = numbers.take(positions)
            wide = np.float64 if taken.dtype.kind == "f" else np.int64
            return Column(taken.astype(wide, copy=False), None, data_type(self.table.schema.field(path[0]).type))
        return self.column(path).take(positions)

    def plain(self, path: tuple[str, ...]) -> npt.NDArray[Any] | None:
        """An attribute as it lies in the table, where `column` was not asked for it and would only widen it.

        Returns:
            By position; integers of up to 63 bits, float64 or float32; or None.
        """
        if path in self._columns or self.rows is not None or len(path) > 1 or path[0] not in self.table.column_names:
            return None
        return plain_numbers(self.table.column(path[0]))

    def may_be_null(self, path: tuple[str, ...]) -> bool:
        """False where an attribute is known to have a value in every event."""
        return len(path) > 1 or path[0] not in self.table.column_names or self._has_null(path[0])

    def _has_null(self, name: str) -> bool:
        values = self.table.column(name)
        simple = pa.types.is_primitive(values.type) or pa.types.is_string(values.type)
        return not simple or pa.types.is_null(values.type) or values.null_count > 0

    def put_column(self, path: tuple[str, ...], column: AnyColumn) -> None:
        """Make ``column`` (by position) what `column` returns for ``path`` from now on.

        For callers that have it in a better form: text with a dictionary that several columns share.
        """
        self._columns[path] = column

    def arrow(self, path: tuple[str, ...], positions: Int64Array | None = None) -> Any:
        """An attribute as an Arrow array of the type that it came in with.

        Args:
            path: as for `column`.
            positions: the events to give it of, or None for all; negative for a NULL.
        """
        values = self._nested(path)
        if positions is None:
            return one_array(values if self.rows is None else values.take(array_of(self.rows)))
        return one_array(take_rows(values, self.rows_of(positions)))

    def rows_of(self, positions: Int64Array) -> Int64Array:
        """The rows of the caller's table in which the events lie; negative positions stay as they are."""
        if self.rows is None:
            return positions
        if len(self.rows) == 0 or not len(positions) or positions.min() >= 0:
            return self.rows[positions] if len(self.rows) else positions
        return np.where(positions >= 0, self.rows[positions], -1)

    def numbers_of(self, positions: Int64Array) -> Int64Array:
        """The numbers of events in the stream or table that they came in, which tell them apart; see `numbers`."""
        return self.rows_of(positions) if self.numbers is None else self.numbers[positions]

    def _nested(self, path: tuple[str, ...]) -> Any:
        name, *fields = path
        if name not in self.table.column_names:
            raise SchemaError(
                f"the events have no column {name!r}",
                remedy=f"the columns are: {', '.join(self.table.column_names) or 'none'}",
            )
        values = self.table.column(name)
        for depth, inner in enumerate(fields, start=1):
            index = values.type.get_field_index(inner) if pa.types.is_struct(values.type) else -1
            if index < 0:
                raise SchemaError(f"the column {'.'.join(path[:depth])!r} has no field {inner!r}")
            # struct_field gives NULL where the struct itself is NULL, which reading the child does not.
            values = pc.struct_field(values, [index])
        return values


def take_rows(values: Any, rows: Int64Array) -> Any:
    """The given rows of an Arrow array or table; NULL for negative ones (of an array).

    Views of text come out as text: Arrow cannot take rows of them.
    """
    if pa.types.is_string_view(getattr(values, "type", None) or pa.null()):
        values = values.cast(pa.large_string())
    elif pa.types.is_binary_view(getattr(values, "type", None) or pa.null()):
        values = values.cast(pa.large_binary())
    if len(rows) and rows.min() < 0:
        return values.take(array_of(rows, rows < 0))
    return values.take(array_of(rows))


__all__ = [
    "AnyColumn",
    "ArrowColumn",
    "Column",
    "EventBatch",
    "Rejected",
    "constant",
    "take_rows",
    "text_column",
    "unify",
]
