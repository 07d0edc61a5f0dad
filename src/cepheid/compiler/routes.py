"""Which events each query of a set can take, found in one pass over the events for all of them.

For one query every condition on one event is evaluated on all events, which costs a pass for each. In a set, an event
is looked at once for each attribute that some query compares with constants (`compiler.scales`). Its type and where
its value lies among the constants are its *cell*, and a table says which elements of which queries take the events of a
cell. So what a query costs depends on the events that it takes, not on those that there are.

Of each element the conditions on one attribute are told so, those on the attribute that leaves the fewest events. Its
other conditions are evaluated on the events that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import KernelEvents, constant_holds, evaluated, gather, partition_codes, plain_ints
from cepheid.compiler.fit import codes_of_types
from cepheid.compiler.load import route_kernel
from cepheid.compiler.requests import detached
from cepheid.compiler.scales import Comparison, Halves, Ints, Path, Range, Scale, comparison_of, scale_of, values_of
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import holds
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Column
from cepheid.kernels import records as r
from cepheid.language.bound import Conjunct
from cepheid.language.tree import Expression
from cepheid.plan.automaton import Element
from cepheid.plan.dropping import reason_to_keep_all

MOST_OF_EVENTS = 1 / 4
"""A query that can take more of the events is run alone."""

RECORDS_AT_ONCE = 2.0
"""For each event of the batch, so many records are held at once."""

NO_CELL = 0
"""The cell of events that no element takes."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The partitions of a batch by some expressions.

    Attributes:
        codes: the code of each event's partition: int32 or int64, (n,); None where all are in one.
        valid: False where an event is in none; None where all are in one.
        null_keys: the positions of the events that are in none.
    """

    codes: NDArray[Any] | None
    valid: NDArray[np.bool_] | None
    null_keys: Ints


class Wanted:
    """What an element asks of events.

    Attributes:
        element: the element.
        conditions: its conditions, and the comparisons with constants that they are, or None.
        comparisons: these, by attribute.
    """

    def __init__(self, element: Element) -> None:
        """Look at the conditions of an element."""
        self.element = element
        self.conditions = [(conjunct, comparison_of(conjunct.expression)) for conjunct in element.conditions]
        self.comparisons: dict[Path, list[Comparison]] = {}
        for _, comparison in self.conditions:
            if comparison is not None:
                self.comparisons.setdefault(comparison.path, []).append(comparison)


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of events by an attribute, or by their types alone.

    Attributes:
        scale: of the attribute; None for the types.
        first: the number of the first cell.
        n_places: cells of each type.
        cells: the cell of each event, int32, (n,).
        before: how many events lie in the cells before each cell, and in all.
    """

    scale: Scale | None
    first: int
    n_places: int
    cells: Halves
    before: list[int]


@dataclass(frozen=True, eq=False)
class Route:
    """How events come to an element.

    Attributes:
        bit: of the element.
        axis: which of the axes.
        cells: from one to before another, apart.
        n: how many events lie in them.
        left: the conditions that are still to be evaluated.
    """

    bit: int
    axis: Axis
    cells: list[Range]
    n: int
    left: list[Conjunct]


@dataclass(frozen=True, eq=False)
class Routed:
    """The events that a query can take.

    Attributes:
        records: as `kernels.records` says; int64, (m, RECORD_WIDTH).
        left: bits of elements, and conditions that are still to be evaluated on their events.
        partition: the partitions of the batch.
    """

    records: Ints
    left: list[tuple[int, Conjunct]]
    partition: Partition

    @property
    def positions(self) -> Ints:
        """The positions of the events, ascending."""
        return np.ascontiguousarray(self.records[:, r.R_POSITION])


