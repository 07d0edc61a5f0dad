"""The plan of a query, as data: elements, states, edges, and when each condition is tested."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Expression


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
    """

    index: int
    variable: str
    types: tuple[str, ...]
    conditions: tuple[Conjunct, ...]
    minimum: int = 1
    maximum: int | None = 1
    greedy: bool = True
    negated: bool = False

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
    """

    current: int | None = None
    entering: bool = False
    skipped: frozenset[int] = frozenset()
    negated: int | None = None
    last: int | None = None


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


class Anchor(Enum):
    """Where an end of the gap of a NOT is found."""

    LAST_TAKEN = "the partial match's last event"
    CURRENT = "the event being taken"
    REMEMBERED = "an event remembered when the gap closed"


@dataclass(frozen=True)
class Absence:
    """A NOT that is tested now.

    Attributes:
        negated: its element.
        left, right: the ends of the gap.
        tests: the conditions that an event must satisfy to break it.
        fatal: a NOT that fails fails for every later event too, so the partial match is lost.
    """

    negated: int
    left: Anchor
    right: Anchor
    tests: tuple[Test, ...]
    fatal: bool


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


@dataclass(frozen=True)
class Automaton:
    """The plan of one query.

    Attributes:
        bound: the query.
        elements: positive ones first, in the order of the text; then negated ones.
        n_positive: how many are positive.
        states, edges: the automaton.
        starts: the edges from no state, in the order of the text.
        partition: the expressions of SAME.
        within_us: longest distance from the first event, inclusive, or None.
        each_us: longest gap between neighbours, or None.
        constants: conjuncts that name no variable: tested once.
    """

    bound: BoundQuery
    elements: tuple[Element, ...]
    n_positive: int
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    starts: tuple[int, ...]
    partition: tuple[Expression, ...]
    within_us: int | None
    each_us: int | None
    constants: tuple[Conjunct, ...]
