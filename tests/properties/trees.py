"""Hypothesis: every tree that the parser or the builder can make."""

from __future__ import annotations

from hypothesis import strategies as st

from cepheid.errors import QueryError
from cepheid.language import canonical
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Event,
    Extent,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Node,
    Not,
    Parameter,
    Policy,
    Query,
    Remote,
    ReturnItem,
    Skip,
    SkipMode,
    Sliding,
    Window,
)

# Words of the language, in every case, among names that need no quotes and names that need them.
_WORDS = """
    a b Txn amount é s d h min m K M us ms events seq SEQ Nseq kl any ANY next Strict and OR not in is like null true
    false as remote same SAME timestamp each between within WINDOW policy after match skip to first last prev past no
    row one per slide closed exclusive return from pattern where until count sum avg e5 _x x1
""".split()
_ODD = [
    "order placed",
    'a"b',
    "a`b",
    "it's",
    "1st",
    "a.b",
    "a b[]",
    "--",
    "# no comment",
    "\n",
    "'",
    "ſeq",
    "ıN",
    "(",
    ":x",
]

names = st.sampled_from(_WORDS) | st.sampled_from(_ODD) | st.text(min_size=1, max_size=4)
variables = names.filter(lambda name: not name.startswith("#"))
functions = names.filter(lambda name: name.lower() not in ("first", "last", "prev"))
paths = st.lists(names, min_size=1, max_size=3).map(tuple)
int64 = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=6) | st.sampled_from(["it's", "''", "a\nb", "-- no comment", "%_\\"])

_FIRST_MOMENT, _LAST_MOMENT = -62_135_596_800_000_000, 253_402_300_799_999_999

literals = st.one_of(
    st.builds(Literal, int64, st.just(LiteralKind.INT)),
    st.builds(Literal, st.floats(allow_nan=False, allow_infinity=False), st.just(LiteralKind.FLOAT)),
    st.builds(Literal, texts, st.just(LiteralKind.TEXT)),
    st.builds(Literal, st.booleans(), st.just(LiteralKind.BOOL)),
    st.just(Literal(None, LiteralKind.NULL)),
    st.builds(Literal, int64 | st.integers(-9, 9).map(lambda n: n * 60_000_000), st.just(LiteralKind.DURATION)),
    st.builds(Literal, st.integers(_FIRST_MOMENT, _LAST_MOMENT), st.just(LiteralKind.TIMESTAMP)),
)
parameters = st.builds(Parameter, st.from_regex(r"[^\W\d]\w{0,4}", fullmatch=True))
attributes = st.builds(Attribute, variables, paths, st.sampled_from(At))


def _grown(inner: st.SearchStrategy) -> st.SearchStrategy:
    several = st.lists(inner, min_size=2, max_size=3)
    calls = st.builds(canonical.call, functions, st.lists(inner, max_size=2))
    remotes = st.builds(Remote, names, st.lists(inner, min_size=1, max_size=2).map(tuple), st.just(()) | paths)
    return st.one_of(
        several.map(canonical.conjunction),
        several.map(canonical.disjunction),
        st.builds(Negation, inner),
        st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, inner),
        st.builds(canonical.negative, inner),
        st.builds(Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), inner, inner),
        st.builds(canonical.between, inner, inner, inner, st.booleans()),
        st.builds(IsNull, inner, st.booleans()),
        st.builds(In, inner, st.lists(inner, min_size=1, max_size=3).map(tuple), st.booleans()),
        st.builds(InSet, inner, st.one_of(attributes, calls, remotes, parameters), st.booleans()),
        st.builds(Like, inner, texts, st.booleans()),
        calls,
        st.builds(canonical.call, st.sampled_from(["sum", "MAX", "Count"]), st.lists(inner, min_size=1, max_size=1)),
        st.builds(Aggregate, st.just("count"), variables),
        remotes,
    )


expressions = st.recursive(literals | parameters | attributes, _grown, max_leaves=8).filter(
    lambda expression: _fits(expression)  # -(-2**63) is a number that no literal holds.
)


def _fits(expression: Node) -> bool:
    try:
        canonical.check_numbers(expression)
    except QueryError:
        return False
    return True


_plain_keys = st.builds(Attribute, st.none(), paths)
keys = st.recursive(
    _plain_keys,
    lambda inner: st.one_of(
        st.builds(Call, functions.filter(lambda f: f.lower() not in canonical.AGGREGATES), st.tuples(inner)),
        st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, literals.filter(_fits)),
    ),
    max_leaves=3,
)

events = st.builds(
    Event,
    st.lists(names, max_size=3, unique=True).map(tuple),
    st.none() | variables,
    st.none() | st.sampled_from(Policy),
)


@st.composite
def _repeats(draw: st.DrawFn, inner: st.SearchStrategy) -> object:
    minimum = draw(st.integers(0, 3))
    maximum = draw(st.none() | st.integers(max(1, minimum), 5))
    part = draw(inner)
    until = draw(st.none() | expressions) if isinstance(part, Event) else None
    return canonical.repeat(part, minimum, maximum, draw(st.booleans()), until)


def _composed(inner: st.SearchStrategy) -> st.SearchStrategy:
    parts = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        parts.map(canonical.sequence),
        parts.map(canonical.both),
        parts.map(canonical.either),
        st.builds(canonical.any_of, st.integers(1, 3), parts),
        st.builds(Not, inner),
        _repeats(inner),
    )


patterns = st.recursive(events | _repeats(events), _composed, max_leaves=6)

_units = st.sampled_from([None, "us", "ms", "s", "min", "h", "d"])
extents = st.one_of(
    st.builds(Extent, st.integers(0, 10**6) | st.floats(0, 1e15), _units),
    st.builds(Extent, st.integers(0, 10**6), st.just("events")),
)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    within = draw(st.none() | extents)
    sliding = st.builds(Sliding, extents, extents, st.booleans(), st.booleans())
    return Window(
        within,
        draw(st.booleans()) if within is not None else False,
        draw(st.none() | extents),
        draw(st.none() | sliding),
    )


skips = st.one_of(
    st.builds(Skip, st.sampled_from([SkipMode.NONE, SkipMode.PAST_LAST, SkipMode.TO_NEXT])),
    st.builds(Skip, st.sampled_from([SkipMode.TO_FIRST, SkipMode.TO_LAST]), variables),
)

queries = st.builds(
    Query,
    patterns,
    st.none() | expressions,
    st.lists(keys, max_size=2).map(tuple),
    windows(),
    st.none() | st.sampled_from(Policy),
    skips,
    st.lists(st.builds(ReturnItem, expressions, st.none() | names), max_size=3).map(tuple),
    st.none() | names,
).map(canonical.name_by_type)
