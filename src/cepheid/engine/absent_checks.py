"""What the matches of a group under NOT are checked for in each gap: the events and elements for which that is done."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from cepheid.compiler.columns import evaluated, partition_codes
from cepheid.compiler.group_checks import BEFORE_MATCH, HOLDS, CheckRows
from cepheid.compiler.requests import detached
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import holds
from cepheid.engine.absent_readings import OpenLoop, Reading, Readings
from cepheid.engine.matches import Matches
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.plan.absent_checks import Check, Checked


def partitions_of(compiled: CompiledPlan, batch: EventBatch) -> Int64Array:
    """For each event of a batch a number of its partition, -1 where it is in none."""
    by = compiled.automaton.partition
    if not by:
        return np.zeros(len(batch), np.int64)
    codes, valid = partition_codes([evaluated(compiled, batch, expression) for expression in by])
    numbers = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64, copy=False)
    return numbers if valid is None else np.where(valid, numbers, -1)


def in_every_way(
    compiled: CompiledPlan, checked: Checked, batch: EventBatch, found: Matches
) -> tuple[Int64Array, dict[str, BoolArray], CheckRows]:
    """The matches of a group, each once for each way of reading its events, and what these are checked for.

    Args:
        compiled: what found them.
        checked: what stands under the NOT.
        batch: the events.
        found: the matches.

    Returns:
        the number of the match in each of the ways; for each variable that may take nothing, where it is empty if it
        took nothing; and the rows of the checks.
    """
    bound = compiled.automaton.bound
    names, codes, types = list(bound.variables), batch.type_codes, batch.type_names or (None,)
    kinds = np.zeros(len(found.positions), np.int64) if codes is None else codes[found.positions]
    readings = Readings(checked.group)
    rows = _Rows(compiled, checked, batch)
    index: list[int] = []
    taken: list[Reading] = []
    events = [(names[v], types[kind]) for v, kind in zip(found.variables.tolist(), kinds.tolist(), strict=True)]
    positions = found.positions.tolist()
    for match, (begin, end) in enumerate(pairwise(found.offsets.tolist())):
        for reading in readings.of(tuple(events[begin:end])):
            rows.add(len(index), [name for name, _ in events[begin:end]], positions[begin:end], reading)
            index.append(match)
            taken.append(reading)
    optional = [name for name, variable in bound.variables.items() if variable.optional]
    empty = {name: np.array([name in reading.empty for reading in taken], np.bool_) for name in optional}
    return np.array(index, np.int64), empty, rows.made()


@dataclass
class _Rows:
    """The rows of checks as they grow, reading after reading."""

    compiled: CompiledPlan
    checked: Checked
    batch: EventBatch
    _heads: list[tuple[int, int, int]] = field(default_factory=list)
    _n_taken: list[list[int]] = field(default_factory=list)
    _tried: list[int] = field(default_factory=list)
    _empty: list[list[bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        bound: BoundQuery = self.compiled.automaton.bound
        self._names = list(bound.variables)
        self._partitions = partitions_of(self.compiled, self.batch)
        self._closing = [self._closed_by(check) for check in self.checked.checks]
        self._closers: dict[tuple[int, int], list[int]] = {}

    def _closed_by(self, check: Check) -> BoolArray:
        """Where events may close the loop of a check, as far as they themselves tell."""
        if check.loop is None:
            return np.zeros(len(self.batch), np.bool_)
        closes: BoolArray = self._partitions >= 0
        for condition in check.alone:
            closes = closes & holds(evaluated(self.compiled, self.batch, detached(condition.expression)))
        return closes

    def _closers_in(self, check: int, partition: int) -> list[int]:
        if (check, partition) not in self._closers:
            of_partition = self._closing[check] & (self._partitions == partition)
            self._closers[check, partition] = np.flatnonzero(of_partition).tolist()
        return self._closers[check, partition]

    def add(self, match: int, names: Sequence[str], positions: Sequence[int], reading: Reading) -> None:
        """Add the rows for one way of reading a match.

        Args:
            match: its number.
            names, positions: of its events.
            reading: the way.
        """
        for number, check in enumerate(self.checked.checks):
            if check.loop is None:
                for tried in _tried(check, names):
                    self._add((match, number, HOLDS), names, reading.empty, tried)
                continue
            for opened in reading.opened:
                if opened.loop == check.loop:
                    self._add_open(match, number, opened, names, positions)

    def _add_open(
        self, match: int, number: int, opened: OpenLoop, names: Sequence[str], positions: Sequence[int]
    ) -> None:
        """Add those for a loop: of all events that are read while it is open."""
        first = positions[0]
        if opened.after >= 0:
            first = positions[opened.after] + 1
        else:
            self._add((match, number, BEFORE_MATCH), (), opened.empty, 0)
        closers = self._closers_in(number, int(self._partitions[positions[0]]))
        begin, end = bisect_left(closers, first), bisect_right(closers, positions[opened.last])
        for event in closers[begin:end]:
            self._add((match, number, event), names[: bisect_left(positions, event)], opened.empty, 0)

    def _add(self, head: tuple[int, int, int], names: Sequence[str], empty: frozenset[str], tried: int) -> None:
        self._heads.append(head)
        self._n_taken.append([names.count(name) for name in self._names])
        self._tried.append(tried)
        self._empty.append([name in empty for name in self._names])

    def made(self) -> CheckRows:
        """All of them."""
        heads = np.array(self._heads, np.int64).reshape(-1, 3)
        shape = (len(heads), len(self._names))
        matches, checks, events = np.ascontiguousarray(heads.T)
        return CheckRows(
            matches,
            checks,
            events,
            np.array(self._n_taken, np.int64).reshape(shape),
            np.array(self._tried, np.int64),
            np.array(self._empty, np.bool_).reshape(shape),
            self._closing,
            self._partitions,
        )


def _tried(check: Check, names: Sequence[str]) -> range:
    """The elements that a condition is tried on, of the variable of which it reads single ones (SEMANTICS 4.3).

    It names no other variable under NOT. -1 stands for none.
    """
    single = [name for name, read in check.reads.items() if read.single]
    n = names.count(single[0]) if single else 1
    return range(n) if n else range(-1, 0)
