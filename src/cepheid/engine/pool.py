"""Room for partial matches and for matches, and how it grows: kernels never allocate."""

from __future__ import annotations

import numpy as np

from cepheid.compiler.columns import KernelEvents
from cepheid.compiler.load import relinkers
from cepheid.compiler.tables import CompiledPlan
from cepheid.kernels import layout as k

FIRST_ROWS = 1 << 12  # small enough to stay in the processor's cache while windows are short
CACHE_LINE = 8  # int64 words: rows of most plans fill one
FIRST_MATCHES = 1 << 19  # memory is touched only as it fills
FEWEST_ROWS = 1 << 8


def rows_for(n_events: int) -> int:
    """Partial matches for which to make room at first, where there are not many events: a power of two."""
    return max(FEWEST_ROWS, 1 << n_events.bit_length())


def rows_in(plan: k.Ints, words: k.Ints) -> tuple[k.Ints, k.Ints]:
    """The ring of rows in the words of a pool, (capacity, words of a row), a view; and where in it those in use lie.

    The latter are int64, the oldest first.
    """
    width, capacity = int(plan[k.P_ROW_WIDTH]), int(words[k.M_CAPACITY])
    ring: k.Ints = words[words[k.M_ROWS] :][: capacity * width].reshape(-1, width)
    return ring, np.arange(words[k.M_TAIL], words[k.M_HEAD]) & (capacity - 1)


