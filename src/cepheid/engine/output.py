"""Matches as a table: RETURN's columns, or the default ones (SEMANTICS 8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler.elements import RemoteData
from cepheid.compiler.vector import Resolve, evaluate
from cepheid.engine.aggregates import aggregated, counted, extremes
from cepheid.engine.bindings import Bindings, Elements, PartialBindings
from cepheid.engine.match_id import match_ids
from cepheid.engine.matches import Matches
from cepheid.engine.output_schema import (
    About,
    OutputColumn,
    carried,
    given_type,
    is_each_element,
    output_columns,
    timed_out_columns,
)
from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, BoolArray, Column, Int64Array
from cepheid.events.convert import arrow_of
from cepheid.events.types import TIMESTAMP
from cepheid.language.bound import BoundQuery, Variable
from cepheid.language.tree import Aggregate, At, Attribute, Expression, Remote

MOST_ROWS = 1 << 22
"""Rows that are made at a time: an Arrow array of texts holds 2 GiB of them."""


def assemble(
    bound: BoundQuery,
    batch: EventBatch,
    matches: Matches,
    *,
    with_match_id: bool | None = None,
    source: str = "",
    only: Collection[str] | None = None,
    remote: RemoteData | None = None,
) -> Any:
    """The matches of a query as a pyarrow Table, one row each, in their order.

    Args:
        bound: the query, its parameters replaced by constants.
        batch: the events that the matches point into.
        matches: n matches.
        with_match_id: as in `output_columns`.
        source: the name of the table or stream, for ``match_id``.
        only: the names of the columns to make; None for all.
        remote: what is known of remote stores; None: nothing yet.

    Returns:
        A table of n rows with the schema that `output_schema` gives (of the columns asked for). What a match does not
        bind is NULL.

    Raises:
        DataError: a value does not fit int64, a registered function fails, a remote store gives up, or lists have too
            many elements.
    """
    columns = output_columns(bound, batch.table.schema, with_match_id=with_match_id)
    if only is not None:
        columns = tuple(column for column in columns if column.name in only)

    def made(some: Matches) -> _Rows:
        return _Rows(bound, batch, some, Bindings(bound, batch, some), source, remote)

    return _in_parts(columns, matches, made)


def assemble_timed_out(bound: BoundQuery, batch: EventBatch, timed_out: Matches) -> Any:
    """What timed out as a pyarrow Table with the schema that `timed_out_schema` gives, one row each, in its order.

    Args:
        bound, batch: see `assemble`.
        timed_out: from `engine.session.run_outputs`.

    Raises:
        DataError: lists have too many elements.
    """
    columns = timed_out_columns(bound, batch.table.schema)

    def made(some: Matches) -> _Rows:
        return _Rows(bound, batch, some, PartialBindings(bound, batch, some), "", None)

    return _in_parts(columns, timed_out, made)


def _in_parts(columns: Sequence[OutputColumn], matches: Matches, made: Callable[[Matches], _Rows]) -> Any:
    schema = pa.schema([pa.field(column.name, column.type) for column in columns])
    parts = []
    for start in range(0, max(len(matches), 1), MOST_ROWS):
        whole = len(matches) <= MOST_ROWS
        rows = made(matches if whole else matches.part(start, min(start + MOST_ROWS, len(matches))))
        parts.append(pa.Table.from_arrays([rows.array(column) for column in columns], schema=schema))
    return pa.concat_tables(parts)


_MOST_ELEMENTS = 2**31 - 1
_END_OF_INPUT_US = 2**63 - 1


@dataclass(frozen=True, eq=False)
class _Rows:
    bound: BoundQuery
    batch: EventBatch
    matches: Matches
    bindings: Bindings
    source: str
    given: RemoteData | None
    _known: dict[Expression, AnyColumn] = field(default_factory=dict)

    @cached_property
    def remote(self) -> RemoteData:
        """What is known of remote stores."""
        return RemoteData(self.bound) if self.given is None else self.given

    # --- columns -------------------------------------------------------------------------------------

    def array(self, column: OutputColumn) -> Any:
        """A column of the output as an Arrow array of its type."""
        holds = column.holds
        if isinstance(holds, Variable):
            return self._events_of(holds, column.type)
        if isinstance(holds, About):
            return self._about_match(holds, column.type)
        return self._returned(holds, column.type)

    def _about_match(self, what: About, arrow: Any) -> Any:
        match what:
            case About.MATCH_ID:
                return match_ids(self.bound, self.batch, self.matches, self.source)
            case About.FIRST_TIME:
                return self._time_of(self.bindings.first, arrow)
            case About.LAST_TIME:
                return self._time_of(self.bindings.last, arrow)
            case About.CLOSED_TIME:
                closed = self.matches.decided_us
                valid = closed != _END_OF_INPUT_US
                return arrow_of(Column(np.where(valid, closed, 0), valid, TIMESTAMP), arrow)
            case About.WINDOW_START:
                bounds = self.matches.window_start_us
            case About.WINDOW_END:
                bounds = self.matches.window_end_us
        assert bounds is not None, "the engine gives the bounds of windows that slide"
        if pa.types.is_timestamp(arrow):
            return arrow_of(Column(bounds, None, TIMESTAMP), arrow)
        return array_of(bounds)

    def _time_of(self, positions: Int64Array, arrow: Any) -> Any:
        path = (self.bound.schema.time,)
        if arrow == self.batch.table.schema.field(path[0]).type:
            return self._given(path, positions)
        return arrow_of(Column(self.batch.time_us[positions], None, TIMESTAMP), arrow)

    def _events_of(self, variable: Variable, arrow: Any) -> Any:
        """One struct for each match, or one list of structs."""
        if not variable.loop:
            positions = self.bindings.single(variable.name)
            return self._structs(tuple(variable.fields), positions, arrow)
        elements = self.bindings.elements(variable.name)
        structs = self._structs(tuple(variable.fields), elements.positions, arrow.value_type)
        return self._lists(variable.name, elements, structs)

    def _structs(self, names: tuple[str, ...], positions: Int64Array, arrow: Any) -> Any:
        missing = positions < 0
        fields = [self._given((name,), positions) for name in names]
        mask = array_of(missing) if missing.any() else None
        return pa.StructArray.from_arrays(fields, fields=list(arrow), mask=mask)

    def _lists(self, variable: str, elements: Elements, values: Any) -> Any:
        """The values of a variable's elements as one list for each match; NULL where its branch was not taken."""
        absent = self.bindings.not_taken(variable)
        mask = None if absent is None else array_of(absent)
        if len(elements.positions) > _MOST_ELEMENTS:
            raise DataError(
                f"the lists of {variable} have {len(elements.positions)} elements, and an Arrow array of lists holds "
                f"{_MOST_ELEMENTS}",
                remedy="match a part of the events at a time, or return aggregates instead of lists",
            )
        return pa.ListArray.from_arrays(array_of(elements.offsets.astype(np.int32)), values, mask=mask)

    def _returned(self, expression: Expression, arrow: Any) -> Any:
        if isinstance(expression, Attribute):
            if is_each_element(self.bound, expression):
                assert expression.variable is not None
                elements = self.bindings.elements(expression.variable)
                return self._lists(expression.variable, elements, self._given(expression.path, elements.positions))
            return self._given(expression.path, self._positions(expression))
        attribute = carried(expression)
        if attribute is not None:
            assert isinstance(expression, Aggregate)
            return self._given(attribute.path, self._extreme_positions(expression, attribute))
        return arrow_of(self._evaluated(expression, self._resolve, len(self.matches)), arrow)

    def _evaluated(self, expression: Expression, resolve: Resolve, n: int) -> AnyColumn:
        try:
            return evaluate(expression, resolve, n, self.bound.catalog.functions)
        except DataError as error:  # of a registered function
            error.located(self.bound.text, self.bound.origin)
            raise

    def _given(self, path: tuple[str, ...], positions: Int64Array) -> Any:
        """An attribute of the events at these positions, as it came in; NULL for negative ones."""
        values = self.batch.arrow(path, positions)
        arrow = given_type(self.bound, self.batch.table.schema, path)
        return values if values.type == arrow else values.cast(arrow)

    # --- values of expressions -----------------------------------------------------------------------

    def _positions(self, attribute: Attribute) -> Int64Array:
        """The position of the event that an attribute reads in each match, -1 where there is none."""
        variable = attribute.variable
        if variable is None:
            return self.bindings.first  # SAME: all events of a match have the same
        if not self.bound.variables[variable].loop:
            return self.bindings.single(variable)
        elements = self.bindings.elements(variable)
        return elements.first() if attribute.at is At.FIRST else elements.last()

    def _resolve(self, node: Attribute | Aggregate | Remote) -> AnyColumn:
        if node not in self._known:
            match node:
                case Attribute():
                    self._known[node] = _gathered(self.batch.column(node.path), self._positions(node))
                case Aggregate():
                    self._known[node] = self._aggregate(node)
                case Remote():
                    self._known[node] = self.remote.looked_up(node, self._resolve, len(self.matches))
        return self._known[node]

    def _aggregate(self, node: Aggregate) -> Column:
        elements = self.bindings.elements(node.variable)
        n = len(self.matches)
        if node.function == "count":
            values = None if node.argument is None else self._element_values(node.argument, elements)
            column = counted(values, elements.match_of, n)
        else:
            assert node.argument is not None, "only count goes without an argument"
            values = self._element_values(node.argument, elements)
            assert isinstance(values, Column), "bind lets only scalars be aggregated"
            column = aggregated(node.function, values, elements.match_of, n, self.bound.types[node])
        return _absent_where(self.bindings.not_taken(node.variable), column)

    def _element_values(self, argument: Expression, elements: Elements) -> AnyColumn:
        """The argument of an aggregate for each element of its variable."""

        def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
            if isinstance(node, Remote):
                return self.remote.looked_up(node, resolve, len(elements.positions))
            if not isinstance(node, Attribute):
                return self._resolve(node)
            return self.batch.column(node.path).take(elements.positions)

        return self._evaluated(argument, resolve, len(elements.positions))

    def _extreme_positions(self, node: Aggregate, attribute: Attribute) -> Int64Array:
        """Where min or max found its value in each match, -1 where it found none."""
        elements = self.bindings.elements(node.variable)
        values = self.batch.column(attribute.path).take(elements.positions)
        assert isinstance(values, Column), "bind lets only scalars be aggregated"
        best = extremes(node.function, values, elements.match_of, len(self.matches))
        positions = np.full(len(best), -1, np.int64)
        found = best >= 0
        positions[found] = elements.positions[best[found]]
        return positions


def _gathered(column: AnyColumn, positions: Int64Array) -> AnyColumn:
    """The values at these positions, absent where they are negative."""
    missing = positions < 0
    return column.take(positions, missing) if missing.any() else column.take(positions)


def _absent_where(absent: BoolArray | None, column: Column) -> Column:
    if absent is None:
        return column
    values = column.values.copy()
    values[absent] = 0
    valid = ~absent if column.valid is None else column.valid & ~absent
    return Column(values, valid, column.type, column.dictionary, column.ordered, absent)
