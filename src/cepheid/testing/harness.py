"""Runs a query on the oracle and on the engine, so that the two can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from cepheid.compiler import keyed_events
from cepheid.engine import keyed, pool
from cepheid.engine.composite import events_for
from cepheid.engine.matches import Matches, no_matches
from cepheid.engine.output import assemble
from cepheid.engine.session import prepare, run, run_outputs, run_plan
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events
from cepheid.events.schema import TIME_UNITS, Schema
from cepheid.events.types import DataType, Kind
from cepheid.kernels import advance_keyed
from cepheid.language.bound import BoundQuery
from cepheid.plan.evaluation import parse_evaluation
from cepheid.testing.oracle import match, returned
from cepheid.testing.oracle_composites import composite_events
from cepheid.testing.oracle_events import OracleEvent, OracleMatch

ORDER, SOURCE = "order key", "source of the event"
"""Columns of `table_of` beside those of the schema."""

END_OF_INPUT_US = 2**63 - 1
"""When a match is decided that nothing before the end of the input decides."""

Bindings = tuple[tuple[str, int], ...]
"""A match: (variable, number of the event in the order of arrival), in the order of the events."""


def arrow_type(dtype: DataType) -> Any:
    """An Arrow type for a scalar type, or a list."""
    match dtype.kind:
        case Kind.BOOL:
            return pa.bool_()
        case Kind.INT:
            return pa.int64()
        case Kind.FLOAT:
            return pa.float64()
        case Kind.TEXT:
            return pa.string()
        case Kind.TIMESTAMP:
            return pa.timestamp("us", "UTC")
        case Kind.DURATION:
            return pa.duration("us")
        case Kind.DECIMAL:
            return pa.decimal128(dtype.precision or 18, dtype.scale or 0)
        case Kind.LIST if dtype.element is not None:
            return pa.list_(arrow_type(dtype.element))
    raise TypeError(f"no Arrow type for {dtype}")


def table_of(events: Sequence[OracleEvent], schema: Schema) -> tuple[Any, Schema]:
    """Events of the oracle as a pyarrow Table, with the order key and the source as columns, and its schema.

    The order keys must be of one part.
    """
    columns = {}
    for name, dtype in schema.fields.items():
        if name == schema.time:
            # Numbers are in the unit of the column; times as such are in microseconds.
            unit_us = TIME_UNITS[schema.time_unit or "us"] if dtype.kind in (Kind.INT, Kind.FLOAT) else 1
            whole = dtype.kind is not Kind.FLOAT
            values: list[object] = [event.time // unit_us if whole else event.time / unit_us for event in events]
        elif name == schema.type:
            values = [event.type for event in events]
        else:
            values = [event.values.get(name) for event in events]
        columns[name] = pa.array(values, arrow_type(dtype))
    columns[ORDER] = pa.array([event.order[0] for event in events], pa.int64())
    columns[SOURCE] = pa.array([event.source for event in events], pa.string())
    fields = {**schema.fields, ORDER: DataType(Kind.INT), SOURCE: DataType(Kind.TEXT)}
    return pa.table(columns), replace(schema, fields=fields, order=(ORDER, SOURCE))


def innermost(bound: BoundQuery) -> BoundQuery:
    """The query that reads events which are no composite ones: ``bound`` itself, or the last of FROM."""
    return bound if bound.inner is None else innermost(bound.inner)


def engine_matches(bound: BoundQuery, events: Sequence[OracleEvent]) -> list[Bindings]:
    """The matches that the compiled engine finds, in its order; a composite event is the number of its match."""
    table, schema = table_of(events, innermost(bound).schema)
    batch = events_for(bound, read_events(table, schema))
    found = run(bound, batch)
    names = list(bound.variables)
    rows = batch.rows_of(found.positions)
    return [
        tuple((names[found.variables[i]], int(rows[i])) for i in range(found.offsets[m], found.offsets[m + 1]))
        for m in range(len(found))
    ]


def oracle_matches(bound: BoundQuery, events: Sequence[OracleEvent]) -> list[Bindings]:
    """The matches that the oracle finds, in its order; a composite event is the number of its match."""
    own = events
    if bound.inner is not None:
        own = composite_events(bound, match(bound.inner, events, timed_out=False).matches, None, {})
    number = {event.identity: i for i, event in enumerate(own)}
    result = match(bound, events, timed_out=False)
    return [tuple((name, number[event.identity]) for name, event in found.bindings) for found in result.matches]


# --- all that a road says about its matches ---------------------------------------------------------


class Answer(NamedTuple):
    """What a road says about one match.

    Attributes:
        bindings: see `Bindings`.
        window: the first and last bound of the sliding window that holds it, or None.
        decided_us: event time of the moment when it is decided; the greatest int64 for the end of the input.
        returned: the columns of RETURN, in their order; empty where the query has no RETURN.
    """

    bindings: Bindings
    window: tuple[int, int] | None
    decided_us: int
    returned: tuple[object, ...]


@contextmanager
def little_room(n: int) -> Iterator[None]:
    """In its block, pools and outputs begin with room for so many, a power of two: they run full again and again."""
    usual = pool.FIRST_ROWS, pool.FIRST_MATCHES
    pool.FIRST_ROWS = pool.FIRST_MATCHES = n
    try:
        yield
    finally:
        pool.FIRST_ROWS, pool.FIRST_MATCHES = usual


@contextmanager
def keyed_kernel_for_all() -> Iterator[None]:
    """In its block, tables of any length go to the kernel for chains of one key, where it can run the query.

    Its lists begin with room for one partial match; as plain Python it steps over few events at a time.
    """
    kernel: Any = advance_keyed
    usual = keyed_events.FEWEST_EVENTS, keyed.FIRST_ROOM, kernel.BLOCK
    keyed_events.FEWEST_EVENTS = keyed.FIRST_ROOM = 1
    kernel.BLOCK = 3
    try:
        yield
    finally:
        keyed_events.FEWEST_EVENTS, keyed.FIRST_ROOM, kernel.BLOCK = usual


LEFT = ("timed out",)
"""In place of the columns of RETURN, for what timed out: its window closed when it says that it was decided."""


class How(NamedTuple):
    """How the engine is asked.

    Attributes:
        room: partial matches and matches for which there is room at first; None for as many as usual.
        timed_out: what times out is asked for, too.
        evaluation: the evaluation plan, as `parse_evaluation` reads it; None for all as events arrive.
        keyed: see `keyed_kernel_for_all`.
    """

    room: int | None = None
    timed_out: bool = False
    evaluation: str | None = None
    keyed: bool = False


AS_USUAL = How()


class EngineRoad:
    """The compiled engine with one query."""

    def __init__(
        self,
        bound: BoundQuery,
        room: int | None = None,
        *,
        timed_out: bool = False,
        evaluation: str | None = None,
        keyed: bool = False,
    ) -> None:
        """Prepare the query.

        Args:
            bound: the query.
            room, timed_out, evaluation, keyed: see `How`.

        Raises:
            NotSupportedError: the engine cannot run it yet.
        """
        self.bound = bound
        self.how = How(room, timed_out, evaluation, keyed)
        plan = None if evaluation is None else parse_evaluation(bound, evaluation)
        self._compiled = prepare(bound, timed_out=timed_out, evaluation=plan)

    def answers(self, events: Sequence[OracleEvent]) -> list[Answer]:
        """Its matches, in its order; after them what timed out, if that is asked for, marked with `LEFT`."""
        table, schema = table_of(events, self.bound.schema)
        batch = read_events(table, schema)
        left = no_matches()
        with self._asked():
            if self.how.timed_out:
                found, left = run_outputs(self._compiled, batch)
            else:
                found = run_plan(self._compiled, batch)
        output = assemble(self.bound, batch, found) if self.bound.query.returns else None
        told = answers_of(self.bound, batch, left, None)
        return [*answers_of(self.bound, batch, found, output), *(one._replace(returned=LEFT) for one in told)]

    def in_keyed_kernel(self, events: Sequence[OracleEvent]) -> bool:
        """Whether events go to the kernel for chains of one key."""
        with self._asked():
            return (
                keyed_events.keyed_events_of(self._compiled, read_events(*table_of(events, self.bound.schema)))
                is not None
            )

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self.how.room is not None:
                stack.enter_context(little_room(self.how.room))
            if self.how.keyed:
                stack.enter_context(keyed_kernel_for_all())
            yield


def answers_of(bound: BoundQuery, batch: EventBatch, found: Matches, output: Any) -> list[Answer]:
    """What the engine says of its matches.

    Args:
        bound: the query.
        batch: what the matches point into.
        found: the matches.
        output: the same as a table where the query has RETURN, else None.
    """
    names = list(bound.variables)
    numbers = batch.numbers_of(found.positions).tolist()
    variables, offsets, decided = found.variables.tolist(), found.offsets.tolist(), found.decided_us.tolist()
    start, end = found.window_start_us, found.window_end_us
    rows: list[tuple[object, ...]] = [()] * len(found)
    if output is not None:
        columns = [output[returned.name].to_pylist() for returned in bound.returns]
        rows = list(zip(*columns, strict=True))
    return [
        Answer(
            tuple((names[variables[i]], numbers[i]) for i in range(offsets[m], offsets[m + 1])),
            None if start is None or end is None else (int(start[m]), int(end[m])),
            decided[m],
            rows[m],
        )
        for m in range(len(found))
    ]


def oracle_answers(
    bound: BoundQuery,
    events: Sequence[OracleEvent],
    stores: Mapping[str, Mapping[object, object]] | None = None,
    *,
    timed_out: bool = False,
) -> list[Answer]:
    """What the oracle finds, in its order; after the matches what timed out, where that is asked for."""
    number = {event.identity: i for i, event in enumerate(events)}

    def answer(found: OracleMatch, columns: tuple[object, ...]) -> Answer:
        return Answer(
            tuple((name, number[event.identity]) for name, event in found.bindings),
            found.window,
            END_OF_INPUT_US if found.decision_time is None else found.decision_time,
            columns,
        )

    def columns_of(found: OracleMatch) -> tuple[object, ...]:
        return tuple(returned(bound, found, stores=stores).values()) if bound.query.returns else ()

    result = match(bound, events, stores=stores, timed_out=timed_out)
    left = result.timed_out if timed_out else ()
    return [*(answer(one, columns_of(one)) for one in result.matches), *(answer(one, LEFT) for one in left)]
