"""CSV files whose bytes come from elsewhere: read as those that lie here; one that cannot be is rejected whole."""

from __future__ import annotations

import gzip
import pickle
from datetime import UTC, datetime

import pyarrow as pa

from cepheid.connectors.column_types import column_type
from cepheid.connectors.csv_files import CsvOptions
from cepheid.connectors.whole_files import CsvBytes

COLUMNS = {"ts": column_type("timestamp"), "card": column_type("text"), "amount": column_type("float")}


def test_rows_columns_in_any_order_and_faults_by_their_lines():
    read = pickle.loads(pickle.dumps(CsvBytes(COLUMNS)))
    content = b"card,other,amount,ts\n007,x,1.5,2024-05-01T10:00:00Z\nc2,x,many,2024-05-01\nc3,x\n"
    table, rejected = read("file:/in/a.csv", content)
    assert table.select(["card", "amount"]).to_pylist() == [{"card": "007", "amount": 1.5}]
    assert table["ts"].cast(pa.timestamp("us", "UTC")).to_pylist() == [datetime(2024, 5, 1, 10, tzinfo=UTC)]
    told = [(r["file"], r["line"], r["column"], r["reason"], r["raw"]) for r in rejected.to_pylist()]
    assert told == [
        ("file:/in/a.csv", 3, "amount", "not a float", "c2,x,many,2024-05-01"),
        ("file:/in/a.csv", 4, None, "the number of fields is 2, not 4", "c3,x"),
    ]


def test_a_file_that_cannot_be_read_is_rejected_as_a_whole():
    read = CsvBytes(COLUMNS)
    table, rejected = read("s3://b/drifted.csv", b"card,sum,ts\nc1,5,2024-05-01\n")
    assert table is None
    (row,) = rejected.to_pylist()
    assert (row["file"], row["line"]) == ("s3://b/drifted.csv", None)
    assert row["reason"] == "the file has no column 'amount', which is declared; its columns are: card, sum, ts"
    table, rejected = read("in/broken.csv.gz", b"no gzip")
    assert (table, rejected.num_rows) == (None, 1)
    table, rejected = read("in/empty.csv", b"")
    assert (table.num_rows, rejected.num_rows) == (0, 0)


def test_how_files_are_written():
    packed = gzip.compress(b"c1;?;2024-05-01\n")
    options = CsvOptions(delimiter=";", header=False, names=("card", "amount", "ts"), null=("?",))
    table, rejected = CsvBytes(COLUMNS, options)("in/a.csv.gz", packed)
    assert table.select(["card", "amount"]).to_pylist() == [{"card": "c1", "amount": None}]
    assert rejected.num_rows == 0