class Routes:
    """Routes the events of a batch to the plans of a set."""

    def __init__(self, batch: EventBatch, plans: Sequence[CompiledPlan]) -> None:
        """Find the cells of the events.

        Args:
            batch: the events.
            plans: the plans, by number.
        """
        self._batch = batch
        self._plans = plans
        self._partitions: dict[tuple[Expression, ...], Partition | None] = {}
        self._routed: dict[int, Routed] = {}
        self._n_cells = NO_CELL + 1
        able = [n for n, plan in enumerate(plans) if can_be_routed(plan) and self._partition(plan) is not None]
        wanted = {number: [Wanted(element) for element in plans[number].automaton.elements] for number in able}
        names = sorted({name for each in wanted.values() for one in each for name in one.element.types})
        self._codes = {name: code for code, name in enumerate(names, start=1)}
        self._types = codes_of_types(self._codes, batch)
        self._by_type: Axis | None = None
        self._by_path = self._axes([one for each in wanted.values() for one in each])
        self._routes: dict[int, list[Route]] = {}
        for number, each in wanted.items():
            routes = [self._route(one) for one in each]
            if sum(route.n for route in routes) <= len(batch) * MOST_OF_EVENTS:
                self._routes[number] = routes

    def of(self, number: int) -> Routed | None:
        """The events for a plan, which can be asked for once; None where it is to be run alone."""
        if number not in self._routes:
            return None
        if number not in self._routed:
            self._route_from(number)
        return self._routed.pop(number)

    # --- cells ------------------------------------------------------------------------------------

    def _axes(self, wanted: Iterable[Wanted]) -> dict[Path, Axis]:
        """An axis for each attribute that elements compare with constants."""
        compared: dict[Path, list[Comparison]] = {}
        for one in wanted:
            for path, comparisons in one.comparisons.items():
                compared.setdefault(path, []).extend(comparisons)
        found = {}
        for path, comparisons in compared.items():
            column = values_if_read(self._batch, path)
            scale = None if column is None else scale_of(column.type, comparisons)
            if column is not None and scale is not None:
                found[path] = column, scale
        self._cells = np.empty((len(found), len(self._batch)), np.int32)
        return {path: self._axis(*given, self._cells[i]) for i, (path, given) in enumerate(found.items())}

    def _axis(self, column: Column, scale: Scale, cells: Halves) -> Axis:
        first, n_places = self._n_cells, scale.n_places
        self._n_cells += n_places * (len(self._codes) + 1)
        counts = np.zeros(self._n_cells - first, np.int64)
        scale.write_cells(column, self._types, first, cells, counts)
        if column.valid is not None:
            missing = ~column.valid
            counts -= np.bincount(cells[missing] - first, minlength=len(counts))
            cells[missing] = NO_CELL
        return Axis(scale, first, n_places, cells, [0, *np.cumsum(counts).tolist()])

    def _types_alone(self) -> Axis:
        """The axis of the types, which is made when an element asks for it."""
        if self._by_type is None:
            first = self._n_cells
            self._n_cells += len(self._codes) + 1
            counts = np.bincount(self._types, minlength=len(self._codes) + 1)
            self._by_type = Axis(None, first, 1, self._types + np.int32(first), [0, *np.cumsum(counts).tolist()])
        return self._by_type

    # --- routes -----------------------------------------------------------------------------------

    def _route(self, wanted: Wanted) -> Route:
        """The route with the fewest events."""
        best: Route | None = None
        element = wanted.element
        types = [self._codes[name] for name in element.types] or list(range(len(self._codes) + 1))
        for path, comparisons in wanted.comparisons.items():
            axis = self._by_path.get(path)
            if axis is None or axis.scale is None:
                continue
            told = [one for one in comparisons if one in axis.scale.conditions]
            if told:
                left = [c for c, one in wanted.conditions if one not in told]
                route = _routed_by(element, axis, types, axis.scale.ranges(told), left)
                best = route if best is None or route.n < best.n else best
        return best or _routed_by(element, self._types_alone(), types, [(0, 1)], list(element.conditions))

    def _route_from(self, number: int) -> None:
        """Route events to this plan and to further ones, as many as may be at once."""
        block: list[int] = []
        n_records = 0
        for other, routes in self._routes.items():
            n = sum(route.n for route in routes)
            if other < number or (block and n_records + n > RECORDS_AT_ONCE * len(self._batch)):
                continue
            block.append(other)
            n_records += n
        partitions = [self._partitions[self._plans[other].automaton.partition] for other in block]
        queries = np.zeros((len(block), r.QUERY_WIDTH), np.int64)
        rooms = np.array([sum(route.n for route in self._routes[other]) for other in block], np.int64)
        ends = np.cumsum(rooms)
        queries[:, r.Q_END] = firsts = (ends - rooms) * r.RECORD_WIDTH
        queries[:, r.Q_LAST] = -1
        for row, partition in zip(queries, partitions, strict=True):
            assert partition is not None
            if partition.codes is not None:
                row[r.Q_KEY_ADDRESS] = partition.codes.__array_interface__["data"][0]
                row[r.Q_KEY_BYTES] = partition.codes.itemsize
        starts, entries = self._entries(block)
        records = np.empty(int(ends[-1]) * r.RECORD_WIDTH, np.int64)
        times = np.ascontiguousarray(self._batch.time_us)
        flat = queries.reshape(-1)
        route_kernel()(self._cells_of(block), starts, entries, times, flat, records)
        for place, (other, partition) in enumerate(zip(block, partitions, strict=True)):
            own = records[firsts[place] : queries[place, r.Q_END]].reshape(-1, r.RECORD_WIDTH)
            assert partition is not None
            left = [(route.bit, conjunct) for route in self._routes[other] for conjunct in route.left]
            self._routed[other] = Routed(own, left, partition)

    def _cells_of(self, block: Sequence[int]) -> Halves:
        """The cells of all events on the axes of some plans, axis after axis."""
        used = list({id(route.axis): route.axis for other in block for route in self._routes[other]}.values())
        if len(used) == len(self._cells) and all(axis.scale is not None for axis in used):
            return self._cells.reshape(-1)
        return np.concatenate([axis.cells for axis in used])

    def _entries(self, block: Sequence[int]) -> tuple[Ints, Ints]:
        """Where the entries of each cell begin, and the entries, as `kernels.records` says."""
        rows = [
            (first, last, place, route.bit)
            for place, other in enumerate(block)
            for route in self._routes[other]
            for first, last in route.cells
        ]
        first, last, place, bit = np.array(rows, np.int64).reshape(-1, 4).T
        lengths = last - first
        cells = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        order = np.argsort(cells, kind="stable")
        entries = np.empty((len(cells), r.ENTRY_WIDTH), np.int64)
        entries[:, r.N_QUERY] = np.repeat(place, lengths)[order]
        entries[:, r.N_BITS] = np.repeat(bit, lengths)[order]
        starts = np.zeros(self._n_cells + 1, np.int64)
        np.cumsum(np.bincount(cells, minlength=self._n_cells), out=starts[1:])
        return starts, entries.reshape(-1)

    def _partition(self, plan: CompiledPlan) -> Partition | None:
        """The partitions of the batch for a plan; None where there are none, as it tells when it is run alone."""
        by = plan.automaton.partition
        if by not in self._partitions:
            try:
                self._partitions[by] = _partition_by(plan, self._batch)
            except DataError:
                self._partitions[by] = None
        return self._partitions[by]


