"""JSON lines: values and types, and bad lines told with their place."""

import gzip

import pyarrow as pa
import pytest

from cepheid.connectors.column_types import column_type
from cepheid.connectors.json_lines import read_json_lines
from cepheid.connectors.rejected import Rejections
from cepheid.errors import DataError, SchemaError


def read(tmp_path, data, declared=None, only=None, name="events.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    rejections = Rejections()
    declared = {k: column_type(v) for k, v in (declared or {}).items()}
    table, _ = read_json_lines(path, declared, rejections, only)
    return table, [row[1:] for row in rejections.rows]


def test_good_lines(tmp_path):
    table, rejected = read(tmp_path, b'{"a":1}\n\n{"a":2.5,"b":"x"}\n{"c":{"d":[1]}}')
    assert table.to_pylist() == [
        {"a": 1.0, "b": None, "c": None},
        {"a": 2.5, "b": "x", "c": None},
        {"a": None, "b": None, "c": {"d": [1]}},
    ]
    assert rejected == []


def test_a_truncated_last_line_is_rejected(tmp_path):
    table, rejected = read(tmp_path, b'{"a":1}\n{"a":')
    assert table["a"].to_pylist() == [1]
    assert rejected[0][0] == 2
    assert rejected[0][2].startswith("not JSON: ")
    assert rejected[0][3] == '{"a":'


@pytest.mark.parametrize("line", [b"[1]", b"3", b'"x"'])
def test_lines_that_are_no_object_are_rejected(tmp_path, line):
    table, rejected = read(tmp_path, b'{"a":1}\n' + line + b'\n{"a":2}\n')
    assert table["a"].to_pylist() == [1, 2]
    assert rejected[0][0] == 2
    assert "not a JSON object" in rejected[0][2]


def test_values_of_another_type_are_rejected(tmp_path):
    table, rejected = read(tmp_path, b'{"a":1}\n{"a":"x"}\n{"a":2.5}\n{"a":null}\n')
    assert table["a"].to_pylist() == [1.0, 2.5, None]
    assert rejected[0][:2] == (2, "a")


def test_declared_types_hold(tmp_path):
    declared = {"i": "int", "t": "timestamp", "d": "decimal(5, 2)", "s": "text"}
    lines = [
        b'{"i":1,"t":"2019-01-01T10:00:00Z","d":1.25,"s":"x"}',
        b'{"i":1.5}',
        b'{"t":"yesterday"}',
        b'{"d":1.255}',
        b'{"s":5}',
        b'{"i":99999999999999999999}',
    ]
    table, rejected = read(tmp_path, b"\n".join(lines), declared)
    assert len(table) == 1
    assert table.schema.field("t").type == pa.timestamp("us", "UTC")
    assert [line for line, *_ in rejected] == [2, 3, 4, 5, 6]


def test_numbers_where_times_are_declared_are_a_fault_of_the_job(tmp_path):
    with pytest.raises(SchemaError, match="holds numbers, not times"):
        read(tmp_path, b'{"t":5}\n{"t":6}\n', {"t": "timestamp"})


def test_what_the_fast_reader_does_not_check_is_checked(tmp_path):
    table, rejected = read(tmp_path, b'{"t":"\xff"}\n{"t":"\\ud800"}\n{"t":1,"t":2}\n{"t":"x"}\n')
    assert table["t"].to_pylist() == ["x"]
    assert [line for line, *_ in rejected] == [1, 2, 3]


def test_nested_values_that_do_not_fit_the_lines_before_are_rejected(tmp_path):
    table, rejected = read(tmp_path, b'{"a":{"x":1}}\n{"a":{"x":"s"}}\n{"a":{"x":2,"z":1}}\n')
    assert table["a"].to_pylist() == [{"x": 1, "z": None}, {"x": 2, "z": 1}]
    assert [line for line, *_ in rejected] == [2]


def test_hostile_nesting_is_rejected(tmp_path):
    table, rejected = read(tmp_path, b'{"a":' + b"[" * 100_000 + b'\n{"a":3}\n')
    assert table["a"].to_pylist() == [3]
    assert len(rejected) == 1


def test_a_line_longer_than_a_block_is_read(tmp_path):
    table, rejected = read(tmp_path, b'{"a":"' + b"x" * 6_000_000 + b'"}\n{"a":"y"}\n')
    assert [len(v) for v in table["a"].to_pylist()] == [6_000_000, 1]
    assert rejected == []


def test_empty_and_packed_files(tmp_path):
    assert read(tmp_path, b"", {"a": "int"})[0].num_columns == 0
    table, _ = read(tmp_path, gzip.compress(b'{"a":1,"b":2}\n'), only=["b"], name="e.jsonl.gz")
    assert table.to_pylist() == [{"b": 2}]


def test_a_declared_field_that_no_line_has_is_null(tmp_path):
    table, _ = read(tmp_path, b"{}\n{}\n", {"t": "int"})
    assert table.to_pydict() == {"t": [None, None]}


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"a":', "}")])
def test_values_too_deep_to_follow(tmp_path, begin, end):
    path = tmp_path / "events.jsonl"
    path.write_text('{"t":1,"x":' + begin * 400 + "1" + end * 400 + "}\n")
    with pytest.raises(DataError, match="'x' holds more than 100 levels"):
        read_json_lines(path, {}, Rejections())
    assert read_json_lines(path, {}, Rejections(), {"t"})[0].column_names == ["t"]
