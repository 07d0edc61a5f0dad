"""The open predicates of a run: assumed in the steps of a kernel, settled when the answers come.

`kernels.open_predicates` says what kernels do with them; `kernels.open_layout` what both agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.elements import Elements, RemoteData
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import Resolve
from cepheid.engine.pool import Pool, rows_in
from cepheid.engine.predicate import Frozen, Predicate, Truths
from cepheid.errors import DataError
from cepheid.kernels import layout as k
from cepheid.kernels import open_layout as o
from cepheid.ports.postponing import PostponingPolicy, Question
from cepheid.ports.stores import Key

POLL_EVENTS: Final = 64
"""Events after which answers are looked for, while predicates are open."""

FIRST_CELLS: Final = 1 << 10

Literal = int
"""Twice the number of a predicate, and 1 where it is to be true."""


class OpenPredicates:
    """The open predicates of one query over one input.

    Attributes:
        remote: the elements.
        most: so many may be open at once: where one more would be, its answer is waited for.
        n_waited: how often an answer was waited for.
        n_postponed: predicates that were open, so far.
        held: gives the literals on which something outside of the pool rests.
    """

    def __init__(
        self, compiled: CompiledPlan, pool: Pool, remote: RemoteData, most: int, policy: PostponingPolicy | None = None
    ) -> None:
        """Make room in a pool.

        Args:
            compiled: a plan that postpones.
            pool: of its kernel.
            remote: what is known of remote stores.
            most: predicates that may be open at once, at least 1.
            policy: decides which of them wait for their answers; None: none.
        """
        self.remote = remote
        self.most = most
        self.n_waited = 0
        self.n_postponed = 0
        self._came = False  # answers came that predicates have not been told of
        self.held: Callable[[], Iterable[Literal]] = tuple
        self._plan = compiled.plan
        self._policy = policy
        self._truths = Truths(compiled.automaton.bound, compiled.hosted, remote)
        self._known: dict[tuple[int, tuple[Frozen, ...]], Predicate] = {}
        self._by_number: list[Predicate | None] = [None] * (most + o.MOST_ASSUMED)
        self._free = list(range(len(self._by_number)))[::-1]
        self._waiting: dict[tuple[Elements, Key], list[Predicate]] = {}
        self.attach(pool)

    def attach(self, pool: Pool) -> None:
        """Go on with another pool, in which nothing rests on anything."""
        self._pool = pool
        self._grow(FIRST_CELLS)

    @property
    def n_open(self) -> int:
        """Predicates that something rests on, or rested on until a short while ago, and that are not settled."""
        return int(self._area[o.O_N_OPEN])

    # --- what kernels ask -------------------------------------------------------------------------------

    def predicate(self, hosted: int, resolve: Resolve) -> Predicate:
        """The predicate that a condition is for certain values. It may be known, or become known at once."""
        values = self._truths.frozen(hosted, resolve)
        found = self._known.get((hosted, values))
        if found is None:
            found = Predicate(hosted, values, self._missing(hosted, values))
            if not found.missing:
                found.truth = self._truths.truth(hosted, values)
                return found
            self._known[hosted, values] = found
        return found

    def decided(self, predicate: Predicate) -> bool:
        """The truth of a predicate, or what the step at hand assumes of it."""
        if predicate.is_settled:
            return predicate.settled
        if predicate.number is not None:
            assumed = self._assumed(predicate.number)
            if assumed is not None:
                return assumed
        if not self._is_listed(predicate):  # it was forgotten
            if self._look_again(predicate):
                return predicate.settled
            self._known[predicate.hosted, predicate.values] = predicate
        if self._must_wait(predicate):
            self.n_waited += 1
            self.wait([predicate])
            return predicate.settled
        if predicate.number is None:
            self._open(predicate)
        assert predicate.number is not None
        area = self._area
        depth = int(area[o.O_DEPTH])
        area[area[o.O_PATH] + depth] = 2 * predicate.number + 1
        area[o.O_DEPTH] = depth + 1
        return True

    def _assumed(self, number: int) -> bool | None:
        area = self._area
        path = area[area[o.O_PATH] :][: area[o.O_DEPTH]]
        for literal in path.tolist():
            if literal >> 1 == number:
                return bool(literal & 1)
        for literal in self._literals(int(area[o.O_BASE])):
            if literal >> 1 == number:
                return bool(literal & 1)
        return None

    def _must_wait(self, predicate: Predicate) -> bool:
        if self._area[o.O_DEPTH] >= o.MOST_ASSUMED:
            return True
        if predicate.number is not None:
            return False
        if self.n_open >= self.most or not self._free:
            self._area[o.O_UNTIL_POLL] = 0  # some may be of no use any more
            return True
        if self._policy is None:
            return False
        missing = tuple((elements.store.name, key) for elements, key in predicate.missing)
        return not self._policy.postpones(Question(missing, self.n_open))

    # --- answers ----------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Look for answers, and let what rests on predicates know.

        Raises:
            DataError: an element is not of the declared type, or a registered function fails.
        """
        self._area[o.O_UNTIL_POLL] = POLL_EVENTS
        if self.remote.poll() or self._came:
            self._settle()
        if self.n_open >= self.most or len(self._free) <= o.MOST_ASSUMED:
            self.collect()

    def wait(self, predicates: Iterable[Predicate]) -> None:
        """Wait until all of some are settled.

        Raises:
            DataError: a store gives up; or as of `poll`.
        """
        for predicate in predicates:
            while not predicate.is_settled:
                elements, key = predicate.missing[0]
                if elements.knows(key):
                    self._look_again(predicate)
                else:
                    elements.wait(key)
                    self._settle()

    def _settle(self) -> None:
        self._came = False
        for one in [one for one in self._waiting if one[0].knows(one[1])]:
            for predicate in self._waiting.pop(one, ()):
                if not predicate.is_settled:
                    self._look_again(predicate)

    def _look_again(self, predicate: Predicate) -> bool:
        """Settle a predicate, or find what else it waits for; whether it is settled."""
        predicate.missing = self._missing(predicate.hosted, predicate.values)
        if predicate.missing:
            if predicate.number is not None:
                self._await(predicate)
            return False
        predicate.truth = self._truths.truth(predicate.hosted, predicate.values)
        self._unlist(predicate)
        if predicate.number is not None:
            area = self._area
            area[area[o.O_STATUS] + predicate.number] = int(predicate.truth)
            area[o.O_N_OPEN] -= 1
        return True

    def _unlist(self, predicate: Predicate) -> None:
        if self._is_listed(predicate):
            del self._known[predicate.hosted, predicate.values]

    def _is_listed(self, predicate: Predicate) -> bool:
        return self._known.get((predicate.hosted, predicate.values)) is predicate

    def _missing(self, hosted: int, values: tuple[Frozen, ...]) -> list[tuple[Elements, Key]]:
        """What is not known, after it was asked for, and the store has had a chance to answer at once."""
        missing = self._truths.missing(hosted, values)
        for elements in dict.fromkeys(elements for elements, _ in missing):
            elements.ask([key for other, key in missing if other is elements])
            self._came |= elements.poll() > 0
        return [one for one in missing if not one[0].knows(one[1])] or (
            self._missing(hosted, values) if missing else []
        )

    def _open(self, predicate: Predicate) -> None:
        predicate.number = number = self._free.pop()
        self._by_number[number] = predicate
        area = self._area
        area[area[o.O_STATUS] + number] = o.OPEN
        area[o.O_N_OPEN] += 1
        self.n_postponed += 1
        self._await(predicate)

    def _await(self, predicate: Predicate) -> None:
        if predicate.missing:
            self._waiting.setdefault(predicate.missing[0], []).append(predicate)

    # --- what rests on them -----------------------------------------------------------------------------

    @property
    def _area(self) -> k.Ints:
        return self._pool.open_area

    @property
    def _cells(self) -> k.Ints:
        area = self._area
        return area[area[o.O_CELLS] :].reshape(-1, o.CELL_WIDTH)

    @property
    def _status(self) -> k.Ints:
        area = self._area
        return area[area[o.O_STATUS] :][: len(self._by_number)]

    def _literals(self, cell: int) -> Iterator[Literal]:
        cells = self._cells
        while cell >= 0:
            yield int(cells[cell, o.LITERAL])
            cell = int(cells[cell, o.NEXT_CELL])

    def open_literals(self, cell: int) -> tuple[Literal, ...] | None:
        """The literals of a cell and those after it that are not settled; None where one is not so."""
        if cell == o.REFUTED:
            return None
        found = []
        status = self._status
        for literal in self._literals(cell):
            truth = int(status[literal >> 1])
            if truth == o.OPEN:
                found.append(literal)
            elif truth != literal & 1:
                return None
        return tuple(found)

    def still_open(self, literals: Iterable[Literal]) -> tuple[Literal, ...] | None:
        """Those of some literals that are not settled; None where one is not so."""
        status = self._status
        left = []
        for literal in literals:
            truth = int(status[literal >> 1])
            if truth == o.OPEN:
                left.append(literal)
            elif truth != literal & 1:
                return None
        return tuple(left)

    def predicate_of(self, literal: Literal) -> Predicate:
        """The predicate of a literal that something rests on."""
        found = self._by_number[literal >> 1]
        assert found is not None
        return found

    def open_ones(self) -> list[Predicate]:
        """The predicates that are not settled, and that something rests on or rested on a short while ago."""
        return [one for one in self._by_number if one is not None and not one.is_settled]

    def cell_of(self, literals: Iterable[Literal]) -> int:
        """A new list of cells with some literals; the cell at its front."""
        cell = o.NO_CELL
        for literal in literals:
            if int(self._area[o.O_N_CELLS]) >= int(self._area[o.O_CELLS_ROOM]):
                self._grow(2 * int(self._area[o.O_CELLS_ROOM]))
            new = int(self._area[o.O_N_CELLS])
            self._cells[new] = literal, cell
            self._area[o.O_N_CELLS] = new + 1
            cell = new
        return cell

    def saved(self) -> list[list[Any]]:
        """What `restore` goes on from, as JSON can say it: number, condition and values of each that is open."""
        self.collect()
        return [[number, one.hosted, list(map(list, one.values))] for number, one in enumerate(self._by_number) if one]

    def restore(self, saved: Iterable[list[Any]]) -> dict[int, int]:
        """Open what was open when `saved` was called, before anything else is; the numbers now, by those before.

        Raises:
            DataError: more are open than may be; an element is not of the declared type.
        """
        renamed = {}
        for number, hosted, values in saved:
            frozen = tuple((kind, content) for kind, content in values)
            predicate = Predicate(hosted, frozen, self._missing(hosted, frozen))
            self._known[hosted, frozen] = predicate
            if not self._free:
                raise DataError(
                    f"the snapshot has more than {self.most} open predicates",
                    remedy="restore it with the max_open_predicates that it was made with",
                )
            self._open(predicate)
            if not predicate.missing:
                self._look_again(predicate)
            assert predicate.number is not None
            renamed[number] = predicate.number
        return renamed

    def make_room(self) -> None:
        """Forget what nothing rests on, and double the room for what something does if it is more than half full."""
        self.collect()
        if 2 * int(self._area[o.O_N_CELLS]) + o.MOST_ASSUMED > int(self._area[o.O_CELLS_ROOM]):
            self._grow(2 * int(self._area[o.O_CELLS_ROOM]))

    def collect(self) -> None:
        """Forget cells that nothing rests on, literals that are so, and predicates that no literal names."""
        area, cells, status = self._area, self._cells, self._status
        pool, out = self._pool.pool, self._pool.out
        words, at, field = self.rows()
        chains = words[at, field]
        matches = out[pool[k.M_OUT_CHAINS] :][: pool[k.M_N_MATCHES]]
        base = area[o.O_BASE : o.O_BASE + 1]
        reached = _reached(cells, [chains, matches, base])
        renamed = np.full(int(area[o.O_N_CELLS]) + 2, o.NO_CELL)  # at -1 and -2, what these are
        renamed[o.REFUTED] = o.REFUTED
        kept: list[tuple[int, int]] = []
        for cell in reached.tolist():  # what comes next in a list was made before
            literal, following = (int(n) for n in cells[cell])
            onward = int(renamed[following])
            truth = int(status[literal >> 1])
            if onward == o.REFUTED or (truth != o.OPEN and truth != literal & 1):
                renamed[cell] = o.REFUTED
            elif truth != o.OPEN:
                renamed[cell] = onward
            else:
                renamed[cell] = len(kept)
                kept.append((literal, onward))
        words[at, field] = renamed[chains]
        matches[:] = renamed[matches]
        base[:] = renamed[base]
        if kept:
            cells[: len(kept)] = kept
        area[o.O_N_CELLS] = len(kept)
        path = area[area[o.O_PATH] :][: area[o.O_DEPTH]].tolist()
        self._forget({literal >> 1 for literal in (*(literal for literal, _ in kept), *path, *self.held())})

    def rows(self) -> tuple[k.Ints, k.Ints, int]:
        """The room for rows, which places in it have one, and the field with what it rests on."""
        return *rows_in(self._plan, self._pool.pool), int(self._plan[k.P_CHAIN])

    def _forget(self, named: set[int]) -> None:
        for number, predicate in enumerate(self._by_number):
            if predicate is None or number in named:
                continue
            self._by_number[number] = None
            self._free.append(number)
            predicate.number = None
            if predicate.truth is None:
                self._area[o.O_N_OPEN] -= 1
                self._unlist(predicate)

    def _grow(self, n_cells: int) -> None:
        """Give the area room for so many cells."""
        old = self._area
        sizes = (o.OPEN_HEADER, o.MOST_ASSUMED, len(self._by_number), n_cells * o.CELL_WIDTH)
        area = np.zeros(sum(sizes), np.int64)
        if len(old):
            area[: len(old)] = old
        else:
            area[o.O_BASE] = o.NO_CELL
            area[o.O_UNTIL_POLL] = POLL_EVENTS
        area[o.O_PATH], area[o.O_STATUS], area[o.O_CELLS] = np.cumsum(sizes)[:3]
        area[o.O_CELLS_ROOM] = n_cells
        self._pool.keep_open_area(area)


