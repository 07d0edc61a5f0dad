"""The limits that docs/language.md names are told by errors, and conditions are never too deep for the engine."""

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler.stack import stack_depth
from cepheid.compiler.tables import compile_plan
from cepheid.errors import CepheidError, DataError, NotSupportedError, QueryError
from cepheid.events.ingest import schema_of
from cepheid.kernels import layout as k
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.plan.build import build

EVENTS = pa.table(
    {
        "ts": pa.array([0, 1, 2, 3, 4, 5], pa.timestamp("s", "UTC")),
        "kind": ["A", "B", "C"] * 2,
        "x": [1, 2, 3, 4, 5, 6],
        "f": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        "s": ["a", "b", "c"] * 2,
    }
)


def n_matches(text):
    return cep.match(EVENTS, text, time="ts", type="kind").num_rows


def deepest(text):
    schema = schema_of(EVENTS.schema, time="ts", type="kind")
    return compile_plan(build(bind(parse(text), schema, text=text)))


# --- no condition is too deep -------------------------------------------------------------------------


def test_distances_within_distances():
    nested = "distance(a.x, a.f + b.f, a.x, " * 95 + "b.f" + ")" * 95
    query = f"PATTERN SEQ(A a, B b) WHERE {nested} %s WITHIN 1 h"
    # Each distance is that of (x, f + f) and (x, inner): |1 - inner| for the first pair, |7 - inner| for the second.
    assert n_matches(query % "= 0") == n_matches(query % "IS NOT NULL") - n_matches(query % "> 0")
    assert n_matches(query % "IS NOT NULL") == 2


@pytest.mark.parametrize("policy", ["next", "any", "strict"])
def test_loops_over_loops_are_loops(policy):
    nested = "(" * 40 + "SEQ(A a, B b)" + ")+" * 40
    assert len(deepest(f"PATTERN {nested} WITHIN 1 h POLICY {policy}").automaton.states) <= 3
    assert (
        n_matches(f"PATTERN SEQ({nested}, C c) WITHIN 1 h POLICY {policy}")
        == {"next": 2, "any": 5, "strict": 2}[policy]
    )


def test_many_operands_of_one_call():
    texts = ", ".join(f"max(concat(b.s, '{number}'))" for number in range(600))
    query = f"PATTERN SEQ(A a, B+ b, C c) WHERE length(concat(a.s, {texts})) %s WITHIN 1 h"
    length = 1 + sum(1 + len(str(number)) for number in range(600))
    assert n_matches(query % f"= {length}") == 2
    assert n_matches(query % f"<> {length}") == 0


def test_long_lists_are_not_deep():
    for operator in ("AND", "OR"):
        parts = f" {operator} ".join(f"a.x + b.x > {-number}" for number in range(1000))
        assert n_matches(f"PATTERN SEQ(A a, B b) WHERE {parts} WITHIN 1 h") == 2
    options = ", ".join(str(number) for number in range(9, 3000))
    assert n_matches(f"PATTERN SEQ(A a, B b) WHERE a.x + b.x IN ({options}) WITHIN 1 h") == 1


@pytest.mark.parametrize(
    ("condition", "depth"),
    [
        ("a.x < b.x", 1),
        ("a.x + b.x < 3", 2),
        ("a.x + b.x < 3 OR a.x - b.x > 2", 3),
        ("distance(a.x, b.x, a.f, a.x + b.x) > 0", 5),
        ("NOT (least(a.x + b.x, 3, a.x * b.x) IS NULL)", 3),
        ("(a.x + b.x) * ((a.x + b.x) * ((a.x + b.x) * (a.x + b.x))) > 1", 5),
        ("length(concat(a.s, b.s)) > a.x", 2),
    ],
)
def test_the_depth_of_a_condition(condition, depth):
    compiled = deepest(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 1 h")
    assert compiled.plan[k.P_REGISTER_REALS] - compiled.plan[k.P_STACK_REALS] == depth


def test_a_plan_without_conditions_has_the_least_stack():
    assert stack_depth([], []) == 1


# --- what is limited says so ----------------------------------------------------------------------------


TOO_MANY = "at most 62 elements; this one counts as 63"


def sequence(n, kind="A v{0}"):
    return ", ".join(kind.format(number) for number in range(n))


def test_62_elements_run():
    assert n_matches(f"PATTERN OR({sequence(62)}) WITHIN 1 h POLICY any") == 124
    assert n_matches(f"PATTERN SEQ(A a, {sequence(60, 'NOT(C v{0})')}, B b) WITHIN 1 h") == 2
    assert n_matches(f"PATTERN SEQ(A a, {sequence(61, 'B? v{0}')}) WITHIN 1 h") == 2


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        (f"PATTERN SEQ({sequence(63)}) WITHIN 1 h", NotSupportedError, TOO_MANY),
        (f"PATTERN OR({sequence(63)}) WITHIN 1 h POLICY any", NotSupportedError, TOO_MANY),
        (
            f"PATTERN SEQ(A a, {sequence(61, 'NOT(C v{0})')}, B b) WITHIN 1 h",
            NotSupportedError,
            TOO_MANY,
        ),
        (f"PATTERN AND({sequence(16)}) WITHIN 1 h", NotSupportedError, "more than 20,000 states"),
        ("PATTERN (SEQ(A a, B b)){50000} WITHIN 1 h", NotSupportedError, "more than 20,000 states"),
        (
            f"PATTERN AND({', '.join(f'A+ v{n} UNTIL v{n}.x = 1' for n in range(18))}) WITHIN 1 h",
            NotSupportedError,
            "more than 250,000 steps",
        ),
        (
            f"PATTERN SEQ(A a, NOT AND({', '.join(f'A+ v{n} UNTIL v{n}.x = 1' for n in range(7))}), B b) WITHIN 1 h",
            NotSupportedError,
            "more than 6 loops with UNTIL that may come first under a NOT",
        ),
        (
            f"PATTERN SEQ({sequence(9, 'OR(A v{0}, B w{0})')}) WITHIN 1 h",
            NotSupportedError,
            "more than 256 combinations of the branches",
        ),
        ("PATTERN SEQ(A a, B{1000000000} b) WITHIN 1 h", QueryError, "no loop takes more than 999999999 elements"),
        ("PATTERN SEQ(A a, B{1,99999999999999999999} b) WITHIN 1 h", QueryError, "no loop takes more than 999999999"),
        ("PATTERN SEQ(A a, B b) WITHIN 9999999999 h", QueryError, "longer than 290,000 years"),
        ("PATTERN SEQ(A a, B b) WITHIN 9223372036854775808 EVENTS", QueryError, "longer than any time"),
        ("PATTERN SEQ(A a, B b) WINDOW 1000000000 s SLIDE 1 s", DataError, "more than a batch can hold"),
        ("PATTERN SEQ(A a, B b) WHERE " + "NOT " * 101 + "a.x < b.x WITHIN 1 h", QueryError, "than 100 levels deep"),
        (
            "PATTERN SEQ(A a, B b) WHERE a.x IN (" + ", ".join("1" for _ in range(100_001)) + ") WITHIN 1 h",
            QueryError,
            "more than 100000 parts",
        ),
    ],
)
def test_beyond_a_limit(query, error, message):
    with pytest.raises(CepheidError, match=message) as raised:
        n_matches(query)
    assert type(raised.value) is error
    assert raised.value.remedy
    assert len(str(raised.value)) < 1000
