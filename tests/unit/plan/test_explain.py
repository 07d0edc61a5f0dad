"""What explain says: states, edges, where each condition is tested, and the facts."""

from __future__ import annotations

import re

import pytest

import cepheid as cep
from cepheid.errors import NotSupportedError
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT, TIMESTAMP
from cepheid.language.bound import BoundQuery, Catalog, Store
from cepheid.plan.draw import to_svg, to_text
from cepheid.plan.explain import explain
from cepheid.plan.explanation import EdgeKind, Explanation, PredicateClass
from cepheid.plan.reachable import N_MAX_STATES, N_READABLE
from cepheid.plan.supported import require_supported

SCHEMA = Schema({"ts": TIMESTAMP, "kind": TEXT, "k": INT, "x": FLOAT, "y": FLOAT}, time="ts", type="kind")
CATALOG = Catalog(stores={"limits": Store("limits", (INT,), {"": FLOAT})})


def explained(text: str, schema: Schema = SCHEMA) -> Explanation:
    return cep.Query.parse(text).explain(schema, CATALOG)


def edges(explanation: Explanation, kind: EdgeKind | None = None) -> list[str]:
    """Each edge as ``source -> target: label [predicates]``, sorted."""
    labels = {state.id: state.label or "start" for state in explanation.states}
    marks = {EdgeKind.TAKE: "", EdgeKind.LOOP: "loop ", EdgeKind.NEGATED: "no ", EdgeKind.SKIP: "skip "}
    return sorted(
        f"{marks[e.kind]}{labels[e.source]} -> {labels[e.target]}: {e.label} [{', '.join(e.predicates)}]"
        for e in explanation.edges
        if kind in (None, e.kind)
    )


def accepting(explanation: Explanation) -> list[str]:
    return [state.label for state in explanation.states if state.accepting]


def where(explanation: Explanation) -> dict[str, str]:
    return {row.text: row.where for row in explanation.predicates}


# --- the automaton ------------------------------------------------------------------------------------


def test_a_sequence():
    found = explained("PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x AND b.k = a.k AND c.k = b.k")
    assert [state.label for state in found.states] == ["", "a", "b", "c"]
    assert edges(found) == [
        "a -> b: B b [b.k = a.k]",
        "b -> c: C c [a.x < c.x, c.k = b.k]",
        "start -> a: A a []",
    ]
    assert accepting(found) == ["c"]
    assert found.states[0].initial
    assert where(found)["a.x < c.x"] == "on edge b -> c"


def test_a_kleene_variable_is_one_state_whatever_its_bounds():
    for quantifier in ("+", "{3,7}", "{2,}", "*"):
        found = explained(f"PATTERN SEQ(A a, B{quantifier} b, C c) WHERE b.x > a.x AND b.x > prev(b).x")
        assert [state.label for state in found.states] == ["", "a", "b", "c"]
        assert [state.kleene for state in found.states] == [False, False, True, False]
        assert f"loop b -> b: B{quantifier} b [b.x > a.x, b.x > prev(b).x]" in edges(found)
        assert f"a -> b: B{quantifier} b [b.x > a.x]" in edges(found)
        assert ("a -> c: C c []" in edges(found)) is (quantifier == "*")


def test_the_finished_loop_is_read_where_it_is_left():
    found = explained("PATTERN SEQ(A a, B* b, C? c, D d) WHERE sum(b.x) > a.x AND last(b).y < 5 AND first(b).y = a.y")
    # Where nothing was taken the sum is NULL, not absent; last(b) and first(b) are absent.
    assert edges(found) == [
        "a -> b: B* b [first(b).y = a.y]",
        "a -> c: C? c [sum(b.x) > a.x]",
        "a -> d: D d [sum(b.x) > a.x]",
        "b -> c: C? c [sum(b.x) > a.x, last(b).y < 5.0]",
        "b -> d: D d [sum(b.x) > a.x, last(b).y < 5.0]",
        "c -> d: D d []",
        "loop b -> b: B* b []",
        "start -> a: A a []",
    ]
    assert {row.class_ for row in found.predicates} == {PredicateClass.AGGREGATE}


def test_a_loop_at_the_end_is_read_when_the_match_ends():
    found = explained("PATTERN SEQ(A a, B+ b) WHERE count(b) > 2 WITHIN 10 s")
    assert where(found)["count(b) > 2"] == "at the end of the match"
    assert "count(b) > 2 is tested when a match ends in b and takes no more" in found.notes
    assert any("ends in b may still grow" in note and "its window has passed" in note for note in found.notes)


