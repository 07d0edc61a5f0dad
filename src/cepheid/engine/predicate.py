"""A condition on certain values, apart from the events that they are of: its truth follows from elements of stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from cepheid.compiler.columnwise.casts import as_type
from cepheid.compiler.elements import Elements, RemoteData
from cepheid.compiler.hosted import Hosted, values_read
from cepheid.compiler.vector import Resolve, evaluate, holds
from cepheid.events.arrow_types import arrow_type
from cepheid.events.column import AnyColumn, ArrowColumn, Column, all_absent, all_null, constant
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Aggregate, Attribute, Expression, Remote
from cepheid.ports.stores import Key

Frozen: TypeAlias = tuple[str, Any]
"""A value of one row: what it is (absent, null, float, list or value), and the value as JSON can have it."""


@dataclass(eq=False)
class Predicate:
    """A condition on certain values.

    Attributes:
        hosted: the number of the condition among those of the plan that the host computes.
        values: what it reads of events and aggregates, in the order of `compiler.hosted.values_read`.
        missing: the elements that it waits for.
        number: by which kernels know it; None where none does any more.
        truth: None as long as it is open.
    """

    hosted: int
    values: tuple[Frozen, ...]
    missing: list[tuple[Elements, Key]]
    number: int | None = None
    truth: bool | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the truth is known."""
        return self.truth is not None

    @property
    def settled(self) -> bool:
        """The truth, which is known."""
        assert self.truth is not None
        return self.truth


@dataclass(frozen=True)
class Truths:
    """Tells the truth of predicates.

    Attributes:
        bound: the query.
        hosted: the conditions, by number.
        remote: the elements.
    """

    bound: BoundQuery
    hosted: tuple[Hosted, ...]
    remote: RemoteData
    _read: dict[int, tuple[Attribute | Aggregate, ...]] = field(default_factory=dict)

    def frozen(self, number: int, resolve: Resolve) -> tuple[Frozen, ...]:
        """The values that a condition reads."""
        return tuple(_frozen(resolve(node), self.bound.types[node]) for node in self._nodes(number))

    def missing(self, number: int, values: tuple[Frozen, ...]) -> list[tuple[Elements, Key]]:
        """The elements that are not known yet, on which the truth of a condition depends for certain values."""
        return self.remote.unknown(self.hosted[number].expression, self._resolving(number, values))

    def truth(self, number: int, values: tuple[Frozen, ...]) -> bool:
        """Whether a condition holds, once all elements are known.

        Raises:
            DataError: an element is not of the declared type, or a registered function fails.
        """
        expression = self.hosted[number].expression
        column = evaluate(expression, self._resolving(number, values), 1, self.bound.catalog.functions)
        assert isinstance(column, Column)
        return bool(holds(column)[0])

    def _nodes(self, number: int) -> tuple[Attribute | Aggregate, ...]:
        if number not in self._read:
            self._read[number] = tuple(dict.fromkeys(values_read(self.hosted[number].expression)))
        return self._read[number]

    def _resolving(self, number: int, values: tuple[Frozen, ...]) -> Resolve:
        columns: dict[Expression, AnyColumn] = {
            node: _thawed(value, self.bound.types[node])
            for node, value in zip(self._nodes(number), values, strict=True)
        }

        def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
            return self.remote.column(node, resolve) if isinstance(node, Remote) else columns[node]

        return resolve


def _frozen(column: AnyColumn, dtype: DataType) -> Frozen:
    if column.absent is not None and column.absent[0]:
        return "absent", None
    if not column.is_valid()[0]:
        return "null", None
    if isinstance(column, ArrowColumn):
        sink = pa.BufferOutputStream()
        array = pa.concat_arrays([column.values.slice(0, 1)])
        with pa.ipc.new_stream(sink, pa.schema([pa.field("list", array.type)])) as stream:
            stream.write_batch(pa.record_batch([array], names=["list"]))
        return "list", sink.getvalue().to_pybytes().hex()
    if column.type != dtype and column.type.kind is not dtype.kind:
        column = as_type(column, dtype)
    value = column.values[0].item()
    if dtype.kind is Kind.TEXT:
        return "value", column.dictionary[int(value)].as_py()
    if isinstance(value, float):  # as a text, by which NaN is equal to itself
        return "float", value.hex()
    return "value", int(value)


def _thawed(value: Frozen, dtype: DataType) -> AnyColumn:
    kind, content = value
    carried = dtype.kind in (Kind.LIST, Kind.SET, Kind.STRUCT, Kind.OTHER)
    match kind:
        case "list":
            table = pa.ipc.open_stream(pa.py_buffer(bytes.fromhex(content))).read_all()
            return ArrowColumn(table.column(0).combine_chunks(), dtype)
        case "absent" | "null" if carried:
            return ArrowColumn(
                pa.nulls(1, arrow_type(dtype)), dtype, np.ones(1, np.bool_) if kind == "absent" else None
            )
        case "absent":
            return all_absent(dtype, 1)
        case "null":
            return all_null(dtype, 1)
        case "float":
            return constant(float.fromhex(content), dtype, 1)
        case _:
            return constant(content, dtype, 1)
