"""Policies that look at pairs: the same pairs are kept apart and counted as in the oracle, and without one none are."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cepheid.engine.session import prepare, run_plan
from cepheid.errors import NotSupportedError
from cepheid.events.ingest import read_events
from cepheid.kernels.jit import ENABLED
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.ports.pairs import Guard, Orders, Wanted
from cepheid.testing.harness import little_room, table_of
from cepheid.testing.oracle import match
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_pairs import Pair
from cepheid.testing.strategies import CATALOG, SCHEMA, Features, examples
from tests.properties.stub_policies import Cell, DropsCells, WatchesCells

# Each variant of the kernels takes seconds to compile: `make test` runs this in plain Python.
pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

SECOND_US = 1_000_000
BINS = ((1, 1), (2, 1), (4, 1), (2, 2), (3, 4))

COUNTED = (
    "SEQ(A a, B b) WITHIN 3 s",
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 5 s",
    "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 4 s",
    "SEQ(A a, B+ b, C c) WITHIN 6 s",
    "SEQ(A a, (B | C) b, * c) WHERE SAME[k] WITHIN 5 EVENTS",
    "SEQ(A a, B b) WHERE a.x < b.x WINDOW 4 s SLIDE 2 s",
    "SEQ(A a, B b, A c) WHERE SAME[k] WINDOW 5 EVENTS SLIDE 2 EVENTS",
    "SEQ(A a, B b) WHERE SAME[k] WINDOW 5 s SLIDE 2 s",
    "AND(A a, B b) WHERE a.x < b.x WITHIN 4 s",
    "SEQ(A a, B b?, C c) WITHIN 4 s",
    "SEQ(A a, B+ b) WITHIN 4 s",
    "SEQ(A a, ANY(2, B b, C c, D d)) WITHIN 5 s",
    "(SEQ(A a, B b))+ WITHIN 5 s",
    "SEQ(A a, B* b, any C c) WITHIN 9 s",
    "SEQ(A a, B+ b, any C? c, D d) WHERE SAME[k] WITHIN 9 s",
    "SEQ(A a, (B b, C c)+, any D d) WITHIN 9 s",
    "SEQ(A a, A b, B c) WITHIN 5 s BETWEEN EACH 2 s",
    "SEQ(A a, B+ b, C c) WHERE SAME[k] WITHIN 9 s BETWEEN EACH 2 EVENTS",
    "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 6 EVENTS BETWEEN EACH 2 s",
    "SEQ(A a, B b, C c) WHERE SAME[k] WINDOW 6 s SLIDE 3 s BETWEEN EACH 1 s",
    "A a",
)
"""No key but SAME, no condition on one event, no NOT: the oracle sees such pairs, too, and the engine need not."""


def equal(pair: Pair, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """False where the event is of ``other``'s variable, and the event of ``one``'s has another value."""
    last = pair.bindings[-1] if pair.bindings else None
    if last is None or (last.variable, pair.event.type) != (one[0], other[0].upper()):
        return True
    return bool(last.event.values[one[1]] == pair.event.values[other[1]])


KEYED: dict[str, Callable[[Pair], bool]] = {
    "SEQ(A a, B b) WHERE a.k = b.k WITHIN 5 s": lambda pair: equal(pair, ("a", "k"), ("b", "k")),
    "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.x = c.x WITHIN 9 s": lambda pair: (
        equal(pair, ("a", "k"), ("b", "k")) and equal(pair, ("b", "x"), ("c", "x"))
    ),
    "SEQ(A a, B b) WHERE a.x > 1 AND b.x > 0 AND a.k <= b.k WITHIN 6 s": lambda pair: (
        pair.event.values["x"] > (pair.event.type == "A")
    ),
}
"""Queries with keys and conditions on one event, and which of the oracle's pairs meet."""

