"""CSV files: values and types, and bad rows told with their place."""

import gzip
import zipfile

import pyarrow as pa
import pytest

from cepheid.connectors.column_types import column_type
from cepheid.connectors.csv_files import CsvOptions, read_csv
from cepheid.connectors.rejected import N_RAW_MAX, Rejections
from cepheid.errors import DataError, SchemaError, SetupError


def read(tmp_path, data, declared=None, options=None, only=None, name="events.csv"):
    path = tmp_path / name
    path.write_bytes(data)
    rejections = Rejections()
    declared = {k: column_type(v) if isinstance(v, str) else v for k, v in (declared or {}).items()}
    table, _ = read_csv(path, declared, options or CsvOptions(), rejections, only)
    return table, [row[1:] for row in rejections.rows]


def test_types_are_inferred_over_the_whole_file(tmp_path):
    rows = b"".join(b"%d,2019-01-01 00:00:%02d,x\n" % (i, i % 60) for i in range(200_000)) + b"1.5,2019-01-01,\n"
    table, rejected = read(tmp_path, b"a,t,s\n" + rows)
    assert table.schema.field("a").type == pa.float64()
    assert pa.types.is_timestamp(table.schema.field("t").type)
    assert table["s"].null_count == 1
    assert len(table) == 200_001
    assert rejected == []


def test_an_unquoted_empty_value_is_null_and_a_quoted_one_is_empty(tmp_path):
    table, _ = read(tmp_path, b'a,b\nNA,\n,""\n', {"b": "text"})
    assert table.to_pydict() == {"a": ["NA", None], "b": [None, ""]}


def test_rows_of_the_wrong_length_are_rejected_with_their_line(tmp_path):
    table, rejected = read(tmp_path, b'a,b\n1,2\n\n3\n4,"x\ny"\n5,6,7\n8,9\n')
    assert table.to_pydict() == {"a": [1, 4, 8], "b": ["2", "x\ny", "9"]}
    assert rejected == [
        (4, None, "the number of fields is 1, not 2", "3"),
        (7, None, "the number of fields is 3, not 2", "5,6,7"),
    ]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_lines_are_counted_whatever_ends_them(tmp_path, newline):
    table, rejected = read(tmp_path, newline.join([b"a,b", b"1,2", b"", b"x,3", b"4", b"5,6"]), {"a": "int"})
    assert table.to_pydict() == {"a": [1, 5], "b": [2, 6]}
    assert [(line, column) for line, column, _, _ in rejected] == [(4, "a"), (5, None)]


def test_values_of_the_wrong_type_are_rejected_once_a_row(tmp_path):
    declared = {"i": "int", "f": "float", "b": "bool", "d": "decimal(5, 2)", "t": "timestamp"}
    good = b"1,1.5,true,1.25,2019-01-01T10:00:00\n"
    bad = [b"x,y,true,1,2019-01-01\n", b"1,one,true,1,2019-01-01\n", b"1,1,maybe,1,2019-01-01\n"]
    bad += [b"1,1,true,1.255,2019-01-01\n", b"1,1,true,1,2019-02-30\n"]
    table, rejected = read(tmp_path, b"i,f,b,d,t\n" + good + b"".join(bad) + good, declared)
    assert len(table) == 2
    assert [str(t) for t in table.schema.types] == ["int64", "double", "bool", "decimal128(5, 2)", "timestamp[us]"]
    assert [(line, column, reason) for line, column, reason, _ in rejected] == [
        (3, "i", "not an int"),
        (4, "f", "not a float"),
        (5, "b", "not a bool"),
        (6, "d", "not a decimal(5, 2)"),
        (7, "t", "not an ISO 8601 time"),
    ]
    assert rejected[0][3] == "x,y,true,1,2019-01-01"


def test_times_with_and_without_zones_and_of_many_digits_meet_in_utc(tmp_path):
    data = b"t\n2019-01-01 10:00\n2019-01-01T12:00:00+02:00\n2019-01-01T10:00:00.0000005Z\n"
    table, rejected = read(tmp_path, data, {"t": "timestamp"})
    assert table.schema.field("t").type == pa.timestamp("ns", "UTC")
    assert table["t"].cast(pa.int64()).to_pylist() == [1546336800_000000000, 1546336800_000000000, 1546336800_000000500]
    assert rejected == []


def test_a_time_format_is_kept_to(tmp_path):
    table, rejected = read(
        tmp_path, b"t\n20190228\n20190231\n2019\n", {"t": column_type("timestamp", pattern="%Y%m%d")}
    )
    assert table["t"].cast(pa.int64()).to_pylist() == [1551312000_000000]
    assert [line for line, *_ in rejected] == [3, 4]


def test_numbers_where_times_are_declared_are_a_fault_of_the_job(tmp_path):
    with pytest.raises(SchemaError, match="holds numbers, not times") as caught:
        read(tmp_path, b"t\n1546336800\n", {"t": "timestamp"})
    assert "time_unit" in caught.value.remedy


def test_a_file_of_bad_rows_alone_gives_no_event(tmp_path):
    table, rejected = read(tmp_path, b"a,b\n1\n2\n3\n", {"a": "int"})
    assert len(table) == 0
    assert table.column_names == ["a", "b"]
    assert len(rejected) == 3


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_header_line_has_no_columns(tmp_path, data):
    table, rejected = read(tmp_path, data, {"a": "int"})
    assert table.num_columns == 0
    assert rejected == []


