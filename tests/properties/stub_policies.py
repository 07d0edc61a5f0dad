"""A small policy that looks at pairs, and the same seen from the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cepheid.ports.pairs import Cells, Guard, Orders, Seen, Wanted
from cepheid.testing.oracle_conditions import Binding
from cepheid.testing.oracle_pairs import Pair, Watch

Cell = tuple[str | None, str | None, int]
"""Type of the event, variable of the event that was taken last, bin of the place."""


@dataclass
class DropsCells:
    """Keeps the pairs of some cells apart.

    Attributes:
        dropped: these cells.
        wanted: what it wants.
        n_work: after how much work it wants to be asked again.
        observes: whether it observes from the beginning on, where it wants to.
        cells, seen: what it was told last.
        n_looks: how often it was asked.
    """

    dropped: frozenset[Cell]
    wanted: Wanted
    n_work: int | None = None
    cells: Cells | None = None
    seen: Seen | None = None
    n_looks: int = 0
    observes: bool = True

    def begin(self, cells: Cells) -> Orders:
        self.cells = cells
        observe = self.observes and self.wanted.observe
        if not self.wanted.guard:
            return Orders(n_work=self.n_work, observe=observe)
        utilities = np.ones(cells.shape, np.int64)
        for at in np.ndindex(*cells.shape):
            utilities[at] = (cells.types[at[0]], cells.states[at[1]], at[2]) not in self.dropped
        return Orders(Guard(utilities, threshold=0), self.n_work, observe)

    def look(self, seen: Seen) -> Orders:
        self.seen = seen
        self.n_looks += 1
        return Orders(n_work=self.n_work)

    def told(self, name: str) -> Counter[Cell]:
        """A table by cell of `Seen`, without zeros."""
        assert self.cells is not None
        table: NDArray[np.int64] = getattr(self.seen, name)
        counts: Counter[Cell] = Counter()
        for t, s, b in zip(*np.nonzero(table), strict=True):
            counts[self.cells.types[t], self.cells.states[s], int(b)] += int(table[t, s, b])
        return counts

    def told_by_state(self, name: str) -> Counter[str | None]:
        """A table by state of `Seen`, without zeros."""
        assert self.cells is not None
        table: NDArray[np.int64] = getattr(self.seen, name)
        counts: Counter[str | None] = Counter()
        for s in np.flatnonzero(table):
            counts[self.cells.states[s]] += int(table[s])
        return counts


@dataclass
class WatchesCells(Watch):
    """Keeps the pairs of the same cells apart in the oracle, and counts by cell.

    Attributes:
        dropped, wanted: as of `DropsCells`.
        types: those that the query names.
        meets: whether the two of a pair have equal keys, and the event fulfils the conditions on it alone.
    """

    dropped: frozenset[Cell]
    wanted: Wanted
    types: frozenset[str]
    meets: Callable[[Pair], bool] = lambda _: True
    _met: set[Pair] = field(default_factory=set)
    _taken: set[tuple[Pair, Binding]] = field(default_factory=set)
    _completed: set[tuple[Pair, Binding]] = field(default_factory=set)
    _expired: set[tuple[tuple[Binding, ...], tuple[int, int] | None]] = field(default_factory=set)
    _matched: list[Pair] = field(default_factory=list)

    def cell_of(self, pair: Pair) -> Cell:
        kind = pair.event.type if pair.event.type in self.types else None
        last = pair.bindings[-1].variable if pair.bindings else None
        return kind, last, min(pair.place // self.wanted.bin_events, self.wanted.n_bins - 1)

    def drops(self, pair: Pair) -> bool:
        if self.meets(pair):
            self._met.add(pair)
        return self.cell_of(pair) in self.dropped

    def took(self, pair: Pair, binding: Binding) -> None:
        self._taken.add((pair, binding))

    def expired(self, bindings: Sequence[Binding], window: tuple[int, int] | None) -> None:
        self._expired.add((tuple(bindings), window))

    def completed(self, pairs: Sequence[Pair], bindings: Sequence[Binding]) -> None:
        self._completed.update(zip(pairs, bindings, strict=True))
        self._matched.extend(pairs)

    def counts(self) -> dict[str, Counter[Cell]]:
        """By the names of `Seen`."""
        met = Counter(self.cell_of(pair) for pair in self._met)
        return {
            "dropped": Counter({cell: n for cell, n in met.items() if cell in self.dropped}),
            "processed": Counter({cell: n for cell, n in met.items() if cell not in self.dropped}),
            "taken": Counter(self.cell_of(pair) for pair, _ in self._taken),
            "completed": Counter(self.cell_of(pair) for pair, _ in self._completed),
            "matched": Counter(self.cell_of(pair) for pair in self._matched),
        }

    def counts_by_state(self) -> dict[str, Counter[str | None]]:
        """By the names of `Seen`."""
        return {
            "created": Counter(binding.variable for pair, binding in self._taken if not pair.bindings),
            "extended": Counter(binding.variable for pair, binding in self._taken if pair.bindings),
            "expired": Counter(bindings[-1].variable for bindings, _ in self._expired),
            "pairs": Counter(self.cell_of(pair)[1] for pair in self._met if self.cell_of(pair) not in self.dropped),
        }
