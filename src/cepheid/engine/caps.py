"""What happens when more partial matches would be held than may be."""

from __future__ import annotations

import numpy as np

from cepheid.compiler.columns import KernelEvents
from cepheid.compiler.requests import PARTITION
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.carrying import reason_not_carried, reason_not_dropped
from cepheid.engine.compaction import HeldRows, first_events, held_items, held_rows, without
from cepheid.engine.pool import Pool
from cepheid.engine.settings import Settings
from cepheid.errors import CapacityError, NotSupportedError, QueryError
from cepheid.events.column import BoolArray, Int64Array
from cepheid.kernels import layout as k


class GiveUp(Exception):
    """More would be held than may be, by a plan that runs over its window again: the oldest events are to go.

    Attributes:
        floors: an event of the partition for which that is so, -1 for all partitions; and the first event that may
            stay: positions in the batch.
        n_dropped: partial matches that begin before.
    """

    def __init__(self, floors: list[tuple[int, int]], n_dropped: int) -> None:
        """Say which."""
        super().__init__(floors, n_dropped)
        self.floors = floors
        self.n_dropped = n_dropped


class Caps:
    """Holds a pool to the settings of a run.

    Attributes:
        n_dropped: partial matches that were dropped.
    """

    def __init__(self, compiled: CompiledPlan, settings: Settings) -> None:
        """Take the settings for a plan.

        Raises:
            QueryError: a cap for each key, and the query has no SAME.
            NotSupportedError: the engine cannot drop partial matches of such a plan.
        """
        bound = compiled.automaton.bound
        if settings.max_partial_matches_per_key is not None and not bound.partition:
            raise QueryError(
                "max_partial_matches_per_key counts for each value of SAME, and the query has no SAME",
                remedy="add SAME[...], or set max_partial_matches alone",
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        if settings.on_cap == "drop oldest" and (reason := reason_not_dropped(compiled)) is not None:
            raise NotSupportedError(
                f'the engine cannot run on_cap="drop oldest" with this query: {reason}',
                remedy='use on_cap="error"',
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        self.n_dropped = 0
        self._compiled = compiled
        self._settings = settings

    @property
    def first_rows(self) -> int:
        """Room to begin with, at most: the greatest power of two that is not above a cap."""
        return 1 << (self._least.bit_length() - 1)

    @property
    def _least(self) -> int:
        per_key = self._settings.max_partial_matches_per_key
        return (
            self._settings.max_partial_matches if per_key is None else min(self._settings.max_partial_matches, per_key)
        )

    def made_room(self, pool: Pool, events: KernelEvents) -> bool:
        """Look at a full pool, in the middle of an event.

        Returns:
            Whether room was made by dropping partial matches; else the pool may grow.

        Raises:
            CapacityError: it holds more than may be.
            GiveUp: the same, where the oldest are to be dropped, and the plan runs over its window again.
        """
        words = pool.pool
        if words[k.M_CAPACITY] < self._least:
            return False
        return self._held_to(pool, events, int(_clock(events)[words[k.M_EVENT]]))

    def check(self, pool: Pool, events: KernelEvents) -> None:
        """Look at a pool after a batch, where a cap for each key is set: one may be above it before the pool is full.

        Raises:
            CapacityError: it holds more than may be.
        """
        if self._settings.max_partial_matches_per_key is not None and events.n:
            self._held_to(pool, events, int(_clock(events)[-1]) + 1)

    def _held_to(self, pool: Pool, events: KernelEvents, next_us: int) -> bool:
        settings = self._settings
        if self._compiled.automaton.strict:
            self._require_few(held_items(self._compiled, pool.pool), events)
            return False
        found = held_rows(self._compiled, pool.pool, events, next_us - 1)
        per_key = settings.max_partial_matches_per_key
        if settings.on_cap == "drop oldest" and reason_not_carried(self._compiled) is not None:
            self._give_up(found, events)
            return False
        dropped = np.zeros(len(found.starts), np.bool_)
        if per_key is not None and len(dropped):
            keys = self._keys(events, found.last)
            _, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
            for key in np.flatnonzero(counts > per_key):
                rows = np.flatnonzero(numbers == key)
                dropped[rows] = self._oldest(found.starts[rows], per_key, found.needed_start, "of one key")
        left = np.flatnonzero(~dropped)
        if len(left) > settings.max_partial_matches:
            most = settings.max_partial_matches
            dropped[left] = self._oldest(found.starts[left], most, found.needed_start, "")
        n_left = len(dropped) - int(np.count_nonzero(dropped))
        if n_left == pool.pool[k.M_HEAD] - pool.pool[k.M_TAIL]:
            return False  # nothing is to be given back: what fills the room is on its way, as where a loop is joined
        # One event gives a row at most so many, which must fit at once.
        there_is_room = n_left + int(self._compiled.plan[k.P_FANOUT]) <= int(pool.pool[k.M_CAPACITY]) * 3 // 4
        if dropped.any() or (there_is_room and reason_not_carried(self._compiled) is None):
            self.n_dropped += int(np.count_nonzero(dropped & found.is_open))
            without(self._compiled, pool, found, dropped, next_us - 1)
            return there_is_room
        return False

    def _require_few(self, last: Int64Array, events: KernelEvents) -> None:
        """Raise `CapacityError` where there are more partial matches, with these last events, than may be."""
        per_key, most = self._settings.max_partial_matches_per_key, self._settings.max_partial_matches
        if per_key is not None and len(last):
            n = int(np.unique(self._keys(events, last), return_counts=True)[1].max())
            if n > per_key:
                raise self._error(n, per_key, "of one key")
        if len(last) > most:
            raise self._error(len(last), most, "")

    def _keys(self, events: KernelEvents, last: Int64Array) -> Int64Array:
        """The partitions of events that partial matches took last."""
        column = self._compiled.requests.ints.index(PARTITION)
        keys: Int64Array = events.ints[(k.FIRST_COLUMN + column) * events.n :][: events.n][last]
        return keys

    def _give_up(self, found: HeldRows, events: KernelEvents) -> None:
        """Raise `GiveUp` where there is more than may be."""
        firsts, last, per_key = first_events(found), found.last, self._settings.max_partial_matches_per_key
        if events.selected is not None:
            firsts, last = events.selected[firsts], events.selected[last]
        floors: list[tuple[int, int]] = []
        dropped = np.zeros(len(firsts), np.bool_)
        if per_key is not None and len(firsts):
            keys = self._keys(events, found.last)
            _, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
            for key in np.flatnonzero(counts > per_key):
                rows = np.flatnonzero(numbers == key)
                floor = self._floor(firsts[rows], per_key, "of one key")
                floors.append((int(last[rows[0]]), floor))
                dropped[rows] = firsts[rows] < floor
        left = firsts[~dropped]
        if len(left) > self._settings.max_partial_matches:
            floors.append((-1, self._floor(left, self._settings.max_partial_matches, "")))
            dropped |= firsts < floors[-1][1]
        if floors:
            raise GiveUp(floors, int(np.count_nonzero(dropped & found.is_open)))

    def _floor(self, firsts: Int64Array, most: int, where: str) -> int:
        """The first event of the oldest partial match that stays, so that at most three quarters of ``most`` do."""
        in_order = np.sort(firsts)
        floor = int(in_order[len(firsts) - max(1, most * 3 // 4)])
        if np.count_nonzero(in_order >= floor) > most:
            later = in_order[in_order > floor]
            if not len(later):
                raise self._error(len(firsts), most, where, one_start=True)
            floor = int(later[0])
        return floor

    def _oldest(self, starts: Int64Array, most: int, needed: int | None, where: str) -> BoolArray:
        """Which of the partial matches with these starts are to go, so that at most three quarters of ``most`` stay."""
        if self._settings.on_cap == "error":
            raise self._error(len(starts), most, where)
        target = max(1, most * 3 // 4)
        in_order = np.sort(starts)
        # Those of one start go or stay together.
        floor = int(in_order[len(starts) - target])
        if len(starts) - int(np.searchsorted(in_order, floor)) > most:
            later = in_order[in_order > floor]
            floor = int(later[0]) if len(later) else floor
        if needed is not None:
            floor = min(floor, needed)
        dropped: BoolArray = starts < floor
        if len(starts) - int(np.count_nonzero(dropped)) > most:
            raise self._error(len(starts), most, where, one_start=True)
        return dropped

    def _error(self, n: int, most: int, where: str, *, one_start: bool = False) -> CapacityError:
        bound = self._compiled.automaton.bound
        name = "max_partial_matches_per_key" if where else "max_partial_matches"
        of_one = ", which all began at one time, so that none of them is older than the others" if one_start else ""
        return CapacityError(
            f"{n} partial matches {where + ' ' if where else ''}are held at once{of_one}, and {name}={most}",
            remedy="give the query a shorter window, SAME or further conditions, raise the cap (cep.Settings)"
            + (
                ""
                if one_start or reason_not_dropped(self._compiled) is not None
                else ', or lose some matches: cep.Settings(on_cap="drop oldest")'
            ),
            text=bound.text,
            origin=bound.origin,
            span=bound.query.pattern.span,
        )


def _clock(events: KernelEvents) -> Int64Array:
    return events.ints[k.TIME_COLUMN * events.n :][: events.n]