def test_an_aggregate_beside_the_element_runs_over_those_before():
    found = explained("PATTERN SEQ(A a, B+ b, C c) WHERE b.x > avg(b.x) AND (b.x > avg(b.x) OR b.x > a.x)")
    assert edges(found) == [
        "a -> b: B+ b [b.x > avg(b.x) OR b.x > a.x]",
        "b -> c: C c []",
        "loop b -> b: B+ b [b.x > avg(b.x), b.x > avg(b.x) OR b.x > a.x]",
        "start -> a: A a []",
    ]


def test_branches_and_conditions_of_both():
    found = explained(
        "PATTERN SEQ(A a, OR(SEQ(B b, C c), SEQ(D d, E e))) WHERE c.x > b.x AND e.x > d.x AND c.y + e.y > 0 "
        "AND (c.x > a.x OR e.x > a.x)"
    )
    assert accepting(found) == ["c", "e"]
    assert edges(found) == [
        "a -> b: B b []",
        "a -> d: D d []",
        "b -> c: C c [c.x > b.x, c.x > a.x OR e.x > a.x]",
        "d -> e: E e [e.x > d.x, c.x > a.x OR e.x > a.x]",
        "start -> a: A a []",
    ]
    assert where(found)["c.y + e.y > 0.0"] == "never: no match has what it compares"


def test_a_condition_is_tested_too_where_its_last_variable_is_passed_by():
    found = explained("PATTERN SEQ(A a, B? b, C c) WHERE b.x > a.x OR a.y > b.y OR a.y = 3")
    assert "a -> c: C c [b.x > a.x OR a.y > b.y OR a.y = 3.0]" in edges(found)
    assert "b -> c: C c []" in edges(found)


def test_and_is_a_shuffle():
    found = explained("PATTERN SEQ(A a, AND(B b, SEQ(C c, D d))) WHERE b.x < d.x AND c.x < d.x")
    assert edges(found) == [
        "a -> b: B b []",
        "a -> c: C c []",
        "b -> c: C c []",
        "b -> d: D d [b.x < d.x, c.x < d.x]",
        "c -> b: B b []",
        "c -> d: D d [b.x < d.x, c.x < d.x]",
        "c -> d: D d [c.x < d.x]",
        "d -> b: B b [b.x < d.x]",
        "start -> a: A a []",
    ]
    # After b and c: c last, or b last; the residual is D d in both.
    assert [state.label for state in found.states].count("b") == 3
    assert sorted(accepting(found)) == ["b", "d"]


def test_loops_in_and_are_compared_whichever_comes_last():
    found = explained("PATTERN AND(A+ a, B+ b) WHERE a.x < b.x WITHIN 1 s POLICY any")
    tested = [e for e in edges(found) if "a.x < b.x" in e]
    # The first of each kind alone cannot be compared; everything after the first pair is.
    assert [e for e in edges(found) if e not in tested] == [
        "loop a -> a: A+ a []",
        "loop b -> b: B+ b []",
        "start -> a: A+ a []",
        "start -> b: B+ b []",
    ]
    assert where(found)["a.x < b.x"] == "on the edges that take a or b"


def test_any_takes_so_many():
    found = explained("PATTERN ANY(2, A a, B b, C c)")
    assert edges(found) == sorted(
        [f"start -> {v}: {v.upper()} {v} []" for v in "abc"]
        + [f"{v} -> {w}: {w.upper()} {w} []" for v in "abc" for w in "abc" if v != w]
    )
    assert sorted(accepting(found)) == ["a", "b", "c"]


def test_a_repeated_group_leads_back():
    found = explained(
        "PATTERN SEQ(X s, (SEQ(A a, OR(B b, C? c), D d))+, Y e) WHERE a.x < d.x AND b.x < d.x AND d.x < e.x "
        "AND prev(a).x < a.x AND count(a) > 2 WITHIN 1 min"
    )
    assert edges(found) == [
        "a -> b: B b []",
        "a -> c: C? c []",
        "a -> d: D d [a.x < d.x]",  # an earlier iteration's b is none of its own
        "b -> d: D d [a.x < d.x, b.x < d.x]",
        "c -> d: D d [a.x < d.x]",
        "d -> a: A a [prev(a).x < a.x]",
        "d -> e: Y e [d.x < e.x, count(a) > 2]",
        "s -> a: A a []",
        "start -> s: X s []",
    ]