def test_a_header_alone_keeps_declared_types(tmp_path):
    table, _ = read(tmp_path, b"a,t,s\n", {"a": "int", "t": "timestamp"})
    assert table.schema.field("a").type == pa.int64()
    assert table.schema.field("t").type == pa.timestamp("us")


def test_a_quote_that_never_closes_takes_its_row_and_is_told(tmp_path):
    table, rejected = read(tmp_path, b'a,b\n1,2\n3,"4\n5,6\n')
    assert table["a"].to_pylist() == [1]
    assert rejected == [(3, None, "a quoted value begins here and never ends", '3,"4\n5,6')]


def test_a_quote_inside_a_value_is_a_character(tmp_path):
    table, rejected = read(tmp_path, b'a,b\n1,5" pipe\n2,x\n')
    assert table["b"].to_pylist() == ['5" pipe', "x"]
    assert rejected == []


def test_bytes_that_are_not_text_reject_their_row(tmp_path):
    table, rejected = read(tmp_path, b"a,b\n1,\xff2\n3,4\n", {"a": "int"})
    assert table.to_pydict() == {"a": [3], "b": ["4"]}
    assert [row[:3] for row in rejected] == [(2, "b", "not UTF-8 text")]


def test_the_text_of_a_rejected_row_is_cut(tmp_path):
    _, rejected = read(tmp_path, b"a,b\n" + b"x" * 1_000_000 + b"\n1,2\n")
    assert rejected[0][3] == "x" * N_RAW_MAX


def test_columns_that_nobody_asks_for_are_not_read(tmp_path):
    table, _ = read(tmp_path, b"a,b,c\n1,2,3\n", {"c": "int"}, only=["a"])
    assert table.column_names == ["a", "c"]


def test_delimiter_null_names_and_encoding_are_as_stated(tmp_path):
    options = CsvOptions(delimiter=";", header=False, names=("who", "n"), null=("", "NA"), encoding="latin-1")
    table, rejected = read(tmp_path, "Zoë;1\nNA;NA\n'x;2\n".encode("latin-1"), {"n": "int"}, options)
    assert table.to_pydict() == {"who": ["Zoë", None, "'x"], "n": [1, None, 2]}
    assert rejected == []


@pytest.mark.parametrize(
    ("data", "declared", "message"),
    [
        (b"a,a\n1,2\n", {}, "two columns named 'a'"),
        (b"a,b\n1,2\n", {"c": "int"}, "no column 'c'"),
    ],
)
def test_columns_that_do_not_fit(tmp_path, data, declared, message):
    with pytest.raises(SchemaError, match=message):
        read(tmp_path, data, declared)


def test_files_that_are_something_else(tmp_path):
    with pytest.raises(DataError, match="header that is not utf-8 text"):
        read(tmp_path, b"a,\xff\n1,2\n")
    with pytest.raises(DataError, match="zero byte"):
        read(tmp_path, bytes(range(256)))
    with pytest.raises(DataError, match="cannot be unpacked"):
        read(tmp_path, b"a,b\n1,2\n", name="events.csv.gz")
    with pytest.raises(DataError, match="cannot be unpacked"):
        read(tmp_path, b"a,b\n1,2\n", name="events.csv.zip")
    with pytest.raises(DataError, match="cannot be unpacked"):
        read(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-9], name="cut.csv.gz")
    with pytest.raises(SetupError, match="cannot be read: No such file"):
        read_csv(tmp_path / "nothing.csv", {}, CsvOptions(), Rejections())


def test_packed_files_are_unpacked(tmp_path):
    data = b"a,b\n1,2\nx\n"
    assert read(tmp_path, gzip.compress(data), name="e.csv.gz")[0].to_pydict() == {"a": [1], "b": [2]}
    with zipfile.ZipFile(tmp_path / "e.csv.zip", "w") as archive:
        archive.writestr("e.csv", data)
    rejections = Rejections()
    table, n_bytes = read_csv(tmp_path / "e.csv.zip", {}, CsvOptions(), rejections)
    assert table.to_pydict() == {"a": [1], "b": [2]}
    assert n_bytes == len(data)
    assert len(rejections) == 1


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("utf-16", b"a,b\n1,2\n"),
        ("utf-32", b"a,b\n1,2\n"),
        ("utf-16", "a,b\n1,2\n".encode("utf-16") + b"\x00\xd8a"),
        ("cp1252", b"a,b\n1,\x81\n"),
    ],
)
def test_files_in_another_encoding_than_stated(tmp_path, encoding, data):
    with pytest.raises(DataError, match=f"events.csv is not {encoding} text") as caught:
        read(tmp_path, data, options=CsvOptions(encoding=encoding))
    assert "state its encoding" in caught.value.remedy


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("%Y-%m-%d %H%Z", ["2024-05-01 10Z", "2024-05-01 10UTC", "2024-05-01 10GMT"], ["2024-05-01 10CEST"]),
        ("%Y-%m-%d %H%z", ["2024-05-01 10Z", "2024-05-01 12+0200", "2024-05-01 12+02:00"], ["2024-02-31 10Z", "10"]),
        ("%%z %Y-%m-%d %H", ["%z 2024-05-01 10"], ["z 2024-05-01 10"]),
        ("%Y%Y", [], ["2024", "20232024"]),
    ],
)
def test_time_formats_with_a_zone(tmp_path, pattern, good, bad):
    lines = "".join(f"{text}\n" for text in ["t", *good, *bad])
    table, rejected = read(tmp_path, lines.encode(), {"t": column_type("timestamp", pattern=pattern)})
    assert table["t"].cast(pa.int64()).to_pylist() == [1714557600_000000] * len(good)
    assert len(rejected) == len(bad)
