"""Policies that observe pairs at times: what is counted is what the oracle counts of those times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

import pytest

from cepheid.engine.session import prepare, run_plan
from cepheid.engine.snapshot import unpacked
from cepheid.engine.stream import Stream
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.events.ingest import read_events
from cepheid.kernels.jit import ENABLED
from cepheid.ports.pairs import Orders, Seen, Wanted
from cepheid.testing.harness import little_room, table_of
from cepheid.testing.oracle import match
from cepheid.testing.oracle_conditions import Binding
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_pairs import Pair
from tests.properties.stub_policies import DropsCells, WatchesCells
from tests.properties.test_pair_policies import BINS, SECOND_US, bound_to, found, types_of

pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

QUERIES = (
    "SEQ(A a, B b) WITHIN 3 s",
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 5 s",
    "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 4 s",
    "SEQ(A a, B+ b, C c) WITHIN 6 s",
    "SEQ(A a, (B | C) b, * c) WHERE SAME[k] WITHIN 5 s",
    "AND(A a, B b) WHERE a.x < b.x WITHIN 4 s",
    "SEQ(A a, B b?, C c) WITHIN 4 s",
    "SEQ(A a, A b, B c) WITHIN 5 s BETWEEN EACH 2 s",
)
"""Each match is decided by its last event."""


@dataclass
class Pauses(DropsCells):
    """Observes while it is told to, and is asked before each event that fits an element."""

    n_work: int | None = 1
    observes: bool = False

    def look(self, seen: Seen) -> Orders:
        super().look(seen)
        return Orders(n_work=1, observe=self.observes)


@dataclass
class WatchesAtTimes(WatchesCells):
    """Counts what happens while it is told to.

    Attributes:
        period: of each event, by its identity, since when it is observed; None: it is not.
    """

    period: dict[object, int | None] = field(default_factory=dict)

    def of(self, event: OracleEvent) -> int | None:
        return self.period[event.identity]

    def drops(self, pair: Pair) -> bool:
        return super().drops(pair) if self.of(pair.event) is not None else False

    def took(self, pair: Pair, binding: Binding) -> None:
        if self.of(binding.event) is not None:
            super().took(pair, binding)

    def expired(self, bindings: Sequence[Binding], window: tuple[int, int] | None) -> None:
        if self.of(bindings[-1].event) is not None:
            super().expired(bindings, window)

    def completed(self, pairs: Sequence[Pair], bindings: Sequence[Binding]) -> None:
        now = self.of(bindings[-1].event)
        if now is not None:
            seen = [(p, b) for p, b in zip(pairs, bindings, strict=True) if self.of(b.event) == now]
            super().completed([pair for pair, _ in seen], [binding for _, binding in seen])


def observed_by(events: Sequence[OracleEvent], changes: Sequence[int], fits: Sequence[bool]) -> list[int | None]:
    """Since when each event is observed, where that begins and ends at some of them; None: it is not.

    The policy is asked before events that fit an element, so others go with the next one that does, and the last of
    them with the one before.
    """
    wanted = [sum(change <= i for change in changes) % 2 == 1 for i in range(len(events))]
    periods: list[int | None] = []
    n, before = 0, False
    for i in range(len(events)):
        now = next((wanted[j] for j in range(i, len(events)) if fits[j]), before)
        n += now and not before
        periods.append(n if now else None)
        before = now
    return periods


def events_at(*times: tuple[int, str], random: Random | None = None) -> tuple[OracleEvent, ...]:
    """Events at different times, so that a stream tells them apart; their values are drawn, or all the same."""

    def values(time: int) -> dict[str, object]:
        k, x = (1, 0) if random is None else (random.choice((1, 1, 2)), random.randint(0, 3))
        return {"ts": time * SECOND_US, "k": k, "x": x, "f": 1.0, "s": "a"}

    return tuple(OracleEvent(time * SECOND_US, (time,), "events", kind, values(time)) for time, kind in times)


@pytest.mark.parametrize("policy_of_query", ["any", "next"])
@pytest.mark.parametrize("pattern", QUERIES)
def test_what_happens_while_pairs_are_observed_is_counted(pattern: str, policy_of_query: str):
    """On and off at random, with snapshots between: counts are the oracle's of these times."""
    bound = bound_to(f"PATTERN {pattern} POLICY {policy_of_query}")
    random, types, n_matched, n_expired = Random(pattern), types_of(bound), 0, 0
    for number in range(24):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(observe=True, work=True, n_bins=n_bins, bin_events=bin_events)
        kinds, gaps = random.choices("ABCD", k=random.randint(6, 18)), (1, 1, 2)
        events = events_at(*zip(accumulate(random.choice(gaps) for _ in kinds), kinds, strict=True), random=random)
        changes = sorted(random.sample(range(len(events)), (1, 2, 3)[number % 3]))
        periods = observed_by(events, changes, ["*" in pattern or event.type in types for event in events])
        table, schema = table_of(events, bound.schema)
        policy = Pauses(frozenset(), wanted)
        policy.observes = periods[0] is not None
        with little_room(random.choice((1, 4))):
            stream = Stream(bound, table.schema, policy=policy)
            for i, event in enumerate(events):
                policy.observes = periods[i] is not None
                stream.push(read_events(table.slice(i, 1), schema))
                stream.found(event.time)
                if i + 1 < len(events) and random.random() < 0.3:
                    snapshot = stream.snapshot({})
                    policy.observes = periods[i + 1] is not None  # it is asked how to begin
                    stream = Stream(bound, table.schema, policy=policy)
                    stream.restore(*unpacked(snapshot), schema)
            stream.found(AFTER_ALL_US)
        watch = WatchesAtTimes(
            frozenset(), wanted, types, period=dict(zip([event.identity for event in events], periods, strict=True))
        )
        match(bound, events, watch=watch)
        for name, counts in watch.counts().items():
            assert policy.told(name) == counts, name
        by_state = watch.counts_by_state()
        for name in ("created", "extended"):
            assert policy.told_by_state(name) == by_state[name], name
        expired = policy.told_by_state("expired")
        if len(changes) == 1:
            assert expired == by_state["expired"]
        assert expired <= by_state["expired"]
        n_matched += watch.counts()["matched"].total()
        n_expired += by_state["expired"].total()
    assert n_matched
    assert n_expired