SEEN_LATER = {
    "SEQ(A a, NOT D n, B b) WITHIN 4 s": "fewer",
    "SEQ(A a, NOT D n, B b, C c) WHERE SAME[k] AND n.x > a.x WITHIN 6 s": "fewer",
    "SEQ(NOT D n, A a, B b) WITHIN 4 s": "fewer",
    "SEQ(A a, B b, NOT D n) WITHIN 4 s": "fewer",
    "SEQ(A a, NOT SEQ(D n, C m), B b) WITHIN 5 s": "fewer",
    "SEQ(A a, B+ b UNTIL b.x = 2, C c) WITHIN 6 s": "more",
    "SEQ(A a, B+ b UNTIL b.x = 3) WHERE SAME[k] WITHIN 5 s": "more",
}
"""Queries with NOT and UNTIL: whether fewer pairs meet than in the oracle, as a NOT may be broken for good before an
event comes, or more, as that a loop is closed is seen when it would go on."""


def bound_to(text: str) -> BoundQuery:
    return bind(parse(text), SCHEMA, catalog=CATALOG, text=text)


def types_of(bound: BoundQuery) -> frozenset[str]:
    return frozenset(t for element in prepare(bound).automaton.elements for t in element.types)


def some_cells(random: Random, bound: BoundQuery, n_bins: int, share: float) -> frozenset[Cell]:
    """Cells drawn at random, each with the same probability."""
    cells = [
        (t, s, b) for t in (*sorted(types_of(bound)), None) for s in (None, *bound.variables) for b in range(n_bins)
    ]
    return frozenset(cell for cell in cells if random.random() < share)


def found(bound: BoundQuery, events: tuple[OracleEvent, ...], policy: DropsCells, room: int) -> list[object]:
    """The matches of the engine, by numbers of events."""
    compiled = prepare(bound, wanted=policy.wanted)
    table, schema = table_of(events, bound.schema)
    batch = read_events(table, schema)
    with little_room(room):
        matches = run_plan(compiled, batch, policy=policy)
    names, rows, offsets = list(bound.variables), batch.rows_of(matches.positions), matches.offsets
    numbered = [(names[v], int(row)) for v, row in zip(matches.variables, rows, strict=True)]
    return [numbered[offsets[m] : offsets[m + 1]] for m in range(len(matches))]


def expected(bound: BoundQuery, events: tuple[OracleEvent, ...], watch: WatchesCells) -> list[object]:
    number = {event.identity: i for i, event in enumerate(events)}
    matches = match(bound, events, timed_out=False, watch=watch).matches
    return [[(name, number[event.identity]) for name, event in one.bindings] for one in matches]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    examples(Features.ENGINE, shuffled=True),
    st.sampled_from(BINS),
    st.sampled_from((0.1, 0.3, 0.6)),
    st.sampled_from((None, 1, 7)),
    st.sampled_from((1, 16)),
    st.integers(0, 2**20),
)
def test_what_a_policy_drops_the_oracle_misses_too(example, bins, share, n_work, room, seed):
    """Kept apart at random, with pauses at any point and pools that grow: the matches of the oracle, in its order."""
    bound = example.bound
    if bound.inner is not None:
        reject()
    random = Random(seed)
    wanted = Wanted(
        guard=True, observe=random.random() < 0.5, work=n_work is not None, n_bins=bins[0], bin_events=bins[1]
    )
    try:
        dropped = some_cells(random, bound, bins[0], share)
        policy = DropsCells(dropped, wanted, n_work)
        engine = found(bound, example.events, policy, room)
    except NotSupportedError:
        reject()
    assert engine == expected(bound, example.events, WatchesCells(dropped, wanted, types_of(bound)))


def drawn_events(random: Random, n_most: int = 10) -> tuple[OracleEvent, ...]:
    time, events = 0, []
    for i in range(random.randint(4, n_most)):
        time += SECOND_US * random.choice((0, 1, 1, 2))
        values = {"ts": time, "k": random.choice((1, 1, 2)), "x": random.randint(0, 3), "f": 1.0, "s": "a"}
        events.append(OracleEvent(time, (i,), "events", random.choice("ABCD"), values))
    return tuple(events)


