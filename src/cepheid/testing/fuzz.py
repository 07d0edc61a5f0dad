"""Random pairs of a query and a stream on the engine and on the oracle, on and on, and what of the language they cover.

    search = Search(seed=1)
    while (found := search.step()) is None: ...

Draws come from a seed, not from Hypothesis, which costs less. What is found is made small by
`cepheid.testing.shrinking`.
"""

from __future__ import annotations

import math
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from cepheid.errors import NotSupportedError, QueryError
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.plan.evaluation import only_eager_because
from cepheid.plan.sequence import positive_variables
from cepheid.testing.harness import AS_USUAL, LEFT, Answer, EngineRoad, How, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA, STORES, stream
from cepheid.testing.strategies_choices import Seeded
from cepheid.testing.strategies_features import Features, operators_of, policy_of, window_of
from cepheid.testing.strategies_queries import query_text

MOST_EVENTS = 9
LONGEST_ANSWER_S = 20.0
"""A road that computes for longer, for so few events, runs for ever. This is the processor's time: on a machine that is
busy with other things, an answer may well be slow in coming."""

LONGEST_WAIT_S = 300.0
"""A road that takes longer by the clock waits for something that never comes."""


@dataclass(frozen=True)
class Counterexample:
    """A pair on which the roads differ.

    Attributes:
        text: of the query.
        events: in the order of arrival.
        engine, oracle: the answers, or the exception that came instead.
        how: how the engine was asked.
    """

    text: str
    events: tuple[OracleEvent, ...]
    engine: list[Answer] | str
    oracle: list[Answer] | str
    how: How = AS_USUAL


@dataclass
class Coverage:
    """How often each part of the language was compared.

    Attributes:
        pairs: (operator, policy, window) -> pairs compared; the operator "all" has every pair.
        matched: the same, of those with a match.
        refused: the same, queries that the engine refuses.
        reasons: what the engine said that it cannot run -> queries.
        n_queries: distinct queries that were compared.
        n_pairs: pairs that were compared.
        n_slow: pairs that the oracle could not answer in time, which are compared with nothing.
        n_unbound: queries that the language refuses.
        n_planned: pairs, of those compared, of which the engine had an evaluation plan.
        n_keyed: pairs, of those compared, that ran in the kernel for chains of one key.
    """

    pairs: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    matched: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    refused: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    n_queries: int = 0
    n_pairs: int = 0
    n_slow: int = 0
    n_unbound: int = 0
    n_planned: int = 0
    n_keyed: int = 0

    def add(self, other: Coverage) -> None:
        """Take over what ``other`` has counted."""
        self.pairs.update(other.pairs)
        self.matched.update(other.matched)
        self.refused.update(other.refused)
        self.reasons.update(other.reasons)
        self.n_queries += other.n_queries
        self.n_pairs += other.n_pairs
        self.n_slow += other.n_slow
        self.n_unbound += other.n_unbound
        self.n_planned += other.n_planned
        self.n_keyed += other.n_keyed


class TooLong(BaseException):
    """Not an `Exception`: nothing on the way may take it for an error of its own."""


_CLOCKS = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}


@contextmanager
def time_limit(computing_s: float, waiting_s: float = LONGEST_WAIT_S) -> Iterator[None]:
    """Raises `TooLong` in its block when this process computes, or the block takes, longer; in the main thread only."""

    def stop(*_: object) -> None:
        raise TooLong

    before = {name: signal.signal(name, stop) for name in _CLOCKS.values()}
    for clock, seconds in zip(_CLOCKS, (computing_s, waiting_s), strict=True):
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for clock in _CLOCKS:
            signal.setitimer(clock, 0)
        for name, handler in before.items():
            signal.signal(name, handler)


def _answered(road: Callable[[], list[Answer]]) -> list[Answer] | str:
    """Its answers, or how it failed."""
    try:
        with time_limit(LONGEST_ANSWER_S):
            return road()
    except TooLong:
        return f"no answer in {LONGEST_ANSWER_S:g} s"
    except Exception as error:  # noqa: BLE001 - whatever a road raises is the finding
        return f"{type(error).__name__}: {error}"


