"""Tables are written whole or not at all."""

import errno
import gzip
import json
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.connectors import writing
from cepheid.connectors.files import FileSource, read_files
from cepheid.connectors.writing import check_writable, write_table
from cepheid.errors import DataError, SetupError

NESTED = pa.table(
    {
        "id": pa.array([1, 2], pa.uint64()),
        "at": pa.array([datetime(2019, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "a": [{"x": 1.5, "y": [1, 2]}, None],
        "s": ['a "quoted"\nline, ü', ""],
        "d": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "w": pa.array([timedelta(seconds=90), None], pa.duration("us")),
    }
)


def test_columnar_formats_give_back_what_they_got(tmp_path):
    write_table(NESTED, tmp_path / "new" / "m.parquet")
    write_table(NESTED, tmp_path / "m.arrow")
    assert pq.read_table(tmp_path / "new" / "m.parquet").equals(NESTED)
    assert pa.ipc.open_file(tmp_path / "m.arrow").read_all().equals(NESTED)
    assert sorted(os.listdir(tmp_path)) == ["m.arrow", "new"]


def test_json_lines(tmp_path):
    write_table(NESTED, tmp_path / "m.jsonl.gz")
    lines = gzip.decompress((tmp_path / "m.jsonl.gz").read_bytes()).decode().splitlines()
    assert json.loads(lines[0]) == {
        "id": 1,
        "at": "2019-01-01T00:00:00Z",
        "a": {"x": 1.5, "y": [1, 2]},
        "s": 'a "quoted"\nline, ü',
        "d": "1.50",
        "w": 90.0,
    }
    assert json.loads(lines[1])["a"] is None
    write_table(pa.table({"x": [float("nan"), float("inf")]}), tmp_path / "n.jsonl")
    assert [json.loads(x) for x in (tmp_path / "n.jsonl").read_text().splitlines()] == [{"x": "nan"}, {"x": "inf"}]


def test_csv_holds_nested_values_as_json(tmp_path):
    write_table(NESTED, tmp_path / "m.csv")
    back = read_files(FileSource((str(tmp_path / "m.csv"),))).table.to_pylist()
    assert json.loads(back[0]["a"]) == {"x": 1.5, "y": [1, 2]}
    assert back[0]["s"] == 'a "quoted"\nline, ü'
    assert back[1]["a"] is None


def test_equal_tables_make_equal_files(tmp_path):
    write_table(NESTED, tmp_path / "a.csv.gz")
    write_table(NESTED, tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_an_older_file_is_replaced_and_rights_are_the_usual(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("old")
    write_table(pa.table({"a": [1]}), path)
    assert path.read_text() == '"a"\n1\n'
    other = tmp_path / "other"
    other.write_text("")
    assert path.stat().st_mode == other.stat().st_mode


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m.csv"
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing.os, "fsync", full)
    with pytest.raises(SetupError, match="No space left on device"):
        write_table(pa.table({"a": [1]}), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["m.csv"]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for path, message in (
        (tmp_path / "file" / "m.csv", "cannot be written"),
        (tmp_path, "is a folder"),
        (tmp_path / ("x" * 300 + ".csv"), "cannot be written: File name too long"),
    ):
        with pytest.raises(SetupError, match=message):
            write_table(NESTED, path, "csv")
    with pytest.raises(SetupError, match="cannot be written"):
        check_writable(tmp_path / "file" / "m.csv")
    with pytest.raises(SetupError, match="is a folder"):
        check_writable(tmp_path)
    check_writable(tmp_path / "deep" / "m.csv")
    assert sorted(os.listdir(tmp_path)) == ["deep", "file"]


def test_unknown_formats(tmp_path):
    with pytest.raises(DataError, match="cannot be told from its name"):
        write_table(NESTED, tmp_path / "m.xlsx")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "out.csv").symlink_to(tmp_path / "there" / "real.csv")
    write_table(pa.table({"x": [1]}), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").is_symlink()
    assert (tmp_path / "there" / "real.csv").read_text() == '"x"\n1\n'
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["real.csv"]


def test_a_pipe_stays_a_pipe(tmp_path):
    pipe = tmp_path / "out.csv"
    os.mkfifo(pipe)
    for write in (lambda: check_writable(pipe), lambda: write_table(pa.table({"x": [1]}), pipe)):
        with pytest.raises(SetupError, match="is a device or a pipe"):
            write()
    assert pipe.is_fifo()


def test_values_that_a_format_cannot_hold(tmp_path):
    gap = pa.table({"x": pa.array([pa.MonthDayNano([1, 2, 3])])})
    with pytest.raises(DataError, match="cannot be written as parquet"):
        write_table(gap, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_links_to_themselves_and_zero_bytes_are_no_places(tmp_path):
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    for path, message in (
        (tmp_path / "loop.csv", "symbolic links"),
        (tmp_path / "loop.csv" / "m.csv", "symbolic links"),
        (tmp_path / "a\0b.csv", "null byte"),
    ):
        for write in (check_writable, lambda path: write_table(NESTED, path, "csv")):
            with pytest.raises(SetupError, match=message):
                write(path)