@pytest.mark.parametrize(("n_looks", "expired"), [(0, {"a": 1, "b": 1}), (1, {"a": 1}), (2, {})])
def test_under_strict_what_was_there_before_does_not_expire(n_looks: int, expired: dict[str, int]):
    """The run of 0 s waits with a and b when its window closes, that of 9 s with a; those of 20 and 30 s do not.

    The policy is asked before each event but the first.
    """

    class Late(Pauses):
        def look(self, seen: Seen) -> Orders:
            self.observes = self.n_looks >= n_looks
            return super().look(seen)

    bound = bound_to("PATTERN SEQ(A a, B b, C c) WITHIN 2 s POLICY strict")
    events = events_at((0, "A"), (1, "B"), (9, "A"), (20, "A"), (21, "D"), (30, "A"), (31, "B"), (32, "C"), (33, "D"))
    policy = Late(frozenset(), Wanted(observe=True, work=True))
    policy.observes = n_looks == 0
    found(bound, events, policy, 16)
    assert dict(policy.told_by_state("expired")) == expired


@pytest.mark.parametrize("wanted", [Wanted(observe=True), Wanted(guard=True, observe=True, work=True)])
def test_nothing_is_counted_before_it_is_ordered(wanted: Wanted):
    bound = bound_to("PATTERN SEQ(A a, B b) WITHIN 4 s POLICY any")
    policy = DropsCells(frozenset(), wanted, observes=False)
    assert found(bound, events_at((0, "A"), (1, "B")), policy, 4) == [[("a", 0), ("b", 1)]]
    assert policy.seen is not None
    for name in ("processed", "taken", "completed", "matched", "groups", "created", "extended", "expired"):
        assert not getattr(policy.seen, name).any(), name


def test_who_does_not_want_to_observe_cannot_order_it():
    bound = bound_to("PATTERN SEQ(A a, B b) POLICY any")
    table, schema = table_of(events_at((0, "A"), (1, "B")), bound.schema)
    policy = Pauses(frozenset(), Wanted(work=True), observes=True)
    with pytest.raises(ValueError, match="does not want to"):
        run_plan(prepare(bound, wanted=policy.wanted), read_events(table, schema), policy=policy)
