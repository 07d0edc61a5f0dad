"""What a plan needs for a policy that looks at pairs: the table `hooks`, two columns, a register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.counted import CountedEvents, count_events
from cepheid.compiler.fit import numbers_by_type
from cepheid.compiler.load import place_kernel
from cepheid.compiler.registers import Registers
from cepheid.compiler.requests import PLACE_IN_WINDOW, TYPE_NUMBER, Request, Requests
from cepheid.compiler.sliding import Windows
from cepheid.errors import NotSupportedError
from cepheid.events.batch import EventBatch
from cepheid.kernels import hook_layout as h
from cepheid.kernels import layout as k
from cepheid.language.bound import BoundWindow
from cepheid.plan.automaton import Automaton, Edge
from cepheid.ports.pairs import Cells, Wanted

Ints = NDArray[np.int64]

MOST_ELEMENTS = 12
"""A table has an entry for each set of so many."""

MOST_PARTITIONS = 1 << 20
"""Codes that lie further apart are sorted; so many counters take 8 MB."""


@dataclass(frozen=True)
class Hooks:
    """The hooks of a plan.

    Attributes:
        wanted: what the policy wants.
        cells: what it is told.
        numbers_by_fit: the number of an event's type, by the elements that it fits as bits; None where these do not
            tell it.
    """

    wanted: Wanted
    cells: Cells
    numbers_by_fit: Ints | None = field(default=None, compare=False, repr=False)

    @property
    def tells_cells(self) -> bool:
        """Whether cells are told apart in kernels."""
        return self.wanted.guard or self.wanted.observe

    @property
    def needs_general(self) -> bool:
        """Whether only the general kernel has all that is wanted: the one for chains has a guard, and nothing else."""
        return self.wanted.observe or self.wanted.work

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the kernels: see `compiler.load.Flags`."""
        wanted = self.wanted
        pairs = (("COUNTED", wanted.work), ("GUARDED", wanted.guard), ("OBSERVED", wanted.observe))
        return tuple(flag for flag, is_wanted in pairs if is_wanted)


