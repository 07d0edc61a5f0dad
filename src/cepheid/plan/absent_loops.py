"""Loops with UNTIL that may come first under a NOT: they open with the NOT's left neighbour (SEMANTICS 2.2, 3.5).

What stands under a NOT is matched by itself, before it is known in which gap it would lie. Which of these loops are
closed by then depends on the gap, and on nothing else: so the group is matched once for each set of them that may be,
and each match says what may not have happened since the left neighbour.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import patterns
from cepheid.language.tree import Repeat
from cepheid.plan.automaton import Automaton
from cepheid.plan.build import build
from cepheid.plan.graph import build_where_closed, openings_of
from cepheid.plan.graph_space import refused

MAX_FIRST = 6  # each may be closed or not: the group is matched so many times


@dataclass(frozen=True)
class AbsentGroup:
    """What finds the matches of what stands under a NOT.

    Attributes:
        automaton: of the group, where some loops are closed before its first event.
        closers: of each loop that is not, and may be, the conditions on an event that closes it: none that satisfies
            all of them lies between the left neighbour of the NOT and the first event of a match.
    """

    automaton: Automaton
    closers: tuple[tuple[Conjunct, ...], ...] = ()


def absent_groups(inner: BoundQuery) -> Iterator[AbsentGroup]:
    """What finds the matches of a group, all of them together.

    Args:
        inner: the query of the group (`plan.absent_groups`).

    Raises:
        NotSupportedError: too many loops may come first.
    """
    openings = {}
    if any(isinstance(part, Repeat) and part.until is not None for part in patterns(inner.pattern)):
        openings = openings_of(inner)
    if len(openings) > MAX_FIRST:
        raise refused(inner, f"more than {MAX_FIRST} loops with UNTIL that may come first under a NOT")
    for n in range(len(openings) + 1):
        for closed in itertools.combinations(openings, n):
            automaton = build_where_closed(inner, closed) if closed else build(inner)
            if automaton is not None:
                closers = (conditions for opening, conditions in openings.items() if opening not in closed)
                yield AbsentGroup(automaton, tuple(closers))