class Pool:
    """The arrays that one matcher's kernel works on.

    Attributes:
        pool: int64, partial matches and all that the kernel keeps between calls.
        reals: float64, constants, stack and float registers.
        out: int64, matches.
        first_rows: partial matches for which there is room at first.
        n_forgotten: how many more were made than their numbers say.
    """

    def __init__(self, compiled: CompiledPlan, most_first_rows: int | None = None) -> None:
        """Make room.

        Args:
            compiled: the plan.
            most_first_rows: for at most so many partial matches at first; a power of two.
        """
        self.first_rows = FIRST_ROWS if most_first_rows is None else min(FIRST_ROWS, most_first_rows)
        self.n_forgotten = 0
        self._plan = compiled.plan
        self._for_policy = np.zeros(0, np.int64)
        self._open = np.zeros(0, np.int64)
        self._constants = compiled.constants
        has_runs = self._plan[k.P_RUN_FIELD] >= 0
        has_buffers = self._plan[k.P_N_BUFFERS] > 0
        header = np.zeros(k.POOL_HEADER, np.int64)
        header[k.M_ROW] = k.NO_ROW
        header[k.M_CURRENT : k.M_HOST] = -1
        header[k.M_CAPACITY] = self.first_rows
        header[k.M_RUN_CAPACITY] = FIRST_ROWS if has_runs else 1
        header[k.M_KEPT_CAPACITY] = FIRST_ROWS if has_buffers else 1
        self.pool = header
        self.pool = self.laid_out(header)
        self.reals = self.new_reals(self.first_rows)
        length = int(self._plan[k.P_FIXED_LENGTH])
        self.out = self._new_out(FIRST_MATCHES, FIRST_MATCHES * max(4, length))

    @property
    def for_policy(self) -> k.Ints:
        """What a kernel keeps for a policy, as `kernels.hook_layout` says: a view of the pool."""
        return self.pool[int(self.pool[k.M_HOOKS]) :][: len(self._for_policy)]

    def keep_for_policy(self, area: k.Ints) -> None:
        """Make room for what a kernel keeps for a policy, before anything else is in the pool."""
        self._for_policy = area
        self.pool[k.M_HOOKS] = 0
        self.pool = self.laid_out(self.pool[: k.POOL_HEADER].copy())

    @property
    def open_area(self) -> k.Ints:
        """What is known of open predicates, as `kernels.open_layout` says: a view of the pool."""
        return self.pool[int(self.pool[k.M_OPEN]) :][: len(self._open)]

    def keep_open_area(self, area: k.Ints) -> None:
        """Make room for what is known of open predicates, in place of what there was."""
        self._open = area
        self.pool[k.M_OPEN] = 0
        self.make_room(k.CELLS_FULL)

    def set_events(self, events: KernelEvents, first: int = 0) -> None:
        """Point the kernel at a batch, from the event at index ``first`` on."""
        pool = self.pool
        pool[k.M_EVENT] = first
        pool[k.M_BASE] = 0
        pool[k.M_N_EVENTS] = pool[k.M_STOP] = events.n
        pool[k.M_INT_NULLS] = events.int_nulls
        pool[k.M_FLOAT_NULLS] = events.float_nulls
        pool[k.M_GROUPS] = events.groups

    def make_room(self, code: int) -> None:
        """Double what a kernel found full; with CELLS_FULL, lay out again."""
        if code == k.OUTPUT_FULL:
            self._grow_out()
            return
        before = self.pool
        header = before[: k.POOL_HEADER].copy()
        if code != k.CELLS_FULL:
            grown = {k.POOL_FULL: k.M_CAPACITY, k.RUNS_FULL: k.M_RUN_CAPACITY, k.BUFFER_FULL: k.M_KEPT_CAPACITY}[code]
            header[grown] *= 2
        pool = self.laid_out(header)
        width = int(self._plan[k.P_ROW_WIDTH])
        if code == k.POOL_FULL:
            self.reals = self._moved_reals(before, pool)
        self._move(before, pool, k.M_ROWS, k.M_CAPACITY, width, k.M_TAIL, k.M_HEAD)
        self._move(before, pool, k.M_RUNS, k.M_RUN_CAPACITY, k.RUN_WIDTH, k.M_RUN_TAIL, k.M_RUN_HEAD)
        self._move(before, pool, k.M_KEPT, k.M_KEPT_CAPACITY, k.KEPT_WIDTH, k.M_KEPT_TAIL, k.M_KEPT_HEAD)
        relink, relink_kept = relinkers()
        relink(self._plan, pool)
        relink_kept(pool)
        self.pool = pool

    def forget_matches(self) -> None:
        """Begin a new output: what was read of the one before stays as it is."""
        self.pool[k.M_N_MATCHES] = self.pool[k.M_N_ENTRIES] = 0
        self.out = self._new_out(FIRST_MATCHES, FIRST_MATCHES * max(4, int(self._plan[k.P_FIXED_LENGTH])))

    def reals_of_rows(self) -> k.Floats:
        """The float registers of all rows, by their places in the ring: (room, registers), a view."""
        n = int(self._plan[k.P_N_REALS])
        return self.reals[int(self._plan[k.P_REGISTER_REALS]) :].reshape(int(self.pool[k.M_CAPACITY]), n)

    @property
    def n_bytes(self) -> int:
        """Bytes held for partial matches and the events kept for NOT."""
        return int(self.pool.nbytes + self.reals.nbytes)

    # --- layout -----------------------------------------------------------------------------------

    def laid_out(self, header: k.Ints) -> k.Ints:
        """A pool with the capacities that a header names, its lists empty."""
        capacity, runs, kept = (int(header[c]) for c in (k.M_CAPACITY, k.M_RUN_CAPACITY, k.M_KEPT_CAPACITY))
        n_lists, n_buffers = int(self._plan[k.P_N_LISTS]), int(self._plan[k.P_N_BUFFERS])
        n_sorted = int(self._plan[k.P_N_SORTED])
        n_stack = int(self._plan[k.P_REGISTER_REALS] - self._plan[k.P_STACK_REALS])
        header[k.M_BUCKETS] = capacity
        at = k.POOL_HEADER
        for place, size in (
            (k.M_STACK, n_stack),
            (k.M_TAGS, n_stack),
            (k.M_ITERATED, k.MAX_ITERATED),
            (k.M_ROWS, capacity * int(self._plan[k.P_ROW_WIDTH])),
            (k.M_HEADS, capacity * n_lists),
            (k.M_RUNS, runs * k.RUN_WIDTH),
            (k.M_KEPT, kept * k.KEPT_WIDTH),
            (k.M_KEPT_HEADS, kept * n_buffers),
            (k.M_HOOKS, len(self._for_policy)),
            (k.M_OPEN, len(self._open)),
            (k.M_SORTED, (k.SORTED_FROM + 2 * kept) * n_sorted),
        ):
            at = -(-at // CACHE_LINE) * CACHE_LINE
            header[place] = at
            at += size
        pool = np.zeros(at, np.int64)
        pool[: k.POOL_HEADER] = header
        for_policy = self.for_policy if self.pool[k.M_HOOKS] else self._for_policy
        pool[header[k.M_HOOKS] :][: len(for_policy)] = for_policy
        open_area = self.open_area if self.pool[k.M_OPEN] else self._open
        pool[header[k.M_OPEN] :][: len(open_area)] = open_area
        pool[header[k.M_HEADS] : header[k.M_HEADS] + capacity * n_lists] = k.NO_ROW
        pool[header[k.M_RUNS] : header[k.M_RUNS] + runs * k.RUN_WIDTH] = k.NO_ROW
        pool[header[k.M_KEPT_HEADS] : header[k.M_KEPT_HEADS] + kept * n_buffers] = k.NO_ROW
        self.unsort(pool)
        return pool

    def unsort(self, pool: k.Ints) -> None:
        """Let the kernel sort anew what it finds in the order of a value."""
        room = k.SORTED_FROM + 2 * int(pool[k.M_KEPT_CAPACITY])
        pool[int(pool[k.M_SORTED]) :][: room * int(self._plan[k.P_N_SORTED]) : room] = k.UNSORTED

    def new_reals(self, capacity: int) -> k.Floats:
        """The constants, the stack, and registers for so many rows."""
        reals = np.zeros(int(self._plan[k.P_REGISTER_REALS] + capacity * self._plan[k.P_N_REALS]), np.float64)
        reals[: len(self._constants)] = self._constants
        return reals

    def _moved_reals(self, before: k.Ints, pool: k.Ints) -> k.Floats:
        n = int(self._plan[k.P_N_REALS])
        reals = self.new_reals(int(pool[k.M_CAPACITY]))
        at = int(self._plan[k.P_REGISTER_REALS])
        ids = np.arange(before[k.M_TAIL], before[k.M_HEAD])
        if n:
            source = self.reals[at:].reshape(-1, n)
            reals[at:].reshape(-1, n)[ids & (pool[k.M_CAPACITY] - 1)] = source[ids & (before[k.M_CAPACITY] - 1)]
        return reals

    @staticmethod
    def _move(before: k.Ints, after: k.Ints, place: int, room: int, width: int, tail: int, head: int) -> None:
        """Move what lies in a ring: ids stay, places change."""
        ids = np.arange(before[tail], before[head])
        source = before[before[place] :][: before[room] * width].reshape(-1, width)
        target = after[after[place] :][: after[room] * width].reshape(-1, width)
        target[ids & (after[room] - 1)] = source[ids & (before[room] - 1)]

    def _new_out(self, n_matches: int, n_entries: int) -> k.Ints:
        pool = self.pool
        varies = self._plan[k.P_FIXED_LENGTH] == 0
        pool[k.M_OUT_ENTRIES] = n_entries
        pool[k.M_OUT_MATCHES] = n_matches
        at = n_entries
        for place, size in (
            (k.M_OUT_ELEMENTS, n_entries),
            (k.M_OUT_OFFSETS, n_matches + 1),
            (k.M_OUT_DECIDED, n_matches),
            (k.M_OUT_DECIDERS, n_matches),
            (k.M_OUT_CHAINS, n_matches if self._plan[k.P_CHAIN] >= 0 else 0),
        ):
            pool[place] = at
            at += size if varies else 0
        out = np.empty(at, np.int64)
        if varies:
            out[pool[k.M_OUT_OFFSETS]] = 0
        return out

    def _grow_out(self) -> None:
        pool = self.pool
        places = (0, k.M_OUT_ELEMENTS, k.M_OUT_OFFSETS, k.M_OUT_DECIDED, k.M_OUT_DECIDERS, k.M_OUT_CHAINS)
        old = [0, *(int(pool[p]) for p in places[1:])]
        n_matches, n_entries = int(pool[k.M_N_MATCHES]), int(pool[k.M_N_ENTRIES])
        before = self.out
        self.out = self._new_out(2 * int(pool[k.M_OUT_MATCHES]), 2 * int(pool[k.M_OUT_ENTRIES]))
        n_chains = n_matches if self._plan[k.P_CHAIN] >= 0 else 0
        sizes = (n_entries, n_entries, n_matches + 1, n_matches, n_matches, n_chains)
        if self._plan[k.P_FIXED_LENGTH]:
            sizes = (n_entries, 0, 0, 0, 0, 0)
        for place, start, size in zip(places, old, sizes, strict=True):
            new = int(pool[place]) if place else 0
            self.out[new : new + size] = before[start : start + size]
