"""The states and steps of `plan.graph`: what may be left of a pattern, and how it comes to that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from cepheid.errors import NotSupportedError
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Policy
from cepheid.plan.closings import Case, preferred
from cepheid.plan.graph_nodes import Key, Node, Step
from cepheid.plan.graph_until import GraphUntil
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.prefixes import has_prefixes
from cepheid.plan.terms import Term, Way

MAX_STATES, MAX_STEPS, MAX_VARIANTS = 20_000, 250_000, 256


def refused(bound: BoundQuery, what: str, remedy: str = "split the pattern") -> NotSupportedError:
    """The error for a pattern that is too large."""
    return NotSupportedError(
        f"the compiled engine cannot run {what}",
        remedy=remedy,
        text=bound.text,
        origin=bound.origin,
        span=bound.query.pattern.span,
    )


class StateSpace:
    """What can be reached from the starts of a pattern.

    Attributes:
        mixed: prefixes give edges policies of their own.
        any, strict: the policy of the query, throughout.
        nodes: the states.
        starts: for each variant of the pattern, its first steps, in the order of preference.
    """

    def __init__(self, bound: BoundQuery, named: PatternTerms, numbers: Mapping[str, int], until: GraphUntil) -> None:
        """Begin without a state.

        Args:
            bound: the query.
            named: its pattern.
            numbers: of its variables.
            until: its loops with UNTIL.
        """
        self.bound, self.numbers, self.until = bound, numbers, until
        self.terms, self.elements, self.closings = named.terms, named.elements, until.closings
        self.mixed = has_prefixes(bound)
        self.any = bound.policy is Policy.ANY and not self.mixed
        self.strict = bound.policy is Policy.STRICT and not self.mixed
        self.nodes: dict[Key, Node] = {}
        self.starts: list[list[Step]] = []
        self.n_steps = 0

    def explore(self, pattern: Term) -> None:
        """Make the states that can be reached from the start of a pattern.

        Raises:
            NotSupportedError: there are too many.
        """
        variants = [pattern] if self.any or self.strict else self._variants(pattern)
        self.starts = [self._explore(variant) for variant in variants]
        self._find_known()

    def _variants(self, pattern: Term) -> list[Term]:
        found: list[Term] = []
        for variant in self.terms.variants(pattern):
            found.append(variant)
            if len(found) > MAX_VARIANTS:
                what = f"more than {MAX_VARIANTS} combinations of the branches of OR under POLICY next"
                raise refused(self.bound, what, "split the pattern, or use POLICY any")
        return found

    def _explore(self, start: Term) -> list[Step]:
        """Make the states that can be reached from the start; its own steps, in the order of preference."""
        pending: deque[Node] = deque()
        steps = [self._step(None, start, *way, pending) for way in self._in_cases(None, start)]
        while pending:
            node = pending.popleft()
            if self.mixed and not node.key.left:
                node.twin = self._twin(node.key, pending)
            for way, case, other_case in self._in_cases(node.key, node.key.term):
                if node.twin is None or not self._skips_a_loop(way):  # its twin takes those events
                    node.steps.append(self._step(node.key, node.key.term, way, case, other_case, pending))
        return steps

    def _in_cases(self, key: Key | None, term: Term) -> Iterator[tuple[Way, Case, bool]]:
        """The ways on that take an event, as `preferred` has them."""
        cases = self._cases(term)
        if key is None:
            cases = (case for case in cases if all(map(self.until.can_close, case.closed)))
        if self.strict:
            yield from preferred(term, list(cases), self.terms)
            return
        for case in cases:
            if key is not None:
                ways = self.onward(key._replace(term=case.left))
            else:
                ways = [way for way in self.terms.ways(case.left) if way.element is not None]
                if not self.any:  # the earliest element in the text that an event fits
                    ways.sort(key=self._taken)
            for way in ways:
                yield way, case, False

    def _cases(self, term: Term) -> Iterator[Case]:
        """What loops with UNTIL in AND or ANY may have become of when the next event is taken."""
        if 2 ** sum(opening.beside for opening in self.closings.openings(term)) > MAX_STEPS:
            raise self._too_many_steps()
        return self.closings.cases(term)

    def _too_many_steps(self) -> NotSupportedError:
        return refused(self.bound, f"a pattern with more than {MAX_STEPS:,} steps between its states")

    def onward(self, key: Key) -> list[Way]:
        """The ways on from a state, but for the end."""
        ways = [way for way in self.terms.ways(key.term) if way.element is not None]
        return [way for way in ways if self._skips_a_loop(way, left=True)] if key.left else ways

    def policy(self, way: Way) -> Policy:
        """That of the edge on which a way takes its event."""
        assert way.element is not None
        return self.elements[way.element].policy or self.bound.policy

    def _skips_a_loop(self, way: Way, *, left: bool = False) -> bool:
        """A way past a loop to an `any` element; of a copy that ``left`` it, though it is closed by now."""
        return (way.leaves or (left and way.closed)) and self.policy(way) is Policy.ANY

    def _twin(self, key: Key, pending: deque[Node]) -> Key | None:
        """The state of a copy that left the loop for an `any` element while another goes on in it (SEMANTICS 3.4)."""
        ways = self.onward(key)
        behind = [way for way in ways if self._skips_a_loop(way)]
        others = [way for way in ways if not self._skips_a_loop(way)]
        if not behind or all(self.policy(way) is Policy.ANY for way in others):
            return None
        twin = key._replace(left=True)
        self._node(twin, pending)
        return twin

    def _taken(self, way: Way) -> int:
        """The variable that a way binds."""
        assert way.element is not None
        return self.numbers[self.terms.variables[way.element]]

    def _step(
        self, source: Key | None, before: Term, way: Way, case: Case, other_case: bool, pending: deque[Node]
    ) -> Step:
        target = Key(way.rest, self._taken(way))
        self._node(target, pending)
        self.n_steps += 1
        if self.n_steps > MAX_STEPS:
            raise self._too_many_steps()
        return Step(source, before, way, target, self.n_steps - 1, case, other_case)

    def _node(self, key: Key, pending: deque[Node]) -> None:
        """Make sure that there is such a state."""
        if key not in self.nodes:
            if len(self.nodes) >= MAX_STATES:
                raise refused(self.bound, f"a pattern with more than {MAX_STATES:,} states")
            self.nodes[key] = Node(key, len(self.nodes))
            pending.append(self.nodes[key])

    def _find_known(self) -> None:
        """For each state, the variables that are bound on every way to it."""
        work: deque[Node] = deque()

        def reach(target: Key, known: frozenset[int]) -> None:
            node = self.nodes[target]
            bound = known | {target.last}
            surely = bound if node.surely is None else node.surely & bound
            if surely != node.surely:
                node.surely = surely
                work.append(node)
            if node.twin is not None:
                reach(node.twin, known)

        for steps in self.starts:
            for step in steps:
                reach(step.target, frozenset())
        while work:
            node = work.popleft()
            assert node.surely is not None
            for step in node.steps:
                reach(step.target, node.surely)

    def surely(self, key: Key | None) -> frozenset[int]:
        """The variables that are bound in a state, however it was reached."""
        if key is None:
            return frozenset()
        known = self.nodes[key].surely
        assert known is not None
        return known
