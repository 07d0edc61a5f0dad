"""Dictionary-encoded columns with NULL among the values of their dictionaries."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.dictionaries import unified, without_null_entries

QUERY = "SEQ(A a, B b) WHERE SAME[x] WITHIN 10 s"
TS = pa.array([0, 1], pa.timestamp("s"))


def encoded(indices: list[int | None], values: list[Any], arrow: Any = None) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), pa.array(values, arrow or pa.string()))


WITH_NULL, WITHOUT = encoded([0], ["a", None]), encoded([0], ["a", "b"])


@pytest.mark.parametrize("arrow", [pa.string(), pa.large_string(), pa.int64()])
def test_values_and_types_stay(arrow):
    values = ["1", None, "2"] if arrow != pa.int64() else [1, None, 2]
    array = encoded([2, 1, None, 0], values, arrow)
    mended = without_null_entries(array)
    assert mended.type == array.type
    assert mended.to_pylist() == array.to_pylist()
    assert mended.dictionary.null_count == 0
    assert without_null_entries(mended) is mended
    chunked = pa.chunked_array([array, array.slice(1)])
    assert unified(chunked).to_pylist() == chunked.to_pylist()


def test_dictionaries_inside_structs_and_lists():
    inner = encoded([0, 1, 2], ["a", None, "b"])
    struct = pa.StructArray.from_arrays([inner], names=["f"], mask=pa.array([False, False, True]))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 1, 3], pa.int32()), inner, mask=pa.array([False, True, False]))
    for array in (struct, struct.slice(1), lists, lists.slice(1)):
        other = pa.nulls(1, array.type)
        found = unified(pa.chunked_array([array, other]))
        assert found.type == array.type
        assert found.to_pylist() == [*array.to_pylist(), None]


def test_a_table_without_them_is_itself():
    table = pa.table({"x": WITHOUT, "y": [1]})
    assert without_null_entries(table) is table


def test_they_are_matched_however_they_come():
    kinds = ["A", "B"]
    whole = pa.table({"ts": TS, "kind": kinds, "x": pa.chunked_array([WITH_NULL, WITHOUT])})
    assert len(cep.match(whole, QUERY, time="ts", type="kind")) == 1
    tables = {"A": pa.table({"ts": TS[:1], "x": WITH_NULL}), "B": pa.table({"ts": TS[1:], "x": WITHOUT})}
    assert len(cep.match(tables, QUERY, time="ts")) == 1
    matcher = cep.Matcher(QUERY, time="ts", type="kind", slack="1 s")
    for at in (0, 1):
        matcher.push(pa.table({"ts": TS[at : at + 1], "kind": kinds[at : at + 1], "x": WITH_NULL}))
    assert len(matcher.close()) == 1
