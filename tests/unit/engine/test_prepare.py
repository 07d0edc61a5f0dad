"""A plan is made once for each bound query, and stays with it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pyarrow as pa

from cepheid.engine.session import prepare
from cepheid.events.ingest import schema_of
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse

SCHEMA = schema_of(pa.table({"t": [0], "kind": ["A"], "x": [1]}), time="t", time_unit="s", type="kind")


def bound_to(text: str) -> BoundQuery:
    return bind(parse(text), SCHEMA, text=text)


def test_a_query_has_one_plan_and_one_that_tells_what_timed_out():
    bound = bound_to("SEQ(A a, B b) WITHIN 5 s")
    plan, telling = prepare(bound), prepare(bound, timed_out=True)
    assert prepare(bound) is plan
    assert prepare(bound, timed_out=True) is telling
    assert [plan.automaton.tells_timed_out, telling.automaton.tells_timed_out] == [False, True]


def test_a_changed_query_has_a_plan_of_its_own():
    bound = bound_to("SEQ(A a, B b)")
    prepare(bound)
    other = replace(bound, text="SEQ(A a,  B b)")
    assert prepare(other).automaton.bound.text == "SEQ(A a,  B b)"
    assert prepare(bound).automaton.bound.text == "SEQ(A a, B b)"


def test_plans_are_not_pickled_and_make_no_difference():
    bound, other = bound_to("SEQ(A a, B b)"), bound_to("SEQ(A a, B b)")
    written = pickle.dumps(bound)
    prepare(bound)
    assert bound == other
    assert pickle.dumps(bound) == written
    assert pickle.loads(written).made == copy.copy(bound).made == {}
