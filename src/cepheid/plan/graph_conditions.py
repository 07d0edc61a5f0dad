"""The conditions of a query on a pattern of any form: which there are, and when each of them can be tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.plan.absent_groups import groups, is_inside, names_of
from cepheid.plan.automaton import Situation, Test
from cepheid.plan.references import Reference, is_single, references
from cepheid.plan.terms import Place


@dataclass(frozen=True)
class Condition:
    """A conjunct with how it reads its variables, by number."""

    conjunct: Conjunct
    reads: dict[int, Reference]


class GraphConditions:
    """The conjuncts of a query, sorted by what they need.

    Attributes:
        constants: those that name no variable.
        singles: variable -> those on its event alone.
        between: those on several events of positive variables.
        groups: variable -> the quantified groups around it, once they are known.
        against: negated variable -> those that name it with others.
    """

    def __init__(self, bound: BoundQuery, positive: Sequence[str], numbers: Mapping[str, int]) -> None:
        """Sort them.

        Args:
            bound: the query.
            positive: the variables that do not stand under NOT.
            numbers: of all variables.
        """
        self.bound = bound
        self.positive = positive
        self.numbers = numbers
        self.groups: Mapping[str, set[int]] = {}
        self._classify()

    def _classify(self) -> None:
        """Sort the conjuncts by what they need."""
        self.constants: list[Conjunct] = []
        self.singles: dict[str, tuple[Conjunct, ...]] = {}
        self.between: list[Condition] = []
        self.against: dict[str, list[Condition]] = {}
        inside = frozenset(name for group in groups(self.bound.pattern) for name in names_of(group))
        for conjunct in self.bound.conjuncts:
            if is_inside(conjunct, inside):
                continue  # `plan.absent_groups`
            if not conjunct.variables:
                self.constants.append(conjunct)
                continue
            if is_single(conjunct):
                name = conjunct.variables[0]
                self.singles[name] = (*self.singles.get(name, ()), conjunct)
                continue
            read = references(conjunct.expression)
            condition = Condition(conjunct, {self.numbers[name]: r for name, r in read.items()})
            if conjunct.negated is not None:
                self.against.setdefault(conjunct.negated, []).append(condition)
            else:
                self.between.append(condition)

    def is_loop(self, variable: int) -> bool:
        """Whether a positive variable may have several elements."""
        return variable < len(self.positive) and self.bound.variables[self.positive[variable]].loop

    def is_simple(self, condition: Condition) -> bool:
        """It compares events of single variables, and can be tested before the event is taken."""
        return all(
            r.single and not (r.prev or r.first or r.last or r.aggregated) and not self.is_loop(v)
            for v, r in condition.reads.items()
        )

    def testable(self, condition: Condition, still_open: Iterable[int]) -> bool:
        """Whether a condition has something to be tested on, for all that is known without its elements."""
        waiting = set(still_open)
        for variable, read in condition.reads.items():
            if variable not in waiting:
                continue
            loop = self.is_loop(variable)
            running = read.single and loop
            if (read.last or read.aggregated) and not running:
                return False
            if read.single and not loop:
                return False
        return True

    def required(self, condition: Condition, still_open: Iterable[int]) -> frozenset[int]:
        """Variables of which ``first`` is read, that may not have begun."""
        waiting = set(still_open)
        return frozenset(v for v, r in condition.reads.items() if r.first and not r.single and v in waiting)

    def closes(
        self,
        condition: Condition,
        before: dict[int, frozenset[Place]],
        after: dict[int, frozenset[Place]],
        known: frozenset[int],
        begins: frozenset[int] = frozenset(),
    ) -> bool:
        """Whether a step settles something that the condition waited for, other than the event that it takes."""
        for variable, read in condition.reads.items():
            groups = self.groups.get(self.positive[variable], set())
            may_lack = bool(groups) and self.bound.variables[self.positive[variable]].optional
            if read.single and may_lack and groups & begins:
                return True  # the iteration before may have ended without it
            if before.get(variable) == after.get(variable):
                continue
            running = read.single and self.is_loop(variable)
            if variable not in after and (read.last or read.aggregated) and not running:
                return True
            if variable not in after and read.first and not read.single and variable not in known:
                return True
            if read.single and (may_lack or (variable not in after and variable not in known)):
                return True
        return False

    def made(
        self,
        condition: Condition,
        after: dict[int, frozenset[Place]],
        last: int,
        *,
        fixed: int | None = None,
        skipped: frozenset[int] = frozenset(),
        negated: int | None = None,
        gives_back: bool = False,
    ) -> Test:
        """A test on the partial match that a step has made."""
        places = frozenset(
            (variable, place) for variable in condition.reads for place in after.get(variable, frozenset())
        )
        return Test(
            condition.conjunct,
            Situation(
                skipped=skipped,
                negated=negated,
                last=last,
                made=True,
                fixed=fixed,
                places=places,
                required=self.required(condition, after),
                gives_back=gives_back,
            ),
        )
