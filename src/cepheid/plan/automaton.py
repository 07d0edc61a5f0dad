"""The plan of a query, as data: elements, states, edges, and when each condition is tested."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Expression, Policy, SkipMode
from cepheid.plan.absent_checks import Checked
from cepheid.plan.evaluation import Evaluation


@dataclass(frozen=True)
class Element:
    """A place in the pattern that takes events of its own; a bit of the fit mask.

    Attributes:
        index: its number; the positive ones come first, in the order of the text.
        variable: the variable that it binds.
        types: the event types it takes; empty for any.
        conditions: the conjuncts on this one event, which are evaluated column-wise before the engine.
        minimum, maximum, greedy: its quantifier (1, 1 where it has none).
        negated: it stands under NOT.
        groups: the quantified groups around it.
        policy: its prefix, or None.
        inner: of a NOT of a group: the query whose matches must not lie in the gap.
        checked: of such a NOT: what these are checked for in each gap.
        slot: of a variable under such a NOT: its number among them, the first of several where it is ``many``.
        many: of such a variable: conditions read several events of it (`plan.absent_groups`).
    """

    index: int
    variable: str
    types: tuple[str, ...]
    conditions: tuple[Conjunct, ...]
    minimum: int = 1
    maximum: int | None = 1
    greedy: bool = True
    negated: bool = False
    groups: frozenset[int] = frozenset()
    policy: Policy | None = None
    inner: BoundQuery | None = None
    checked: Checked | None = None
    slot: int | None = None
    many: bool = False

    @property
    def loop(self) -> bool:
        """It may take more than one event."""
        return self.maximum is None or self.maximum > 1

    @property
    def optional(self) -> bool:
        """A match may leave it out."""
        return self.minimum == 0


@dataclass(frozen=True)
class Situation:
    """What is known of the variables when a condition is tested.

    Attributes:
        current: the element that the event is being taken for, or None at the end of a match.
        entering: that event is the first of its element.
        skipped: elements that this step passes over for good.
        negated: the negated element that the condition tries, or None.
        last: the element whose event the partial match took last, or None at a start.
        made: the condition is tested on the partial match after it took the event (`plan.graph`), over all
            combinations of elements that its variables have.
        fixed: of these combinations, only those in which this variable is the event just taken.
        places: (variable, where it may still be bound), for the variables of the condition.
        required: variables that must have an element; where one has none yet, the condition waits.
        closing: of the condition of an UNTIL: the loop that it closes, whose aggregates are absent before its first
            element.
        gives_back: at the end of a match that gives events back: what a step before left empty is empty, although the
            row that is tested does not know of it.
        around: of such a condition: the iterations in which the event that is tried would be an element, as in
            ``places``; it meets only elements of these.
    """

    current: int | None = None
    entering: bool = False
    skipped: frozenset[int] = frozenset()
    negated: int | None = None
    last: int | None = None
    made: bool = False
    fixed: int | None = None
    places: frozenset[tuple[int, frozenset[tuple[int, int]]]] = frozenset()
    required: frozenset[int] = frozenset()
    closing: int | None = None
    around: frozenset[tuple[int, int]] = frozenset()
    gives_back: bool = False


@dataclass(frozen=True)
class Test:
    """A condition, and the situation in which it is tested."""

    __test__ = False  # not a test of pytest's

    conjunct: Conjunct
    situation: Situation


@dataclass(frozen=True)
class CountTest:
    """A bound on the number of elements that a loop has taken so far.

    Attributes:
        element: the loop.
        least: at least this many, or None.
        most: at most this many, or None.
    """

    element: int
    least: int | None = None
    most: int | None = None


class Reads(Enum):
    """Which events an absence is about."""

    BETWEEN = "those in the gap"
    TO_CURRENT = "those in the gap, and the event being taken"
    CURRENT = "the event being taken"


class Anchor(Enum):
    """Where an end of the gap of a NOT is found."""

    LAST_TAKEN = "the partial match's last event"
    CURRENT = "the event being taken"
    REMEMBERED = "an event remembered when the gap closed"
    OPEN = "none: the gap ends with the window"
    REOPENED = "none, if the events that a match gives back closed the gap"
    NEIGHBOUR = "the event of the variable on that side"


@dataclass(frozen=True)
class Absence:
    """A NOT that is tested now.

    Attributes:
        negated: its element.
        left, right: the ends of the gap.
        tests: the conditions that an event must satisfy to break it.
        checks: of a NOT of a group: the conditions of `plan.absent_checks`, in their order.
        fatal: a NOT that fails fails for every later event too, so the partial match is lost.
        inner: it is tested only where the gap has a left neighbour (`plan.graph`).
        gap: the number of the NOT (`plan.graph`).
        reads: the event being taken is tried too, or alone: it may close the loop that would take it (UNTIL).
        neighbours: the elements on both sides of the gap, where `Anchor.NEIGHBOUR` asks for them.
        broken: it must not hold: the loop must have been closed (UNTIL).
        last: of the closers of a state: the last of those that together leave nothing to take.
    """

    negated: int
    left: Anchor
    right: Anchor
    tests: tuple[Test, ...]
    fatal: bool
    inner: bool = False
    gap: int = -1
    reads: Reads = Reads.BETWEEN
    neighbours: tuple[int, int] | None = None
    broken: bool = False
    last: bool = False
    checks: tuple[Test, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A step of the automaton.

    Attributes:
        source, target: states; the source is None for a start.
        element: the element that takes the event.
        entering: the event is the first of that element.
        skipped: elements passed over.
        forks: the partial match also stays as it is (any).
        counts, tests, absences: what must hold.
        remembers: negated elements whose gap this step closes, and whose test comes later.
        made_tests, made_absences: what must hold for the partial match that the step makes (`plan.graph`).
        begins: the quantified groups of which it begins an iteration (`plan.graph`).
        empties: variables that are empty from here on (`plan.graph`).
        known: variables that are bound for sure before it (`plan.graph`).
        strict: the event is the neighbour of the match's last one (a prefix).
    """

    source: int | None
    target: int
    element: int
    entering: bool
    skipped: tuple[int, ...]
    forks: bool
    counts: tuple[CountTest, ...]
    tests: tuple[Test, ...]
    absences: tuple[Absence, ...]
    remembers: tuple[int, ...]
    made_tests: tuple[Test, ...] = ()
    made_absences: tuple[Absence, ...] = ()
    begins: frozenset[int] = frozenset()
    empties: frozenset[int] = frozenset()
    known: frozenset[int] = frozenset()
    strict: bool = False