@pytest.mark.parametrize("policy_of_query", ["any", "next"])
@pytest.mark.parametrize("pattern", COUNTED)
def test_pairs_and_what_comes_of_them_are_counted_as_in_the_oracle(pattern, policy_of_query):
    bound = bound_to(f"PATTERN {pattern} POLICY {policy_of_query}")
    random, n_dropped, n_expired = Random(pattern), 0, 0
    for number in range(12):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, observe=True, work=True, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, 0.4 * (number % 2))
        policy = DropsCells(dropped, wanted, random.choice((None, 1, 5)))
        watch = WatchesCells(dropped, wanted, types_of(bound))
        events = drawn_events(random)
        found(bound, events, policy, random.choice((1, 4)))
        match(bound, events, watch=watch)
        for name, counts in watch.counts().items():
            if name == "dropped" and policy.seen.groups_dropped.any():
                assert all(policy.told(name)[cell] <= n for cell, n in counts.items())
            else:
                assert policy.told(name) == counts, name
        for name, by_state in watch.counts_by_state().items():
            assert policy.told_by_state(name) == by_state, name
        n_dropped += watch.counts()["dropped"].total()
        n_expired += policy.told_by_state("expired").total()
    assert n_dropped
    assert n_expired or pattern == "A a"


@pytest.mark.parametrize("policy_of_query", ["any", "next"])
@pytest.mark.parametrize("pattern", KEYED)
def test_pairs_of_one_key_are_counted_as_in_the_oracle(pattern, policy_of_query):
    bound = bound_to(f"PATTERN {pattern} POLICY {policy_of_query}")
    random, n_met = Random(pattern), 0
    for number in range(12):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, observe=True, work=True, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, 0.4 * (number % 2))
        policy = DropsCells(dropped, wanted, random.choice((None, 1, 5)))
        watch = WatchesCells(dropped, wanted, types_of(bound), KEYED[pattern])
        events = drawn_events(random, 16)
        found(bound, events, policy, random.choice((1, 4)))
        match(bound, events, watch=watch)
        for name, counts in watch.counts().items():
            if name != "dropped" or not policy.seen.groups_dropped.any():
                assert policy.told(name) == counts, name
        for name, by_state in watch.counts_by_state().items():
            assert policy.told_by_state(name) == by_state, name
        n_met += watch.counts()["processed"].total()
    assert n_met


@pytest.mark.parametrize("policy_of_query", ["any", "next"])
@pytest.mark.parametrize("pattern", SEEN_LATER)
def test_what_comes_of_pairs_is_counted_as_in_the_oracle_beside_not_and_until(pattern, policy_of_query):
    bound = bound_to(f"PATTERN {pattern} POLICY {policy_of_query}")
    random, n_matched = Random(pattern), 0
    for number in range(12):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, observe=True, work=True, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, 0.4 * (number % 2))
        policy = DropsCells(dropped, wanted, random.choice((None, 1, 5)))
        watch = WatchesCells(dropped, wanted, types_of(bound))
        events = drawn_events(random, 14)
        found(bound, events, policy, random.choice((1, 4)))
        match(bound, events, watch=watch)
        wanted_counts, wanted_by_state = watch.counts(), watch.counts_by_state()
        for name in ("taken", "completed", "matched"):
            assert policy.told(name) == wanted_counts[name], name
        for name in ("created", "extended"):
            assert policy.told_by_state(name) == wanted_by_state[name], name
        pairs = policy.told("processed"), wanted_counts["processed"]
        expired = policy.told_by_state("expired"), wanted_by_state["expired"]
        if SEEN_LATER[pattern] == "fewer":
            assert pairs[0] <= pairs[1]
            assert expired[0] == expired[1]
        else:
            assert pairs[0] >= pairs[1]
            assert expired[0] >= expired[1]
        n_matched += wanted_counts["matched"].total()
    assert n_matched


STRICT = (
    "SEQ(A a, B b)",
    "SEQ(A a, (A | B) b, * c) WHERE SAME[k] WITHIN 5 s",
    "SEQ(A a, B+ b, C c) WHERE b.x >= a.x WITHIN 6 s",
    "SEQ(A a, * b, NOT D n) WITHIN 3 s",
    "SEQ(A a, AND(B b, (A | C) c)) WHERE SAME[k] WITHIN 6 EVENTS",
)