class HookTable:
    """Takes registers and columns for a policy, and says what steps do for it."""

    def __init__(self, automaton: Automaton, wanted: Wanted, requests: Requests) -> None:
        """Take the columns.

        Raises:
            NotSupportedError: the kernel for the plan does not observe.
        """
        if automaton.joins is not None and wanted.observe:
            bound = automaton.bound
            raise NotSupportedError(
                "where variables wait for the last event, pairs of an event and a partial match do not meet: "
                "a plan that observed them would do the work of one that takes events as they arrive",
                remedy="take all events as they arrive while the policy observes (evaluation=eager)",
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        cells = cells_of(automaton, wanted)
        self.hooks = Hooks(wanted, cells, _numbers_by_fit(automaton, cells))
        self._automaton = automaton
        self._type = self._place = -1
        if self.hooks.tells_cells:
            self._type = requests.number(TYPE_NUMBER)
            self._place = requests.number(PLACE_IN_WINDOW)
        self._first = self._pair = -1

    def take_registers(self, registers: Registers) -> None:
        """Take registers, after all others have been given out."""
        places = self.hooks.tells_cells and not self._automaton.sliding
        if places or self.hooks.wanted.observe:
            self._pair = registers.n_ints
            registers.n_ints += 1
        if places:
            self._first = self._pair

    def updates(self, edge: Edge) -> list[list[int]]:
        """The rows of the table `updates` for a step: a start notes its place, where its window begins.

        Kernels that observe write it once more, beside the pair (`hooks.observe_row`).
        """
        if edge.source is not None or self._first < 0:
            return []
        return [[k.SET_VALUE, self._first, 0, self._place, 0]]

    def rows(self, registers_at: int, list_ranges: Sequence[tuple[int, int]], n_lists: int) -> list[list[int]]:
        """The table `hooks`, one number a row.

        Args:
            registers_at: the field of the first register.
            list_ranges: the lists of each state.
            n_lists: how many there are, with those of starts.
        """
        n_states = len(self.hooks.cells.states)
        states = [n_states - 1] * n_lists
        for state, (begin, end) in enumerate(list_ranges):
            states[begin:end] = [state] * (end - begin)
        header = [0] * h.HOOKS_HEADER
        header[h.H_TYPE], header[h.H_PLACE] = self._type, self._place
        header[h.H_FIRST] = registers_at + self._first if self._first >= 0 else -1
        header[h.H_PAIR] = registers_at + self._pair
        header[h.H_PLACE_SHIFT] = h.PLACE_SHIFT + self.hooks.wanted.bin_events.bit_length() - 1
        header[h.H_N_BINS], header[h.H_N_STATES] = self.hooks.wanted.n_bins, n_states
        header[h.H_N_PREFIX] = _n_in_prefix(self._automaton)
        return [[number] for number in (*header, *states)]


def _n_in_prefix(automaton: Automaton) -> int:
    """How many of the first elements take events as they arrive, where some wait for the last event."""
    joins = automaton.joins
    if joins is None:
        return 0
    n = 0
    while n < len(joins.evaluation.eager) and joins.order[n] == n:
        n += 1
    return n


def cells_of(automaton: Automaton, wanted: Wanted) -> Cells:
    """The cells of a plan."""
    types = sorted({name for element in automaton.elements for name in element.types})
    states = [automaton.variables[state.element].variable for state in automaton.states]
    cells = Cells((*types, None), (*states, None), wanted.n_bins, wanted.bin_events)
    n_types, n_states, n_bins = cells.shape
    n_cells = n_types * n_states * n_bins
    if n_cells >= h.MOST_CELLS:
        bound = automaton.bound
        raise NotSupportedError(
            f"{n_types} types, {n_states} states and {n_bins} bins make {n_cells} cells, and a policy can tell "
            f"{h.MOST_CELLS - 1} apart",
            remedy="take fewer and wider bins (Wanted.n_bins, bin_events)",
            text=bound.text,
            origin=bound.origin,
            span=bound.query.pattern.span,
        )
    return cells


def hook_columns(
    hooks: Hooks,
    batch: EventBatch,
    selected: Ints | None,
    partition: Ints | None,
    null_keys: Ints,
    fit: Ints | None,
    window: BoundWindow | None = None,
    windows: Windows | None = None,
) -> dict[Request, Ints]:
    """The columns for a policy, for the events that the kernel sees.

    Args:
        hooks: of the plan.
        batch: all events.
        selected: the position in the batch of each event (or copy) that the kernel sees; None: all, in place.
        partition: the codes of all events; None where all are in one.
        null_keys: positions of events in no partition.
        fit: the elements that each selected event fits, as bits; None where that may not be by its type alone.
        window, windows: those that slide, and of each copy the one that it is in.
    """
    if window is not None and windows is not None:
        assert selected is not None
        begin = windows.numbers * windows.slide
        counted = count_events(partition, null_keys, len(batch), batch.places)
        if window.size_events is None:
            begin = _first_places(counted, batch.time_us, counted.partitions[selected], begin)
        places = (counted.places[selected] - begin) << h.PLACE_SHIFT
    else:
        places = _places(batch, partition, null_keys, selected)
    numbers = None if fit is None else hooks.numbers_by_fit
    if numbers is not None:
        assert fit is not None
        return {PLACE_IN_WINDOW: places, TYPE_NUMBER: numbers[fit]}
    known = [name for name in hooks.cells.types if name is not None]
    of_all = numbers_by_type(known, batch)
    return {PLACE_IN_WINDOW: places, TYPE_NUMBER: of_all if selected is None else of_all[selected]}


def _places(batch: EventBatch, partition: Ints | None, null_keys: Ints, selected: Ints | None) -> Ints:
    """The place of each selected event in its partition, shifted; of those without one, any."""
    n = len(batch)
    places = batch.places
    if places is not None and not bool((places >= 0).all()):
        places = None  # else the stream that the batch is a part of has counted them
    if places is None and batch.places is None and n and len(null_keys) == 0:
        if partition is None:
            places = np.arange(n)
        else:
            least, greatest = int(partition.min()), int(partition.max())
            if greatest - least < MOST_PARTITIONS:
                n_asked = n if selected is None else len(selected)
                shifted = np.empty(n_asked + 1, np.int64)
                codes = partition.astype(np.int64, copy=False)
                asked = np.zeros(0, np.int64) if selected is None else selected
                if n_asked:
                    place_kernel(n)(
                        codes, least, np.zeros(greatest - least + 1, np.int64), asked, h.PLACE_SHIFT, shifted
                    )
                return shifted[:n_asked]
    if places is None:
        places = count_events(partition, null_keys, n, batch.places).places
    return (places if selected is None else places[selected]) << h.PLACE_SHIFT


def _numbers_by_fit(automaton: Automaton, cells: Cells) -> Ints | None:
    """For each set of elements that a type fits, as bits, the number of the type; None where that does not tell it."""
    elements = automaton.elements
    if len(elements) > MOST_ELEMENTS or automaton.constants or any(e.conditions or e.inner for e in elements):
        return None
    bits = [
        sum(1 << element.index for element in elements if not element.types or name in element.types)
        for name in cells.types
    ]
    if len(set(bits)) < len(bits):
        return None
    numbers = np.full(1 << len(elements), len(bits) - 1, np.int64)
    numbers[bits] = np.arange(len(bits))
    return numbers


def _first_places(counted: CountedEvents, time_us: Ints, partitions: Ints, starts_us: Ints) -> Ints:
    """The place that the first event at or after a time has in a partition, or would have."""
    times, ranks = np.unique(time_us, return_inverse=True)
    width = len(times) + 1
    # Events in the order of partition, then time, as one number each.
    in_order = counted.in_order
    ordered = counted.partitions[in_order] * width + ranks[in_order]
    wanted = partitions * width + np.searchsorted(times, starts_us)
    found = np.searchsorted(ordered, wanted) - counted.starts[partitions]
    return found if counted.before is None else found + counted.before[partitions]
