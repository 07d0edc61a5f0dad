import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import SchemaError
from cepheid.events.ingest import read_events, schema_of
from cepheid.events.types import BOOL, FLOAT, INT, NULL, OTHER, TEXT, TIMESTAMP, Kind, decimal, list_of, struct


def events(**columns):
    return pa.table(columns)


def test_schema_of_arrow_types():
    table = pa.table(
        {
            "t": pa.array([0], pa.timestamp("ns", "Europe/Paris")),
            "day": pa.array([0], pa.date32()),
            "i8": pa.array([0], pa.int8()),
            "u64": pa.array([0], pa.uint64()),
            "f32": pa.array([0], pa.float32()),
            "b": [True],
            "d": pa.array([0], pa.decimal128(12, 3)),
            "s": pa.array(["x"], pa.large_string()),
            "v": pa.array(["x"], pa.string_view()),
            "c": pa.array(["x"]).dictionary_encode(),
            "l": [["x"]],
            "o": [{"a": 1, "in": {"z": "x"}}],
            "bin": [b"x"],
            "clock": pa.array([0], pa.time64("us")),
            "n": [None],
            "gap": pa.array([0], pa.duration("ms")),
        }
    )
    schema = schema_of(table, time="t", type="s", order=("i8", "v"), types=("x",))
    assert schema.fields == {
        "t": TIMESTAMP,
        "day": TIMESTAMP,
        "i8": INT,
        "u64": INT,
        "f32": FLOAT,
        "b": BOOL,
        "d": decimal(12, 3),
        "s": TEXT,
        "v": TEXT,
        "c": TEXT,
        "l": list_of(TEXT),
        "o": struct(**{"a": INT, "in": struct(z=TEXT)}),
        "bin": OTHER,
        "clock": OTHER,
        "n": NULL,
        "gap": schema.fields["gap"],
    }
    assert schema.fields["gap"].kind is Kind.DURATION
    assert (schema.types, schema.order, schema.type) == (("x",), ("i8", "v"), "s")
    assert schema_of(table.schema, time="t").fields == schema.fields


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"time": "nope"}, "no column 'nope', named as time="),
        ({"time": "n"}, "nothing says in which unit"),
        ({"time": "n", "time_unit": "weeks"}, "'weeks' is not a unit of time"),
        ({"time": "l"}, "cannot be the time of events"),
        ({"time": "t", "type": "n"}, "cannot be the type of events"),
        ({"time": "t", "type": "kind"}, "no column 'kind', named as type="),
        ({"time": "t", "order": ("l",)}, "cannot be part of the order key"),
    ],
)
def test_schema_errors_name_the_column(arguments, said):
    table = events(t=pa.array([0], pa.timestamp("us")), n=[1], l=[[1]])
    with pytest.raises(SchemaError, match=said):
        schema_of(table, **arguments)


def test_two_columns_of_one_name():
    table = pa.table([[1], [2]], names=["t", "t"])
    with pytest.raises(SchemaError, match="several columns of the name 't'"):
        schema_of(table, time="t", time_unit="s")


def test_in_order_already_nothing_is_copied():
    times = pa.array([1, 2, 2, 5], pa.int64())
    table = events(ts=times, kind=["A", "B", "A", "C"], x=[10, 20, 30, 40])
    batch = read_events(table, schema_of(table, time="ts", time_unit="us", type="kind"))
    assert batch.rows is None
    assert batch.time_us.tolist() == [1, 2, 2, 5]
    assert not batch.time_us.flags.owndata
    assert [batch.type_names[c] for c in batch.type_codes] == ["A", "B", "A", "C"]
    assert batch.type_codes.dtype == np.int32
    assert batch.column(("x",)).values.tolist() == [10, 20, 30, 40]
    assert len(batch.rejected) == 0


def test_sorted_by_time_and_ties_by_row():
    table = events(ts=[3, 1, 3, 2, 1], x=[0, 1, 2, 3, 4])
    batch = read_events(table, schema_of(table, time="ts", time_unit="s"))
    assert batch.rows.tolist() == [1, 4, 3, 0, 2]
    assert batch.time_us.tolist() == [10**6, 10**6, 2 * 10**6, 3 * 10**6, 3 * 10**6]
    assert batch.column(("x",)).values.tolist() == [1, 4, 3, 0, 2]
    assert batch.type_codes is None
    assert batch.arrow(("x",)).to_pylist() == [1, 4, 3, 0, 2]
    assert batch.arrow(("x",), np.array([0, -1, 4])).to_pylist() == [1, None, 2]


