"""Every case on the compiled engine: its matches, their order, and when each is decided."""

from __future__ import annotations

import pytest

from cepheid.engine.session import run
from cepheid.errors import NotSupportedError
from cepheid.events.ingest import read_events
from cepheid.testing.harness import EngineRoad, oracle_answers, table_of
from cepheid.testing.oracle import match
from tests.conformance.cases import CASES
from tests.conformance.engine_lines import AT_THE_END, on_time
from tests.conformance.notation import Case
from tests.conformance.refusals import REFUSED, refusal


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case):
    refused = refusal(case)
    assert refused == REFUSED.get(case.name), "refused: run python -m tests.conformance.refusals"
    if refused is not None:
        return
    bound, events = case.bound(), on_time(case)
    table, schema = table_of(events, bound.schema)
    batch = read_events(table, schema)
    found = run(bound, batch)
    names = list(bound.variables)
    rows = batch.rows_of(found.positions)
    got = [
        (
            [(names[found.variables[i]], events[rows[i]]) for i in range(found.offsets[m], found.offsets[m + 1])],
            int(found.decided_us[m]),
        )
        for m in range(len(found))
    ]
    # A table ends, where the watermark of a case may stand still: then what is decided later is not reported.
    reached = AT_THE_END if case.watermark_us is None else case.watermark_us
    expected = match(bound, events, watermark=case.watermark_us, stores=case.stores).matches
    assert len(expected) == len(case.matches)
    assert [one for one in got if one[1] <= reached] == [
        (list(one.bindings), AT_THE_END if one.decision_time is None else one.decision_time) for one in expected
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_timed_out(case: Case):
    bound, events = case.bound(), on_time(case)
    if case.name in REFUSED:
        with pytest.raises(NotSupportedError):
            EngineRoad(bound, timed_out=True)
        return
    got = EngineRoad(bound, timed_out=True).answers(events)
    # What times out after the watermark of a case is not known there.
    reached = AT_THE_END if case.watermark_us is None else case.watermark_us
    expected = oracle_answers(bound, events, case.stores, timed_out=True)
    assert [one for one in got if one.decided_us <= reached] == [one for one in expected if one.decided_us <= reached]


def test_only_cases_are_listed_as_refused():
    assert set(REFUSED) <= {case.name for case in CASES}