def test_a_group_with_bounds_is_unrolled():
    found = explained("PATTERN SEQ((SEQ(A a, B b)){2,3}, C c)")
    assert [state.label for state in found.states] == ["", "a", "b", "a", "b", "a", "b", "c"]
    assert len([e for e in edges(found) if e.startswith("b -> c")]) == 2


def test_a_group_of_one_element_loops():
    found = explained("PATTERN (SEQ(B+ b))+ WITHIN 1 min")
    assert edges(found) == ["loop b -> b: B+ b []", "start -> b: B+ b []"]


def test_prefixes_are_on_their_edges():
    found = explained("PATTERN SEQ(A a, any B+ b, strict C c, next D d) WITHIN 1 min POLICY next")
    labels = {state.id: state.label for state in found.states}
    policies = {(labels[e.source], labels[e.target]): e.policy for e in found.edges}
    assert policies == {("", "a"): None, ("a", "b"): "any", ("b", "b"): "any", ("b", "c"): "strict", ("c", "d"): None}
    assert all(not e.label.startswith(("any ", "strict ", "next ")) for e in found.edges)


def test_elements_without_a_name_are_called_by_their_types():
    found = explained("PATTERN SEQ(A, (B | C)+, *)")
    assert [state.label for state in found.states] == ["", "A", "B|C", "*"]
    assert "A -> B|C: (B | C)+ []" in edges(found)
    assert "#" not in to_text(found)


# --- NOT ----------------------------------------------------------------------------------------------


def test_not_stands_in_every_gap_that_it_can_be_in():
    found = explained("PATTERN SEQ(A a, NOT N n, B? b, C c) WHERE n.x = b.x AND n.y > a.y AND n.x > 3")
    assert edges(found, EdgeKind.NEGATED) == [
        "no a -> b: NOT N n [n.x = b.x, n.y > a.y]",
        "no a -> c: NOT N n [n.y > a.y]",
    ]
    assert where(found) == {
        "n.x = b.x": "in the gap a -> b",
        "n.y > a.y": "in the gaps a -> b, a -> c",
        "n.x > 3.0": "before the engine",
    }
    assert [row.class_ for row in found.predicates] == [
        PredicateClass.NEGATED,
        PredicateClass.NEGATED,
        PredicateClass.SINGLE,
    ]


def test_not_waits_for_a_later_variable():
    found = explained("PATTERN SEQ(A a, NOT N n, B b, C c) WHERE n.x = c.x")
    assert where(found) == {"n.x = c.x": "in the gap a -> b, once c is bound"}


def test_not_at_both_ends():
    found = explained("PATTERN SEQ(NOT N n, A a, B b, NOT M m) WHERE m.x > b.x AND n.x > a.x WITHIN 10 s")
    assert edges(found, EdgeKind.NEGATED) == ["no b -> b: NOT M m [m.x > b.x]", "no start -> a: NOT N n [n.x > a.x]"]
    assert where(found) == {"m.x > b.x": "in the gap after b", "n.x > a.x": "in the gap before a"}
    assert "a match waits for NOT M m until the watermark has reached the time of its first event + 10 s" in found.notes
    assert any(note.startswith("NOT N n reaches back") for note in found.notes)
    assert "a match is reported at its last event" not in found.notes


def test_not_of_a_group_in_a_branch():
    found = explained("PATTERN SEQ(A a, OR(SEQ(NOT SEQ(N n, M m), B b), C c)) WHERE n.x = a.x AND m.x = b.x")
    assert edges(found, EdgeKind.NEGATED) == ["no a -> b: NOT SEQ(N n, M m) [n.x = a.x, m.x = b.x]"]
    assert any("lies wholly in the gap" in note for note in found.notes)


def test_one_guard_is_drawn_for_all_edges_of_a_state():
    found = explained("PATTERN SEQ(A a, NOT N n, B? b, C c)")
    assert len(edges(found, EdgeKind.NEGATED)) == 2
    assert to_text(found).count("NOT N n") == 1
    without_halos = re.sub(r"<text [^>]*aria-hidden[^>]*>[^<]*</text>", "", to_svg(found))
    assert without_halos.count(">NOT N n</text>") == 1


