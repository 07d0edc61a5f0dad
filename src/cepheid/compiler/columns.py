"""The columns of a plan, evaluated on a batch of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columnwise import casts
from cepheid.compiler.counted import CountedEvents, count_events
from cepheid.compiler.elements import RemoteData
from cepheid.compiler.fit import fitting_by_type
from cepheid.compiler.groups import GroupMatches, LoopElements, write_groups
from cepheid.compiler.hooked import hook_columns
from cepheid.compiler.requests import OTHER_CLOCK, PARTITION, TIME, Register, Request, detached
from cepheid.compiler.sliding import Windows, partitions_of, spread
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import evaluate, holds
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, Column, all_null, unify
from cepheid.events.types import Kind
from cepheid.kernels import layout as k
from cepheid.language.tree import Aggregate, Attribute, Call, Expression, Remote, walk
from cepheid.plan.supported import MAX_ELEMENTS

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class KernelEvents:
    """The columns of a plan, as `kernels.layout` says.

    Attributes:
        n: number of events.
        ints, floats, nulls: the arrays for the kernel.
        int_nulls, float_nulls: where the places in ``nulls`` begin in ``ints``.
        selected: the position in the batch of each event (None: all of them, in place).
        null_keys: positions of events with NULL in SAME, which are in no partition.
        counted: the events by their places in their partitions, where windows or gaps of the plan count them.
        windows: of the events, where windows slide: the kernel sees an event once for each.
        partition: the codes of partition and window of the events, where windows slide or matches are skipped; None
            where all are in one.
        neighbours: the events by their places in their partitions, where neighbours count (a prefix).
        groups: where the matches of groups under NOT are told in ``ints``, or -1.
        loops: variable -> the elements of a loop in these matches, which the host is asked about.
        texts: the dictionary that all text columns share; None where there are none.
    """

    n: int
    ints: Ints
    floats: NDArray[np.float64]
    nulls: NDArray[np.uint8]
    int_nulls: int
    float_nulls: int
    selected: Ints | None
    null_keys: Ints
    counted: CountedEvents | None
    windows: Windows | None = None
    partition: Ints | None = None
    neighbours: CountedEvents | None = None
    texts: Any = None
    groups: int = -1
    loops: Mapping[str, LoopElements] = field(default_factory=dict)

    @property
    def has_nulls(self) -> bool:
        """Whether some int column of the plan has a NULL among the events."""
        return bool((self.ints[self.int_nulls : self.float_nulls] >= 0).any())

    def int_column(self, column: int, n: int) -> tuple[Ints, Bools]:
        """An int column of the plan, of the first ``n`` events: its values, and where they are not NULL."""
        values = self.ints[(k.FIRST_COLUMN + column) * self.n :][:n]
        place = int(self.ints[self.int_nulls + column])
        return values, np.ones(n, np.bool_) if place < 0 else self.nulls[place * self.n :][:n] == 0

    def changes_from(self, before: KernelEvents, n: int) -> dict[int, tuple[Ints, Ints]]:
        """Of each int column in which the first ``n`` events had other values before: what these were, and are.

        Columns of codes have others as dictionaries change. NULLs, which have no code, are left out.
        """
        changed = {}
        for column in range(self.float_nulls - self.int_nulls):
            new, there = self.int_column(column, n)
            old, _ = before.int_column(column, n)
            old, new = old[there], new[there]
            if not np.array_equal(old, new):
                changed[column] = (old, new)
        return changed


NO_EVENTS = KernelEvents(
    n=0,
    ints=np.zeros(0, np.int64),
    floats=np.zeros(0, np.float64),
    nulls=np.zeros(0, np.uint8),
    int_nulls=0,
    float_nulls=0,
    selected=None,
    null_keys=np.zeros(0, np.int64),
    counted=None,
)
"""Without columns."""


def events_of(
    compiled: CompiledPlan,
    batch: EventBatch,
    absent: Mapping[int, GroupMatches] | None = None,
) -> KernelEvents:
    """Evaluate the columns of a plan on the events that can matter.

    Args:
        compiled: the plan.
        batch: the events.
        absent: element of a NOT of a group -> the matches of what stands under it.

    Raises:
        DataError: a value does not fit a machine word.
    """
    automaton = compiled.automaton
    if absent:
        events = _events_of(compiled, batch, absent)
        numbers = None if events.windows is None else events.windows.numbers
        begin = len(events.ints)
        table, loops = write_groups(automaton, absent, events.n, events.selected, numbers, begin)
        return replace(events, ints=np.concatenate((events.ints, table)), groups=begin, loops=loops)
    return _events_of(compiled, batch, {})


def _events_of(compiled: CompiledPlan, batch: EventBatch, absent: Mapping[int, GroupMatches]) -> KernelEvents:
    """The same without the table of the matches of groups."""
    automaton = compiled.automaton
    n = len(batch)
    positions, fit = fitting(compiled, batch, absent)
    null_keys = np.zeros(0, np.int64)
    partition: Ints | None = None
    by = automaton.partition
    never_null = all(isinstance(e, Attribute) and not batch.may_be_null(e.path) for e in by)
    if automaton.strict:  # neighbours are told from all events
        every = np.zeros(n, np.int64)
        every[positions] = fit
        positions, fit = np.arange(n), every
    counts = automaton.sliding or automaton.counts_events or automaton.two_clocks or automaton.neighbours
    counts = counts or (compiled.hooks is not None and compiled.hooks.tells_cells)
    if by and (counts or not never_null):  # which events have no partition is told of all of them, and all are counted
        partition, valid = partition_codes([evaluated(compiled, batch, expression) for expression in by])
        if valid is not None:
            null_keys = np.flatnonzero(~valid)
            fit[~valid[positions]] = 0
    fits = fit != 0
    if automaton.strict:
        fits[:] = True
        fits[null_keys] = False
    if not fits.all():
        positions, fit = positions[fits], fit[fits]
    neighbours = count_events(partition, null_keys, n, batch.places) if automaton.neighbours else None
    if automaton.sliding:
        return _in_windows(compiled, batch, positions, fit, partition, null_keys, neighbours)
    selected = None if len(positions) == n else positions
    if by and partition is None:
        partition = plain_ints(batch, by[0]) if len(by) == 1 else None
    if by and partition is None:
        partition, _ = partition_codes([evaluated(compiled, batch, expression, selected) for expression in by])
    told: dict[Request, Ints] = {}
    if compiled.hooks is not None and compiled.hooks.tells_cells:
        told = hook_columns(compiled.hooks, batch, selected, partition, null_keys, None if absent else fit)
    return gather(compiled, batch, fit, partition, selected, null_keys, neighbours=neighbours, told=told)


def fitting(compiled: CompiledPlan, batch: EventBatch, absent: Mapping[int, GroupMatches]) -> tuple[Ints, Ints]:
    """The positions of events that an element takes by its type, and the elements that each fits, as bits (or none)."""
    automaton = compiled.automaton
    n = len(batch)
    positions, fit = fitting_by_type(automaton.elements, batch)
    for number, matches in absent.items():
        within = np.zeros(n, np.bool_)
        within[matches.positions] = True
        fit &= np.where(within[positions], -1, ~(1 << number))
    for element in automaton.elements:
        for conjunct in element.conditions:
            bit = 1 << element.index
            if _calls(compiled, conjunct.expression):  # a function is called for no more events than are left
                rows = np.flatnonzero(fit & bit)
                column = evaluated(compiled, batch, detached(conjunct.expression), positions[rows])
                fit[rows[~holds(column)]] &= ~bit
            else:
                column = evaluated(compiled, batch, detached(conjunct.expression))
                fit &= ~np.where(holds(column)[positions], 0, bit)
    if any(not constant_holds(compiled, c.expression) for c in automaton.constants):
        fit[:] = 0
    return _with_read(positions, fit, n, [m.checks.read for m in absent.values() if m.checks is not None])


def _with_read(positions: Ints, fit: Ints, n: int, read: Sequence[Bools]) -> tuple[Ints, Ints]:
    """The same, with events that groups under NOT are checked with: they fit what is no element."""
    if not read:
        return positions, fit
    every = np.zeros(n, np.int64)
    every[positions] = fit
    for events in read:
        every[events] |= 1 << MAX_ELEMENTS
    positions = np.flatnonzero(every)
    return positions, every[positions]


def _in_windows(
    compiled: CompiledPlan,
    batch: EventBatch,
    positions: Ints,
    fit: Ints,
    partition: Ints | None,
    null_keys: Ints,
    neighbours: CountedEvents | None,
) -> KernelEvents:
    """The columns for events that go to the kernel once for each window that holds them."""
    automaton = compiled.automaton
    counted = counted_events(compiled, batch, partition, null_keys)
    clocks = clocks_of(compiled, batch, counted)
    copied, windows = spread(automaton.bound.window, clocks[automaton.slides_by_other][positions])
    selected = positions[copied]
    codes = partitions_of(None if partition is None else partition[selected], windows)
    own = (clocks[0][selected], clocks[1][selected])
    told: dict[Request, Ints] = {}
    if compiled.hooks is not None and compiled.hooks.tells_cells:
        window = automaton.bound.window
        told = hook_columns(compiled.hooks, batch, selected, partition, null_keys, fit[copied], window, windows)
    events = gather(
        compiled, batch, fit[copied], codes, selected, null_keys, clocks=own, neighbours=neighbours, told=told
    )
    return replace(events, counted=counted, windows=windows, partition=codes)


def counted_events(
    compiled: CompiledPlan, batch: EventBatch, partition: Ints | None, null_keys: Ints
) -> CountedEvents | None:
    """The events of a batch by their places in their partitions, where the plan counts them."""
    if compiled.automaton.counts_events or compiled.automaton.two_clocks:
        return count_events(partition, null_keys, len(batch), batch.places)
    return None


def clocks_of(compiled: CompiledPlan, batch: EventBatch, counted: CountedEvents | None) -> tuple[Ints, Ints]:
    """What the kernel takes for times, and the other clock, where there is one: times, and places in partitions."""
    if counted is None:
        return batch.time_us, batch.time_us
    clocks = batch.time_us, counted.places
    return clocks[::-1] if compiled.automaton.counts_events else clocks


def _calls(compiled: CompiledPlan, expression: Expression) -> bool:
    """Whether an expression calls a registered function."""
    functions = compiled.automaton.bound.catalog.functions
    return any(isinstance(node, Call) and node.function in functions for node in walk(expression))


def evaluated(compiled: CompiledPlan, batch: EventBatch, expression: Expression, rows: Ints | None = None) -> Column:
    """An expression over attributes of one event, for all events of a batch or those at some positions."""
    n = len(batch) if rows is None else len(rows)
    bound = compiled.automaton.bound

    def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
        if isinstance(node, Remote):
            return RemoteData(bound).looked_up(node, resolve, n)
        assert isinstance(node, Attribute)
        return batch.column(node.path) if rows is None else batch.column_at(node.path, rows)

    try:
        column = evaluate(expression, resolve, n, bound.catalog.functions)
    except DataError as error:
        error.located(bound.text, bound.origin)
        raise
    assert isinstance(column, Column)
    return column


def _requested(
    compiled: CompiledPlan, batch: EventBatch, request: Request, fit: NDArray[np.int64], at: Ints | None
) -> Column:
    """The column of a request; what calls a function has values only for the events that its variables can take.

    Args:
        compiled, batch: the plan, and the events.
        request: the column.
        fit: the elements that each event fits.
        at: the positions of the events in question; None for all.
    """
    assert request.expression is not None
    if not request.variables:
        return evaluated(compiled, batch, request.expression, at)
    bits = sum(
        1 << e.index
        for e in compiled.automaton.elements
        if request.variables.intersection((e.variable,) if e.inner is None else e.inner.variables)
    )
    rows = np.flatnonzero(fit & bits)
    column = evaluated(compiled, batch, request.expression, rows if at is None else at[rows])
    if not len(rows):
        return all_null(column.type, len(fit))
    places = np.zeros(len(fit), np.int64)
    places[rows] = np.arange(len(rows))
    return column.take(places)


def plain_ints(batch: EventBatch, expression: Expression) -> Ints | None:
    """The values of an attribute that is an integer in every event, as wide as they came in; or None."""
    values = batch.plain(expression.path) if isinstance(expression, Attribute) else None
    return values if values is not None and values.dtype.kind in "iu" else None


def constant_holds(compiled: CompiledPlan, expression: Expression) -> bool:
    """Whether a condition holds that reads no event."""

    def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
        assert isinstance(node, Remote), "a constant names no variable"
        return RemoteData(compiled.automaton.bound).looked_up(node, resolve, 1)

    column = evaluate(expression, resolve, 1, compiled.automaton.bound.catalog.functions)
    return isinstance(column, Column) and bool(holds(column)[0])


def partition_codes(columns: Sequence[Column]) -> tuple[Ints, Bools | None]:
    """One int64 code for each combination of values.

    Returns:
        codes of shape (n,), and where all values are there (None: everywhere).
    """
    valid: Bools | None = None
    codes: Ints | None = None
    for column in columns:
        if column.valid is not None:
            valid = column.valid if valid is None else valid & column.valid
        values = column.values
        if values.dtype == np.float64:
            values = ordered_ints(values)
        values = np.ascontiguousarray(values, np.int64)
        if codes is None:
            codes = values
            continue
        _, first = np.unique(codes, return_inverse=True)
        distinct, second = np.unique(values, return_inverse=True)
        codes = first.astype(np.int64) * len(distinct) + second
    assert codes is not None
    return codes, valid


def gather(
    compiled: CompiledPlan,
    batch: EventBatch,
    fit: Ints,
    partition: Ints | None,
    selected: Ints | None,
    null_keys: Ints,
    *,
    clocks: tuple[Ints, Ints] | None = None,
    neighbours: CountedEvents | None = None,
    told: Mapping[Request, Ints] = MappingProxyType({}),
) -> KernelEvents:
    """The columns of all requests, for the selected events.

    Args:
        compiled, batch: the plan, and the events.
        fit: the elements that each of the selected events fits.
        partition: the partition of each event of the batch, or of each selected one; or None.
        selected: the positions of the events that the kernel is to see; None for all.
        null_keys: the positions of events without a partition.
        clocks: `clocks_of` of the selected events; then the partitions are theirs, too.
        neighbours: the events by their places, where the plan asks for these.
        told: what a policy asks for, of the selected events.
    """
    n = len(batch)
    requests = compiled.requests
    columns: dict[Request, Column] = {}
    plain: dict[Request, Ints] = {}
    for request in (*requests.ints, *requests.floats):
        if request.expression is None:
            continue
        values = plain_ints(batch, request.expression) if request.is_plain_int else None
        if values is not None:
            plain[request] = values
        else:
            columns[request] = _requested(compiled, batch, request, fit, selected)
    texts = [r for r in columns if r.shape.text]
    for request, column in zip(texts, unify([columns[r] for r in texts]), strict=True) if len(texts) > 1 else ():
        columns[request] = column
    if len(texts) == 1 and not columns[texts[0]].ordered:
        (columns[texts[0]],) = unify([columns[texts[0]]])
    kept = n if selected is None else len(selected)
    n_ints, n_floats = len(requests.ints), len(requests.floats)
    ints = np.empty((k.FIRST_COLUMN + n_ints) * kept + n_ints + n_floats, np.int64)
    floats = np.empty(max(1, n_floats * kept), np.float64)
    int_nulls = (k.FIRST_COLUMN + n_ints) * kept
    places = ints[int_nulls:]
    places[:] = -1
    grid = ints[:int_nulls].reshape(k.FIRST_COLUMN + n_ints, kept)
    masks: list[Bools] = []

    def fill(target: NDArray[Any], values: NDArray[Any], *, of_all: bool) -> None:
        """From values of all events, or of the selected ones."""
        if selected is None or not of_all:
            target[:] = values
        elif values.dtype != target.dtype:
            target[:] = values.take(selected)
        else:
            values.take(selected, out=target, mode="clip")  # which asks for no copy of the target

    counted = None
    in_windows = clocks is not None  # then there may be as many copies of the selected events as events in all
    if clocks is None:
        counted = counted_events(compiled, batch, partition, null_keys)
        clocks = clocks_of(compiled, batch, counted)
    fill(grid[k.TIME_COLUMN], clocks[0], of_all=not in_windows)
    grid[k.FIT_COLUMN] = fit
    given = {TIME: clocks[0], OTHER_CLOCK: clocks[1], PARTITION: partition, **plain}
    for number, request in enumerate((*requests.ints, *requests.floats)):
        target = grid[k.FIRST_COLUMN + number] if number < n_ints else floats[(number - n_ints) * kept :][:kept]
        if request.step is not None:
            assert neighbours is not None
            target[:] = neighbours.places if selected is None else neighbours.places[selected]
            target += request.step
            continue
        if request in told:
            target[:] = told[request]
            continue
        if request in given:
            source = given[request]
            assert source is not None
            fill(target, source, of_all=request in plain or not (in_windows or len(source) == kept))
            continue
        values, valid = shaped(columns[request], request)
        fill(target, values, of_all=False)
        if valid is not None:
            missing = ~valid
            if missing.any():
                places[number] = len(masks)
                masks.append(missing)
    return KernelEvents(
        n=kept,
        ints=ints,
        floats=floats,
        nulls=np.concatenate(masks).view(np.uint8) if masks else np.zeros(1, np.uint8),
        int_nulls=int_nulls,
        partition=_of_selected(partition, selected) if compiled.automaton.skips else None,
        float_nulls=int_nulls + n_ints,
        selected=selected,
        null_keys=null_keys,
        counted=counted,
        neighbours=neighbours,
        texts=columns[texts[0]].dictionary if texts else None,
    )


def _of_selected(partition: Ints | None, selected: Ints | None) -> Ints | None:
    """The partitions of the selected events, from those of all events or of the selected ones."""
    if partition is None:
        return None
    own = partition if selected is None or len(partition) == len(selected) else partition[selected]
    return own.astype(np.int64, copy=False)


def ordered_ints(values: NDArray[np.float64]) -> Ints:
    """Floats as int64 that compare as the language compares floats: NaN is greatest, and the two zeros are one."""
    plain = values + 0.0  # a copy, in which the two zeros are one
    missing = np.isnan(plain)
    if missing.any():
        plain[missing] = np.nan  # of all the NaNs, the positive one
    bits = plain.view(np.int64)
    negative = bits < 0
    if negative.any():
        bits[negative] ^= np.int64(2**63 - 1)
    return bits


def shaped(column: Column, request: Request) -> tuple[NDArray[Any], Bools | None]:
    """The values of a column in the shape that the plan wants, and where they are not NULL."""
    shape = request.shape
    values, valid = column.values, column.valid
    if column.type.kind is Kind.NULL:
        wanted = np.float64 if shape.register is Register.FLOAT else np.int64
        return np.zeros(len(column), wanted), np.zeros(len(column), np.bool_)
    if shape.ordered:
        return ordered_ints(casts.floats(column)), valid
    scale = column.type.scale or 0 if column.type.kind is Kind.DECIMAL else 0
    if shape.register is Register.FLOAT:
        return casts.floats(column), valid
    assert values.dtype != np.float64, "the lowering asks for no float as an int"
    if shape.scale > scale:
        values, outside = casts.scaled_up(values, shape.scale - scale)
        if outside is not None and shape.bounded:
            return np.where(outside, np.where(column.values > 0, casts.INT64_MAX, casts.INT64_MIN), values), valid
        if outside is not None:
            valid = ~outside if valid is None else valid & ~outside
    elif shape.bounded:
        values = np.clip(values, casts.INT64_MIN + 1, casts.INT64_MAX - 1)
    return values, valid
