"""Queries of the language as planning sees them."""

from __future__ import annotations

import pytest

from cepheid.errors import NetworkError
from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT, TIMESTAMP
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.network.from_query import network_query, planned_queries, planned_query
from cepheid.network.patterns import Absent, Primitive, Sequence, interleaving, sequence
from cepheid.network.queries import Condition
from cepheid.plan.projection import split

FIELDS = {"time": TIMESTAMP, "type": TEXT, "site": TEXT, "n": INT, "x": INT, "k": INT}
SCHEMA = Schema(FIELDS, time="time", type="type", order=("site", "n"))
A, B, C, D = (Primitive(kind) for kind in "ABCD")


def bound_of(text: str, schema: Schema = SCHEMA) -> BoundQuery:
    return bind(parse(f"PATTERN {text} POLICY any"), schema)


def test_a_query_has_its_operators_over_types():
    query = network_query("q", bound_of("SEQ(A a, AND(SEQ(C c, D d), B+ b), SEQ(NOT E e, F f)) WITHIN 1 h"))
    inner = interleaving((sequence((C, D)), Primitive("B", kleene=True)))
    assert query.pattern == Sequence((A, inner, Absent("E"), Primitive("F")))
    assert (query.kleene, query.negated) == (frozenset("B"), frozenset("E"))


def test_conditions_are_told_apart_by_their_types():
    one = network_query("q", bound_of("SEQ(A a, B b, C c) WHERE a.x > 3 AND a.k = c.k AND c.x <> b.x WITHIN 1 h"))
    assert one.conditions == {
        Condition(frozenset("A"), "A.x > 3"),
        Condition(frozenset("AC"), "A.k = C.k"),
        Condition(frozenset("BC"), "C.x <> B.x"),
    }


def test_queries_share_projections_whatever_their_variables_are_called():
    first, second = planned_queries(
        {
            "q1": bound_of("SEQ(A a, AND(B b, C c)) WHERE a.k = c.k AND b.x = 1 WITHIN 1 h"),
            "q2": bound_of("SEQ(A first, C last, D d) WHERE first.k = last.k AND d.x = 1 WITHIN 1 h"),
        }
    )
    shared = first.network_query.projection(frozenset("AC"))
    assert first.has(shared)
    assert second.has(shared)
    assert first.variables == {"A": "a", "B": "b", "C": "c"}
    assert list(first.projected(shared).variables) == ["a", "c"]
    assert list(second.projected(shared).variables) == ["first", "last"]
    assert not second.has(first.network_query.projection(frozenset("AB")))
    with pytest.raises(NetworkError, match=r"SEQ\(A, B\) is no projection of the query q2"):
        second.projected(first.network_query.projection(frozenset("AB")))


def test_queries_with_other_conditions_on_single_events_share_nothing():
    first, second = planned_queries(
        {
            "q1": bound_of("SEQ(A a, C c) WHERE a.x > 1 WITHIN 1 h"),
            "q2": bound_of("SEQ(A a, C c, D d) WHERE a.x > 2 WITHIN 1 h"),
        }
    )
    assert not second.has(first.network_query.planned)


def test_same_holds_in_every_projection():
    planned = planned_query("q", bound_of("SEQ(A a, NOT B n, C c, D d) WHERE SAME[k] WITHIN 1 h"))
    query = planned.network_query
    assert query.conditions == {Condition(frozenset(), "SAME[k]")}
    assert all(projection.conditions == query.conditions for projection in query.projections())
    assert query.closed(frozenset("ABC"))