@pytest.mark.parametrize("pattern", STRICT)
def test_under_strict_pairs_are_dropped_and_counted(pattern):
    """All ways on are tried side by side, so pairs may meet that backtracking never comes to."""
    bound = bound_to(f"PATTERN {pattern} POLICY strict")
    random, n_missed, n_matched = Random(pattern), 0, 0
    for number in range(16):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, observe=True, work=True, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, 0.4 * (number % 2))
        policy = DropsCells(dropped, wanted, random.choice((None, 1, 5)))
        watch = WatchesCells(dropped, wanted, types_of(bound))
        events = drawn_events(random, 20)
        engine = found(bound, events, policy, random.choice((1, 4)))
        assert engine == expected(bound, events, watch)
        counts = watch.counts()
        for name in ("completed", "matched"):
            assert policy.told(name) == counts[name], name
        for name in ("processed", "taken", "dropped"):
            assert policy.told(name) >= counts[name], name
        assert policy.seen.created.sum() + policy.seen.extended.sum() == policy.told("taken").total()
        assert policy.told_by_state("pairs").total() == policy.told("processed").total()
        n_missed += len(engine) < len(match(bound, events, timed_out=False).matches)
        n_matched += len(engine)
    assert n_missed
    assert n_matched


def test_under_strict_what_waits_when_its_window_closes_has_expired():
    text = "PATTERN SEQ(A a, B b, C c) WITHIN 2 s POLICY strict"
    kinds = "ABABABAD"
    events = tuple(
        OracleEvent(time * SECOND_US, (time,), "events", kind, {"ts": time * SECOND_US, "x": 0, "k": 1})
        for time, kind in zip((0, 1, 2, 3, 9, 20, 21, 22), kinds, strict=True)
    )
    policy = DropsCells(frozenset(), Wanted(observe=True, work=True))
    assert found(bound_to(text), events, policy, 16) == []
    # The runs of 0 and 2 meet an A and one of 9 s, that of 9 the B at 20 s, beyond its window; that of 21 fails.
    assert policy.told_by_state("created") == {"a": 4}
    assert policy.told_by_state("extended") == {"b": 2}
    assert policy.told_by_state("expired") == {"b": 1, "a": 1}


CHAINS = (
    "SEQ(A a, B b) WITHIN 4 s",
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 6 s",
    "SEQ(A a, A b, A c) WHERE SAME[k] AND a.x <= b.x WITHIN 6 s",
    "SEQ(A a, (A | B) b, * c) WITHIN 5 s",
)


@pytest.mark.parametrize("policy_of_query", ["any", "next"])
@pytest.mark.parametrize("pattern", CHAINS)
def test_the_kernel_for_chains_drops_what_the_oracle_misses(pattern, policy_of_query):
    bound = bound_to(f"PATTERN {pattern} POLICY {policy_of_query}")
    random, n_one_by_one, n_in_groups, n_missed = Random(pattern), 0, 0, 0
    for _ in range(20):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, n_bins=n_bins, bin_events=bin_events)
        assert prepare(bound, wanted=wanted).chain is not None
        dropped = some_cells(random, bound, n_bins, 0.3)
        policy, watch = DropsCells(dropped, wanted), WatchesCells(dropped, wanted, types_of(bound))
        events = drawn_events(random)
        engine = found(bound, events, policy, random.choice((1, 4)))
        assert engine == expected(bound, events, watch)
        match(bound, events, watch=watch)
        counts = watch.counts()["dropped"]
        if not policy.seen.groups_dropped.any():
            assert policy.told("dropped") == counts
        n_one_by_one += policy.told("dropped").total()
        n_in_groups += int(policy.seen.groups_dropped.sum())
        n_missed += len(engine) < len(match(bound, events, timed_out=False).matches)
    assert n_one_by_one
    assert n_in_groups
    assert n_missed


def test_places_are_counted_before_any_filter():
    """Conditions on one event, and events of types that the query does not name, are places all the same."""
    text = "PATTERN SEQ(A a, B b) WHERE a.x > 0 AND b.x > 0 WITHIN 9 s POLICY any"
    kinds, xs = "ADBAB", (1, 1, 0, 0, 1)
    events = tuple(
        OracleEvent(i * SECOND_US, (i,), "events", kind, {"ts": i * SECOND_US, "x": x, "k": 1, "f": 1.0, "s": ""})
        for i, (kind, x) in enumerate(zip(kinds, xs, strict=True))
    )
    policy = DropsCells(frozenset(), Wanted(observe=True, n_bins=8))
    assert found(bound_to(text), events, policy, 16) == [[("a", 0), ("b", 4)]]
    assert policy.told("processed") == {("A", None, 0): 1, ("B", "a", 4): 1}


