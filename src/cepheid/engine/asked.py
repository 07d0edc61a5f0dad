"""Asks a policy that looks at pairs, and hands its orders to a kernel and what was seen to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from cepheid.compiler.hooked import Hooks
from cepheid.compiler.load import Flags
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.pool import Pool, rows_in
from cepheid.kernels import hook_layout as h
from cepheid.kernels import layout as k
from cepheid.ports.pairs import Cells, Guard, Orders, PairPolicy, Seen

NO_LIMIT = 2**62
"""More work than is ever done."""

LETS_ALL_THROUGH = -(2**63)

_OF_CELL = (h.C_DROPPED, h.C_PROCESSED, h.C_TAKEN, h.C_COMPLETED, h.C_MATCHED)
_OF_GROUP = (h.G_MET, h.G_DROPPED)
_OF_STATE = (h.S_CREATED, h.S_EXTENDED, h.S_EXPIRED, h.S_PAIRS, h.S_EVALUATED)


class Asked:
    """A policy, and what a kernel keeps for it in a pool."""

    def __init__(self, compiled: CompiledPlan, policy: PairPolicy, pool: Pool, before: Asked | None = None) -> None:
        """Make room in the pool, and ask the policy how to begin.

        Args:
            compiled: the plan, prepared for what the policy wants.
            policy: is asked.
            pool: of the plan, without partial matches.
            before: how it went on with another plan of the query, from which it goes on: it is not asked again.

        Raises:
            ValueError: its orders do not fit the cells, or what it wants.
        """
        assert compiled.hooks is not None
        self._hooks: Hooks = compiled.hooks
        self._policy = policy
        self._pool = pool
        self._marks = int(compiled.plan[compiled.plan[k.P_HOOKS] + h.H_PAIR])
        self._plan = compiled.plan
        field = max(int(compiled.plan[compiled.plan[k.P_HOOKS] + h.H_FIRST]), 0)
        n_types, n_states, n_bins = self._hooks.cells.shape
        n_groups = n_types * n_states
        groups = h.AREA_HEADER + (n_groups * n_bins + 1) * h.RECORD_WIDTH
        states = groups + n_groups * h.RECORD_WIDTH
        area = np.zeros(states + n_states * h.RECORD_WIDTH, np.int64)
        area[h.A_THRESHOLD], area[h.A_LEAST], area[h.A_LIMIT] = LETS_ALL_THROUGH, 1 + LETS_ALL_THROUGH, NO_LIMIT
        area[h.A_FIELD], area[h.A_GROUPS], area[h.A_STATES] = field, groups, states
        if before is not None:
            assert before.cells == self.cells, "plans of one query have the same states"
            pool.keep_for_policy(before._pool.for_policy.copy())
            pool.for_policy[h.A_FIELD] = field
            return
        pool.keep_for_policy(area)
        self._cells[..., h.C_UTILITY] = 1 + LETS_ALL_THROUGH
        self._groups[..., h.G_ANSWER] = h.NONE
        self._obey(policy.begin(self._hooks.cells))

    def look(self) -> None:
        """Show the policy what has happened: as much work is done as it asked for."""
        observed = self.observes
        self._obey(self._policy.look(self._seen(ended=False)))
        if self.observes and not observed:
            self._mark_unobserved()

    def before_rows_are_saved(self) -> None:
        """Let their marks be true, where pairs may be observed as soon as they are restored."""
        if self._hooks.wanted.observe and not self.observes:
            self._mark_unobserved()

    def _mark_unobserved(self) -> None:
        """Let the partial matches that are there count for no pair: they came about while nobody observed."""
        ring, places = rows_in(self._plan, self._pool.pool)
        nowhere = int(np.prod(self.cells.shape))
        kept = ring[places, self._marks] & ~h.BELOW_PLACE
        ring[places, self._marks] = kept | nowhere << h.CELL_SHIFT | h.WENT_ON

    def end(self) -> None:
        """Show the policy all that has happened."""
        self._policy.look(self._seen(ended=True))

    def seen(self) -> k.Ints:
        """What was counted so far, for a snapshot: int64, as `goes_on_from` takes it."""
        return np.concatenate([self._pool.for_policy[[h.A_WORK]], *(t.reshape(-1) for t in self._counted())])

    def goes_on_from(self, seen: k.Ints) -> None:
        """Count on from what a stream before has counted with the same cells.

        Args:
            seen: from `seen`.
        """
        area = self._pool.for_policy
        if area[h.A_LIMIT] != NO_LIMIT:
            area[h.A_LIMIT] += seen[0] - area[h.A_WORK]
        area[h.A_WORK] = seen[0]
        at = 1
        for own in self._counted():
            own[...] = seen[at : at + own.size].reshape(own.shape)
            at += own.size

    def _counted(self) -> list[k.Ints]:
        """All that is counted but the work: views, in the order of snapshots."""
        self._cells[..., h.C_TAKEN : h.C_MATCHED + 1] += self._cells[..., h.C_LAST, None]
        self._cells[..., h.C_LAST] = 0
        return [
            *(self._cells[..., field] for field in _OF_CELL),
            *(self._groups[..., field] for field in _OF_GROUP),
            *(self._states[..., field] for field in _OF_STATE),
        ]

    @property
    def cells(self) -> Cells:
        """What pairs are told apart by."""
        return self._hooks.cells

    @property
    def may_drop(self) -> bool:
        """Whether there is a pair that is kept apart."""
        area = self._pool.for_policy
        return bool(area[h.A_LEAST] <= area[h.A_THRESHOLD])

    @property
    def observes(self) -> bool:
        """Whether pairs are observed now."""
        return bool(self._pool.for_policy[h.A_OBSERVES])

    def flags(self, wanted: Flags) -> Flags:
        """Of the flags of kernels for what the policy wants those that its orders need."""
        idle = {"GUARDED": not self.may_drop, "OBSERVED": not self.observes}
        return tuple(flag for flag in wanted if not idle.get(flag, False))

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """In its block pairs are kept apart as before, and nothing is counted."""
        before = self._pool.for_policy.copy()
        self._pool.for_policy[h.A_LIMIT] = NO_LIMIT
        yield
        self._pool.for_policy[:] = before

    def _obey(self, orders: Orders) -> None:
        wanted, area = self._hooks.wanted, self._pool.for_policy
        if not isinstance(orders, Orders):
            raise TypeError(f"begin and look of a policy give Orders, and not {orders!r}")
        if orders.guard is not None:
            if not wanted.guard:
                raise ValueError("the policy gives a guard, and does not want one (Wanted.guard)")
            self._keep_apart(orders.guard)
        area[h.A_LIMIT] = NO_LIMIT
        if orders.n_work is not None:
            if not wanted.work:
                raise ValueError(f"n_work is {orders.n_work}; it needs Wanted.work")
            area[h.A_LIMIT] = min(area[h.A_WORK] + min(orders.n_work, NO_LIMIT), NO_LIMIT)
        if orders.observe is not None:
            if orders.observe and not wanted.observe:
                raise ValueError("the policy observes pairs, and does not want to (Wanted.observe)")
            area[h.A_OBSERVES] = orders.observe

    def _keep_apart(self, guard: Guard) -> None:
        shape = self._hooks.cells.shape
        if guard.utilities.shape != shape or guard.utilities.dtype != np.int64:
            found = f"{guard.utilities.dtype} of shape {guard.utilities.shape}"
            raise ValueError(f"the utilities are {found}; the cells ask for int64 of shape {shape}")
        self._cells[..., h.C_UTILITY] = guard.utilities
        apart = guard.utilities <= guard.threshold
        answers = np.where(apart.all(axis=2), h.ALL, np.where(apart.any(axis=2), h.SOME, h.NONE))
        self._groups[..., h.G_ANSWER] = answers
        self._pool.for_policy[h.A_LEAST] = guard.utilities.min()
        self._pool.for_policy[h.A_THRESHOLD] = guard.threshold

    @property
    def _cells(self) -> k.Ints:
        """The records of cells, (types, states, bins, words): a view."""
        return self._records(h.AREA_HEADER, self.cells.shape)

    @property
    def _groups(self) -> k.Ints:
        """The records of groups, (types, states, words): a view."""
        return self._records(int(self._pool.for_policy[h.A_GROUPS]), self.cells.shape[:2])

    @property
    def _states(self) -> k.Ints:
        """The records of states, (states, words): a view."""
        return self._records(int(self._pool.for_policy[h.A_STATES]), self.cells.shape[1:2])

    def _records(self, begin: int, shape: tuple[int, ...]) -> k.Ints:
        n = int(np.prod(shape)) * h.RECORD_WIDTH
        return self._pool.for_policy[begin : begin + n].reshape(*shape, h.RECORD_WIDTH)

    def _seen(self, *, ended: bool) -> Seen:
        tables = [table.copy() for table in self._counted()]
        dropped, processed, taken, completed, matched, groups, groups_dropped = tables[:7]
        created, extended, expired, pairs, evaluated = tables[7:]
        if ended and self.observes:
            expired += self._left_open()
        return Seen(
            work=int(self._pool.for_policy[h.A_WORK]),
            dropped=dropped,
            groups=groups + groups_dropped,
            groups_dropped=groups_dropped,
            processed=processed,
            taken=taken,
            completed=completed,
            matched=matched,
            created=created,
            extended=extended,
            expired=expired,
            pairs=pairs,
            evaluated=evaluated,
            ended=ended,
        )

    def _left_open(self) -> k.Ints:
        """By state, the partial matches that could go on when the input ended, which closes all windows."""
        ring, places = rows_in(self._plan, self._pool.pool)
        waits = ring[places, self._marks] & h.WENT_ON == 0
        states = ring[places[waits], k.STATE] & k.STATE_MASK
        return np.bincount(states, minlength=self.cells.shape[1]).astype(np.int64, copy=False)
