"""Sources of several files, folders and globs, in every format."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.connectors.column_types import column_type
from cepheid.connectors.files import FileSource, read_files
from cepheid.connectors.locations import expand_variables, format_of, is_listed, list_files, resolve
from cepheid.connectors.rejected import REJECTED_SCHEMA
from cepheid.errors import DataError, SchemaError, SetupError

TABLE = pa.table({"t": pa.array([1, 2], pa.timestamp("us")), "k": ["a", "b"], "x": [1.5, None]})


def source(*paths, **options):
    return FileSource(tuple(str(p) for p in paths), **options)


def test_every_format_gives_the_same_events(tmp_path):
    pq.write_table(TABLE, tmp_path / "e.parquet")
    with pa.ipc.new_file(tmp_path / "e.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    with pa.ipc.new_stream(tmp_path / "e.ipc", TABLE.schema) as writer:
        writer.write_table(TABLE)
    (tmp_path / "e.csv").write_text("t,k,x\n1970-01-01 00:00:00.000001,a,1.5\n1970-01-01 00:00:00.000002,b,\n")
    (tmp_path / "e.tsv").write_text("t\tk\tx\n1970-01-01 00:00:00.000001\ta\t1.5\n1970-01-01 00:00:00.000002\tb\t\n")
    (tmp_path / "e.jsonl").write_text(
        '{"t":"1970-01-01T00:00:00.000001","k":"a","x":1.5}\n{"t":"1970-01-01T00:00:00.000002","k":"b"}\n'
    )
    for name in ("e.parquet", "e.arrow", "e.ipc", "e.csv", "e.tsv", "e.jsonl"):
        read = read_files(source(tmp_path / name, time="t"))
        assert read.table.cast(TABLE.schema).equals(TABLE), name
        assert read.rejected.schema == REJECTED_SCHEMA
        assert read.n_bytes > 0


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, value in (("b.csv", 2), ("a.csv", 1), ("sub/c.csv.gz", 3), ("_x.csv", 8), (".y.csv", 9)):
        path = tmp_path / name
        if name.endswith(".gz"):
            import gzip

            path.write_bytes(gzip.compress(f"v\n{value}\n".encode()))
        else:
            path.write_text(f"v\n{value}\n")
    (tmp_path / "readme.md").write_text("v\n7\n")
    read = read_files(source(tmp_path))
    assert read.table["v"].to_pylist() == [1, 2, 3]
    assert [f.name for f in read.files] == ["a.csv", "b.csv", "c.csv.gz"]
    seen = []
    read_files(source(tmp_path / "?.csv"), progress=lambda *step: seen.append(step))
    assert [(path.name, number, total) for path, number, total in seen] == [("a.csv", 0, 2), ("b.csv", 1, 2)]


def test_files_agree_on_types(tmp_path):
    (tmp_path / "a.csv").write_text("i,n,s\n1,,007\n")
    (tmp_path / "b.csv").write_text("i,n,s\n2.5,3,A7\n")
    table = read_files(source(tmp_path)).table
    assert table.to_pydict() == {"i": [1.0, 2.5], "n": [None, 3], "s": ["007", "A7"]}


def test_columns_that_some_files_lack_are_null(tmp_path):
    (tmp_path / "a.csv").write_text("i\n1\n")
    (tmp_path / "b.csv").write_text("j\n2\n")
    (tmp_path / "c.csv").write_text("")
    assert read_files(source(tmp_path)).table.to_pylist() == [{"i": 1, "j": None}, {"i": None, "j": 2}]


def test_text_and_numbers_in_parquet_do_not_mix(tmp_path):
    pq.write_table(pa.table({"v": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"a\.parquet: the column 'v' has the type int64, but text"):
        read_files(source(tmp_path))


def test_text_in_parquet_is_brought_to_declared_types(tmp_path):
    table = pa.table({"t": ["2019-01-01", "soon", None], "n": pa.array(["1", "2", "3"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "a.parquet")
    read = read_files(source(tmp_path, columns={"t": column_type("timestamp"), "n": column_type("int")}))
    assert read.table["n"].to_pylist() == [1, 3]
    assert read.rejected.to_pylist() == [
        {
            "file": str(tmp_path / "a.parquet"),
            "line": None,
            "column": "t",
            "reason": "not an ISO 8601 time (row 2)",
            "raw": "soon",
        }
    ]


def test_the_time_column_need_not_be_declared(tmp_path):
    (tmp_path / "a.csv").write_text("t,v\n2019-01-01,1\nnever,2\n")
    read = read_files(source(tmp_path, time="t"))
    assert read.table["v"].to_pylist() == [1]
    assert read.rejected["reason"].to_pylist() == ["not an ISO 8601 time"]
    (tmp_path / "a.csv").write_text("t,v\n17,1\n18.5,2\nnever,3\n")
    read = read_files(source(tmp_path, time="t", time_unit="s"), only=[])
    assert read.table.to_pydict() == {"t": [17.0, 18.5]}
    assert read.rejected["line"].to_pylist() == [4]


def test_an_empty_file_has_the_declared_columns(tmp_path):
    (tmp_path / "a.csv").write_text("")
    table = read_files(source(tmp_path / "a.csv", time="t", columns={"k": column_type("text")})).table
    assert table.schema.names == ["k", "t"]
    assert len(table) == 0


def test_damaged_and_unknown_files(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "a.arrow").write_bytes(b"ARROW1 no")
    (tmp_path / "a.xyz").write_bytes(b"")
    for name in ("a.parquet", "a.arrow"):
        with pytest.raises(DataError, match="is not a whole"):
            read_files(source(tmp_path / name))
    with pytest.raises(DataError, match=r"format of .* cannot be told"):
        read_files(source(tmp_path / "a.xyz"))


def test_names_with_quotes_and_newlines(tmp_path):
    path = tmp_path / 'it\'s "a"\nname[1].csv'
    path.write_text("a\n1\n")
    assert read_files(source(path)).table["a"].to_pylist() == [1]


def test_places_without_files(tmp_path):
    for path, message in (
        (tmp_path, "holds no file"),
        (tmp_path / "*.csv", "no file matches"),
        (tmp_path / "x", "no file"),
    ):
        with pytest.raises(SetupError, match=message):
            list_files(str(path))


def test_formats_go_by_name():
    from pathlib import Path

    assert [format_of(Path(n)) for n in ("a.csv", "a.CSV.GZ", "a.b.jsonl.zip", "a.parquet", "a.txt", "gz")] == [
        "csv",
        "csv",
        "jsonl",
        "parquet",
        None,
        None,
    ]


def test_variables_in_paths(tmp_path):
    assert expand_variables("${A}/x/${B:-c d}", {"A": "/data"}) == "/data/x/c d"
    assert expand_variables("$A {B} ${}", {}) == "$A {B} ${}"
    with pytest.raises(SetupError, match="variable NOT_SET_ANYWHERE is not set") as caught:
        resolve("${NOT_SET_ANYWHERE}/x", tmp_path)
    assert "NOT_SET_ANYWHERE=" in caught.value.remedy


def test_relative_paths_and_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert resolve("../x.csv", tmp_path / "job") == str(tmp_path / "x.csv")
    assert resolve("~/x.csv", tmp_path) == os.path.join(tmp_path, "home", "x.csv")


def test_files_of_packages():
    assert resolve("package:pyarrow/__init__.py", None).endswith("pyarrow/__init__.py")
    with pytest.raises(SetupError, match="package no_such_thing is not installed") as caught:
        resolve("package:no_such_thing/x.csv", None)
    assert "pip install no_such_thing" in caught.value.remedy
    with pytest.raises(SetupError, match="names no file of a package"):
        resolve("package:../x", None)


@pytest.mark.parametrize("text", ["~no_such_user/x", "a\0b.csv", "package:__main__/x.csv"])
def test_paths_that_cannot_be(tmp_path, text):
    with pytest.raises(SetupError) as caught:
        resolve(text, tmp_path)
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "*.csv"])
def test_names_that_the_system_refuses(tmp_path, name):
    for look in (list_files, lambda path: is_listed(tmp_path / "m.csv", path)):
        with pytest.raises(SetupError, match="cannot be looked into: File name too long"):
            look(str(tmp_path / name))


def test_a_folder_that_may_not_be_looked_into(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a\n1\n")

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(type(tmp_path), "is_file", refuse)
    with pytest.raises(SetupError, match="cannot be looked into: Permission denied"):
        list_files(str(tmp_path))


def test_a_link_to_itself_is_no_file(tmp_path):
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    assert not is_listed(tmp_path / "m.csv", str(tmp_path / "loop.csv"))
    with pytest.raises(SetupError, match="there is no file"):
        list_files(str(tmp_path / "loop.csv"))
