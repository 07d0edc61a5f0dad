"""Events of one time come in the order of all their values, however the rows came."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.events.ingest import read_events, schema_of
from cepheid.spark.ordering import by_all_columns

ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from([1, 2, None, -(2**63), 2**63 - 1]),
        st.sampled_from([0.0, -0.0, 1.5, -1.5, math.nan, math.inf, None]),
        st.sampled_from(["a", "ä", "b", "", None]),
        st.sampled_from([True, False]),
        st.sampled_from([None, [], [1], [1, 2]]),
    ),
    max_size=20,
)


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    kinds = [pa.int64(), pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.list_(pa.int32())]
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    return pa.table([pa.array(c, t) for c, t in zip(columns, kinds, strict=True)], names=list("tifsbl"))


def values_in_order(table: pa.Table, keys: tuple[str, ...] = ()) -> tuple[list[Any], int]:
    schema = schema_of(table, time="t", time_unit="ms")
    ordered = by_all_columns(read_events(table, schema), keys)
    batch = ordered.batch
    got = batch.table.take(pa.array(batch.rows_of(np.arange(len(batch))))).to_pylist()
    assert [row["t"] * 1000 for row in got] == batch.time_us.tolist()
    return got, ordered.n_tied


def sort_key(row: dict[str, Any], names: str) -> tuple[Any, ...]:
    def one(value: Any) -> Any:
        if value is None:
            return (0, 0)
        if isinstance(value, float):
            return (1, 1, 0.0) if math.isnan(value) else (1, 0, value + 0.0)
        if isinstance(value, str):
            return (1, value.encode())
        return (1, value)

    return tuple(one(row[name]) for name in names)


@given(ROWS, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_order_is_that_of_the_values(rows: list[tuple[Any, ...]], random: Any):
    # Lists have an order of their own that only has to be the same for every order of the rows: repr is left out here.
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, n_tied = values_in_order(table_of(rows))
    other, _ = values_in_order(table_of(shuffled))
    # A zero may stand for the other where all else is equal.
    assert [repr(r).replace("-0.0", "0.0") for r in one] == [repr(r).replace("-0.0", "0.0") for r in other]
    assert [sort_key(r, "tifsb") for r in one] == sorted(sort_key(r, "tifsb") for r in one)
    times = [r["t"] for r in one]
    assert n_tied == sum(times.count(t) > 1 for t in times)


@given(ROWS)
@settings(max_examples=100)
def test_keys_come_first_and_tell_which_ties_matter(rows: list[tuple[Any, ...]]):
    got, n_tied = values_in_order(table_of(rows), keys=("s",))
    assert [sort_key(r, "tsifb") for r in got] == sorted(sort_key(r, "tsifb") for r in got)
    pairs = [(r["t"], r["s"]) for r in got]
    assert n_tied == sum(pairs.count(p) > 1 for p in pairs)
