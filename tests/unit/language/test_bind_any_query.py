"""Whatever tree is bound, it is bound or refused with an error that is meant for the user."""

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cepheid.errors import ParameterError, QueryError, SchemaError
from cepheid.events.types import Kind
from cepheid.language.bind import bind
from cepheid.language.check import check
from cepheid.language.parameters import with_parameters
from cepheid.language.partition import inferred_partition
from cepheid.language.printer import print_query
from cepheid.language.results import AGGREGATES
from cepheid.language.structure import places
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Event,
    Extent,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Not,
    Or,
    Parameter,
    Policy,
    Query,
    Remote,
    Repeat,
    ReturnItem,
    Seq,
    Skip,
    SkipMode,
    Sliding,
    Window,
    walk,
)
from tests.unit.language.payments import CATALOG, PAYMENTS

_names = st.sampled_from(["a", "b", "c", "d", "x"])
_types = st.lists(st.sampled_from(["Txn", "Denied", "Refund", "Refnd"]), max_size=2).map(tuple)
_paths = st.sampled_from(
    [(name,) for name in (*PAYMENTS.fields, "nothing")] + [("address", "city"), ("address", "x"), ("n", "x"), ()]
)
_literals = st.one_of(
    st.integers(-3, 3).map(lambda value: Literal(value, LiteralKind.INT)),
    st.sampled_from([2**63, -(2**63), 10**400]).map(lambda value: Literal(value, LiteralKind.INT)),
    st.sampled_from([0.5, 1e300, 1e-30, float("inf")]).map(lambda value: Literal(value, LiteralKind.FLOAT)),
    st.sampled_from(["", "x", "2024-01-31", "Txn"]).map(lambda value: Literal(value, LiteralKind.TEXT)),
    st.booleans().map(lambda value: Literal(value, LiteralKind.BOOL)),
    st.just(Literal(None, LiteralKind.NULL)),
    st.just(Literal(5_000_000, LiteralKind.DURATION)),
    st.just(Literal(0, LiteralKind.TIMESTAMP)),
)
_attributes = st.builds(Attribute, st.one_of(st.none(), _names, _names, _names), _paths, st.sampled_from(At))
_plain = st.builds(
    Attribute, st.sampled_from(["a", "b"]), st.sampled_from(["n", "amount", "card", "ts"]).map(lambda n: (n,))
)
_leaves = st.one_of(_literals, _plain, _plain, _attributes, st.builds(Parameter, st.sampled_from(["p", "q"])))
_functions = st.sampled_from(
    ["abs", "ROUND", "coalesce", "least", "substring", "year", "risk", "sum", "min", "nothing"]
)


def _above(below):
    tuples = st.lists(below, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/%"), below, below),
        st.builds(Compare, st.sampled_from(["=", "<>", "<", ">="]), below, below),
        st.builds(Conjunction, st.lists(below, min_size=2, max_size=3).map(tuple)),
        st.builds(Disjunction, st.lists(below, min_size=2, max_size=3).map(tuple)),
        st.builds(Negation, below),
        st.builds(Negative, below),
        st.builds(IsNull, below, st.booleans()),
        st.builds(In, below, tuples, st.booleans()),
        st.builds(InSet, below, below, st.booleans()),
        st.builds(Like, below, st.sampled_from(["", "a%", "\\", "\\\\"]), st.booleans()),
        st.builds(Call, _functions, tuples),
        st.builds(Aggregate, st.sampled_from((*AGGREGATES, "median")), _names, st.one_of(st.none(), below)),
        st.builds(
            Remote,
            st.sampled_from(["places", "limits", "nowhere"]),
            st.lists(below, max_size=2).map(tuple),
            st.sampled_from([(), ("known",), ("home",), ("home", "x"), ("nothing",)]),
        ),
    )


