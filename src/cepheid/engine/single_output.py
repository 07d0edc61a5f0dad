"""Matches as dicts, made from the values of their events without a table: for output that only passes values on."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import timedelta
from hashlib import blake2b
from typing import Any, TypeAlias

import pyarrow as pa

from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.match_id import DIGEST_BYTES, prefix_of
from cepheid.engine.output_schema import About, OutputColumn, output_columns
from cepheid.engine.written import variables_of
from cepheid.events.single import EventReader, Values
from cepheid.kernels import layout as k
from cepheid.language.bound import BoundQuery, Variable
from cepheid.language.tree import Attribute

Match: TypeAlias = tuple[Sequence[Values], Sequence[int], Sequence[int]]
"""Of its events, in order: their values, their numbers in the stream, their times, us."""

Cell: TypeAlias = Callable[[Match], Any]


def row_maker(
    bound: BoundQuery, compiled: CompiledPlan, reader: EventReader, events: Any
) -> Callable[[Match], dict[str, Any]] | None:
    """What makes the row of a match, as `engine.output.assemble` and Arrow's ``to_pylist`` would.

    Args:
        bound: the query.
        compiled: its plan.
        reader: reads the events.
        events: their pyarrow Schema.

    Returns:
        A function; None where matches vary in length, or a column is computed.
    """
    length = int(compiled.plan[k.P_FIXED_LENGTH])
    if not length or any(variable.loop for variable in bound.variables.values()):
        return None
    made = _Cells(bound, compiled, length, reader, events)
    cells = []
    for column in output_columns(bound, events):
        cell = made.of(column)
        if cell is None:
            return None
        cells.append((column.name, cell))

    def row(match: Match) -> dict[str, Any]:
        return {name: cell(match) for name, cell in cells}

    return row


class _Cells:
    def __init__(self, bound: BoundQuery, compiled: CompiledPlan, length: int, reader: EventReader, events: Any):
        self.bound = bound
        self.reader = reader
        self.events = events
        self.numbers = variables_of(compiled)[:length].tolist()
        names = list(bound.variables)
        self.place_of = {names[number]: place for place, number in enumerate(self.numbers)}

    def of(self, column: OutputColumn) -> Cell | None:
        """What makes a column's value; None where that takes more than passing values on."""
        holds = column.holds
        if isinstance(holds, About):
            return self.about(holds, column.type)
        if isinstance(holds, Variable):
            return self.fields(holds)
        if not isinstance(holds, Attribute) or len(holds.path) > 1:
            return None
        at = self.reader.names.index(holds.path[0])
        place = 0 if holds.variable is None else self.place_of.get(holds.variable)
        return None if place is None else lambda match: match[0][place][at]

    def about(self, what: About, arrow: Any) -> Cell | None:
        place = {About.FIRST_TIME: 0, About.LAST_TIME: -1}.get(what)
        if place is not None:
            time = self.bound.schema.time
            if arrow == self.events.field(time).type:
                at = self.reader.names.index(time)
                return lambda match: match[0][place][at]
            epoch = pa.scalar(0, arrow).as_py()  # in UTC, and us
            return lambda match: epoch + timedelta(microseconds=match[2][place])
        if what is not About.MATCH_ID or self.bound.schema.order:
            return None
        copy = blake2b(prefix_of(self.bound, ""), digest_size=DIGEST_BYTES).copy
        pack = struct.Struct(f"<{2 * len(self.numbers)}q").pack
        variables = self.numbers

        def match_id(match: Match) -> str:
            state = copy()
            state.update(pack(*[word for entry in zip(variables, match[1], strict=True) for word in entry]))
            return state.hexdigest()

        return match_id

    def fields(self, variable: Variable) -> Cell | None:
        place = self.place_of.get(variable.name)
        if place is None:
            return None
        names = tuple(variable.fields)
        if names == self.reader.names:
            return lambda match: dict(zip(names, match[0][place], strict=True))
        named = [(name, self.reader.names.index(name)) for name in names]
        return lambda match: {name: match[0][place][at] for name, at in named}
