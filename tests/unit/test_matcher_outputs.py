"""`cepheid.Matcher` with ``outputs=``: what times out is told when its window has closed."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import DataError, NotSupportedError, SchemaError
from tests.unit.test_matcher_set import COLUMNS, EVENTS, PARAMETERS, QUERIES

OUTPUTS = ("matches", "timed_out")
WHOLE = {"time": "ts", "type": "kind", "time_unit": "s", "parameters": PARAMETERS}
BOUNDED = cep.QuerySet({name: query for name, query in QUERIES.items() if name != "any type"})


def test_all_calls_together_give_what_a_table_gives() -> None:
    matcher = cep.Matcher(BOUNDED, parameters=PARAMETERS, outputs=OUTPUTS, **COLUMNS)
    calls = []
    for begin in range(0, len(EVENTS), 60):
        calls.append(matcher.push(EVENTS.slice(begin, 60)))
        if begin == 60:
            snapshot = matcher.snapshot()
            matcher = cep.Matcher(BOUNDED, parameters=PARAMETERS, outputs=OUTPUTS, **COLUMNS)
            matcher.restore(snapshot)
    calls.append(matcher.close())
    expected = cep.match(EVENTS, BOUNDED, outputs=OUTPUTS, **WHOLE)
    n_left = 0
    for name in BOUNDED:
        for output in OUTPUTS:
            told = pa.concat_tables([getattr(call[name], output) for call in calls])
            assert told.equals(getattr(expected[name], output).cast(told.schema)), (name, output)
        n_left += len(expected[name].timed_out) > 0
    assert n_left > 4
    assert sum(len(call["strict"].timed_out) > 0 for call in calls) > 2  # as they come, not at the end


def test_it_is_told_at_its_closed_time() -> None:
    matcher = cep.Matcher("SEQ(A a, B b) WITHIN 10", time="ts", type="kind", time_unit="s", outputs="timed_out")
    matcher.push(pa.table({"ts": [1, 3], "kind": ["A", "A"]}))
    assert len(matcher.advance(10).timed_out) == 0
    assert matcher.advance(11).timed_out["closed_time"].cast(pa.int64()).to_pylist() == [11_000_000]
    assert matcher.advance(12).matches is None  # it was not asked for
    matcher.push(pa.table({"ts": [13], "kind": ["B"]}))  # the last moment
    assert len(matcher.close().timed_out) == 0


def test_a_snapshot_is_of_a_matcher_that_tells_the_same() -> None:
    asked = cep.Matcher("SEQ(A a, B b) WITHIN 10", time="ts", time_unit="s", type="kind", outputs=OUTPUTS)
    asked.push(pa.table({"ts": [1], "kind": ["A"]}))
    with pytest.raises(DataError, match="made with options"):
        cep.Matcher("SEQ(A a, B b) WITHIN 10", time="ts", time_unit="s", type="kind").restore(asked.snapshot())


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(SchemaError, match="no output 'rejected'"):
        cep.Matcher("SEQ(A a, B b) WITHIN 10", time="ts", outputs=("rejected",))
    dropping = cep.Settings(on_cap="drop oldest")
    with pytest.raises(NotSupportedError, match="what times out is told"):
        cep.Matcher(
            "SEQ(A a, B b) WITHIN 10 s",
            time="ts",
            type="kind",
            schema=EVENTS,
            time_unit="s",
            outputs=OUTPUTS,
            settings=dropping,
        )


def test_a_plan_of_its_own_may_be_asked_for_all_the_same() -> None:
    lazy = cep.Settings(evaluation="lazy")
    query = "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 20 s POLICY any"
    found = [
        cep.Matcher(query, outputs=OUTPUTS, schema=EVENTS, settings=settings, **COLUMNS)
        for settings in (cep.Settings(), lazy)
    ]
    found[0].push(EVENTS)
    found[1].push(EVENTS)
    found[0].switch("lazy")
    one, other = (matcher.close() for matcher in found)
    assert one.matches.equals(other.matches)
    assert one.timed_out.equals(other.timed_out)
    assert len(one.timed_out)
