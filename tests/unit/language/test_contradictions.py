"""Conditions that no event satisfies are found, and none that some event satisfies."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import QueryError
from cepheid.events.types import BOOL, FLOAT, INT
from cepheid.language.bound import Variable
from cepheid.language.contradictions import contradictions
from cepheid.language.tree import (
    Attribute,
    Compare,
    Disjunction,
    In,
    IsNull,
    Literal,
    LiteralKind,
    Negation,
)
from tests.unit.language.payments import PAYMENTS, bound

N, M, F = Attribute("a", ("n",)), Attribute("a", ("amount",)), Attribute("a", ("online",))
TYPES = {N: INT, M: FLOAT, F: BOOL}
VARIABLES = {"a": Variable("a", (), PAYMENTS.fields, False, False, False, False)}

# Whole numbers on an int column, halves on a float column.
_whole = st.integers(0, 3).map(lambda v: Literal(v, LiteralKind.INT))
_half = st.integers(0, 6).map(lambda v: Literal(v / 2, LiteralKind.FLOAT))
_operator = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
_simple = st.one_of(
    st.builds(Compare, _operator, st.just(N), _whole),
    st.builds(Compare, _operator, _whole, st.just(N)),
    st.builds(Compare, _operator, st.just(N), _half),
    st.builds(Compare, _operator, st.just(M), _half),
    st.builds(Compare, _operator, st.sampled_from([N, M]), st.sampled_from([N, M])),
    st.builds(In, st.just(N), st.lists(_whole, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(In, st.just(M), st.lists(_half, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(IsNull, st.sampled_from([N, M, F]), st.booleans()),
    st.just(F),
    st.just(Negation(F)),
)
_condition = st.one_of(_simple, _simple, st.builds(Disjunction, st.lists(_simple, min_size=2, max_size=2).map(tuple)))

ROWS = list(product([None, *range(-1, 5)], [None, *(v / 4 for v in range(-2, 15))], [None, False, True]))


def holds(condition, row) -> bool:
    """True where the condition is true of the row (NULL is not)."""
    values = dict(zip((N, M, F), row, strict=True))
    match condition:
        case Disjunction():
            return any(holds(operand, row) for operand in condition.operands)
        case IsNull():
            return (values[condition.operand] is None) is not condition.negated
        case Attribute():
            return values[condition] is True
        case Negation():
            return values[condition.operand] is False
        case In():
            value = values[condition.operand]
            return value is not None and (value in [o.value for o in condition.options]) is not condition.negated
        case Compare():
            left, right = (
                side.value if isinstance(side, Literal) else values[side] for side in (condition.left, condition.right)
            )
            if left is None or right is None:
                return False
            return {
                "=": left == right, "<>": left != right, "<": left < right,
                "<=": left <= right, ">": left > right, ">=": left >= right,
            }[condition.operator]  # fmt: skip
    raise AssertionError(condition)


@given(st.lists(_condition, min_size=1, max_size=4))
def test_what_is_called_impossible_holds_of_no_event(conditions):
    found = list(contradictions(conditions, PAYMENTS, VARIABLES, TYPES))
    whole = [contradiction for contradiction in found if not contradiction.branch]
    if whole:
        assert not any(all(holds(condition, row) for condition in conditions) for row in ROWS)
    for contradiction in found:
        if contradiction.branch:
            others = [c for c in conditions if not isinstance(c, Disjunction)]
            assert not any(all(holds(c, row) for c in [*others, contradiction.condition]) for row in ROWS)


@given(st.lists(st.builds(Compare, _operator, st.just(N), _whole), min_size=1, max_size=4))
def test_every_contradiction_of_bounds_on_one_int_is_found(conditions):
    found = list(contradictions(conditions, PAYMENTS, VARIABLES, TYPES))
    possible = any(all(holds(condition, row) for condition in conditions) for row in ROWS)
    n_excluded = sum(condition.operator == "<>" for condition in conditions)
    # Several values cut out of a short range are not counted up.
    assert bool(found) is not possible or n_excluded > 1


@pytest.mark.parametrize(
    "where",
    [
        "a.amount > 5 AND a.amount < 5.5",
        "a.n >= 5 AND a.n <= 5",
        "a.n > 3 AND a.n < 5",
        "a.kind = 'Txn'",
        "a.kind <> 'Denied'",
        "a.n <= d.n AND d.n <= a.n",
        "a.n < 3 OR a.n > 5",
        "d.n > 5 AND first(d).n > 3",
        "prev(d).n > 5 AND prev(d).n < 3",
        "count(d) > 5 AND count(d) < 3",
        "a.n IS NULL OR a.n > 5",
        "a.n > 9007199254740992 AND a.n <= 9007199254740992.0",
        "a.n > :low AND a.n < :high",
        "a.card >= 'x' AND a.card < 'y'",
        "a.online OR NOT a.online",
    ],
)
def test_conditions_that_can_hold_pass(where):
    assert bound(f"PATTERN SEQ(Txn a, Denied+ d) WHERE {where} WITHIN 1 hour").conjuncts


@pytest.mark.parametrize(
    "where",
    [
        "a.n > 5 AND a.n < 5",
        "a.n > 4.5 AND a.n < 4.9",
        "a.card = 'x' AND a.card = 'y'",
        "a.card >= 'y' AND a.card < 'x'",
        "a.ts >= '2024-01-02' AND a.ts < '2024-01-01'",
        "a.price > 1.25 AND a.price <= 1.25",
        "a.address.zip > 5 AND a.address.zip < 3",
        "a.kind IN ('Denied', 'Refund')",
        "a.kind <> 'Txn'",
        "a.online AND NOT a.online",
        "a.online = TRUE AND a.online = FALSE",
        "a.n < a.n",
        "a.n < d.n AND d.n < a.n",
        "a.n < d.n AND a.n = d.n",
        "first(d).n > 5 AND first(d).n < 3",
        "a.card LIKE 'x%' AND a.card IS NULL",
        "NOT (a.n < 5 OR a.n > 3)",
        "a.n BETWEEN 5 AND 3",
        "1 > 2",
        "'x' = 'y'",
        "FALSE",
        "a.n NOT IN (1, NULL)",
        "a.n IN (1, 2) AND a.n NOT IN (2, 1)",
    ],
)
def test_conditions_that_cannot_hold_are_refused(where):
    with pytest.raises(QueryError, match="can never hold"):
        bound(f"PATTERN SEQ(Txn a, Denied+ d) WHERE {where} WITHIN 1 hour")


@pytest.mark.parametrize(
    "pattern",
    ["SEQ(Txn a, Denied? d, Refund r)", "SEQ(Txn a, NOT Denied d, Refund r)", "ANY(2, Txn a, Denied d, Refund r)"],
)
def test_a_variable_that_a_match_can_do_without_may_have_impossible_conditions(pattern):
    assert bound(f"PATTERN {pattern} WHERE d.n > 5 AND d.n < 3 WITHIN 1 hour").conjuncts


def test_a_misspelt_type_in_a_condition_on_any_event_is_found():
    with pytest.raises(QueryError, match="the event types are Txn, Denied, Refund"):
        bound("PATTERN * a WHERE a.kind = 'Refnd'")
