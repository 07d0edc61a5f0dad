"""The host's side of conditions that the kernel cannot compute: it is called back, with events, for a value."""

from __future__ import annotations

import ctypes
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from cepheid.compiler.columns import KernelEvents, evaluated
from cepheid.compiler.elements import RemoteData
from cepheid.compiler.requests import Register, Shape, detached, shape_of
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import evaluate
from cepheid.engine.aggregates import aggregated, counted
from cepheid.engine.open_predicates import OpenPredicates
from cepheid.engine.pool import Pool
from cepheid.engine.predicate import Predicate
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, Column, all_absent, all_null, constant
from cepheid.events.types import DataType, Kind
from cepheid.kernels import layout as k
from cepheid.kernels.host_type import HOST_TYPE
from cepheid.language.tree import Aggregate, At, Attribute, Remote

MOST_KEPT = 1 << 16
"""Values kept for each sub-expression, and columns of one row."""

Answer = tuple[int, int | float]
"""A tag of `kernels.layout` (VALUE, NULL, ABSENT), and the value."""


class Host:
    """Answers the kernel's calls for one batch of events.

    A sub-expression is evaluated as it would be column by column, on columns of one row. Its values are kept, so a
    registered function is not called again for the same events as long as there is room.
    """

    def __init__(
        self,
        compiled: CompiledPlan,
        batch: EventBatch,
        events: KernelEvents,
        pool: Pool,
        remote: RemoteData | None = None,
        open_predicates: OpenPredicates | None = None,
    ) -> None:
        """Make the kernel of ``pool`` call this host.

        Args:
            compiled: the plan, with the sub-expressions.
            batch: the events.
            events: the same as the kernel sees them.
            pool: the kernel's arrays; the host reads operands from its stack, and writes results there.
            remote: what is known of remote stores; None: nothing yet.
            open_predicates: of a plan that postpones.
        """
        self._open = open_predicates
        if open_predicates is not None:
            remote = open_predicates.remote
        self._remote = RemoteData(compiled.automaton.bound) if remote is None else remote
        self._bound = compiled.automaton.bound
        self._hosted = compiled.hosted
        self._batch = batch
        self._compiled = compiled
        self._loops = events.loops
        self._selected = events.selected
        self._dictionary = events.texts
        self._pool = pool
        self._stack_reals = int(compiled.plan[k.P_STACK_REALS])
        self._operands = [
            (
                len(h.events) + len(h.of_groups),
                tuple(_needed_shape(t) for t in h.aggregate_types),
                _needed_shape(h.type),
            )
            for h in compiled.hosted
        ]
        self._known: list[dict[tuple[Any, ...], Answer | Predicate]] = [{} for _ in compiled.hosted]
        self._rows: dict[tuple[tuple[str, ...], int], AnyColumn] = {}
        self._texts: dict[tuple[str, ...], list[str]] = {}
        self._failure: BaseException | None = None
        self._function = HOST_TYPE(self._call)  # kept alive as long as the kernel may call it
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        assert address is not None
        pool.pool[k.M_HOST] = address

    def require_success(self) -> None:
        """Raise what a call of the kernel raised here: it cannot pass through machine code.

        Raises:
            DataError: a registered function raised, or gave a value of another type than it declared.
        """
        if self._failure is not None:
            raise self._failure

    def serve(self, code: int) -> None:
        """Do what a kernel of a plan that postpones has returned for: make room, or look for answers.

        Raises:
            DataError: as of `OpenPredicates.poll`.
        """
        assert self._open is not None
        if code == k.CELLS_FULL:
            self._open.make_room()
        else:
            self._open.poll()

    def _call(self, number: int, tag: int) -> int:
        """Called by the kernel: see `kernels.host_type.HOST_TYPE`."""
        pool = self._pool.pool
        try:
            shape, answer = self._answered(number, tag, pool)
        except BaseException as error:  # noqa: BLE001 - machine code would print and lose it
            self._failure = error
            pool[k.M_FAILED] = 1
            pool[tag] = k.NULL
            return 0
        pool[tag], value = answer
        if shape.register is Register.FLOAT:
            self._pool.reals[self._stack_reals + tag - pool[k.M_TAGS]] = value
        else:
            pool[pool[k.M_STACK] + tag - pool[k.M_TAGS]] = value
        return 0

    def _answered(self, number: int, tag: int, pool: k.Ints) -> tuple[Shape, Answer]:
        n_events, shapes, result = self._operands[number]
        if self._failure is not None:
            return result, (k.NULL, 0)  # the run ends with this event
        depth = tag - int(pool[k.M_TAGS])
        ints = int(pool[k.M_STACK]) + depth
        operands: tuple[Any, ...] = tuple(pool[ints : ints + n_events].tolist())
        for at, shape in enumerate(shapes, start=n_events):
            state = int(pool[tag + at])
            value: int | float = 0
            if state == k.VALUE:
                is_float = shape.register is Register.FLOAT
                value = float(self._pool.reals[self._stack_reals + depth + at]) if is_float else int(pool[ints + at])
            operands += ((state, value if value == value else None),)  # NaN differs from itself: no key
        known = self._known[number]
        answer = known.get(operands)
        if answer is None:
            answer = self._evaluated(number, operands)
            if len(known) >= MOST_KEPT:
                known.clear()
            known[operands] = answer
        if isinstance(answer, Predicate):
            assert self._open is not None
            return result, (k.VALUE, int(self._open.decided(answer)))
        return result, answer

    # --- values ---------------------------------------------------------------------------------------

    def _evaluated(self, number: int, operands: tuple[Any, ...]) -> Answer | Predicate:
        hosted = self._hosted[number]
        n_events, n_indices = len(hosted.events), hosted.n_indices
        indices = dict(zip(hosted.events, operands[:n_events], strict=True))
        computed = zip(hosted.aggregates, hosted.aggregate_types, operands[n_indices:], strict=True)
        aggregates = {node: self._aggregate(dtype, *operand) for node, dtype, operand in computed}
        for (node, running), row in zip(hosted.of_groups, operands[n_events:n_indices], strict=True):
            aggregates[node] = self._of_group(node, running, row)

        def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
            if isinstance(node, Aggregate):
                return aggregates[node]
            if isinstance(node, Remote):
                return self._remote.column(node, resolve)
            assert node.variable is not None
            return self._row(node, indices[node.variable, node.at])

        try:
            if hosted.is_remote and self._open is not None:
                return self._open.predicate(number, resolve)
            if hosted.is_remote:
                self._remote.wait_for(hosted.expression, resolve)
            column = evaluate(hosted.expression, resolve, 1, self._bound.catalog.functions)
        except DataError as error:
            error.message += f", on {self._named(indices)}"
            error.args = (error.message,)
            error.located(self._bound.text, self._bound.origin)
            raise
        assert isinstance(column, Column), "the value of what is hosted is a number or a truth"
        if column.absent is not None and column.absent[0]:
            return k.ABSENT, 0
        if column.valid is not None and not column.valid[0]:
            return k.NULL, 0
        assert column.type.scale == hosted.type.scale or column.type.kind is Kind.NULL
        return k.VALUE, column.values[0].item()

    def _row(self, node: Attribute, index: int) -> AnyColumn:
        """An attribute of one event, as a column of one row."""
        if index < 0:
            dtype = self._bound.types[node]
            if shape_of(dtype) is not None:
                return all_absent(dtype, 1)
            return self._batch.column(node.path).take(np.zeros(1, np.int64), np.ones(1, np.bool_))
        row = self._rows.get((node.path, index))
        if row is None:
            position = index if self._selected is None else int(self._selected[index])
            column = self._batch.column(node.path)
            row = column.take(np.array([position], np.int64))
            if isinstance(row, Column) and row.type.kind is Kind.TEXT and row.valid is None:
                row = constant(self._text(node.path, column, int(row.values[0])), row.type, 1)
            if len(self._rows) >= MOST_KEPT:
                self._rows.clear()
            self._rows[node.path, index] = row
        return row

    def _text(self, path: tuple[str, ...], column: AnyColumn, code: int) -> str:
        """A text by its code: functions of text go over all of a dictionary, which must then be of one text."""
        if path not in self._texts:
            assert isinstance(column, Column)
            self._texts[path] = column.dictionary.to_pylist()
        return self._texts[path][code]

    def _of_group(self, node: Aggregate, running: bool, row: int) -> Column:
        """An aggregate over a loop under a NOT of a group, as a column of one row.

        Args:
            node: the aggregate.
            running: it is over the elements before the one that the row tries.
            row: see `compiler.groups.LoopElements`.
        """
        loop, dtype = self._loops[node.variable], self._bound.types[node]
        n = int(loop.n_before[row] if running else loop.counts[row])
        if n == 0 and (loop.counts[row] > 0 or not loop.empty[row]):
            return all_absent(dtype, 1)
        own = loop.positions[loop.starts[row] :][:n]
        of_one = np.zeros(n, np.int64)
        values = None
        if node.argument is not None:
            values = evaluated(self._compiled, self._batch, detached(node.argument), own)
        if node.function == "count":
            return counted(values, of_one, 1)
        assert values is not None
        column = aggregated(node.function, values, of_one, 1, dtype)
        if column.valid is not None and not column.valid[0]:
            return all_null(dtype, 1)
        if dtype.kind is Kind.TEXT:
            return constant(column.dictionary[int(column.values[0])].as_py(), dtype, 1)
        return constant(column.values[0].item(), dtype, 1)

    def _aggregate(self, dtype: DataType, state: int, value: int | float | None) -> Column:
        """An aggregate that the kernel computed, as a column of one row."""
        if state == k.ABSENT:
            return all_absent(dtype, 1)
        if state == k.NULL:
            return all_null(dtype, 1)
        if dtype.kind is Kind.TEXT:
            assert value is not None
            return constant(self._dictionary[int(value)].as_py(), dtype, 1)
        return constant(float("nan") if value is None else value, dtype, 1)

    def _named(self, indices: dict[tuple[str, At], int]) -> str:
        """The events of a call, for an error: their variables and times."""
        named = []
        for (variable, at), index in indices.items():
            name = variable if at is At.EACH else f"{at.value}({variable})"
            if index < 0:
                named.append(f"no {name}")
                continue
            position = index if self._selected is None else int(self._selected[index])
            named.append(f"{name} at {_written(int(self._batch.time_us[position]))}")
        return " and ".join(named) or "no event"


def _needed_shape(dtype: DataType) -> Shape:
    shape = shape_of(dtype)
    assert shape is not None, "the lowering hosts nothing else"
    return shape


def _written(time_us: int) -> str:
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)).isoformat()
    except OverflowError:  # Python's datetime ends with the year 9999
        return f"{time_us} us"
