"""The automaton of a pattern of any form: a state is what is left of the pattern, with the variable bound last.

`plan.build` makes leaner automata for plain sequences. Here conditions on single variables are tested before an event
is taken; all others on the partial match that the event has made, over the combinations of elements that it completes
(SEMANTICS 4.3): so a state need not say how a loop got where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import n_events_most
from cepheid.language.tree import Event, Policy
from cepheid.plan.absent_checks import checked_groups
from cepheid.plan.absent_groups import n_slots, names_of, query_of, read_from_outside, slots
from cepheid.plan.automaton import (
    Absence,
    Accepting,
    Anchor,
    Automaton,
    Edge,
    Element,
    End,
    Situation,
    State,
    Test,
)
from cepheid.plan.closings import Opening
from cepheid.plan.graph_conditions import Condition, GraphConditions
from cepheid.plan.graph_nodes import Key, Node, Step
from cepheid.plan.graph_space import StateSpace
from cepheid.plan.graph_until import GraphUntil
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.prefixes import has_prefixes
from cepheid.plan.retention import limits_of
from cepheid.plan.supported import require_elements
from cepheid.plan.terms import Place, Term, Way


def build_graph(bound: BoundQuery) -> Automaton:
    """The automaton of a query.

    Raises:
        NotSupportedError: it has too many states.
    """
    graph = _Graph(bound)
    return graph.build(graph.pattern)


def openings_of(bound: BoundQuery) -> dict[Opening, tuple[Conjunct, ...]]:
    """The loops with UNTIL that an event may close before anything is taken, each with what it must satisfy."""
    graph = _Graph(bound)
    found = {opening: graph.until.at_start(opening) for opening in graph.until.closings.openings(graph.pattern)}
    return {opening: conditions for opening, conditions in found.items() if conditions is not None}


def build_where_closed(bound: BoundQuery, closed: Iterable[Opening]) -> Automaton | None:
    """The automaton of a query of which some loops are closed before anything is taken; None where nothing can be.

    Args:
        bound: the query.
        closed: some of `openings_of`.

    Raises:
        NotSupportedError: it has too many states.
    """
    graph = _Graph(bound)
    left = graph.until.closings.close(graph.pattern, frozenset(closed))
    return graph.build(left) if any(way.element is not None for way in graph.terms.ways(left)) else None


class _Graph:
    def __init__(self, bound: BoundQuery) -> None:
        self.bound = bound
        self.mixed = has_prefixes(bound)
        self.any = bound.policy is Policy.ANY and not self.mixed
        self.strict = bound.policy is Policy.STRICT and not self.mixed
        self.positive = [name for name, variable in bound.variables.items() if not variable.negated]
        self.negated = [name for name, variable in bound.variables.items() if variable.negated]
        self.numbers = {name: i for i, name in enumerate([*self.positive, *self.negated])}
        self.checked = checked_groups(bound)
        of_checks = (checked.variables for checked in self.checked if checked is not None)
        self.read_where_tested = read_from_outside(bound).union(*of_checks)
        self.slots = slots(bound, self.read_where_tested)
        self.conditions = GraphConditions(bound, self.positive, self.numbers)
        self.opened: dict[Term, dict[int, frozenset[Place]]] = {}
        named = PatternTerms(self.conditions.singles, every_end=self.any)
        self.pattern = named.term(bound.pattern)
        self.terms, self.elements, self.groups, self.gap_elements = (
            named.terms,
            named.elements,
            named.groups,
            named.gaps,
        )
        self.conditions.groups = self.groups
        self.until = GraphUntil(bound, named, self.numbers, strict=self.strict)
        checks = (check for checked in self.checked if checked is not None for check in checked.checks)
        of_variables = [check.variable for check in checks if check.variable]
        first = len(self.numbers) + len(self.until.variables)
        self.check_numbers = {name: first + i for i, name in enumerate(of_variables)}
        self.space = StateSpace(bound, named, self.numbers, self.until)

    # --- all of it ----------------------------------------------------------------------------------------

    def build(self, pattern: Term) -> Automaton:
        n_negated = len(self.gap_elements) + len(self.until.elements)
        n_read = n_slots(self.bound, self.read_where_tested)
        require_elements(self.bound, max(len(self.elements) + n_negated, n_read))
        self.space.explore(pattern)
        starts, nodes = self.space.starts, self.space.nodes
        self.leading = frozenset(gap for steps in starts for step in steps for gap in step.way.gaps)
        edges: dict[int, Edge] = {}
        for steps in [*starts, *(node.steps for node in nodes.values())]:
            for step in steps:
                edges[step.number] = self._edge(step)
        n_positive = len(self.elements)
        negated = [self._negated(n_positive + i, i) for i in range(len(self.gap_elements))]
        return Automaton(
            bound=self._with_types(self.until.bound),
            elements=(*self.elements, *negated, *self.until.elements),
            n_positive=n_positive,
            states=tuple(self._state(node) for node in nodes.values()),
            edges=tuple(edges[number] for number in range(len(edges))),
            starts=tuple(step.number for step in starts[0]),
            partition=self.bound.partition,
            **limits_of(self.bound.window),
            constants=tuple(self.conditions.constants),
            variables=(
                *(self._variable(name, number) for name, number in self.numbers.items()),
                *self.until.variables,
                *(Element(number, name, (), (), negated=True) for name, number in self.check_numbers.items()),
            ),
            further_starts=tuple(tuple(step.number for step in steps) for steps in starts[1:]),
            graph=True,
            leading=bool(self.leading),
            strict=self.strict,
            mixed=self.mixed,
        )

    def _variable(self, name: str, number: int) -> Element:
        """What the conditions need to know of a variable."""
        variable = self.bound.variables[name]
        return Element(
            number,
            name,
            variable.types,
            (),
            minimum=0 if variable.optional else 1,
            maximum=None if variable.loop and not variable.negated else 1,
            negated=variable.negated,
            groups=frozenset(self.groups.get(name, ())),
            slot=self.slots.get(name),
            many=variable.loop and name in self.read_where_tested,
        )

    def _negated(self, index: int, gap: int) -> Element:
        """The element of a NOT."""
        under, checked = self.gap_elements[gap], self.checked[gap]
        if isinstance(under, Event):
            name = str(under.name)
            return Element(index, name, under.types, self.conditions.singles.get(name, ()), negated=True)
        assert checked is not None
        inner = query_of(self.bound, checked.relaxed, checked.types)
        return Element(index, names_of(under)[0], (), (), negated=True, inner=inner, checked=checked)

    def _with_types(self, bound: BoundQuery) -> BoundQuery:
        """The query, with the types of what is checked of groups under NOT."""
        types = dict(bound.types)
        for checked in self.checked:
            types.update({} if checked is None else checked.types)
        return replace(bound, types=types) if len(types) > len(bound.types) else bound

    def _checks(self, gap: int, last: int, skipped: frozenset[int]) -> Iterator[Test]:
        """What a match of what stands under a NOT is checked for."""
        checked = self.checked[gap]
        for check in () if checked is None else checked.checks:
            negated = self.check_numbers[check.variable] if check.variable else None
            yield Test(check.conjunct, Situation(skipped=skipped, negated=negated, last=last, made=True))

    def _against(self, gap: int) -> Iterator[tuple[int, Condition]]:
        """The conditions that name a variable under a NOT and others, each with that variable."""
        for name in names_of(self.gap_elements[gap]):
            for condition in self.conditions.against.get(name, ()):
                yield self.numbers[name], condition

    # --- what is known of states ------------------------------------------------------------------------------

    def _forks(self, step: Step) -> bool:
        """Whether a partial match also stays as it is; of a start: whether the event starts more runs than one."""
        policy = self.bound.policy if step.source is None else self.space.policy(step.way)
        return policy is Policy.ANY

    def _open(self, term: Term | None) -> dict[int, frozenset[Place]]:
        """The variables that may still be bound, and where."""
        if term is None:
            return {}
        known = self.opened.get(term)
        if known is None:
            found: dict[int, set[Place]] = {}
            for name, place in self.terms.places(term):
                found.setdefault(self.numbers[name], set()).add(place)
            for variable, place in self._left_empty(term)[1]:
                found.setdefault(variable, set()).add(place)
            known = self.opened[term] = {variable: frozenset(places) for variable, places in found.items()}
        return known

    # --- edges --------------------------------------------------------------------------------------------------

    def _edge(self, step: Step) -> Edge:
        taken = step.target.last
        before, after = self._open(step.before), self._open(step.target.term)
        known = self.space.surely(step.source)
        surely = self.space.surely(step.target)
        empties = frozenset(self.numbers[name] for name in step.way.empty)
        empties |= self._left_empty(step.target.term)[0]
        tests: list[Test] = []
        made: list[Test] = []
        others = frozenset(v for v in range(len(self.positive)) if v != taken)
        for condition in self.conditions.between:
            if not self.conditions.testable(condition, after):
                continue
            became = not self.conditions.testable(condition, before)
            closes = became or self.conditions.closes(condition, before, after, surely, step.way.begins)
            read = condition.reads.get(taken)
            if self.conditions.is_simple(condition):
                if read is not None or closes:
                    skipped = others if step.source is None else frozenset()
                    last = None if step.source is None else step.source.last
                    tests.append(Test(condition.conjunct, Situation(current=taken, skipped=skipped, last=last)))
            elif closes or self._empties(condition, empties, before) or (read is not None and not read.single):
                made.append(self.conditions.made(condition, after, taken))
            elif read is not None:
                made.append(
                    self.conditions.made(
                        condition, after, taken, fixed=taken if self.conditions.is_loop(taken) else None
                    )
                )
        element, last = step.way.element, None if step.source is None else step.source.last
        return Edge(
            source=None if step.source is None else self.space.nodes[step.source].number,
            target=self.space.nodes[step.target].number,
            element=element if element is not None else -1,
            entering=False,
            skipped=(),
            forks=self._forks(step),
            counts=(),
            tests=tuple(tests),
            absences=self.until.absences(step.way, last, step.case),
            remembers=step.way.gaps,
            made_tests=tuple(made),
            made_absences=tuple(self._absences(step, before, after)),
            begins=step.way.begins,
            empties=empties,
            known=known,
            strict=self.mixed and step.source is not None and self.space.policy(step.way) is Policy.STRICT,
        )

    def _left_empty(self, term: Term) -> tuple[frozenset[int], frozenset[tuple[int, Place]]]:
        """The variables that a term leaves empty, and those that it may, with the iterations in which that would be."""
        ways = self.terms.ways(term)
        sure, unsure = set[str](), set[tuple[str, Place]]()
        for names, place, taken in self.terms.closed_empty(term):
            if taken and not self.any:
                sure |= names
            else:
                unsure |= {(name, place) for name in names}
        if ways and all(way.element is None for way in ways):  # it only ends
            ends = ways if self.any else ways[:1]
            sure |= frozenset[str].intersection(*(way.empty for way in ends))
            unsure = {(name, frozenset()) for way in ends for name in way.empty if name not in sure}
        return (
            frozenset(self.numbers[name] for name in sure),
            frozenset((self.numbers[name], place) for name, place in unsure),
        )

    @staticmethod
    def _empties(condition: Condition, empties: frozenset[int], before: Iterable[int]) -> bool:
        """Whether a variable becomes empty that was absent: it stands in another branch of an OR that takes nothing."""
        open_before = set(before)
        return any(variable in empties and variable not in open_before for variable in condition.reads)

    def _absences(
        self, step: Step, before: dict[int, frozenset[Place]], after: dict[int, frozenset[Place]]
    ) -> Iterator[Absence]:
        """The NOTs that a step tests: those that it passes, and those that waited for what it binds or closes."""
        waiting = self.terms.gaps(step.before)
        for gap in range(len(self.gap_elements)):
            passed = gap in step.way.gaps
            if not passed and (gap in waiting or step.source is None):
                continue
            starts = step.source is None
            for leading in (False, True):
                if leading and not (gap in self.leading and (starts or not passed)):
                    continue  # it has a left neighbour
                if not leading and starts:
                    continue
                if self._gap_testable(gap, after, leading) and (passed or not self._gap_testable(gap, before, leading)):
                    yield self._absence(gap, step.target.last, inner=not leading)

    def _gap_testable(self, gap: int, still_open: dict[int, frozenset[Place]], leading: bool) -> bool:
        """Whether nothing that decides over a NOT with a right neighbour can change any more."""
        window = self.bound.window
        if leading and still_open and (window.within_us is not None or window.within_events is not None):
            return False
        return not any(variable in still_open for _, c in self._against(gap) for variable in c.reads)

    def _absence(
        self,
        gap: int,
        last: int,
        *,
        inner: bool = False,
        right: Anchor = Anchor.REMEMBERED,
        skipped: frozenset[int] = frozenset(),
        gives_back: bool = False,
    ) -> Absence:
        return Absence(
            negated=self.numbers[names_of(self.gap_elements[gap])[0]],
            left=Anchor.REMEMBERED if right is Anchor.REMEMBERED else Anchor.LAST_TAKEN,
            right=right,
            tests=tuple(
                self.conditions.made(c, {}, last, skipped=skipped, negated=negated, gives_back=gives_back)
                for negated, c in self._against(gap)
            ),
            fatal=False,
            inner=inner,
            gap=gap,
            checks=tuple(self._checks(gap, last, skipped)),
        )

    # --- states ---------------------------------------------------------------------------------------------------

    def _state(self, node: Node) -> State:
        ways = self.terms.ways(node.key.term)
        ends = [way for way in ways if way.element is None]
        first_end = next((i for i, way in enumerate(ways) if way.element is None), None)
        if self.any or self.strict:
            accepting = Accepting.ALSO if ends else Accepting.NO
        elif node.key.left and self._complete_at_once(ways, first_end):
            accepting, ends = Accepting.NO, []  # its twin is complete
        elif self._complete_at_once(ways, first_end):
            accepting = Accepting.AT_ONCE if first_end == 0 else Accepting.ALSO
            ends = ends[:1]
        elif first_end == 0:
            accepting = Accepting.AT_ONCE
            ends = ends[:1]
        else:
            cut = self.terms.cut(node.key.term)
            accepting = Accepting.NO if cut is None else Accepting.LATE
            ends = [] if cut is None else [cut]
        return State(
            index=node.number,
            element=node.key.last,
            edges=tuple(step.number for step in node.steps),
            accepting=accepting,
            ends=tuple(self._end(node, end) for end in ends),
            ways=self._in_order(node, ways) if self.strict else (),
            twin=None if node.twin is None else self.space.nodes[node.twin].number,
            neighbours=self.mixed
            and node.twin is None  # it waits, too
            and all(self.space.policy(step.way) is Policy.STRICT for step in node.steps),
            closers=self._closers(node.key),
        )

    def _closers(self, key: Key) -> tuple[Absence, ...]:
        if self.strict:
            return ()  # what is closed has no way on
        return self.until.closers(key.term, lambda left: self._lasting(key, left), key.last)

    def _lasting(self, key: Key, left: Term) -> list[Way]:
        """The ways on from what is ``left`` of a state's term that are not lost with the next event, as strict ones."""
        ways = self.space.onward(key._replace(term=left))
        return [way for way in ways if not (self.mixed and self.space.policy(way) is Policy.STRICT)]

    def _complete_at_once(self, ways: Sequence[Way], first_end: int | None) -> bool:
        """Under prefixes: nothing but forks comes before the end."""
        return (
            self.mixed
            and first_end is not None
            and all(self.space.policy(way) is Policy.ANY for way in ways[:first_end])
        )

    @staticmethod
    def _in_order(node: Node, ways: Iterable[Way]) -> tuple[int, ...]:
        """Edges and ends of a state in the order of preference, as `State.ways` has them."""
        steps, found, n_ends = iter(node.steps), list[int](), 0
        for way in ways:
            if way.element is None:
                n_ends += 1
                found.append(-n_ends)
                continue
            for step in steps:
                found.append(step.number)
                if not step.other_case:
                    break
        return tuple(found)

    def _end(self, node: Node, end: Way) -> End:
        before = self._open(node.key.term)
        known = self.space.surely(node.key)
        skipped = frozenset(self.numbers[name] for name in end.empty)
        last = node.key.last
        gives_back = end.dropped is not None or bool(end.scattered)
        # What remains of a match that gives events back may end with another variable.
        anywhere = -1 if gives_back else last
        tests = [
            self.conditions.made(condition, {}, anywhere, skipped=skipped, gives_back=gives_back)
            for condition in self.conditions.between
            if gives_back
            or not self.conditions.testable(condition, before)
            or self.conditions.closes(condition, before, {}, known)
            or self._empties(condition, skipped, before)
        ]
        passed = self.terms.gaps(node.key.term)
        absences = [
            self._absence(gap, anywhere, skipped=skipped, gives_back=gives_back)
            for gap in range(len(self.gap_elements))
            if gap not in passed and (gives_back or not self._gap_testable(gap, before, gap in self.leading))
        ]
        trailing = [
            self._absence(gap, anywhere, right=Anchor.OPEN, skipped=skipped, gives_back=gives_back) for gap in end.gaps
        ]
        if gives_back:  # without these events, a NOT before them stands at the end
            reopened = [gap for gap in range(len(self.gap_elements)) if gap not in passed]
            trailing += [
                self._absence(gap, anywhere, right=Anchor.REOPENED, skipped=skipped, gives_back=True)
                for gap in reopened
            ]
        return End(
            tests=tuple(tests),
            absences=tuple(absences),
            trailing=tuple(trailing),
            dropped=end.dropped,
            scattered=tuple(sorted(end.scattered)),
            n_trailing=self._most_trailing([absence.gap for absence in trailing]),
        )

    def _most_trailing(self, gaps: Iterable[int]) -> int | None:
        """The most events of what stands under one of some NOTs, or None."""
        most = 1
        for gap in gaps:
            n = n_events_most(self.gap_elements[gap])
            if n is None:
                return None
            most = max(most, n)
        return most