# --- where conditions are tested ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "rest", "reason"),
    [
        ("SEQ(A a, B b)", "WITHIN 5 s", None),
        ("SEQ(A a, B b)", "WINDOW 5 s SLIDE 1 s", None),
        ("SEQ(A a, B b)", "POLICY strict", "POLICY strict"),
        ("SEQ(A a, strict B b)", "", "strict asks"),
        ("SEQ(A a, B+ b UNTIL b.x > 3, C c)", "", "UNTIL"),
        ("SEQ(A a, B b)", "WITHIN 5 EVENTS", "WITHIN counts"),
        ("SEQ(A a, B b)", "WITHIN 5 s BETWEEN EACH 2 EVENTS", "BETWEEN EACH counts"),
        ("SEQ(A a, B b)", "WINDOW 5 EVENTS SLIDE 1 EVENTS", "WINDOW counts"),
    ],
)
def test_events_are_dropped_before_the_engine_where_they_cannot_count(pattern, rest, reason):
    found = explained(f"PATTERN {pattern} WHERE a.x > 3 {rest}")
    (row,) = found.predicates
    assert row.where == "before the engine"
    assert row.class_ is PredicateClass.SINGLE
    assert row.pushed is (reason is None)
    told = [note for note in found.notes if note.startswith("no event is dropped")]
    assert [reason in note for note in told] == ([] if reason is None else [True])


def test_a_remote_condition_is_tested_on_an_edge_even_if_it_is_on_one_event():
    found = explained("PATTERN SEQ(A a, B b) WHERE b.x > REMOTE limits[b.k] AND a.x > REMOTE limits[b.k]")
    assert {row.class_ for row in found.predicates} == {PredicateClass.REMOTE}
    assert set(where(found).values()) == {"on edge a -> b"}


def test_same_comes_first_and_constants_are_tested_once():
    found = explained("PATTERN SEQ(A a, B b) WHERE :limit > 3 AND a.x < b.x AND SAME[k, kind]")
    assert [(row.text, row.where) for row in found.predicates] == [
        ("SAME[k, kind]", "splits the stream"),
        (":limit > 3", "once, before any event"),
        ("a.x < b.x", "on edge a -> b"),
    ]
    assert found.predicates[0].class_ is PredicateClass.PARTITION
    assert found.partition == ("k", "kind")


# --- facts and notes ----------------------------------------------------------------------------------


def test_the_facts():
    found = explained(
        "PATTERN SEQ(A a, B+ b UNTIL b.y > 1) WHERE a.x > 1 WITHIN 5 minutes EXCLUSIVE BETWEEN EACH 3 s "
        "POLICY next AFTER MATCH SKIP TO FIRST b RETURN a.k AS k, count(b) AS n"
    )
    assert found.window == "WITHIN 5 min EXCLUSIVE, BETWEEN EACH 3 s"
    assert found.policy == "next"
    assert found.skip == "SKIP TO FIRST b"
    assert found.returns == ("a.k AS k", "count(b) AS n")
    assert found.columns == ("ts", "kind", "k", "x", "y")
    assert any(note.startswith("SKIP TO FIRST may discard a match") for note in found.notes)
    assert "b closes at the first event, of any type, with b.y > 1.0" in found.notes


def test_columns_are_those_that_are_read():
    assert explained("PATTERN SEQ(A a, B b) WHERE a.x < b.x RETURN a.k AS k").columns == ("ts", "kind", "k", "x")
    assert explained("PATTERN SEQ(A a, B b)").columns == ("ts", "kind", "k", "x", "y")


def test_windows():
    assert explained("PATTERN SEQ(A a, B b)").window == "none"
    assert explained("PATTERN A a WINDOW 10 s SLIDE 1 s CLOSED ONE MATCH PER WINDOW").window == (
        "WINDOW 10 s SLIDE 1 s CLOSED ONE MATCH PER WINDOW"
    )
    numbers = Schema({"ts": INT, "kind": TEXT}, time="ts", time_unit="ms", type="kind")
    assert explained("PATTERN SEQ(A a, B b) WITHIN 50K", numbers).window == "WITHIN 50000 ms"


def test_warnings_are_sentences():
    found = explained("PATTERN SEQ(A a, B b)")
    assert len(found.warnings) == 1
    assert "WITHIN" in found.warnings[0]
    assert "\n" not in found.warnings[0]


