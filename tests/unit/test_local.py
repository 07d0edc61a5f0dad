"""`cep.match` on tables as they come."""

from __future__ import annotations

import datetime as dt

import pandas
import pyarrow as pa
import pytest

import cepheid as cep

PAIRS = "SEQ(A a, B b) WITHIN 10 s RETURN a.v AS v, b.i AS i"


def test_a_column_of_nothing_but_null_can_be_returned():
    frame = pandas.DataFrame({"t": [1, 2], "kind": ["A", "B"], "i": [1, 2], "v": [None, None]})
    assert cep.match(frame, PAIRS, time="t", type="kind", time_unit="s").to_dict("list") == {"v": [None], "i": [2]}
    nothing = cep.match(frame[["t", "kind", "v"]][:0].assign(i=[]), PAIRS, time="t", type="kind", time_unit="s")
    assert list(nothing.columns) == ["v", "i"]


def test_an_empty_frame_without_types_has_no_matches():
    frame = pandas.DataFrame(columns=["t", "kind", "i", "v"])
    assert len(cep.match(frame, PAIRS, time="t", type="kind")) == 0


def test_times_that_are_null_are_rejected_in_any_unit():
    moments = pandas.to_datetime(["2024-01-01 10:00:00", None, "2024-01-01 10:00:01"])
    frame = pandas.DataFrame({"t": moments, "kind": ["A", "B", "B"], "i": [1, 2, 3], "v": [1, 2, 3]})
    with pytest.warns(UserWarning, match="1 of 3 events were rejected"):
        assert cep.match(frame, PAIRS, time="t", type="kind")["i"].tolist() == [3]


def test_default_columns_in_pandas_have_times():
    moment = pandas.Timestamp("2024-01-01 10:00")
    frame = pandas.DataFrame({"t": [moment, moment], "kind": ["A", "B"]})
    match = cep.match(frame, "SEQ(A a, B+ b) WITHIN 10 s", time="t", type="kind").iloc[0]
    assert match["a"]["t"] == moment
    assert match["b"][0]["t"] == moment


def test_run_end_encoded_columns():
    runs = pa.RunEndEncodedArray.from_arrays([2], [dt.date(2024, 1, 1)])
    table = pa.table({"t": [1, 2], "kind": ["A", "B"], "i": [1, 2], "v": runs})
    assert cep.match(table, PAIRS, time="t", type="kind", time_unit="s")["v"].to_pylist() == [dt.date(2024, 1, 1)]


def test_a_placeholder_for_a_time_is_near_to_no_other():
    # The least int64 stands for NULL in many systems; what lies between it and today does not fit int64.
    moments = pa.array([-(2**63), 1_700_000_000_000_000]).cast(pa.timestamp("us"))
    table = pa.table({"t": moments, "kind": ["A", "B"], "i": [1, 2], "v": [1, 2]})
    with pytest.warns(UserWarning, match="beyond the range of times"):
        assert len(cep.match(table, PAIRS + " POLICY any", time="t", type="kind")) == 0


def test_an_empty_pandas_table_may_have_types_of_any_type():
    import pandas as pd

    for dtype in ("object", "float64", "int64"):
        frame = pd.DataFrame({"ts": [], "kind": []}, dtype=dtype)
        assert len(cep.match(frame, "SEQ(A a, B b) WITHIN 5 s", time="ts", type="kind", time_unit="s")) == 0
