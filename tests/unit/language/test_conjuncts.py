"""NOT pushed inward means what it meant, with NULL and with what is absent."""

from hypothesis import given
from hypothesis import strategies as st

from cepheid.language.conjuncts import pushed_inward, split
from cepheid.language.tree import (
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    IsNull,
    Literal,
    LiteralKind,
    Negation,
    walk,
)

ABSENT = "absent"
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")

_values = st.sampled_from([1, 2, 3, None, ABSENT])
_number = st.builds(Literal, st.sampled_from([1, 2, 3]), st.just(LiteralKind.INT))
_variable = st.builds(Attribute, st.sampled_from(["a", "b", "c"]), st.just(("x",)))
_atom = st.one_of(
    st.builds(Compare, st.sampled_from(OPERATORS), _variable, st.one_of(_number, _variable)),
    st.builds(IsNull, _variable, st.booleans()),
    st.builds(In, _variable, st.lists(_number, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(Literal, st.booleans(), st.just(LiteralKind.BOOL)),
    st.builds(Call, st.just("odd"), st.tuples(_variable)),
)
_condition = st.recursive(
    _atom,
    lambda below: st.one_of(
        st.builds(Negation, below),
        st.builds(Conjunction, st.lists(below, min_size=2, max_size=3).map(tuple)),
        st.builds(Disjunction, st.lists(below, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


def value(node, row):
    """The value of a condition: True, False, None or ABSENT; written from the rules, not from the code."""
    match node:
        case Literal():
            return node.value
        case Attribute():
            return row[node.variable]
        case Negation():
            inner = value(node.operand, row)
            return inner if inner in (None, ABSENT) else not inner
        case Conjunction() | Disjunction():
            met = [v for v in (value(operand, row) for operand in node.operands) if v != ABSENT]
            decisive = isinstance(node, Disjunction)
            if not met:
                return ABSENT
            return decisive if decisive in met else None if None in met else not decisive
        case IsNull():
            inner = value(node.operand, row)
            return ABSENT if inner == ABSENT else (inner is None) is not node.negated
    operands = [value(part, row) for part in _operands(node)]
    if ABSENT in operands:
        return ABSENT
    if None in operands:
        return None
    match node:
        case Compare():
            left, right = operands
            return {"=": left == right, "<>": left != right, "<": left < right, "<=": left <= right,
                    ">": left > right, ">=": left >= right}[node.operator]  # fmt: skip
        case In():
            return (operands[0] in operands[1:]) is not node.negated
        case Call():
            return operands[0] % 2 == 1
    raise AssertionError(node)


def _operands(node) -> tuple[Expression, ...]:
    match node:
        case Compare():
            return node.left, node.right
        case In():
            return node.operand, *node.options
        case Call():
            return node.arguments
    raise AssertionError(node)


@given(_condition, st.fixed_dictionaries({"a": _values, "b": _values, "c": _values}))
def test_pushing_not_inward_keeps_the_value(condition, row):
    assert value(pushed_inward(condition), row) == value(condition, row)


@given(_condition, st.fixed_dictionaries({"a": _values, "b": _values, "c": _values}))
def test_the_conjuncts_hold_together_where_the_condition_holds(condition, row):
    holds = value(condition, row) in (True, ABSENT)
    parts = [value(part, row) for part in split(pushed_inward(condition))]
    # A conjunct that is absent holds (SEMANTICS 4.2), and so does a condition that is.
    assert all(part in (True, ABSENT) for part in parts) == holds


@given(_condition)
def test_not_stays_only_where_there_is_no_opposite(condition):
    inward = pushed_inward(condition)
    assert all(isinstance(node.operand, Call) for node in walk(inward) if isinstance(node, Negation))
    for node in walk(inward):
        if isinstance(node, (Conjunction, Disjunction)):
            assert not any(isinstance(operand, type(node)) for operand in node.operands)


def test_no_condition_has_no_conjuncts():
    assert split(None) == ()
