"""What `explain` says of an evaluation plan."""

from __future__ import annotations

import pytest

import cepheid as cep
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, TEXT, TIMESTAMP
from cepheid.plan.draw.svg import to_svg
from cepheid.plan.explanation import EdgeKind, Explanation
from cepheid.ports.evaluation import Decision, PlanEstimate

QUERY = cep.Query.parse("""
    PATTERN SEQ(A a, NOT D n, B b, C+ c, E e)
    WHERE   a.x = b.x AND b.y < e.y AND avg(c.y) > e.y AND n.x = e.x AND a.x > 3
    WITHIN  10 seconds
    POLICY  any
""")
SCHEMA = Schema({"ts": TIMESTAMP, "kind": TEXT, "x": FLOAT, "y": FLOAT}, time="ts", type="kind")


TAKEN = ["B b", "E e", "C+ c, kept", "A a, kept"]


def explained(evaluation: str) -> Explanation:
    return QUERY.explain(SCHEMA, evaluation=evaluation)


def test_states_stand_in_the_order_of_the_plan():
    found = explained("b/c a")
    assert [state.label for state in found.states] == ["", "b", "e", "c", "a"]
    assert [state.label for state in found.states if state.accepting] == ["a"]
    assert [edge.label for edge in found.edges if edge.kind is EdgeKind.TAKE] == [
        "B b",
        "E e",
        "C+ c, kept",
        "A a, kept",
    ]
    assert found.evaluation == "b as events arrive; when e has come, c, then a, from what was kept"


def test_conditions_stand_where_all_that_they_read_is_known():
    where = {row.text: row.where for row in explained("b/c a").predicates}
    assert where == {
        "a.x = b.x": "on c -> a",
        "b.y < e.y": "on b -> e",
        "avg(c.y) > e.y": "on c -> a",
        "n.x = e.x": "on c -> a",
        "a.x > 3.0": "before the engine",
    }
    assert {row.text: row.where for row in explained("/c a b").predicates}["a.x = b.x"] == "on a -> b"


def test_a_condition_on_a_loop_that_is_joined_last_is_tested_at_the_end():
    where = {row.text: row.where for row in explained("a b/c").predicates}
    assert where["avg(c.y) > e.y"] == "on the end of the match"
    assert where["a.x = b.x"] == "on a -> b"


def test_what_is_eager_by_itself_says_nothing_of_plans():
    assert explained("eager").evaluation == ""
    assert "evaluation" not in dict(explained("eager").facts)
    assert dict(explained("lazy").facts)["evaluation"].startswith("when e has come, c, then b, then a")
    assert "C+ c, kept" in to_svg(explained("lazy"))


def test_a_plan_that_is_chosen_while_it_runs_is_explained_with_its_estimates():
    query = cep.Query.parse("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 9 seconds POLICY any")
    before = query.explain(SCHEMA, evaluation="adaptive")
    assert before.evaluation.startswith("chosen while it runs; it begins")
    estimates = (
        PlanEstimate("eager", float("inf"), 2e-6, 1e6, 1.2, tried=True),
        PlanEstimate("/b a", 1e-3, 5e-6, 3e6, 0.4),
    )
    decision = Decision(0, "eager", "/b a", estimates, {"a": 10.0}, (0.1,))
    after = query.explain(SCHEMA, evaluation="adaptive", decision=decision)
    assert after.evaluation == "chosen while it runs; now when c has come, b, then a, from what was kept"
    eager, lazy = after.notes[-2:]
    assert eager.startswith("not chosen: eager: a last event waits without end, is served in 2 us")
    assert lazy.startswith("chosen: /b a: a last event waits 1 ms, is served in 5 us")
    assert "by a trial" in eager
    assert "by the cost model" in lazy
    one_way = cep.Query.parse("PATTERN SEQ(A a, B b) POLICY next").explain(SCHEMA, evaluation="adaptive")
    assert "there is no choice: under POLICY next" in one_way.evaluation


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("SEQ(A a, OR(B b, C c), D d) WITHIN 9 s POLICY any", "it has OR"),
        ("SEQ(A a, AND(B b, C c)) WITHIN 9 s POLICY any", "it has AND"),
        ("SEQ(A a, ANY(2, B b, C c, D d)) WITHIN 9 s POLICY any", "it has ANY"),
        ("SEQ(A a, (B b, C c)+, D d) WITHIN 9 s POLICY any", "it has a group"),
        ("SEQ(A a, NOT (B b, D d), C c) WITHIN 9 s POLICY any", "it has a group"),
        ("SEQ(A a, B? b, C c) WITHIN 9 s POLICY any", "b is optional"),
        ("SEQ(A a, B* b, C c) WITHIN 9 s POLICY any", "b is optional"),
        ("SEQ(A a, B+ b UNTIL b.y > 3, C c) WITHIN 9 s POLICY any", "the loop b ends with UNTIL"),
        ("SEQ(NOT B b, A a, C c) WITHIN 9 s POLICY any", "NOT b has a neighbour on one side only"),
        ("SEQ(A a, C c, NOT B b) WITHIN 9 s POLICY any", "NOT b has a neighbour on one side only"),
        ("SEQ(A a, next B b, C c) WITHIN 9 s POLICY any", "b has a policy of its own"),
        ("SEQ(A a, B b) WITHIN 9 s BETWEEN EACH 2 s POLICY any", "BETWEEN EACH"),
        ("SEQ(A a, B b) WINDOW 10 s SLIDE 1 s POLICY any", "its windows slide"),
        ("SEQ(A a, B b) WITHIN 9 s POLICY any AFTER MATCH SKIP PAST LAST", "AFTER MATCH discards"),
        ("SEQ(A a, B b) WITHIN 9 s POLICY strict", "under POLICY strict"),
        ("SEQ(A a, B b) WITHIN 9 s POLICY next", "under POLICY next"),
        ("A a WITHIN 9 s POLICY any", "a single variable"),
    ],
)
def test_what_cannot_be_lazy_is_said_with_its_reason(rest: str, reason: str):
    query = cep.Query.parse(f"PATTERN {rest}")
    for evaluation in ("lazy", "adaptive"):
        said = query.explain(SCHEMA, evaluation=evaluation).evaluation
        assert said.startswith("as events arrive; there is no choice: ")
        assert reason in said