def test_an_event_has_the_place_of_each_window_that_slides():
    """Figure 1 of hSPICE: windows that begin with every second event, and A_4 at places 4, 2 and 0."""
    text = "PATTERN SEQ(A a, B b, C c) WINDOW 5 EVENTS SLIDE 2 EVENTS POLICY any"
    events = tuple(
        OracleEvent(i, (i,), "events", "A" if i == 4 else "D", {"ts": i, "x": 0, "k": 1, "f": 1.0, "s": ""})
        for i in range(5)
    )
    policy = DropsCells(frozenset(), Wanted(observe=True, n_bins=8))
    assert found(bound_to(text), events, policy, 16) == []
    assert policy.told("processed") == {("A", None, place): 1 for place in (0, 2, 4)}


def test_work_is_counted_and_asked_for_in_parts():
    text = "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.k <= b.k POLICY any"
    values = (("A", 1, 1), ("A", 2, 1), ("D", 0, 0), ("B", 2, 1), ("B", 0, 1))
    events = tuple(
        OracleEvent(i, (i,), "events", kind, {"ts": i, "x": x, "k": y, "f": 1.0, "s": ""})
        for i, (kind, x, y) in enumerate(values)
    )
    whole = DropsCells(frozenset(), Wanted(work=True))
    in_parts = DropsCells(frozenset(), Wanted(work=True), n_work=2)
    assert found(bound_to(text), events, whole, 16) == found(bound_to(text), events, in_parts, 16)
    # Four events fit an element; two starts, and both As beside both Bs.
    assert whole.seen.work == in_parts.seen.work == 4 + 2 + 4
    assert (whole.n_looks, in_parts.n_looks) == (1, 4)
    assert whole.told_by_state("pairs") == {None: 2, "a": 4}
    # a.x < b.x for each pair, the second condition for the one that fulfils the first.
    assert whole.told_by_state("evaluated") == {"a": 4 + 1}


def test_pairs_of_one_state_that_share_the_answer_are_dropped_as_a_group():
    text = "PATTERN SEQ(A a, B b) POLICY any"
    kinds = "AAABB"
    events = tuple(
        OracleEvent(i, (i,), "events", kind, {"ts": i, "x": 0, "k": 1, "f": 1.0, "s": ""})
        for i, kind in enumerate(kinds)
    )
    policy = DropsCells(frozenset({("B", "a", b) for b in range(4)}), Wanted(guard=True, observe=True, n_bins=4))
    assert found(bound_to(text), events, policy, 16) == []
    assert policy.seen.groups_dropped.sum() == 2
    assert policy.seen.groups.sum() == 5  # and three starts
    assert policy.seen.dropped.sum() == 0
    # Where one bin has another answer, each pair is looked at.
    policy = DropsCells(frozenset({("B", "a", b) for b in range(1, 4)}), Wanted(guard=True, n_bins=4))
    assert found(bound_to(text), events, policy, 16) == []
    assert (policy.seen.groups_dropped.sum(), policy.seen.dropped.sum()) == (0, 6)


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b)", "SEQ(A a, B+ b)"])
def test_a_guard_that_has_nothing_to_do_may_begin_later(pattern):
    class Late(DropsCells):
        def begin(self, cells):
            super().begin(cells)
            return Orders(n_work=self.n_work)

        def look(self, seen):
            super().look(seen)
            utilities = np.ones(self.cells.shape, np.int64)
            utilities[self.cells.types.index("B"), self.cells.states.index("a")] = 0
            return Orders(Guard(utilities, threshold=0))

    events = tuple(
        OracleEvent(i, (i,), "events", kind, {"ts": i, "x": 0, "k": 1, "f": 1.0, "s": ""})
        for i, kind in enumerate("ABAB")
    )
    bound = bound_to(f"PATTERN {pattern} POLICY any")
    # An event and what it meets are a unit each: two for the first A, two for the first B.
    policy = Late(frozenset(), Wanted(guard=True, work=True), n_work=4)
    whole = found(bound, events, DropsCells(frozenset(), Wanted(guard=True)), 16)
    begun = found(bound, events, policy, 16)
    assert [("a", 0), ("b", 1)] in begun
    assert [match for match in whole if match[:2] in ([("a", 0), ("b", 1)],)] == begun
    assert [("a", 2), ("b", 3)] in whole
