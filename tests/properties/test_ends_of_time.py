"""Events at both ends of the range of times: every road takes them for as far apart as they are."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent

MOST = 2**62 - 1
SCHEMA = Schema({"ts": INT, "kind": TEXT, "x": INT}, time="ts", type="kind", time_unit="us")
TIMES = (("A", -MOST), ("B", -MOST + 5), ("A", 0), ("B", 5), ("A", MOST - 5), ("B", MOST))
EVENTS = [
    OracleEvent(time, (number,), "s", kind, {"ts": time, "kind": kind, "x": number})
    for number, (kind, time) in enumerate(TIMES)
]
QUERIES = (
    "PATTERN SEQ(A a, B b) WITHIN 10 POLICY any",
    "PATTERN SEQ(A a, B b) WITHIN 10",
    "PATTERN SEQ(A a, B+ b) WITHIN 10 POLICY any",
    "PATTERN SEQ(A a, B b) WITHIN 9223372036854775807 POLICY any",
    "PATTERN SEQ(A a, B b) BETWEEN EACH 10 POLICY any",
    "PATTERN SEQ(A a, B b) WINDOW 10 SLIDE 5 POLICY any",
    "PATTERN SEQ(A a, B b, NOT(A c)) WITHIN 10 POLICY any",
    "PATTERN AND(A a, B b) WITHIN 10 POLICY any",
    "PATTERN SEQ(A a, B b) WHERE b.ts - a.ts > 10 POLICY any",
)


@pytest.mark.parametrize("text", QUERIES)
def test_engine_equals_oracle(text):
    bound = bind(parse(text), SCHEMA, text=text)
    expected = oracle_answers(bound, EVENTS)
    assert len(expected) >= 3
    assert EngineRoad(bound).answers(EVENTS) == expected


@pytest.mark.parametrize("apart", [2 * MOST, 2 * MOST - 1])
def test_the_ends_are_not_near_each_other(apart):
    table = pa.table({"ts": [-MOST, apart - MOST], "kind": ["A", "B"]})
    query = "PATTERN SEQ(A a, B b) WITHIN 10"
    assert cep.match(table, query, time="ts", type="kind", time_unit="us").num_rows == 0
    matcher = cep.Matcher(query, time="ts", type="kind", time_unit="us")
    assert sum(part.num_rows for part in (matcher.push(table[:1]), matcher.push(table[1:]), matcher.close())) == 0


def test_beyond_the_ends_nothing_is_an_event():
    table = pa.table({"ts": [-MOST - 1, MOST + 1], "kind": ["A", "B"]})
    with pytest.warns(UserWarning, match="beyond the range of times"):
        found = cep.match(table, "PATTERN SEQ(A a, B b) WITHIN 10", time="ts", type="kind", time_unit="us")
    assert found.num_rows == 0
