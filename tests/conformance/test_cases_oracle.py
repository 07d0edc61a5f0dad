"""Every case on the oracle."""

from __future__ import annotations

import pytest

from cepheid.testing.oracle import OracleMatch, match, returned
from tests.conformance.cases import CASES, MANY
from tests.conformance.notation import Case, all_names, one_line, stream, written


def lines(found: tuple[OracleMatch, ...], case: Case) -> list[str]:
    names = all_names(case)
    return [written(one, names, case.bound()) for one in found]


def check(case: Case) -> None:
    """Hold the oracle to everything that a case says."""
    events = stream(case.events)
    bound = case.bound()
    result = match(bound, events.items, watermark=case.watermark_us, stores=case.stores)
    assert lines(result.matches, case) == [one_line(line) for line in case.matches]
    if case.timed_out is not None:
        assert lines(result.timed_out, case) == [one_line(line) for line in case.timed_out]
    assert [events.names[event] for event in result.late] == list(case.late)
    assert [events.names[event] for event in result.rejected] == list(case.rejected)
    if case.returned is not None:
        values = [returned(bound, one, stores=case.stores) for one in result.matches]
        assert values == [dict(row) for row in case.returned]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case):
    check(case)


def test_names_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_s8_every_subset_of_ten():
    case = Case("S8", "SEQ(A a, B+ b[], C c) POLICY any", MANY)
    assert len(match(case.bound(), stream(MANY).items, timed_out=False).matches) == 2**10 - 1


def test_s15_no_partial_match_of_ten_thousand_keys_is_left():
    text = " ".join(f"a{key}:A@0(k={key})" for key in range(10_000))
    case = Case("S15", "SEQ(A a, B b) WHERE SAME[k] WITHIN 10", text)
    result = match(case.bound(), stream(text).items, watermark=1_000_000_000)
    assert result.matches == ()
    assert len(result.timed_out) == 10_000
