"""RETURN over the matches of the oracle gives what the oracle returns."""

import math
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.engine.matches import Matches
from cepheid.engine.output import assemble
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.oracle import match, returned
from cepheid.testing.oracle_events import OracleEvent

ARROW = {
    "x": pa.int64(),
    "f": pa.float64(),
    "d": pa.decimal128(18, 2),
    "s": pa.string(),
}
VALUES = st.fixed_dictionaries(
    {
        "x": st.none() | st.sampled_from([0, 1, -1, 5, 2**62, 2**63 - 1, -(2**63)]),
        "f": st.none() | st.sampled_from([0.1, 0.2, -0.0, 1e16, -1e16, math.nan, math.inf, 1e308]),
        "d": st.none() | st.sampled_from([Decimal("0.01"), Decimal("-1.50"), Decimal("9999999999999999.00")]),
        "s": st.none() | st.sampled_from(["", "a", "B", "é", "\U0001f600", "\ue000"]),
    }
)
STREAMS = st.lists(st.tuples(st.sampled_from("ABCD"), st.integers(0, 1), VALUES), max_size=7)

PATTERNS = [
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a, B* b, C? c)",
    "OR(SEQ(A a, B* b), SEQ(C c, D* d))",
    "SEQ(A a, OR(SEQ(B b, C* c), D+ d))",
    "SEQ(A a, OR(B? b, C* c), D d)",
    "ANY(2, A a, B* b, SEQ(C c, D? d))",
    "SEQ(A a, (SEQ(B b, C? c))*, D d)",
    "(OR(SEQ(A a, B* b), SEQ(C c, D* d)))+",
    "AND(A a, B+ b)",
    "OR(SEQ(A a, B b), SEQ(A a, C* c))",
    "SEQ(A a, (OR(SEQ(B b, C* c), D* d))?, A e)",
    "SEQ(A, B+ b)",
]


def columns_of(bound):
    """RETURN's items for every named variable."""
    items = []
    for name, variable in bound.variables.items():
        if variable.hidden:
            continue
        for function in ("sum", "avg", "min", "max", "count"):
            items += [
                f"{function}({name}.{attribute}) AS {name}_{function}_{attribute}" for attribute in ("x", "f", "d")
            ]
        items += [f"min({name}.s) AS {name}_min_s", f"max({name}.s) AS {name}_max_s", f"count({name}) AS n_{name}"]
        items += [f"first({name}).x AS {name}_first", f"last({name}).s AS {name}_last"]
        items += [
            f"coalesce(sum({name}.x), -7) AS {name}_filled",
            f"count({name}) > 0 OR first({name}).x > 1 AS {name}_or",
        ]
        items += [f"{name}.x AS {name}_x", f"{name}.s AS {name}_s"]
        items += [f"sum({name}.x * 2 + length({name}.s)) AS {name}_computed"]
        if not variable.loop:
            items += [f"{name}.x + 1 AS {name}_plus", f"{name}.s IS NULL AS {name}_null"]
    return items


@cache
def bound_query(pattern):
    columns = {"ts": pa.timestamp("us"), "kind": pa.string(), **ARROW}
    schema = schema_of(pa.schema(columns.items()), time="ts", type="kind")
    plain = f"PATTERN {pattern} WITHIN 1 h POLICY any"
    return bind(parse(f"{plain} RETURN {', '.join(columns_of(bind(parse(plain), schema)))}"), schema)


def same(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=40, deadline=None)
@given(stream=STREAMS)
def test_returned_as_the_oracle_returns(pattern, stream):
    time = 0
    events = []
    for row, (kind, step, values) in enumerate(stream):
        time += step
        events.append(OracleEvent(time * 1_000_000, (row,), "", kind, values))
    table = pa.table(
        {
            "ts": pa.array([e.time for e in events], pa.timestamp("us")),
            "kind": pa.array([e.type for e in events], pa.string()),
            **{name: pa.array([e.values[name] for e in events], arrow) for name, arrow in ARROW.items()},
        }
    )
    bound = bound_query(pattern)
    found = match(bound, events).matches
    names = list(bound.variables)
    flat = [(event.order[0], names.index(name)) for one in found for name, event in one.bindings]
    matches = Matches(
        offsets=np.cumsum([0, *(len(one.bindings) for one in found)]),
        positions=np.array([position for position, _ in flat], np.int64),
        variables=np.array([variable for _, variable in flat], np.int16),
        decided_us=np.zeros(len(found), np.int64),
    )
    batch = read_events(table, bound.schema)
    assert batch.rows is None
    rows = assemble(bound, batch, matches).to_pylist()
    assert len(rows) == len(found)
    for row, one in zip(rows, found, strict=True):
        for column, expected in returned(bound, one).items():
            assert same(row[column], expected), (column, row[column], expected, one)
