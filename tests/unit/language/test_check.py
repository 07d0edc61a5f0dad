"""What check warns of, and what it lets pass."""

import pytest

from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT
from cepheid.language.check import Warning, check
from cepheid.language.estimates import combinations, n_in_window, subsets
from tests.unit.language.payments import bound

RATES = {"Txn": 5.0, "Denied": 3.0, "Refund": 2.0}


def warnings(text: str, rates=None, **options) -> list[str]:
    return [warning.message for warning in check(bound(text), rates, **options)]


def only(text: str, rates=None) -> Warning:
    (warning,) = check(bound(text), rates)
    return warning


# --- windows ----------------------------------------------------------------------------------------


def test_a_query_with_a_window_and_a_key_is_fine():
    assert warnings("PATTERN SEQ(Txn a, Denied+ d, Refund r) WHERE SAME[card] WITHIN 1 hour") == []
    assert warnings("PATTERN SEQ(Txn a, Refund r) WHERE a.card = r.card WITHIN 1 hour POLICY any") == []
    assert warnings("PATTERN SEQ(Txn a, Refund r) BETWEEN EACH 5 s") == []


def test_without_a_window_partial_matches_stay():
    warning = only("PATTERN SEQ(Txn a, Denied d)")
    assert warning.message == "without a window, a stream keeps every partial match for ever"
    assert warning.remedy.startswith("add WITHIN")


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(Txn a, Denied+ d)",
        "PATTERN SEQ(Txn a, (SEQ(Denied d, Refund r))*)",
        "PATTERN SEQ(Txn a, Denied d) WHERE SAME[card] POLICY any",
        "PATTERN SEQ(Txn a, any Denied d) WHERE SAME[card]",
    ],
)
def test_a_stream_refuses_what_grows_without_bound(text):
    assert "a stream refuses this query" in warnings(text)[0]
    with pytest.raises(QueryError, match="without bound on a stream") as caught:
        check(bound(text), stream=True)
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(Txn a, Denied d)",
        "PATTERN SEQ(Txn a, Denied{1,3} d)",
        "PATTERN SEQ(Txn a, NOT Denied+ d, Refund r)",
        "PATTERN Txn a POLICY any",
    ],
)
def test_a_stream_takes_what_stays_small_per_start(text):
    assert warnings(text, stream=True)[0] == "without a window, a stream keeps every partial match for ever"


def test_a_gap_as_long_as_the_window_asks_for_nothing():
    pattern = "PATTERN SEQ(Txn a, Denied d, Refund r)"
    assert "asks for nothing" in only(f"{pattern} WITHIN 1 minute BETWEEN EACH 60 s").message
    assert "asks for nothing" in only(f"{pattern} WITHIN 10 EVENTS BETWEEN EACH 9 EVENTS").message
    assert warnings(f"{pattern} WITHIN 1 minute BETWEEN EACH 59 s") == []
    assert warnings(f"{pattern} WITHIN 10 EVENTS BETWEEN EACH 8 EVENTS") == []
    assert warnings(f"{pattern} WITHIN 10 EVENTS BETWEEN EACH 1 hour") == []


# --- sizes ------------------------------------------------------------------------------------------


def test_a_loop_under_any_is_exponential():
    text = "PATTERN SEQ(Txn a, Denied+ d, Refund r) WHERE SAME[card] WITHIN 10 s POLICY any"
    assert only(text).estimate == "n events of Denied in a window give 2^n - 1 choices per start"
    assert (
        only(text, RATES).estimate == "30 events of Denied in a window give 2^30 - 1, about 1.1e+09 choices per start"
    )
    assert only(text.replace("10 s", "1 hour"), RATES).estimate == (
        "1.08e+04 events of Denied in a window give 2^1.08e+04 - 1 choices per start"
    )


def test_a_bounded_loop_under_any_is_a_power():
    text = "PATTERN SEQ(Txn a, Denied{1,2} d, Refund r) WHERE SAME[card] WITHIN 10 s POLICY any"
    assert only(text).estimate == "n events of Denied in a window give about n^2 / 2! choices per start"
    assert only(text, RATES).estimate == "30 events of Denied in a window give about 465 choices per start"


def test_the_prefix_of_a_loop_counts():
    assert warnings("PATTERN SEQ(Txn a, any Denied+ d) WHERE SAME[card] WITHIN 10 s") != []
    assert warnings("PATTERN SEQ(Txn a, next Denied+ d) WHERE SAME[card] WITHIN 10 s POLICY any") == []
    assert warnings("PATTERN SEQ(Txn a, NOT Denied+ d, Refund r) WHERE SAME[card] WITHIN 10 s POLICY any") == []


def test_a_repeated_group_under_any_is_exponential():
    warning = only("PATTERN (SEQ(Txn a, Denied d))+ WHERE SAME[card] WITHIN 10 s POLICY any")
    assert "every subset of its matches" in warning.message
    assert warning.estimate == "n matches of the group give up to 2^n - 1 choices per start"


def test_elements_that_nothing_ties_together_make_a_product():
    text = "PATTERN SEQ(Txn a, Denied d, Refund r) WHERE a.amount < d.amount WITHIN 10 s POLICY any"
    assert "no equality ties it" in only(text).message
    assert only(text).estimate == (
        "n(Txn) * n(Denied) * n(Refund) / 3! partial matches in a window, before other conditions"
    )
    # 50 * 30 * 20 / 6
    assert "about 5e+03 partial matches" in only(text, RATES).estimate


