"""The events that each variable takes, match by match, as arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from cepheid.engine.branches import taken_in_order, taken_variables
from cepheid.engine.matches import Matches
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.language.structure import is_repeated_group, patterns, places
from cepheid.language.tree import AnyOf, Or


@dataclass(frozen=True, eq=False)
class Elements:
    """The events of one variable in all matches.

    Attributes:
        positions: of the events in the batch, match after match, in order, int64, shape (e,).
        match_of: the number of the match of each, int64, shape (e,).
        counts: how many there are in each match, int64, shape (n,).
    """

    positions: Int64Array
    match_of: Int64Array
    counts: Int64Array

    @cached_property
    def offsets(self) -> Int64Array:
        """Where the events of each match begin, and the end of the last; shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def first(self) -> Int64Array:
        """The position of the first event in each match, -1 where there is none."""
        return self._at(self.offsets[:-1])

    def last(self) -> Int64Array:
        """The position of the last event in each match, -1 where there is none."""
        return self._at(self.offsets[1:] - 1)

    def _at(self, index: Int64Array) -> Int64Array:
        found = self.counts > 0
        result = np.full(len(self.counts), -1, np.int64)
        result[found] = self.positions[index[found]]
        return result


@dataclass(frozen=True, eq=False)
class Bindings:
    """Matches, seen from the variables of the query.

    Attributes:
        bound: the query.
        batch: the events.
        matches: positions in it.
    """

    bound: BoundQuery
    batch: EventBatch
    matches: Matches

    @cached_property
    def _match_of(self) -> Int64Array:
        lengths = np.diff(self.matches.offsets)
        return np.repeat(np.arange(len(lengths)), lengths)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.bound.variables)}

    @cached_property
    def _elements(self) -> dict[str, Elements]:
        return {}

    @cached_property
    def _first_positions(self) -> dict[str, Int64Array]:
        return {}

    def elements(self, variable: str) -> Elements:
        """The events of a variable."""
        if variable not in self._elements:
            own = self.matches.variables == self._numbers[variable]
            match_of = self._match_of[own]
            counts = np.bincount(match_of, minlength=len(self.matches)).astype(np.int64, copy=False)
            self._elements[variable] = Elements(self.matches.positions[own], match_of, counts)
        return self._elements[variable]

    def single(self, variable: str) -> Int64Array:
        """The position of the event of a variable that takes at most one, -1 where it takes none; shape (n,)."""
        if variable not in self._first_positions:
            own = self.matches.variables == self._numbers[variable]
            positions = np.full(len(self.matches), -1, np.int64)
            positions[self._match_of[own]] = self.matches.positions[own]
            self._first_positions[variable] = positions
        return self._first_positions[variable]

    @cached_property
    def first(self) -> Int64Array:
        """The position of the first event of each match."""
        return self.matches.positions[self.matches.offsets[:-1]]

    @cached_property
    def last(self) -> Int64Array:
        """The position of the last event of each match."""
        return self.matches.positions[self.matches.offsets[1:] - 1]

    def not_taken(self, variable: str) -> BoolArray | None:
        """Where a variable stands in a branch that the match did not take; None for nowhere.

        A variable that took no event in a branch that was taken is empty, which is not the same (SEMANTICS 4.3).
        """
        if not self.bound.variables[variable].optional or not self._has_branches:
            return None
        sets, of_match = self._bound_sets
        absent = np.array([variable not in taken for taken in sets], np.bool_)[of_match]
        return absent if absent.any() else None

    @cached_property
    def _has_branches(self) -> bool:
        return any(isinstance(part, Or | AnyOf) for part in patterns(self.bound.pattern))

    @cached_property
    def _order_tells(self) -> bool:
        """Whether the set of bound variables may not tell the branches: they are repeated, or share a name."""
        loops = [part for part in patterns(self.bound.pattern) if is_repeated_group(part)]
        if any(isinstance(part, Or | AnyOf) for loop in loops for part in patterns(loop)):
            return True
        taken = Counter(place.name for place in places(self.bound.pattern) if place.negation is None)
        return any(n > 1 for n in taken.values())

    @cached_property
    def _bound_sets(self) -> tuple[list[frozenset[str]], Int64Array]:
        """The different sets of taken variables, and the number of the one of each match."""
        names = list(self.bound.variables)
        if self._order_tells:
            codes = self.batch.type_codes
            variables, offsets = self.matches.variables.tolist(), self.matches.offsets.tolist()
            kinds = [0] * len(variables) if codes is None else codes[self.matches.positions].tolist()
            taken = list(zip(variables, kinds, strict=True))
            numbers: dict[tuple[tuple[int, int], ...], int] = {}
            of_each = [numbers.setdefault(tuple(taken[i:j]), len(numbers)) for i, j in pairwise(offsets)]
            types = self.batch.type_names if codes is not None else (None,)
            found = [
                taken_in_order(self.bound.pattern, tuple((names[v], types[kind]) for v, kind in sequence))
                for sequence in numbers
            ]
            return found, np.array(of_each, np.int64)
        binds = np.zeros((len(self.matches), len(names)), np.bool_)
        binds[self._match_of, self.matches.variables] = True
        packed, of_match = np.unique(np.packbits(binds, axis=1), axis=0, return_inverse=True)
        rows = np.unpackbits(packed, axis=1, count=len(names)).astype(np.bool_)
        sets = [
            taken_variables(self.bound.pattern, frozenset(n for n, b in zip(names, row, strict=True) if b))
            for row in rows
        ]
        return sets, of_match.reshape(-1).astype(np.int64, copy=False)


class PartialBindings(Bindings):
    """The same of partial matches: a variable that no event has been taken for is not there."""

    def not_taken(self, variable: str) -> BoolArray | None:
        """Where a variable has no event; None for nowhere."""
        absent = self.elements(variable).counts == 0
        return absent if absent.any() else None