def _reached(cells: k.Ints, roots: list[k.Ints]) -> k.Ints:
    """The cells of some lists, ascending."""
    found = np.zeros(len(cells), np.bool_)
    at = np.unique(np.concatenate(roots))
    at = at[at >= 0]
    while len(at):
        found[at] = True
        at = np.unique(cells[at, o.NEXT_CELL])
        at = at[at >= 0]
        at = at[~found[at]]
    return np.flatnonzero(found)


def refuted(plan: k.Ints, words: k.Ints, chains: k.Ints) -> NDArray[np.bool_]:
    """Where something that rests on cells is not so.

    Args:
        plan: the tables.
        words: the pool.
        chains: cells.
    """
    if plan[k.P_CHAIN] < 0:
        return np.zeros(len(chains), np.bool_)
    area = words[words[k.M_OPEN] :]
    status = area[area[o.O_STATUS] : area[o.O_CELLS]]
    cells = area[area[o.O_CELLS] :][: area[o.O_N_CELLS] * o.CELL_WIDTH].reshape(-1, o.CELL_WIDTH)
    found: NDArray[np.bool_] = chains == o.REFUTED
    at, rows = chains, np.arange(len(chains))
    while len(rows):
        rows, at = rows[at >= 0], at[at >= 0]
        literals = cells[at, o.LITERAL]
        truths = status[literals >> 1]
        found[rows[(truths != o.OPEN) & (truths != literals & 1)]] = True
        at = cells[at, o.NEXT_CELL]
    return found


def settled_matches(open_predicates: OpenPredicates, pool: Pool) -> NDArray[np.bool_]:
    """Wait until all is settled that matches in the output rest on; where they are matches, (n,), bool.

    Raises:
        DataError: a store gives up; an element is not of the declared type; a registered function fails.
    """
    words = pool.pool
    chains = pool.out[words[k.M_OUT_CHAINS] :][: words[k.M_N_MATCHES]]
    kept = np.ones(len(chains), np.bool_)
    for n in np.flatnonzero(chains != o.NO_CELL).tolist():
        left = open_predicates.open_literals(int(chains[n]))
        while left:
            open_predicates.wait([open_predicates.predicate_of(left[0])])
            left = open_predicates.still_open(left)
        kept[n] = left is not None
    return kept