@pytest.mark.parametrize(
    "where",
    [
        "SAME[card]",
        "a.card = d.card AND d.card = r.card",
        "a.card = r.card AND d.card = r.card",
        "a.n + 1 = d.n AND r.n = a.n",
    ],
)
def test_equalities_that_reach_every_element_are_enough(where):
    assert warnings(f"PATTERN SEQ(Txn a, Denied d, Refund r) WHERE {where} WITHIN 10 s POLICY any") == []


def test_under_next_there_is_no_product():
    assert warnings("PATTERN SEQ(Txn a, Denied d, Refund r) WITHIN 10 s") == []


def test_branches_of_or_do_not_multiply():
    text = "PATTERN SEQ(Txn a, OR(Denied d, Refund r)) WHERE a.card = d.card AND a.card = r.card WITHIN 10 s POLICY any"
    assert warnings(text) == []


def test_parts_of_and_that_take_the_same_events_are_found_in_every_order():
    text = "PATTERN SEQ(AND(Txn a, Txn b), Denied d) WHERE SAME[card] WITHIN 10 s POLICY any"
    assert only(text).estimate == "up to 2! = 2 matches per set of events"
    assert warnings(text.replace("SAME[card]", "SAME[card] AND a.amount < b.amount")) == []
    assert warnings(text.replace("Txn b", "Refund b")) == []
    assert warnings(text.replace("POLICY any", "POLICY next")) == []


# --- conditions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "outcome"),
    [
        ("SEQ(Txn a, Denied? d, Refund r)", "so a match never has d"),
        ("SEQ(Txn a, NOT Denied d, Refund r)", "so the NOT with d is never violated"),
    ],
)
def test_a_condition_that_can_never_hold_is_told(pattern, outcome):
    message = only(f"PATTERN {pattern} WHERE d.n > 5 AND d.n < 3 WITHIN 10 s").message
    assert message == f"d.n < 3 can never hold together with d.n > 5, {outcome}"


def test_a_comparison_of_two_branches_asks_for_nothing():
    message = only("PATTERN OR(SEQ(Txn a, Denied d), Refund r) WHERE d.n > r.n WITHIN 10 s").message
    assert message == "d and r are never in one match, so this comparison asks for nothing"


def test_not_between_neighbours_is_told():
    text = "PATTERN SEQ(Txn a, NOT Denied d, Refund r) WITHIN 10 s"
    assert warnings(text) == []
    assert "strict makes neighbours" in warnings(f"{text} POLICY strict")[0]
    assert "strict makes neighbours" in warnings(text.replace("Refund", "strict Refund"))[0]
    assert warnings(text.replace("NOT Denied d, Refund r", "Refund r, NOT Denied d") + " POLICY strict") == []
    assert warnings("PATTERN SEQ(NOT Denied d, Txn a, Refund r) WITHIN 10 s POLICY strict") == []


# --- form -------------------------------------------------------------------------------------------


def test_a_warning_shows_its_place():
    text = "PATTERN SEQ(Txn a, Denied+ d, Refund r)\nWHERE SAME[card]\nWITHIN 10 s\nPOLICY any"
    assert only(text).render(text) == (
        "a loop under any takes every subset of the Denied events: "
        "n events of Denied in a window give 2^n - 1 choices per start\n"
        "   1 | PATTERN SEQ(Txn a, Denied+ d, Refund r)\n"
        "     |                    ^^^^^^^^^\n"
        "  -> use POLICY next (or the prefix next) to take each event that qualifies, or bound the loop as in {1,3}"
    )


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf")])
def test_a_rate_is_a_number_of_events(rate):
    with pytest.raises(ValueError, match="the rate of Txn"):
        check(bound("PATTERN Txn a"), {"Txn": rate})


def test_events_in_a_window():
    schema = Schema(fields={"t": INT, "type": TEXT, "x": FLOAT}, time="t", time_unit="s", type="type")
    query = bound("PATTERN SEQ(A a, B b) WITHIN 10", schema)
    assert n_in_window(query, ("A",), {"A": 2.0, "B": 3.0}) == 20.0
    assert n_in_window(query, (), {"A": 2.0, "B": 3.0}) == 50.0
    assert n_in_window(query, ("C",), {"A": 2.0, "B": 3.0}) is None
    assert n_in_window(query, ("A",), None) is None
    counted = bound("PATTERN SEQ(A a, B b) WITHIN 100 EVENTS", schema)
    assert n_in_window(counted, ("A",), {"A": 2.0, "B": 3.0}) == 40.0
    assert n_in_window(bound("PATTERN SEQ(A a, B b)", schema), ("A",), {"A": 2.0}) is None


def test_formulas():
    assert subsets(None, 2, None) == "about 2^n"
    assert subsets(4, 1, None) == "2^4 - 1, about 16"
    assert subsets(4, 1, 1) == "about 4"
    assert subsets(None, 0, 1) == "n"
    assert combinations(["A", "B"], [4.0, None]) == "n(A) * n(B) / 2!"
    assert combinations(["A", "B"], [4.0, 6.0]) == "n(A) * n(B) / 2!, about 12"
    assert combinations(["A", "B"], [0.0, 6.0]) == "n(A) * n(B) / 2!, about 0"
