"""What rows of bound events are tested on: order, window, SAME and conditions, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cepheid.compiler.columns import ordered_ints
from cepheid.compiler.vector import evaluate, holds
from cepheid.engine.aggregates import aggregated, counted
from cepheid.engine.event_store import EventStore
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, BoolArray, Column, Int64Array, all_absent
from cepheid.events.types import Kind
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Aggregate, At, Attribute, Expression, Remote
from cepheid.plan.projection import Pair

NO_PARTITION = -1


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of events, by slot.

    Attributes:
        columns: variable -> the slot of its event in each row, int64, (n,).
        first_us, last_us: the times of the first and the last event of each row.
    """

    columns: Mapping[str, Int64Array]
    first_us: Int64Array
    last_us: Int64Array

    def __len__(self) -> int:
        return len(self.first_us)

    def take(self, rows: Int64Array) -> Rows:
        """Some of the rows."""
        columns = {name: slots[rows] for name, slots in self.columns.items()}
        return Rows(columns, self.first_us[rows], self.last_us[rows])


class JoinEvents:
    """The events of an `EventStore` as they are now, and tests of rows of them."""

    def __init__(self, bound: BoundQuery, store: EventStore) -> None:
        """Take what the store holds; it must not change as long as this is used."""
        self.bound = bound
        self.batch: EventBatch = store.batch
        self.ranks = store.ranks
        window = bound.window
        self.longest_us = None if window.within_us is None else window.within_us - window.exclusive

    @cached_property
    def ordered_us(self) -> Int64Array:
        """The times of all events, ascending: those of rank 0, 1, ..."""
        return np.sort(self.batch.time_us)

    @cached_property
    def partitions(self) -> Int64Array | None:
        """The partition of each event, by slot; `NO_PARTITION` for none. None where all are in one."""
        if not self.bound.partition:
            return None
        n = len(self.batch)
        codes = np.zeros(n, np.int64)
        in_one = np.ones(n, np.bool_)
        for expression in self.bound.partition:
            column = self._evaluated(expression, {}, n)
            in_one &= column.is_valid()
            _, codes_of_one = np.unique(comparable(column), return_inverse=True)
            _, codes = np.unique(codes * (n + 1) + codes_of_one.reshape(-1), return_inverse=True)
        return np.where(in_one, codes.reshape(-1), NO_PARTITION)

    def rows(self, variables: Iterable[str], slots: Int64Array) -> Rows:
        """Rows from their slots, int64, (n, number of variables)."""
        times = self.batch.time_us[slots]
        columns = {name: np.ascontiguousarray(slots[:, i]) for i, name in enumerate(variables)}
        return Rows(columns, times.min(axis=1), times.max(axis=1))

    def takes(self, variable: str, slots: Int64Array) -> BoolArray:
        """Where a variable takes events of these types."""
        types = self.bound.variables[variable].types
        codes = self.batch.type_codes
        if not types or codes is None:
            return np.ones(len(slots), np.bool_)
        known = np.array([name in types for name in self.batch.type_names], np.bool_)
        return known[codes[slots]]

    def in_order(self, columns: Mapping[str, Int64Array], before: Iterable[Pair], apart: Iterable[Pair]) -> BoolArray:
        """Where rows have the events of some pairs in order, and of others not the same."""
        fits = np.ones(len(next(iter(columns.values()))), np.bool_)
        for one, other in before:
            fits &= self.ranks[columns[one]] < self.ranks[columns[other]]
        for one, other in apart:
            fits &= columns[one] != columns[other]
        return fits

    def in_window(self, first_us: Int64Array, last_us: Int64Array) -> BoolArray:
        """Where WITHIN lets the first and the last event stand in one match."""
        if self.longest_us is None:
            return np.ones(len(first_us), np.bool_)
        return last_us - first_us <= self.longest_us

    def holds(self, conjunct: Conjunct, columns: Mapping[str, Int64Array], n: int) -> BoolArray:
        """Where a condition lets rows pass."""
        return np.broadcast_to(holds(self._evaluated(conjunct.expression, columns, n)), n)

    def value(self, expression: Expression, columns: Mapping[str, Int64Array], n: int) -> Column:
        """An expression over the events of rows."""
        return self._evaluated(expression, columns, n)

    def _evaluated(self, expression: Expression, columns: Mapping[str, Int64Array], n: int) -> Column:
        def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
            match node:
                case Attribute(variable=None):
                    return self.batch.column(node.path)
                case Attribute(at=At.PREV):
                    return all_absent(self.bound.types[node], n)  # of a single event there is none before it
                case Attribute():
                    assert node.variable is not None
                    return self.batch.column(node.path).take(columns[node.variable])
                case Aggregate():
                    return self._aggregate(node, columns, n)
                case Remote():
                    raise AssertionError("queries with look-ups are not split")

        try:
            column = evaluate(expression, resolve, n, self.bound.catalog.functions)
        except DataError as error:
            error.located(self.bound.text, self.bound.origin)
            raise
        assert isinstance(column, Column), "bind lets only scalars be compared"
        return column

    def _aggregate(self, node: Aggregate, columns: Mapping[str, Int64Array], n: int) -> Column:
        """An aggregate over a variable that has one event in each row."""
        of_row = np.arange(n)
        values = None if node.argument is None else self._evaluated(node.argument, columns, n)
        if node.function == "count":
            return counted(values, of_row, n)
        assert values is not None, "only count goes without an argument"
        if node.function in ("min", "max"):
            return values
        return aggregated(node.function, values, of_row, n, self.bound.types[node])


def comparable(column: Column) -> Int64Array:
    """Whole numbers that are equal where the values are, within one column (or columns of one dictionary)."""
    if column.type.kind is Kind.FLOAT:
        return ordered_ints(column.values)
    return column.values.astype(np.int64, copy=False)