def test_conditions_on_a_loop_as_a_whole_are_left_to_the_sinks():
    query = network_query("q", bound_of("SEQ(A a, B+ b) WHERE b.x > a.x AND sum(b.x) > 9 WITHIN 1 h"))
    assert query.conditions == {Condition(frozenset("AB"), "B.x > A.x")}


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, NOT B n, C c, D d) WITHIN 1 h",
        "SEQ(A a, NOT B n, C c, D d) WHERE n.x > d.x WITHIN 1 h",
        "SEQ(AND(A a, SEQ(C c, D d)), NOT B n, AND(SEQ(E e, F f), G g)) WITHIN 1 h",
        "SEQ(AND(A a, SEQ(C+ c, D d)), NOT B n, E e, F f) WITHIN 1 h",
        "SEQ(A a, NOT B n, NOT C m, D d, E e) WHERE m.k = e.k AND n.k = 1 WITHIN 1 h",
        "SEQ(A+ a, NOT B n, C c, D d) WITHIN 1 h",
        "SEQ(A a, NOT B n, C c, D+ d) WHERE n.x > d.x WITHIN 1 h",
        "SEQ(A a, NOT B n, C c, NOT E m, D+ d, F f) WITHIN 1 h",
    ],
)
def test_projections_can_test_the_nots_that_they_have(text: str):
    planned = planned_query("q", bound_of(text))
    closures = {gap.negated[0]: gap.closure for gap in split(planned.bound).gaps}
    query = planned.network_query
    variables = planned.variables
    for negated in query.negated:
        closure = closures[variables[negated]]
        kinds = frozenset(query.types - query.negated | {negated})
        assert query.closed(kinds) == (closure is not None)
        for kind in kinds - {negated}:
            lacks = closure is None or variables[kind] in closure
            assert query.closed(kinds - {kind}) != lacks
    for projection in query.projections():
        bound = planned.projected(projection)
        assert set(bound.variables) == {variables[kind] for kind in projection.types}


def test_loops_that_bound_a_gap_stay_in_the_query_as_it_is_planned():
    query = network_query("q", bound_of("SEQ(A+ a, NOT B n, C c, D+ d) WITHIN 1 h"))
    assert query.planned.name == "SEQ(A+, NOT B, C, D)"
    assert {p.name for p in query.projections()} == {"SEQ(A, C)", "SEQ(A, D)", "SEQ(C, D)", "SEQ(A, C, D)"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SEQ(A a, (B | C) b) WITHIN 1 h", r"the variable b of the query q takes events of the types B, C"),
        ("SEQ(A a, * b) WITHIN 1 h", r"the variable b of the query q takes events of any type"),
        ("SEQ(A a, A b) WITHIN 1 h", r"names the type A twice"),
        ("SEQ(A a, B b)", r"q has no window"),
        ("SEQ(A a, B b) WITHIN 5 events", r"its window counts events"),
        ("SEQ(A a, OR(B b, C c)) WITHIN 1 h", r"it has OR; a query for each branch has projections"),
        ("SEQ(A a, NOT SEQ(B b, C c), D d) WITHIN 1 h", r"a NOT of the query q is over several events"),
        ("SEQ(NOT A n, B b, C c) WITHIN 1 h", r"NOT A does not stand between two events"),
        ("A+ a WITHIN 1 h", r"the query q names one type"),
        ("SEQ(A a, B b) WHERE a.x > :least WITHIN 1 h", r"the parameters least of the query q have no values"),
    ],
)
def test_what_cannot_be_planned_is_refused(text: str, message: str):
    with pytest.raises(NetworkError, match=message):
        planned_query("q", bound_of(text))


def test_other_policies_are_refused():
    bound = bind(parse("PATTERN SEQ(A a, B b) WITHIN 1 h POLICY next"), SCHEMA)
    with pytest.raises(NetworkError, match="the query q cannot be split: under POLICY next"):
        planned_query("q", bound)


def test_queries_of_a_workload_have_one_window_and_one_schema():
    one = bound_of("SEQ(A a, B b) WITHIN 1 h")
    with pytest.raises(NetworkError, match="q1 and q2 have different windows"):
        planned_queries({"q1": one, "q2": bound_of("SEQ(A a, C c) WITHIN 2 h")})
    other = Schema({**FIELDS, "more": INT}, time="time", type="type", order=("site", "n"))
    with pytest.raises(NetworkError, match="q1 and q2 read events of different schemas"):
        planned_queries({"q1": one, "q2": bound_of("SEQ(A a, C c) WITHIN 1 h", other)})