@pytest.mark.parametrize(
    ("pattern", "rest", "grows", "until"),
    [
        ("SEQ(A a, B+ b)", "WITHIN 5 s POLICY next", True, "until its window has passed, or the input ends"),
        ("SEQ(A a, B+ b)", "POLICY next", True, "waits until the input ends"),
        ("SEQ(A a, B{1,3} b)", "WITHIN 5 s", True, "an upper bound or UNTIL closes it"),
        ("SEQ(A a, B+ b)", "WITHIN 5 s POLICY strict", True, "an event comes that is not more of it"),
        ("SEQ(A a, B+? b)", "WITHIN 5 s POLICY next", False, ""),
        ("SEQ(A a, B+ b)", "WITHIN 5 s POLICY any", False, ""),
        ("SEQ(A a, B+ b, C c)", "WITHIN 5 s POLICY next", False, ""),
        ("(SEQ(A a, B b))+", "WITHIN 5 s POLICY next", True, ""),
        ("SEQ(A a, any B+ b)", "WITHIN 5 s POLICY next", False, ""),
    ],
)
def test_where_a_match_waits_for_its_last_loop(pattern, rest, grows, until):
    notes = explained(f"PATTERN {pattern} {rest}").notes
    told = [note for note in notes if "may still grow" in note]
    assert bool(told) is grows
    assert all(until in note for note in told)
    assert ("a match is reported at its last event" in notes) is not grows


def refusal(bound: BoundQuery) -> str:
    try:
        require_supported(bound)
    except NotSupportedError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    "text",
    ["SEQ(A a, B b) POLICY strict", "SEQ(A a, OR(B b, C c)) WITHIN 5 s", "A a WINDOW 2 s SLIDE 1 s", "SEQ(A a, B b)"],
)
def test_what_the_engine_cannot_run_yet_is_a_note(text):
    bound = cep.Query.parse(f"PATTERN {text}").bind(SCHEMA)
    message = refusal(bound)
    told = [note for note in explain(bound).notes if "cannot run" in note]
    assert len(told) == bool(message)
    assert all(note.startswith(message) for note in told)


def test_an_inferred_partition_is_a_note():
    notes = explained("PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 5 s POLICY any").notes
    assert "the equalities split the stream by k as SAME would: work may be divided by it" in notes
    notes = explained("PATTERN SEQ(A a, B b) WHERE a.x = b.y WITHIN 5 s POLICY any").notes
    assert "the equalities split the stream by a.x = b.y as SAME would: work may be divided by it" in notes


# --- large patterns -----------------------------------------------------------------------------------


def listed(n: int) -> str:
    return ", ".join(f"T{i} t{i}" for i in range(n))


def test_many_interleavings_are_counted_and_a_note_says_so():
    found = explained(f"PATTERN SEQ(S s, ANY(3, {listed(8)})) WHERE t1.x > s.x AND t1.x < t2.x AND t3.x > 4")
    assert [state.label for state in found.states] == ["", "s", "1 of 3", "2 of 3", "3 of 3"]
    assert [e.predicates for e in found.edges] == [
        (),
        ("t1.x > s.x",),
        ("t1.x > s.x", "t1.x < t2.x"),
        ("t1.x > s.x", "t1.x < t2.x"),
    ]
    assert found.edges[1].label == "one of T0 t0, T1 t1, ..., T7 t7"
    assert where(found)["t1.x > s.x"] == "on the edges that take t1"
    assert "the drawing is simplified" in found.notes[0]
    assert "AND and ANY show how many" in found.notes[0]


def test_iterations_are_not_counted_where_they_are_many():
    found = explained("PATTERN SEQ(S s, (SEQ(A a, B b)){50,1000}, C c)")
    assert [state.label for state in found.states] == ["", "s", "a", "b", "c"]
    assert "groups are repeated without regard to their bounds" in found.notes[0]


def test_a_long_sequence_is_drawn_in_full():
    found = explained(f"PATTERN SEQ({listed(N_READABLE + 10)})")
    assert len(found.states) == N_READABLE + 11
    assert not any("simplified" in note for note in found.notes)


def test_what_is_too_large_is_cut_and_a_note_says_so():
    found = explained(f"PATTERN SEQ({listed(N_MAX_STATES + 10)}) WHERE t0.x < t65.x AND t3.x < t4.x")
    assert len(found.states) == N_MAX_STATES
    assert not accepting(found)
    assert f"more than {N_MAX_STATES} states" in found.notes[0]
    assert where(found) == {"t0.x < t65.x": "on an edge that is not drawn", "t3.x < t4.x": "on edge t3 -> t4"}
    to_svg(found)