@dataclass(frozen=True)
class End:
    """A way in which a partial match can be complete.

    Attributes:
        tests, absences: what must hold.
        trailing: the NOTs at its end, which are tested when nothing can break them any more.
        dropped: the quantified group whose unfinished iteration gives its events back, or None.
        scattered: the same, where other events of the match may lie among them.
        n_trailing: the most events of a match of what stands under one of these NOTs; None for no bound.
    """

    tests: tuple[Test, ...] = ()
    absences: tuple[Absence, ...] = ()
    trailing: tuple[Absence, ...] = ()
    dropped: int | None = None
    scattered: tuple[int, ...] = ()
    n_trailing: int | None = 1

    @property
    def gives_back(self) -> bool:
        """Whether the match that ends here is without some of its events."""
        return self.dropped is not None or bool(self.scattered)


@dataclass(frozen=True)
class Join:
    """A step that takes an event which was kept.

    Attributes:
        element: what it binds.
        entering: the edge that takes its first event.
        again: the edge that takes more, if it is a loop.
        after, before: the elements between whose events it must lie, or None.
    """

    element: int
    entering: int
    again: int | None
    after: int | None
    before: int | None


@dataclass(frozen=True)
class Joins:
    """What happens when an event arrives that may be the last of a match.

    Attributes:
        evaluation: the plan that asks for it.
        order: the elements in the order in which the plan takes them.
        trigger: the edge that takes that event, or only waits for it, where the match ends with a loop.
        steps: in their order.
        closes_with_loop: the last step is that loop, and ends with the arriving event.
    """

    evaluation: Evaluation
    order: tuple[int, ...]
    trigger: int
    steps: tuple[Join, ...]
    closes_with_loop: bool


class Accepting(Enum):
    """When a state is a match."""

    NO = "no"
    AT_ONCE = "at once"
    LATE = "when nothing more can be taken"
    ALSO = "at once, and goes on"


@dataclass(frozen=True)
class State:
    """A state: the element taken last.

    Attributes:
        index: its number.
        element: the element taken last.
        edges: numbers of the edges that leave it, in order of preference.
        accepting: when it is a match.
        counts, tests, absences: what must hold at the end of the match.
        full_at: with this many events the loop of its element is full, or None.
        over_when_full: nothing can be taken then.
        ends_when_full: then the match ends at once if what its end closes holds (a reluctant end).
        closing_tests, closing_absences: what must hold for the event that fills the loop to be taken (next).
        ends: in place of counts, tests and absences (`plan.graph`).
        ways: under `strict`, edges and ends in the order of preference: an edge by its number, end i as -1 - i.
        twin: under prefixes, the state of a copy that leaves a loop while this one goes on in it; or None.
        neighbours: under prefixes, all edges are strict: the next event decides what becomes of it.
        closers: where UNTILs can leave nothing to be taken: once all of some that stand beside each other, up to one
            that is marked, are broken.
    """

    index: int
    element: int
    edges: tuple[int, ...]
    accepting: Accepting
    counts: tuple[CountTest, ...] = ()
    tests: tuple[Test, ...] = ()
    absences: tuple[Absence, ...] = ()
    full_at: int | None = None
    over_when_full: bool = False
    ends_when_full: bool = False
    closing_tests: tuple[Test, ...] = ()
    closing_absences: tuple[Absence, ...] = ()
    ends: tuple[End, ...] = ()
    ways: tuple[int, ...] = ()
    twin: int | None = None
    neighbours: bool = False
    closers: tuple[Absence, ...] = ()


