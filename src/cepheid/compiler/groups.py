"""The matches of groups under NOT, as the kernel reads them (`kernels.layout`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.group_checks import BEFORE_MATCH, CheckRows, joined_rows, shared_ranges
from cepheid.events.column import BoolArray
from cepheid.kernels import layout as k
from cepheid.plan.absent_groups import BEFORE, FIRST, FIRST_BEFORE, LAST, N_OF_LOOP, NUMBER, OWN
from cepheid.plan.automaton import Automaton, Element

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupMatches:
    """The matches of what stands under one NOT.

    Attributes:
        offsets: int64, (n + 1,): where each begins in ``positions``.
        positions: int64: the positions in the batch of their events.
        names: the variable of each of these events.
        windows: int64, (n,): the number of the sliding window of each, or None.
        empty: variable -> bool, (n,): where it is empty if it took nothing, for variables that may take nothing: they
            stand on the branch that was taken.
        opens: int64, (n,): the position before which the left neighbour of the NOT may not lie; -1 for any.
        checks: what they are checked for in each gap, or None.
    """

    offsets: Ints
    positions: Ints
    names: Sequence[str]
    windows: Ints | None
    empty: Mapping[str, BoolArray]
    opens: Ints
    checks: CheckRows | None = None


def together(found: Sequence[GroupMatches]) -> GroupMatches:
    """The matches of one group that were found in several ways."""
    if len(found) == 1:
        return found[0]
    counts = np.concatenate([np.diff(matches.offsets) for matches in found])
    windows = [matches.windows for matches in found if matches.windows is not None]
    checks = [matches.checks for matches in found if matches.checks is not None]
    return GroupMatches(
        np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        np.concatenate([matches.positions for matches in found]),
        [name for matches in found for name in matches.names],
        np.concatenate(windows) if windows else None,
        {name: np.concatenate([matches.empty[name] for matches in found]) for name in found[0].empty},
        np.concatenate([matches.opens for matches in found]),
        joined_rows(checks, [len(matches.offsets) - 1 for matches in found]) if checks else None,
    )


@dataclass(frozen=True, eq=False)
class LoopElements:
    """The elements of a loop under a NOT, for each of the rows on which conditions are tried.

    Attributes:
        positions: int64: the positions in the batch of all elements.
        starts, counts: int64, (n,): where those of the row's match begin, and how many there are.
        n_before: int64, (n,): how many of them lie before the element that the row tries.
        empty: bool, (n,): where there are none, the loop took nothing on a branch that was taken.
    """

    positions: Ints
    starts: Ints
    counts: Ints
    n_before: Ints
    empty: BoolArray


def write_groups(
    automaton: Automaton,
    found: Mapping[int, GroupMatches],
    n: int,
    selected: Ints | None,
    windows: Ints | None,
    begin: int,
) -> tuple[Ints, dict[str, LoopElements]]:
    """The table of the groups.

    Args:
        automaton: the plan.
        found: element of a NOT of a group -> its matches.
        n: number of events that the kernel sees.
        selected: their positions in the batch; None for all.
        windows: of each, the number of its sliding window, or None.
        begin: where the table begins in ``ints``.

    Returns:
        the table, and by variable what the host is asked for.
    """
    negated = automaton.elements[automaton.n_positive :]
    variables = {v.variable: v for v in automaton.variables if v.slot is not None}
    parts: list[Ints] = [np.full(len(negated) * k.GROUP_HEADER, -1, np.int64)]
    header = parts[0].reshape(len(negated), k.GROUP_HEADER)
    loops: dict[str, LoopElements] = {}
    at = begin + len(parts[0])
    for b, element in enumerate(negated):
        if element.index not in found or n == 0:  # a condition that names no event leaves the kernel none
            continue
        assert element.inner is not None
        own = [variables[name] for name in element.inner.variables]
        matches = found[element.index]
        numbers = _numbers(matches, selected, windows)
        n_matches = len(matches.offsets) - 1
        order = np.argsort(numbers[matches.offsets[1:] - 1], kind="stable")
        lasts = numbers[matches.offsets[1:] - 1][order]
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(lasts, minlength=n))))
        of_name = [_Elements.of(variable.variable, matches) for variable in own]
        n_rows = np.ones(n_matches, np.int64)
        for variable, elements in zip(own, of_name, strict=True):
            if variable.many:
                np.maximum(n_rows, elements.counts, out=n_rows)
        n_rows = n_rows[order]
        match_of = np.repeat(order, n_rows)
        firsts = np.cumsum(n_rows) - n_rows
        number = np.arange(len(match_of)) - np.repeat(firsts, n_rows)
        opens = matches.opens if selected is None else np.searchsorted(selected, matches.opens)
        columns = [numbers[matches.offsets[:-1]][match_of], opens[match_of]]
        for variable, elements in zip(own, of_name, strict=True):
            told = elements.on_rows(match_of, number, numbers)
            columns += told if variable.many else told[:1]
            if variable.many:
                loops[variable.variable] = elements.loop(match_of, number, matches.positions)
        rows = np.stack(columns, axis=1)
        many = any(variable.many for variable in own)
        first_slot = min(variable.slot for variable in own if variable.slot is not None)
        row_places = np.append(firsts, len(match_of)) if many else np.zeros(0, np.int64)
        places = at + len(ends) + rows.size if many else -1
        header[b, : k.GROUP_CHECKS] = at, at + len(ends), rows.shape[1], first_slot, places
        parts += [ends, rows.reshape(-1), row_places]
        at += len(ends) + rows.size + len(row_places)
        if matches.checks is not None:
            written = _Checks(matches, matches.checks, numbers, order, selected, windows, n)
            table, row_places = written.rows(own, of_name, loops), written.places
            header[b, k.GROUP_CHECKS :] = at, at + len(row_places)
            parts += [row_places, table.reshape(-1)]
            at += table.size + len(row_places)
    return np.concatenate(parts), loops


@dataclass(frozen=True, eq=False)
class _Elements:
    """The events of one variable in the matches of a group.

    Attributes:
        entries: int64: which of the events of all matches they are.
        starts, counts: int64, (number of matches,): where those of a match begin in ``entries``, and how many.
        empty: bool, (number of matches,): where there are none, the variable took nothing on a branch that was taken.
    """

    entries: Ints
    starts: Ints
    counts: Ints
    empty: BoolArray

    @staticmethod
    def of(name: str, matches: GroupMatches) -> _Elements:
        n = len(matches.offsets) - 1
        entries = np.array([i for i, other in enumerate(matches.names) if other == name], np.int64)
        match_of = np.searchsorted(matches.offsets, entries, "right") - 1
        counts = np.bincount(match_of, minlength=n).astype(np.int64, copy=False)
        empty = matches.empty.get(name, np.zeros(n, np.bool_))
        return _Elements(entries, np.cumsum(counts) - counts, counts, empty)

    def on_rows(self, match_of: Ints, number: Ints, numbers: Ints) -> list[Ints]:
        """What the slots of the variable hold (`plan.absent_groups`), by row.

        Args:
            match_of: the match of each row.
            number: how many rows of its match come before it.
            numbers: of all events, as the kernel numbers them.
        """
        starts, counts = self.starts[match_of], self.counts[match_of]
        there = counts > 0
        nothing = np.where(self.empty[match_of], k.EMPTY, k.NOT_BOUND)
        tried = number % np.maximum(counts, 1)

        def event(at: Ints, bound: BoolArray, otherwise: Ints | int) -> Ints:
            if not len(self.entries):
                return np.broadcast_to(np.asarray(otherwise, np.int64), at.shape)
            return np.where(bound, numbers[self.entries[np.where(bound, starts + at, 0)]], otherwise)

        zero = np.zeros_like(counts)
        later = there & (tried > 0)
        slots = {
            OWN: event(tried, there, nothing),
            BEFORE: event(tried - 1, later, k.NOT_BOUND),
            FIRST: event(zero, there, nothing),
            FIRST_BEFORE: event(zero, later, k.NOT_BOUND),
            LAST: event(counts - 1, there, nothing),
            NUMBER: np.arange(len(match_of)),
        }
        return [slots[slot] for slot in range(N_OF_LOOP)]

    def on_checks(self, matches: Ints, n_taken: Ints, tried: Ints, empty: BoolArray, numbers: Ints) -> list[Ints]:
        """The same on rows of checks, but for the number of the row.

        Args:
            matches: the match of each row.
            n_taken, tried, empty: see `CheckRows`, of the variable.
            numbers: of all events, as the kernel numbers them.
        """
        starts, nothing = self.starts[matches], np.where(empty, k.EMPTY, k.NOT_BOUND)
        tried = np.minimum(tried, n_taken - 1)  # of the variable of the condition; what others hold is not read

        def event(at: Ints, bound: BoolArray, otherwise: Ints | int) -> Ints:
            if not len(self.entries):
                return np.broadcast_to(np.asarray(otherwise, np.int64), at.shape)
            return np.where(bound, numbers[self.entries[np.where(bound, starts + at, 0)]], otherwise)

        zero, there, later = np.zeros_like(n_taken), n_taken > 0, tried > 0
        slots = {
            OWN: event(tried, there & (tried >= 0), nothing),
            BEFORE: event(tried - 1, later, k.NOT_BOUND),
            FIRST: event(zero, there, nothing),
            FIRST_BEFORE: event(zero, later, k.NOT_BOUND),
            LAST: event(n_taken - 1, there, nothing),
            NUMBER: zero,
        }
        return [slots[slot] for slot in range(N_OF_LOOP)]

    def loop(self, match_of: Ints, number: Ints, positions: Ints) -> LoopElements:
        """The elements, for the host."""
        counts = self.counts[match_of]
        n_before = number % np.maximum(counts, 1)
        return LoopElements(positions[self.entries], self.starts[match_of], counts, n_before, self.empty[match_of])


@dataclass(frozen=True, eq=False)
class _Checks:
    """What matches are checked for, as the kernel reads it.

    Attributes:
        matches: of one group.
        checks: of these.
        numbers: of all their events, as the kernel numbers them.
        order: of the matches.
        selected, windows, n: see `write_groups`.
    """

    matches: GroupMatches
    checks: CheckRows
    numbers: Ints
    order: Ints
    selected: Ints | None
    windows: Ints | None
    n: int

    @cached_property
    def _places_of_matches(self) -> Ints:
        """For each row, the place of its match in the order."""
        places = np.empty(len(self.order), np.int64)
        places[self.order] = np.arange(len(self.order))
        return places[self.checks.matches]

    @cached_property
    def places(self) -> Ints:
        """Where the rows of each match begin, in the order of the matches, and where those of the last end."""
        places = np.sort(self._places_of_matches)
        return np.searchsorted(places, np.arange(len(self.order) + 1)).astype(np.int64, copy=False)

    def rows(self, own: Sequence[Element], of_name: Sequence[_Elements], loops: dict[str, LoopElements]) -> Ints:
        """The rows: those of each match, in their order, then what several share.

        Args:
            own: the variables of the group.
            of_name: their events.
            loops: of those that have several, what the host is asked for; rows are added.
        """
        checks, matches = self.checks, self.matches
        shared = np.flatnonzero(checks.events == BEFORE_MATCH)
        firsts = self.numbers[matches.offsets[:-1]][checks.matches[shared]]
        begins, ends, of_all = shared_ranges(checks, shared.tolist(), firsts, self.selected, self.windows, self.n)
        by_match = np.argsort(self._places_of_matches, kind="stable")
        asked = np.concatenate((by_match, of_all[:, 1]))
        head = np.stack((self._events(), checks.checks, np.zeros_like(checks.checks)), axis=1)
        n_rows = len(head)
        head[shared] = np.stack((np.full(len(shared), k.CHECK_SHARED), n_rows + begins, n_rows + ends), axis=1)
        before = np.stack((of_all[:, 0], checks.checks[of_all[:, 1]], np.zeros(len(of_all), np.int64)), axis=1)
        columns = [np.concatenate((head[by_match], before))]
        of_match = checks.matches[asked]
        for i, (variable, elements) in enumerate(zip(own, of_name, strict=True)):
            n_taken, tried, empty = checks.n_taken[asked, i], checks.tried[asked], checks.empty[asked, i]
            told = elements.on_checks(of_match, n_taken, tried, empty, self.numbers)
            if not variable.many:
                columns.append(told[OWN][:, None])
                continue
            loop = loops[variable.variable]
            told[NUMBER] = len(loop.starts) + np.arange(len(asked))
            columns.append(np.stack(told, axis=1))
            loops[variable.variable] = LoopElements(
                loop.positions,
                np.concatenate((loop.starts, elements.starts[of_match])),
                np.concatenate((loop.counts, n_taken)),
                np.concatenate((loop.n_before, np.maximum(tried, 0))),
                np.concatenate((loop.empty, empty)),
            )
        return np.concatenate(columns, axis=1)

    def _events(self) -> Ints:
        """The events that may close loops, as the kernel numbers them."""
        checks = self.checks
        there = checks.events >= 0
        found = np.full(len(there), k.CHECK_HOLDS)
        own = None if self.matches.windows is None else self.matches.windows[checks.matches[there]]
        found[there] = _numbered(checks.events[there], own, self.selected, self.windows)
        return found


def _numbers(matches: GroupMatches, selected: Ints | None, windows: Ints | None) -> Ints:
    """The events of matches as the kernel numbers them."""
    own = None if matches.windows is None else np.repeat(matches.windows, np.diff(matches.offsets))
    return _numbered(matches.positions, own, selected, windows)


def _numbered(positions: Ints, own: Ints | None, selected: Ints | None, windows: Ints | None) -> Ints:
    """Events as the kernel numbers them; ``own``: the sliding windows that they are in."""
    if selected is None:
        return positions
    first = np.searchsorted(selected, positions)
    if windows is None or own is None:
        return first
    # The copies of an event stand side by side, one for each window that holds it.
    return np.asarray(first + own - windows[first], np.int64)