def same(one: object, other: object) -> bool:
    """Equal, with NaN equal to itself, and numbers of one type only."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


def difference(road: EngineRoad, text: str, events: Sequence[OracleEvent]) -> Counterexample | None:
    """What the roads give for a pair, where it is not the same.

    Raises:
        OracleTooSlow: the oracle does not come to an end in time; nothing is known of the pair.
    """
    return _compared(road, text, events)[0]


def _compared(road: EngineRoad, text: str, events: Sequence[OracleEvent]) -> tuple[Counterexample | None, int]:
    """The same, and how many matches there are."""
    oracle = _answered(lambda: oracle_answers(road.bound, events, STORES, timed_out=road.how.timed_out))
    if isinstance(oracle, str) and oracle.startswith("no answer"):
        raise OracleTooSlow(text)
    engine = _answered(lambda: road.answers(events))
    n_matches = 0 if isinstance(oracle, str) else sum(one.returned is not LEFT for one in oracle)
    if same(engine, oracle):
        return None, n_matches
    return Counterexample(text, tuple(events), engine, oracle, road.how), n_matches


ROOMS = (None, None, 1, 4)
"""See `How`."""


ALSO_TIMED_OUT = 0.3
"""The share of the queries of which what times out is compared, too."""


PLANNED = 0.5
"""The share of the queries that have a choice of evaluation plans which get one."""


KEYED = 0.2
"""The share of the queries that are such as the kernel for chains of one key can often run, and go to it then."""


class OracleTooSlow(Exception):
    """A pair that the oracle does not answer in time."""


# --- the search -------------------------------------------------------------------------------------


SHARES = (0.15, 0.4, 0.8)
"""How much of the language a query may use; one of these each time."""


def some_of(random: Random, shares: Sequence[float] = SHARES) -> Features:
    """A part of the language: what is missing makes room for what is not, and for small queries."""
    kept = random.choice(shares)
    features = Features.NONE
    for feature in Features:
        if random.random() < (0.9 if feature in Features.WITHIN | Features.CROSS else kept):
            features |= feature
    if random.random() < 0.9:
        features &= ~Features.REMOTE
    return features | random.choice((Features.ANY, Features.NEXT, Features.STRICT))


class Search:
    """Queries one after the other, each with several streams."""

    def __init__(
        self,
        seed: int,
        n_streams: int = 10,
        always: Features = Features.NONE,
        shares: Sequence[float] = SHARES,
    ) -> None:
        """Start.

        Args:
            seed: the same seed gives the same pairs.
            n_streams: streams for a query.
            always: what each query may use, beside another part of the language each time.
            shares: how much of the language that part is.
        """
        self._random = Random(seed)
        self._choices = Seeded(self._random)
        self._n_streams = n_streams
        self._always = always
        self._shares = shares
        self._features = always
        self._texts: set[str] = set()
        self.coverage = Coverage()

    def step(self) -> Counterexample | None:
        """The next query with its streams; what is found, if anything."""
        road = self.query()
        if road is None:
            return None
        place = (policy_of(road.bound), window_of(road.bound))
        return self._streams(road, ("all", *operators_of(road.bound)), place)

    def query(self) -> EngineRoad | None:
        """The next query; None where it is drawn for the second time, or refused, which is counted."""
        keyed = self._always in Features.CHAINS and self._random.random() < KEYED
        features = some_of(self._random, self._shares)
        self._features = (features & Features.CHAINS if keyed else features) | self._always
        text = query_text(self._choices, self._features)
        room, timed_out = self._random.choice(ROOMS), self._random.random() < ALSO_TIMED_OUT
        if text in self._texts:
            return None
        self._texts.add(text)
        try:
            bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
        except QueryError:
            self.coverage.n_unbound += 1
            return None
        try:
            evaluation = None if timed_out or keyed else self._evaluation(bound)
            road = EngineRoad(bound, room, timed_out=timed_out, evaluation=evaluation, keyed=keyed)
        except NotSupportedError as error:
            place = (policy_of(bound), window_of(bound))
            self.coverage.refused.update((operator, *place) for operator in ("all", *operators_of(bound)))
            self.coverage.reasons[error.message] += 1
            return None
        self.coverage.n_queries += 1
        return road

    def _evaluation(self, bound: BoundQuery) -> str | None:
        """An evaluation plan for some of the queries that have a choice."""
        if only_eager_because(bound) is not None or self._random.random() >= PLANNED:
            return None
        order = positive_variables(bound)[:-1]
        self._random.shuffle(order)
        n_eager = self._random.randint(0, len(order))
        return f"{' '.join(order[:n_eager])}/{' '.join(order[n_eager:])}"

    def stream(self, road: EngineRoad) -> tuple[OracleEvent, ...]:
        """A stream for the query that was drawn last."""
        shuffled = self._random.random() < 0.2
        return stream(self._choices, road.bound, self._features, MOST_EVENTS, shuffled)

    def _streams(self, road: EngineRoad, operators: Sequence[str], place: tuple[str, str]) -> Counterexample | None:
        for _ in range(self._n_streams):
            events = self.stream(road)
            try:
                found, n_matches = _compared(road, road.bound.text, events)
            except OracleTooSlow:
                self.coverage.n_slow += 1
                return None
            covered = [(operator, *place) for operator in (*operators, *_of_stream(events))]
            self.coverage.n_pairs += 1
            self.coverage.n_planned += road.how.evaluation is not None
            self.coverage.n_keyed += road.how.keyed and road.in_keyed_kernel(events)
            self.coverage.pairs.update(covered)
            if n_matches:
                self.coverage.matched.update(covered)
            if found is not None:
                return found
        return None


def _of_stream(events: Sequence[OracleEvent]) -> Iterator[str]:
    """Those of `OF_STREAMS` that a stream has."""
    values = [value for event in events for value in event.values.values()]
    times = [event.time for event in events]
    if None in values:
        yield "NULL"
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        yield "NaN"
    if len(set(times)) < len(times):
        yield "ties in time"
    if len({event.source for event in events}) > 1:
        yield "several sources"
    if times != sorted(times):
        yield "out of order"


def require_same(
    text: str,
    events: Sequence[OracleEvent],
    answers: Sequence[tuple[object, ...]],
    room: int | None = None,
    *,
    timed_out: bool = False,
    evaluation: str | None = None,
    keyed: bool = False,
) -> None:
    """Test that both roads give these answers for a query over `SCHEMA`.

    Raises:
        AssertionError: one of them gives another.
    """
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    oracle = oracle_answers(bound, events, STORES, timed_out=timed_out)
    assert same(oracle, list(answers)), f"the oracle gives {oracle}"
    engine = EngineRoad(bound, room, timed_out=timed_out, evaluation=evaluation, keyed=keyed).answers(events)
    assert same(engine, list(answers)), f"the engine gives {engine}, the oracle {oracle}"