def test_order_key_decides_ties_nulls_first_text_by_bytes():
    table = events(ts=[1, 1, 1, 1, 0], a=[2, 1, 1, None, 9], b=["x", "é", "z", "x", "x"])
    batch = read_events(table, schema_of(table, time="ts", time_unit="s", order=("a", "b")))
    assert batch.rows.tolist() == [4, 3, 2, 1, 0]


def test_order_key_of_floats_nan_last():
    table = events(ts=[1, 1, 1, 1], a=[float("nan"), 1.0, -0.0, 0.0])
    batch = read_events(table, schema_of(table, time="ts", time_unit="s", order=("a",)))
    assert batch.rows.tolist() == [2, 3, 1, 0]
    ordered = table.take(pa.array([2, 3, 1, 0]))
    assert read_events(ordered, schema_of(ordered, time="ts", time_unit="s", order=("a",))).rows is None


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-2, 2) | st.none()), max_size=30), st.booleans())
def test_order_is_that_of_sorted(rows, wide):
    scale = 10**17 if wide else 1
    table = pa.table(
        {"ts": pa.array([t * scale for t, _ in rows], pa.int64()), "k": pa.array([k for _, k in rows], pa.int8())}
    )
    plain = read_events(table, schema_of(table, time="ts", time_unit="us"))
    expected = sorted(range(len(rows)), key=lambda i: rows[i][0])
    assert (list(range(len(rows))) if plain.rows is None else plain.rows.tolist()) == expected
    keyed = read_events(table, schema_of(table, time="ts", time_unit="us", order=("k",)))
    expected = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][1] is not None, rows[i][1] or 0))
    assert (list(range(len(rows))) if keyed.rows is None else keyed.rows.tolist()) == expected
    assert (keyed.rows is None) == (expected == list(range(len(rows))))


def test_rows_without_time_or_type_are_rejected_and_counted():
    table = events(
        ts=["2024-01-01", None, "soon", "2024-01-01T00:00:01Z", "2023-12-31 23:59"],
        kind=["A", None, "B", None, "C"],
    )
    batch = read_events(table, schema_of(table, time="ts", type="kind"))
    assert batch.rows.tolist() == [4, 0]
    assert [batch.type_names[c] for c in batch.type_codes] == ["C", "A"]
    assert batch.rejected.table().to_pylist() == [
        {"row": 1, "column": "ts", "reason": "the time is NULL"},
        {"row": 2, "column": "ts", "reason": "the time 'soon' is not an ISO time"},
        {"row": 3, "column": "kind", "reason": "the type is NULL"},
    ]
    assert batch.rejected.counts == {"ts": 2, "kind": 1}


def test_all_rejected_and_empty():
    table = events(ts=pa.array([None, None], pa.timestamp("us")), x=[1, 2])
    batch = read_events(table, schema_of(table, time="ts"))
    assert (len(batch), len(batch.rejected)) == (0, 2)
    assert len(batch.column(("x",))) == 0
    empty = read_events(table.slice(0, 0), schema_of(table, time="ts"))
    assert len(empty) == 0
    assert empty.arrow(("x",)).to_pylist() == []


def test_nested_fields_by_path():
    table = events(
        ts=[1, 0, 2],
        place=[{"city": "Oslo", "at": {"lat": 1.5}}, None, {"city": None, "at": None}],
    )
    batch = read_events(table, schema_of(table, time="ts", time_unit="s"))
    city = batch.column(("place", "city"))
    assert city.valid.tolist() == [False, True, False]
    assert city.dictionary[city.values[1]].as_py() == "Oslo"
    lat = batch.column(("place", "at", "lat"))
    assert (lat.values.tolist(), lat.valid.tolist()) == ([0.0, 1.5, 0.0], [False, True, False])
    assert batch.column(("place", "at", "lat")) is lat
    assert batch.column(("place",)).values.to_pylist()[0] is None
    with pytest.raises(SchemaError, match=r"'place\.at' has no field 'lon'"):
        batch.column(("place", "at", "lon"))
    with pytest.raises(SchemaError, match="no column 'plaice'"):
        batch.column(("plaice",))