@dataclass(frozen=True)
class Automaton:
    """The plan of one query.

    Attributes:
        bound: the query.
        elements: positive ones first, in the order of the text; then negated ones.
        n_positive: how many are positive.
        states, edges: the automaton.
        starts: the edges from no state, in the order of the text.
        further_starts: more such lists: an event starts a run of each (OR under `next`).
        partition: the expressions of SAME.
        within: longest distance from the first event, inclusive, or None.
        each: longest gap between neighbours, or None.
        counts_events: ``within`` is a number of events of the partition, not microseconds; so is ``each``, but see
            `each_by_other`.
        constants: conjuncts that name no variable: tested once.
        variables: the positive ones in the order of the text, then the negated ones. In the plan of a sequence, the
            elements themselves; in one of `plan.graph`, several elements may bind one variable, and edges, tests
            and states name variables by their number here.
        graph: it was made by `plan.graph`.
        leading: a NOT may stand before the first event.
        tells_timed_out: partial matches that are left when their window closes are told, beside the matches.
        strict: the events of a match are neighbours, and the preferred one of each start counts (SEMANTICS 3.3).
        mixed: prefixes give edges policies of their own (SEMANTICS 3.4).
        joins: what is left for the last event (`plan.lazy`), or None where all is done as events arrive.
        postpones: a condition whose truth is not known yet does not stop it (`plan.postponing`).
    """

    bound: BoundQuery
    elements: tuple[Element, ...]
    n_positive: int
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    starts: tuple[int, ...]
    partition: tuple[Expression, ...]
    within: int | None
    each: int | None
    counts_events: bool
    constants: tuple[Conjunct, ...]
    variables: tuple[Element, ...] = ()
    further_starts: tuple[tuple[int, ...], ...] = ()
    graph: bool = False
    leading: bool = False
    tells_timed_out: bool = False
    strict: bool = False
    mixed: bool = False
    joins: Joins | None = None
    postpones: bool = False

    @property
    def runs_fork(self) -> bool:
        """Whether a start may have several partial matches, though no variable takes all combinations."""
        return self.mixed or (self.postpones and self.bound.policy is not Policy.ANY)

    @property
    def kernel_flags(self) -> tuple[str, ...]:
        """The flags of its kernels where no policy looks at pairs: see `compiler.load.Flags`."""
        return ("POSTPONES",) if self.postpones else ()

    @cached_property
    def neighbours(self) -> bool:
        """Whether some edge takes only the neighbour of a match's last event."""
        return any(edge.strict for edge in self.edges)

    @property
    def sliding(self) -> bool:
        """Whether matches are looked for in windows that slide."""
        return self.bound.query.window.sliding is not None

    @cached_property
    def scattered(self) -> bool:
        """Whether a match may give back events that lie among others of it."""
        return any(end.scattered for state in self.states for end in state.ends)

    @property
    def each_by_other(self) -> bool:
        """Whether BETWEEN EACH is measured by the other clock: in time where the plan counts events, and vice versa."""
        return self.each is not None and (self.bound.window.each_events is not None) != self.counts_events

    @property
    def slides_by_other(self) -> bool:
        """Whether windows slide by the other clock."""
        return self.sliding and (self.bound.window.size_events is not None) != self.counts_events

    @property
    def two_clocks(self) -> bool:
        """Whether one window or gap counts events and another measures time."""
        return self.each_by_other or self.slides_by_other

    @property
    def skips(self) -> bool:
        """Whether AFTER MATCH may discard matches: then the plan tells when runs ended."""
        return self.bound.skip.mode is not SkipMode.NONE

    @property
    def logs_rows(self) -> bool:
        """Whether partial matches of a run that forks end at moments of their own, which AFTER MATCH asks for."""
        if self.strict or not self.skips:
            return False
        if self.mixed or self.postpones:
            return True
        return self.bound.policy is Policy.ANY and any(state.closers for state in self.states)

    @property
    def fixed(self) -> bool:
        """Whether all matches bind the same variables in the same order."""
        one_road = not (self.graph or self.sliding or self.skips or self.postpones)
        return one_road and all(e.minimum == 1 and e.maximum == 1 for e in self.elements[: self.n_positive])

    @cached_property
    def ambiguous(self) -> bool:
        """Whether a match may be found in two ways: events do not tell the steps that take them."""
        if self.mixed:
            return True
        leaving = [state.edges for state in self.states]
        starts = tuple(number for numbers in (self.starts, *self.further_starts) for number in numbers)
        for numbers in (*leaving, starts):
            bound = [self.elements[self.edges[number].element].variable for number in numbers]
            if len(set(bound)) < len(bound):
                return True
        return False

    @cached_property
    def bare_states(self) -> frozenset[int]:
        """States that end a match and leave nothing to be tested."""
        tested = {edge.target for edge in self.edges if edge.made_tests or edge.made_absences}
        return frozenset(
            state.index
            for state in self.states
            if not (state.edges or state.index in tested or state.tests or state.absences or state.counts)
            and all(not (end.tests or end.absences or end.trailing or end.gives_back) for end in state.ends)
        )
