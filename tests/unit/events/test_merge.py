import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from cepheid.errors import SchemaError
from cepheid.events.ingest import read_events
from cepheid.events.merge import read_tables
from cepheid.events.types import FLOAT, INT, TEXT

TXN = pa.table({"ts": [1, 3], "card": pa.array([1, 2], pa.int32()), "amount": [10.0, 20.0]})
UTC_NS, UTC_MS = pa.timestamp("ns", "UTC"), pa.timestamp("ms", "UTC")
NARROW, WIDE = pa.decimal128(5, 2), pa.decimal128(9, 2)
DENIED = pa.table({"ts": [2], "card": pa.array([1], pa.int64()), "why": ["limit"]})


def test_events_of_several_tables():
    table, schema = read_tables({"Txn": TXN, "Denied": DENIED}, time="ts", time_unit="s", type="kind")
    assert table.column_names == ["ts", "card", "amount", "why", "kind"]
    assert table["amount"].to_pylist() == [10.0, 20.0, None]
    assert table["why"].to_pylist() == [None, None, "limit"]
    assert schema.fields == {"ts": INT, "card": INT, "amount": FLOAT, "why": TEXT, "kind": TEXT}
    assert schema.per_type == {
        "Txn": {"ts": INT, "card": INT, "amount": FLOAT, "kind": TEXT},
        "Denied": {"ts": INT, "card": INT, "why": TEXT, "kind": TEXT},
    }
    assert schema.known_types == ("Txn", "Denied")
    batch = read_events(table, schema)
    assert [batch.type_names[c] for c in batch.type_codes] == ["Txn", "Denied", "Txn"]
    assert batch.column(("card",)).values.tolist() == [1, 1, 2]
    assert batch.rows.tolist() == [0, 2, 1]


def test_a_type_without_events_is_known():
    table, schema = read_tables({"Txn": TXN, "Denied": DENIED.slice(0, 0)}, time="ts", time_unit="s")
    assert schema.known_types == ("Txn", "Denied")
    assert len(read_events(table, schema)) == 2


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        (pa.array([1], pa.int8()), pa.array([2], pa.uint16()), pa.int64()),
        (pa.array([1.0], pa.float32()), pa.array([2.0]), pa.float64()),
        (pa.array(["a"]), pa.array(["b"]).dictionary_encode(), pa.large_string()),
        (pa.nulls(1), pa.array(["b"]), pa.string()),
        (
            pa.array([Decimal("1.5")], pa.decimal128(5, 2)),
            pa.array([Decimal("2.5")], pa.decimal128(9, 2)),
            pa.decimal128(9, 2),
        ),
        (pa.array([0], pa.timestamp("s")), pa.array([0], UTC_NS), UTC_NS),
        (
            pa.array([0], pa.timestamp("s", "Asia/Tokyo")),
            pa.array([0], pa.timestamp("ms", "UTC")),
            pa.timestamp("ms", "UTC"),
        ),
        (pa.array([0], pa.date32()), pa.array([0], pa.timestamp("us")), pa.timestamp("us")),
        (pa.array([0], pa.duration("s")), pa.array([0], pa.duration("us")), pa.duration("us")),
    ],
)
def test_types_that_can_be_brought_together(one, other, common):
    tables = {"A": pa.table({"ts": [1], "x": one}), "B": pa.table({"ts": [2], "x": other})}
    table, _ = read_tables(tables, time="ts", time_unit="s")
    assert table.schema.field("x").type == common
    # A time without a zone is read as UTC, here as everywhere.
    values = [column.to_pylist()[0] for column in (one, other)]
    if pa.types.is_timestamp(common):
        values = [dt.datetime.fromtimestamp(0, dt.UTC)] * 2
        assert [v.replace(tzinfo=v.tzinfo or dt.UTC).astimezone(dt.UTC) for v in table["x"].to_pylist()] == values
    else:
        assert table["x"].to_pylist() == values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([1]), pa.array([1.0])),
        (pa.array([1]), pa.array(["1"])),
        (pa.array([Decimal("1.5")], pa.decimal128(5, 1)), pa.array([Decimal("1.50")], pa.decimal128(5, 2))),
        (pa.array([[1]]), pa.array([["a"]])),
        (pa.array([{"a": 1}]), pa.array([{"a": "x"}])),
    ],
)
def test_types_that_clash(one, other):
    tables = {"A": pa.table({"ts": [1], "x": one}), "B": pa.table({"ts": [2], "x": other})}
    with pytest.raises(SchemaError, match=r"'x' is .* in the table of 'A' and .* in that of 'B'"):
        read_tables(tables, time="ts", time_unit="s")


def test_what_every_table_needs():
    with pytest.raises(SchemaError, match="there are no tables"):
        read_tables({}, time="ts")
    with pytest.raises(SchemaError, match="the table of 'B' has no column 'ts', named as time="):
        read_tables({"A": TXN, "B": pa.table({"t": [1]})}, time="ts", time_unit="s")
    with pytest.raises(SchemaError, match="the table of 'Denied' has no column 'amount', named as order="):
        read_tables({"Txn": TXN, "Denied": DENIED}, time="ts", time_unit="s", order=("amount",))
    with pytest.raises(SchemaError, match="the table of 'Denied' has a column 'why'"):
        read_tables({"Txn": TXN, "Denied": DENIED}, time="ts", time_unit="s", type="why")


@pytest.mark.parametrize("name", [None, 1])
def test_event_types_are_text(name):
    with pytest.raises(SchemaError, match=f"{name} cannot be the type of events"):
        read_tables({name: pa.table({"t": [1]})}, time="t", time_unit="s")
