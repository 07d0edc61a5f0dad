"""What a plan needs for a policy that looks at pairs: the table `hooks`, two columns, three registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

MOST_PARTITIONS = 1 << 20
"""Codes that lie further apart are sorted; so many counters take 8 MB."""


@dataclass(frozen=True)
class Hooks:
    """The hooks of a plan.

    Attributes:
        wanted: what the policy wants.
        cells: what it is told.
    """

    wanted: Wanted
    cells: Cells

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
            NotSupportedError: the kernel for the plan has no hooks.
        """
        if automaton.joins is not None:
            bound = automaton.bound
            raise NotSupportedError(
                "no policy can look at pairs of events and partial matches yet where variables wait for the last event",
                remedy="run the query without the policy, or take all events as they arrive",
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        self.hooks = Hooks(wanted, cells_of(automaton, wanted))
        self._automaton = automaton
        self._type = self._place = -1
        if self.hooks.tells_cells:
            self._type = requests.number(TYPE_NUMBER)
            self._place = requests.number(PLACE_IN_WINDOW)
        self._first = self._cell = self._marks = -1

    def take_registers(self, registers: Registers) -> None:
        """Take registers, after all others have been given out."""
        if self.hooks.tells_cells and not self._automaton.sliding:
            self._first = registers.n_ints
            registers.n_ints += 1
        if self.hooks.wanted.observe:
            self._cell, self._marks = registers.n_ints, registers.n_ints + 1
            registers.n_ints += 2

    def updates(self, edge: Edge) -> list[list[int]]:
        """The rows of the table `updates` for a step: a start notes its place, where its window begins."""
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
        header[h.H_CELL], header[h.H_MARKS] = registers_at + self._cell, registers_at + self._marks
        header[h.H_BIN_SHIFT] = self.hooks.wanted.bin_events.bit_length() - 1
        header[h.H_N_BINS], header[h.H_N_STATES] = self.hooks.wanted.n_bins, n_states
        return [[number] for number in (*header, *states)]


def cells_of(automaton: Automaton, wanted: Wanted) -> Cells:
    """The cells of a plan."""
    types = sorted({name for element in automaton.elements for name in element.types})
    states = [automaton.variables[state.element].variable for state in automaton.states]
    return Cells((*types, None), (*states, None), wanted.n_bins, wanted.bin_events)


def hook_columns(
    hooks: Hooks,
    batch: EventBatch,
    selected: Ints | None,
    partition: Ints | None,
    null_keys: Ints,
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
        window, windows: those that slide, and of each copy the one that it is in.
    """
    if window is not None and windows is not None:
        assert selected is not None
        begin = windows.numbers * windows.slide
        if window.size_events is None:
            counted = count_events(partition, null_keys, len(batch), batch.places)
            begin = _first_places(counted, batch.time_us, counted.partitions[selected], begin)
            places = counted.places
        else:
            places = _places(batch, partition, null_keys)
        places = places[selected] - begin
    else:
        places = _places(batch, partition, null_keys)
        places = places if selected is None else places[selected]
    known = [name for name in hooks.cells.types if name is not None]
    numbers = numbers_by_type(known, batch)
    return {PLACE_IN_WINDOW: places, TYPE_NUMBER: numbers if selected is None else numbers[selected]}


def _places(batch: EventBatch, partition: Ints | None, null_keys: Ints) -> Ints:
    """The place of each event in its partition; of those without one, any."""
    n = len(batch)
    if batch.places is not None and bool((batch.places >= 0).all()):
        return batch.places  # the stream that the batch is a part of has counted them
    if batch.places is None and partition is not None and n and len(null_keys) == 0:
        least, greatest = int(partition.min()), int(partition.max())
        if greatest - least < MOST_PARTITIONS:
            places = np.empty(n, np.int64)
            codes = partition.astype(np.int64, copy=False)
            place_kernel()(codes, least, np.zeros(greatest - least + 1, np.int64), places)
            return places
    return count_events(partition, null_keys, n, batch.places).places


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