def can_be_routed(plan: CompiledPlan) -> bool:
    """Whether events that fit no element can be left out, and an element's events are told by conditions alone."""
    automaton = plan.automaton
    if plan.groups or automaton.sliding or reason_to_keep_all(automaton.bound) is not None:
        return False
    return all(constant_holds(plan, conjunct.expression) for conjunct in automaton.constants)


def values_if_read(batch: EventBatch, path: Path) -> Column | None:
    """The values of an attribute; None where there are none, as each query that reads it tells when it is run."""
    try:
        return values_of(batch, path)
    except DataError:
        return None


def _routed_by(
    element: Element, axis: Axis, types: Sequence[int], ranges: Sequence[Range], left: list[Conjunct]
) -> Route:
    """The route of an element by the places of an axis that its conditions leave."""
    cells = [(code * axis.n_places + a, code * axis.n_places + b) for code in types for a, b in ranges]
    n = sum(axis.before[b] - axis.before[a] for a, b in cells)
    return Route(1 << element.index, axis, [(axis.first + a, axis.first + b) for a, b in cells], n, left)


def _partition_by(plan: CompiledPlan, batch: EventBatch) -> Partition:
    by = plan.automaton.partition
    nowhere = np.zeros(0, np.int64)
    if not by:
        return Partition(None, None, nowhere)
    plain = plain_ints(batch, by[0]) if len(by) == 1 else None
    if plain is not None:
        wide: Any = np.int32 if plain.dtype == np.int32 else np.int64
        return Partition(np.ascontiguousarray(plain, wide), None, nowhere)
    codes, valid = partition_codes([evaluated(plan, batch, expression) for expression in by])
    return Partition(codes, valid, nowhere if valid is None else np.flatnonzero(~valid))


def routed_events(plan: CompiledPlan, batch: EventBatch, routed: Routed) -> KernelEvents:
    """The columns of a plan for the events that were routed to it."""
    records, partition = routed.records, routed.partition
    positions, fit = routed.positions, np.ascontiguousarray(records[:, r.R_FIT])
    for bit, conjunct in routed.left:
        rows = np.flatnonzero(fit & bit)
        if len(rows):
            column = evaluated(plan, batch, detached(conjunct.expression), positions[rows])
            fit[rows[~holds(column)]] &= ~bit
    kept: NDArray[np.bool_] | None = None
    if routed.left:
        kept = fit != 0
    if partition.valid is not None:
        there = partition.valid[positions]
        kept = there if kept is None else kept & there
    if kept is not None and not kept.all():
        records, positions, fit = records[kept], positions[kept], fit[kept]
    times, keys = records[:, r.R_TIME], None if partition.codes is None else records[:, r.R_KEY]
    return gather(plan, batch, fit, keys, positions, partition.null_keys, clocks=(times, times))