EXPRESSIONS = st.recursive(_leaves, _above, max_leaves=8)
_number = st.recursive(
    st.one_of(
        st.builds(Attribute, st.sampled_from(["a", "b", "c"]), st.sampled_from(["n", "amount"]).map(lambda n: (n,))),
        st.just(Attribute("a", ("price",))),
        st.just(Attribute("b", ("n",), At.PREV)),
        st.integers(-3, 3).map(lambda value: Literal(value, LiteralKind.INT)),
        st.sampled_from([0.5, 2.0]).map(lambda value: Literal(value, LiteralKind.FLOAT)),
        st.builds(Parameter, st.sampled_from(["p", "q"])),
        st.builds(Aggregate, st.sampled_from(AGGREGATES), st.just("b"), st.just(Attribute("b", ("amount",)))),
    ),
    lambda below: st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/%"), below, below),
        st.builds(Negative, below),
        st.builds(Call, st.sampled_from(["abs", "sqrt", "floor"]), st.tuples(below)),
        st.builds(Call, st.sampled_from(["coalesce", "least", "power"]), st.tuples(below, below)),
    ),
    max_leaves=4,
)
_comparison = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "<>", "<", ">="]), _number, _number),
    st.builds(In, _number, st.tuples(_number, _number), st.booleans()),
    st.builds(IsNull, _number, st.booleans()),
    st.builds(InSet, st.just(Attribute("a", ("n",))), st.just(Parameter("listed")), st.booleans()),
)
WELL_TYPED = st.recursive(
    _comparison,
    lambda below: st.one_of(
        st.builds(Negation, below),
        st.builds(Conjunction, st.lists(below, min_size=2, max_size=3).map(tuple)),
        st.builds(Disjunction, st.lists(below, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=4,
)
CONDITIONS = st.one_of(
    EXPRESSIONS,
    WELL_TYPED,
    st.builds(Compare, st.sampled_from(["=", "<>", "<", ">="]), EXPRESSIONS, EXPRESSIONS),
    st.builds(
        Conjunction,
        st.lists(st.builds(Compare, st.sampled_from(["=", "<", ">"]), _plain, _leaves), min_size=2, max_size=4).map(
            tuple
        ),
    ),
)

_events = st.builds(
    Event, _types, st.one_of(st.none(), _names), st.one_of(st.none(), st.none(), st.sampled_from(Policy))
)


def _patterns_above(below):
    tuples = st.lists(below, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Seq, tuples),
        st.builds(And, tuples),
        st.builds(Or, tuples),
        st.builds(AnyOf, st.integers(0, 4), tuples),
        st.builds(Not, below),
        st.builds(
            Repeat, below, st.integers(-1, 3), st.one_of(st.none(), st.integers(0, 3)), st.booleans(),
            st.one_of(st.none(), st.none(), CONDITIONS),
        ),
    )  # fmt: skip


PATTERNS = st.recursive(_events, _patterns_above, max_leaves=6)
SIMPLE = Seq((Event(("Txn",), "a"), Repeat(Event(("Denied",), "b"), 1, None), Event(("Refund",), "c")))
_extents = st.builds(
    Extent, st.sampled_from([-1, 0, 1, 10, 0.5, 2**70]), st.sampled_from([None, "s", "d", "events", "parsecs"])
)
_windows = st.builds(
    Window,
    st.one_of(st.none(), st.just(Extent(5, "min")), _extents),
    st.booleans(),
    st.one_of(st.none(), _extents),
    st.one_of(st.none(), st.builds(Sliding, _extents, _extents, st.booleans(), st.booleans())),
)
HOUR = Window(within=Extent(1, "h"))
QUERIES = st.one_of(
    st.builds(Query, st.just(SIMPLE), WELL_TYPED, window=st.just(HOUR)),
    st.builds(Query, st.just(SIMPLE), CONDITIONS, window=st.just(HOUR)),
    st.builds(
        Query,
        st.just(SIMPLE),
        window=st.just(HOUR),
        returns=st.lists(st.builds(ReturnItem, EXPRESSIONS), max_size=3).map(tuple),
    ),
    st.builds(Query, st.just(SIMPLE), window=st.just(HOUR), same=st.lists(EXPRESSIONS, max_size=2).map(tuple)),
    st.builds(
        Query,
        PATTERNS,
        st.one_of(st.none(), CONDITIONS),
        window=st.one_of(st.just(HOUR), _windows),
        policy=st.one_of(st.none(), st.sampled_from(Policy)),
        skip=st.builds(Skip, st.sampled_from(SkipMode), st.one_of(st.none(), _names)),
    ),
)  # fmt: skip

_VALUES = {
    Kind.BOOL: True,
    Kind.INT: 1,
    Kind.FLOAT: 0.5,
    Kind.DECIMAL: 1,
    Kind.TEXT: "x",
    Kind.TIMESTAMP: datetime(2024, 1, 31),
    Kind.DURATION: timedelta(seconds=1),
}


def _value(dtype):
    return [] if dtype.kind is Kind.LIST else _VALUES[dtype.kind]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(QUERIES)
@example(Query(SIMPLE, where=Compare("=", Attribute("a", ("price",)), Literal(10**400, LiteralKind.INT)), window=HOUR))
def test_a_query_is_bound_or_refused_for_a_reason(query):
    bound = outcome(query)
    if isinstance(bound, QueryError):
        assert bound.message
        assert bound.remedy
        assert str(bound)
        return
    check_bound(bound)
    assert all(warning.render(bound.text) for warning in check(bound))
    inferred_partition(bound)
    filled = with_parameters(bound, {name: _value(dtype) for name, dtype in bound.parameters.items()})
    assert not filled.parameters
    assert not any(isinstance(n, Parameter) for c in filled.conjuncts for n in walk(c.expression))
    check_bound(filled)


def outcome(query):
    try:
        return bind(query, PAYMENTS, catalog=CATALOG)
    except QueryError as error:
        return error


def check_bound(bound):
    """What is true of every bound query."""
    names = [place.name for place in places(bound.pattern)]
    assert list(bound.variables) == list(dict.fromkeys(names))
    roots = [*(c.expression for c in bound.conjuncts), *bound.partition, *(r.expression for r in bound.returns)]
    roots += [n.until for n in walk(bound.pattern) if isinstance(n, Repeat) and n.until is not None]
    for root in roots:
        for node in walk(root):
            assert node in bound.types
    assert set(bound.types) == {node for root in roots for node in walk(root)}
    for conjunct in bound.conjuncts:
        assert bound.types[conjunct.expression].kind is Kind.BOOL
        assert not isinstance(conjunct.expression, Conjunction)


def test_errors_are_told_apart_from_faults_of_ours():
    for kind in (QueryError, SchemaError, ParameterError):
        assert not issubclass(kind, (AssertionError, TypeError, ValueError))


def test_a_tree_that_is_too_deep_is_refused():
    deep = Literal(1, LiteralKind.INT)
    for _ in range(5000):
        deep = Arithmetic("+", deep, Literal(1, LiteralKind.INT))
    with pytest.raises(QueryError, match="nested"):
        bind(Query(SIMPLE, where=Compare("=", Attribute("a", ("n",)), deep), window=HOUR), PAYMENTS)


def test_the_printed_text_of_a_built_query_is_kept():
    query = Query(SIMPLE, window=HOUR)
    assert bind(query, PAYMENTS).text == print_query(query)
