"""AFTER MATCH in the compiled engine: which matches are kept, and when each is known to be (SEMANTICS 6)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cepheid.compiler.load import skip_kernel
from cepheid.engine.session import prepare
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.language.tree import SkipMode
from cepheid.testing.harness import END_OF_INPUT_US, EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA

SECOND_US = 1_000_000


def stream(*events, source="s"):
    """Events as (type, second, k)."""
    values = {"x": None, "f": None, "d": None, "s": None, "l": None}
    return [
        OracleEvent(at * SECOND_US, (number,), source, kind, {"ts": at * SECOND_US, "kind": kind, "k": k, **values})
        for number, (kind, at, k) in enumerate(events)
    ]


def bound_to(text):
    return bind(parse(text), SCHEMA, text=text)


def answers(text, events, room=None):
    """The matches as ("ab", seconds of their events, when they are decided)."""
    return [
        (
            "".join(name for name, _ in one.bindings),
            tuple(events[number].time // SECOND_US for _, number in one.bindings),
            None if one.decided_us == END_OF_INPUT_US else one.decided_us // SECOND_US,
        )
        for one in EngineRoad(bound_to(text), room).answers(events)
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # a@1 is matched at 4 only, and may forbid what b@3 decides.
        ("SEQ(A a, B b) WHERE a.k = b.k", [("ab", (2, 3), 3), ("ab", (1, 4), 4)]),
        ("SEQ(A a, B b) WHERE a.k = b.k AFTER MATCH SKIP PAST LAST", [("ab", (1, 4), 4)]),
        ("SEQ(A a, B b) WHERE a.k = b.k AFTER MATCH SKIP TO NEXT", [("ab", (1, 4), 4), ("ab", (2, 3), 4)]),
        # Without SAME, a@1 does not end before its window does.
        ("SEQ(A a, B b) WHERE b.k = 2 AND a.k = 2 WITHIN 5 s AFTER MATCH SKIP PAST LAST", [("ab", (2, 3), 3)]),
    ],
)
def test_a_match_waits_for_earlier_starts(query, expected):
    assert answers(query, stream(("A", 1, 1), ("A", 2, 2), ("B", 3, 2), ("B", 4, 1))) == expected


@pytest.mark.parametrize(
    ("window", "decided"), [("", None), ("WITHIN 5 s", 6), ("WITHIN 5 s EXCLUSIVE", 6), ("BETWEEN EACH 3 s", 4)]
)
def test_an_earlier_start_that_finds_nothing_ends_with_its_window(window, decided):
    found = answers(
        f"SEQ(A a, B b) WHERE a.k = b.k {window} AFTER MATCH SKIP PAST LAST",
        stream(("A", 1, 7), ("A", 2, 2), ("B", 3, 2), ("D", 9, 1)),
    )
    assert found == [("ab", (2, 3), decided - 1 if "EXCLUSIVE" in window else decided)]


def test_under_any_a_start_is_open_as_long_as_something_that_it_began_can_go_on():
    """The gap counts from the last event that one of its partial matches took."""
    found = answers(
        "SEQ(A a, B+ b, C c) WHERE c.k = a.k BETWEEN EACH 3 s WITHIN 20 s POLICY any AFTER MATCH SKIP TO NEXT",
        stream(("A", 1, 7), ("A", 2, 2), ("B", 3, 2), ("C", 4, 2), ("B", 5, 2)),
    )
    assert found == [("abc", (2, 3, 4), 8)]


def test_a_start_ends_where_a_not_at_its_end_is_broken():
    """At the first event that breaks it, or at the end of its window if none does."""
    query = "SEQ(A a, B b, NOT C c) WHERE a.k = b.k AND c.k = a.k WITHIN 9 s AFTER MATCH SKIP PAST LAST"
    events = stream(("A", 1, 1), ("A", 2, 2), ("B", 3, 1), ("B", 4, 2), ("C", 5, 1), ("C", 6, 1), ("D", 20, 0))
    assert answers(query, events) == [("ab", (2, 4), 11)]
    query = (
        "OR(SEQ(A a, B b, NOT C c), SEQ(D d, D e)) WHERE a.k = b.k AND c.k = a.k WITHIN 9 s AFTER MATCH SKIP TO NEXT"
    )
    events = stream(("A", 1, 1), ("D", 2, 2), ("B", 3, 1), ("D", 4, 2), ("C", 5, 1), ("C", 6, 1), ("D", 20, 0))
    assert answers(query, events) == [("de", (2, 4), 5)]


def test_under_strict_a_start_ends_when_its_last_hope_fails():
    query = "SEQ(A a, A b, B? c) WHERE b.k = a.k WITHIN 9 s POLICY strict AFTER MATCH SKIP PAST LAST"
    # a@1 needs an A with its k next: it ends at 2. a@4 could go on to a B, so it is decided at 6.
    events = stream(("A", 1, 1), ("A", 2, 2), ("B", 3, 2), ("A", 4, 3), ("A", 5, 3), ("D", 6, 0))
    assert answers(query, events) == [("ab", (4, 5), 6)]
    # What begins at 1 lacks its C until its window ends, or an event comes that is none.
    query = "OR(SEQ(A a, A b, B c, C d), SEQ(A x, B y)) WITHIN 9 s POLICY strict AFTER MATCH SKIP TO NEXT"
    events = stream(("A", 1, 1), ("A", 2, 1), ("B", 3, 1), ("D", 20, 1))
    assert answers(query, events) == [("xy", (2, 3), 10)]
    assert answers(query, [*events[:3], *stream(*[("D", 0, 0)] * 3, ("D", 5, 1))[3:]]) == [("xy", (2, 3), 5)]


def test_candidates_of_one_start_are_taken_by_their_own_decision():
    events = stream(("A", 1, 1), ("C", 2, 1), ("B", 3, 1), ("D", 4, 1))
    query = "SEQ(A a, OR(C c, SEQ(B b, D d))) WITHIN 10 s POLICY any AFTER MATCH SKIP PAST LAST"
    assert answers(query, events) == [("ac", (1, 2), 2)]


@pytest.mark.parametrize(
    ("mode", "starts"),
    [("PAST LAST", [1, 5]), ("TO NEXT", [1, 2, 3, 4, 5]), ("TO FIRST b", [1, 3, 5]), ("TO LAST b", [1, 4])],
)
def test_the_frontier_moves_to_an_event_of_a_loop(mode, starts):
    events = stream(*(("AAAAABBB"[i], i + 1, 0) for i in range(8)))
    found = answers(f"SEQ((A | B) a, (A | B) c, (A | B){{2}} b) WITHIN 3 s AFTER MATCH SKIP {mode}", events)
    assert [times[0] for _, times, _ in found] == starts


QUERIES = [
    "SEQ(A a, B b) WHERE a.k = b.k {window} POLICY {policy}",
    "SEQ(A a, B+ b, C c) WHERE a.k = c.k {window} POLICY {policy}",
    "SEQ(A a, B b, NOT C c) WHERE a.k = b.k AND c.k = a.k WITHIN 6 s POLICY {policy}",
    "SEQ(A a, NOT C c, B b) WHERE SAME[k] {window} POLICY {policy}",
    "SEQ(A a, B* b) WHERE b.k = a.k {window} POLICY {policy}",
    "OR(SEQ(A a, B b), SEQ(A a, C c, B b)) WHERE a.k = b.k {window} POLICY {policy}",
    "SEQ(AND(A a, C c), B{{1,2}} b) WHERE b.k = a.k {window} POLICY {policy}",
    "SEQ(A a, (C c; B b)+) WHERE b.k = a.k {window} POLICY {policy}",
]
WINDOWS = [
    "",
    "WITHIN 5 s",
    "WITHIN 6 EVENTS",
    "WITHIN 7 s BETWEEN EACH 2 s",
    "WITHIN 8 EVENTS BETWEEN EACH 3 EVENTS",
    "WINDOW 5 s SLIDE 2 s",
    "WINDOW 5 EVENTS SLIDE 3 EVENTS ONE MATCH PER WINDOW",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("policy", ["next", "any", "strict"])
def test_it_is_what_the_oracle_says(query, policy):
    random = Random(f"{query} {policy}")
    n_discarded = 0
    for window in WINDOWS:
        for mode in ("PAST LAST", "TO NEXT", "TO LAST b"):
            text = query.format(window=window, policy=policy)
            if mode == "TO LAST b" and ("B*" in query or "OR(" in query):
                continue
            text += f" AFTER MATCH SKIP {mode}"
            bound = bound_to(text)
            road = EngineRoad(bound, random.choice((None, 1)))
            for _ in range(2):
                at = 0
                events = []
                for _ in range(9):
                    at += random.randrange(3)
                    events.append((random.choice("AABBC"), at, random.randrange(2)))
                oracle = oracle_answers(bound, stream(*events))
                assert road.answers(stream(*events)) == oracle, (text, events)
                without = oracle_answers(bound_to(text[: text.index(" AFTER")]), stream(*events))
                n_discarded += len(oracle) < len(without)
    assert n_discarded or policy == "strict"


def test_a_plan_without_it_logs_nothing_and_keeps_its_chain():
    plain = prepare(bound_to("SEQ(A a, B b) WITHIN 5 s"))
    skipping = prepare(bound_to("SEQ(A a, B b) WITHIN 5 s AFTER MATCH SKIP TO NEXT"))
    assert plain.chain is not None
    assert skipping.chain is None
    assert skipping.automaton.bound.skip.mode is SkipMode.TO_NEXT


def test_ends_outside_of_the_frontier_delay_nothing():
    """Two partitions; in the first, the end of start 2 lies before the frontier, that of start 9 behind the match."""

    def column(*values):
        return np.array(values, np.int64)

    kept, known = np.zeros(4, np.int64), np.zeros(4, np.int64)
    n_kept = skip_kernel(0)(
        column(0, 0, 0, 1),
        column(1, 2, 6, 3),
        column(5, 5, 8, 4),
        column(10, 11, 12, 1),
        column(0, 0, 0, 1, 1),
        column(2, 5, 9, 1, 2),
        column(50, 20, 60, 7, 5),
        np.zeros(5, np.int64),
        kept,
        known,
    )
    assert kept[:n_kept].tolist() == [0, 2, 3]
    assert known[:n_kept].tolist() == [10, 20, 7]
