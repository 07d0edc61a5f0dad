"""The tables of `kernels.shared` for a plan of `plan.shared` and the classes of its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cepheid.kernels import shared as s
from cepheid.plan.shared import Shared

Rows = list[list[int]]


def shared_tables(shared: Shared, masks: Sequence[int]) -> NDArray[np.int64]:
    """The table of a plan.

    Args:
        shared: the plan.
        masks: for each class of events the elements that they fit, as bits.
    """
    return _Tables(shared).table(masks)


class _Tables:
    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        # States that take no more are no columns: what leads there is counted when it does.
        kept = [number for number, state in enumerate(shared.states) if state.steps]
        self.numbers = {number: i for i, number in enumerate(kept)}
        self.kept = kept
        self.n = len(kept)
        self.behind = self._reach()
        self.n_copies = 0

    def table(self, masks: Sequence[int]) -> NDArray[np.int64]:
        """The whole table."""
        parts: Rows = []
        at = s.PLAN_HEADER + len(masks) * s.CLASS_WIDTH
        classes: list[int] = []

        def put(rows: Rows) -> None:
            nonlocal at
            flat = [word for row in rows for word in row]
            parts.append(flat)
            classes.extend((at, at + len(flat)))
            at += len(flat)

        for mask in masks:
            moves = self._moves(mask)
            matrix = self._matrix(moves)
            put(self._operations(matrix, on_rows=False))
            put(self._operations(self._transposed(matrix), on_rows=True))
            put([[state] for state, (_, steps) in moves.items() for _, complete, _ in steps if complete])
            steps_at = at
            flat = [list(step) for _, steps in moves.values() for step in steps]
            parts.append([word for row in flat for word in row])
            at += len(flat) * s.STEP_WIDTH
            rows: Rows = []
            for state, (passed, steps) in moves.items():
                rows.append([state, passed, steps_at, steps_at + len(steps) * s.STEP_WIDTH])
                steps_at += len(steps) * s.STEP_WIDTH
            put(rows)
        header = [self.n, self.n + self.n_copies]
        return np.array([*header, *classes, *(word for part in parts for word in part)], np.int64)

    def _reach(self) -> list[set[int]]:
        """For each state those that lie behind it, itself among them."""
        onward: list[set[int]] = []
        for number in self.kept:
            state = self.shared.states[number]
            targets = [*(target for _, target in state.steps), *(target for _, target in state.passes)]
            onward.append({self.numbers[target] for target in targets if target in self.numbers})
        found = []
        for start in range(self.n):
            reached, waiting = {start}, [start]
            while waiting:
                new = onward[waiting.pop()] - reached
                reached |= new
                waiting.extend(new)
            found.append(reached)
        return found

    def _moves(self, mask: int) -> dict[int, tuple[int, list[tuple[int, int, int]]]]:
        """State -> what it is when an event has gone by (-1: lost), and the steps that take the event."""
        moves = {}
        for number in self.kept:
            passed: int | None = number
            for negated in range(len(self.shared.variables), len(self.shared.elements)):
                if mask >> negated & 1 and passed is not None:
                    passed = dict(self.shared.states[passed].passes).get(negated, passed)
            steps = [
                (
                    self.numbers.get(target, -1),
                    int(self.shared.states[target].complete),
                    self.shared.variables[element],
                )
                for element, target in self.shared.states[number].steps
                if mask >> element & 1
            ]
            if steps or passed != number:
                moves[self.numbers[number]] = (-1 if passed is None else self.numbers[passed], steps)
        return moves

    def _matrix(self, moves: Mapping[int, tuple[int, list[tuple[int, int, int]]]]) -> dict[int, list[int]]:
        """Column -> the columns whose sum it becomes, for those that change."""
        columns = {state: [state] for state in range(self.n)}
        for state, (passed, steps) in moves.items():
            if passed != state:
                columns[state].remove(state)
                if passed >= 0:
                    columns[passed].append(state)
            for target, _, _ in steps:
                if target >= 0:
                    columns[target].append(state)
        return {state: sources for state, sources in columns.items() if sources != [state]}

    def _transposed(self, matrix: Mapping[int, list[int]]) -> dict[int, list[int]]:
        """Row -> the rows whose sum it becomes, for those that change."""
        rows: dict[int, list[int]] = {state: [] for state in range(self.n)}
        for state in range(self.n):
            for source in matrix.get(state, [state]):
                rows[source].append(state)
        return {state: sources for state, sources in rows.items() if sources != [state]}

    def _operations(self, sums: Mapping[int, list[int]], *, on_rows: bool) -> Rows:
        """Operations that make all sums, of what was there before.

        Args:
            sums: column or row -> those whose sum it becomes.
            on_rows: they are rows.
        """
        order = sorted(sums, reverse=not on_rows)  # what others read is changed after them, where none are repeated
        done: set[int] = set()
        copied: dict[int, int] = {}
        for target in order:
            for source in sums[target]:
                if source in done or (source == target and sums[target].count(target) > 2):
                    copied.setdefault(source, self.n + len(copied))
            done.add(target)
        self.n_copies = max(self.n_copies, len(copied))
        extent = self._columns_extent if on_rows else self._rows_extent
        rows = [self._operation(s.SET, copy, source, extent) for source, copy in copied.items()]
        done.clear()
        for target in order:
            rows.extend(self._sum(target, sums[target], done, copied, extent))
            done.add(target)
        return rows

    def _sum(
        self,
        target: int,
        sources: Sequence[int],
        done: set[int],
        copied: Mapping[int, int],
        extent: Callable[[int], tuple[int, int]],
    ) -> Rows:
        own = sources.count(target)
        others = [copied[source] if source in done else source for source in sources if source != target]
        rows: Rows = []
        if own == 0:
            if not others:
                return [self._operation(s.CLEAR, target, target, extent)]
            rows.append(self._operation(s.SET, target, others.pop(0), extent))
        elif own == 2:
            rows.append(self._operation(s.ADD, target, target, extent))
        elif own > 2:
            rows.extend([self._operation(s.ADD, target, copied[target], extent)] * (own - 1))
        rows.extend(self._operation(s.ADD, target, source, extent) for source in others)
        return rows

    def _operation(self, kind: int, target: int, source: int, extent: Callable[[int], tuple[int, int]]) -> list[int]:
        first, last = extent(target) if target < self.n else (0, self.n)  # a copy has been one of others before
        return [kind, target, source, first, last]

    def _rows_extent(self, column: int) -> tuple[int, int]:
        """The rows in which a column can have other entries than 0."""
        rows = [state for state in range(self.n) if column in self.behind[state]]
        return min(rows), max(rows) + 1

    def _columns_extent(self, row: int) -> tuple[int, int]:
        """The columns in which a row can have other entries than 0."""
        return min(self.behind[row]), max(self.behind[row]) + 1