def test_type_column_in_every_text_form():
    kinds = ["A", "B", "A", None, "C"]
    forms = [
        pa.array(kinds),
        pa.array(kinds, pa.large_string()),
        pa.array(kinds, pa.string_view()),
        pa.array(kinds).dictionary_encode(),
        pa.chunked_array([pa.array(kinds[:2]).dictionary_encode(), pa.array(kinds[2:]).dictionary_encode()]),
        pa.chunked_array([kinds[:1], [], kinds[1:]]),
    ]
    for form in forms:
        table = pa.table({"ts": [1, 2, 3, 4, 5], "kind": form})
        batch = read_events(table, schema_of(table, time="ts", time_unit="s", type="kind"))
        assert [batch.type_names[c] for c in batch.type_codes] == ["A", "B", "A", "C"]
        assert batch.rejected.rows.tolist() == [3]


def test_missing_columns_when_reading():
    table = events(ts=[1], kind=["A"])
    schema = schema_of(table, time="ts", time_unit="s", type="kind")
    with pytest.raises(SchemaError, match="no column 'kind'"):
        read_events(table.drop_columns(["kind"]), schema)
    with pytest.raises(SchemaError, match="cannot be the type of events"):
        read_events(table.set_column(1, "kind", [[1]]), schema)


def test_nanoseconds_are_floored_and_counted():
    table = events(
        ts=pa.array([-1, 1_000, 1_999], pa.timestamp("ns")), other=pa.array([5, None, 2_000], pa.timestamp("ns"))
    )
    batch = read_events(table, schema_of(table, time="ts"))
    assert batch.time_us.tolist() == [-1, 1, 1]
    assert batch.n_floored == {"ts": 2}
    assert batch.column(("other",)).values.tolist() == [0, 0, 2]
    assert batch.n_floored == {"ts": 2, "other": 1}


def test_dates_are_midnights():
    days = [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]
    for arrow in (pa.date32(), pa.date64()):
        table = events(day=pa.array(days, arrow))
        batch = read_events(table, schema_of(table, time="day"))
        assert batch.time_us.tolist() == [-86_400_000_000, 19_782 * 86_400_000_000]


@pytest.mark.parametrize("roles", [{"time": None}, {"time": 0}, {"time": "t", "type": 0}, {"time": "t", "order": (0,)}])
def test_roles_name_columns_by_text(roles):
    with pytest.raises(SchemaError, match=r"= names a column by its text"):
        schema_of(pa.table({"t": [1]}), time_unit="s", **roles)


@pytest.mark.parametrize(
    "arrow", [pa.int16(), pa.uint32(), pa.uint64(), pa.float32(), pa.string(), pa.decimal128(21, 2)]
)
@pytest.mark.parametrize("nulls", [False, True])
def test_a_column_of_some_events(arrow, nulls):
    values = pa.array([1, None if nulls else 2, 3, 4]).cast(arrow)
    table = events(ts=[1, 2, 3, 4], x=values)
    schema = schema_of(table, time="ts", time_unit="s")
    some = read_events(table, schema).column_at(("x",), np.array([1, 3]))
    expected = read_events(table, schema).column(("x",)).take(np.array([1, 3]))
    assert some.values.tolist() == expected.values.tolist()
    assert some.values.dtype == expected.values.dtype
    assert (some.type, some.is_valid().tolist()) == (expected.type, expected.is_valid().tolist())
    assert read_events(table, schema).may_be_null(("x",)) or not nulls


def test_a_deep_type_is_put_into_words_up_to_some_depth():
    deep = INT
    for _ in range(900):
        deep = struct(a=list_of(deep))
    assert str(deep).count("list of") == 10
    assert "..." in str(deep)
    assert str(list_of(struct(a=decimal(9, 2), b=TEXT))) == "list of struct(a: decimal(9, 2), b: text)"
