import pandas
import pyarrow as pa
import pytest

from cepheid.errors import SchemaError
from cepheid.events.frames import as_arrow, like_given
from cepheid.events.ingest import read_events, schema_of

polars = pytest.importorskip("polars")

TABLE = pa.table({"t": [1, 2], "s": ["x", None], "n": pa.array([None, 5], pa.int32())})


@pytest.mark.parametrize(
    "given",
    [
        TABLE,
        TABLE.to_batches()[0],
        pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
        TABLE.to_pandas(types_mapper={pa.int32(): pandas.Int32Dtype()}.get),
        polars.from_arrow(TABLE),
        polars.from_arrow(TABLE).lazy(),
    ],
)
def test_tables_of_every_kind(given):
    table = as_arrow(given)
    assert table.to_pylist() == TABLE.to_pylist()
    batch = read_events(table, schema_of(table, time="t", time_unit="s"))
    column = batch.column(("s",))
    assert column.dictionary[column.values[0]].as_py() == "x"
    assert column.valid.tolist() == [True, False]


def test_what_gives_an_arrow_stream():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return TABLE.__arrow_c_stream__(requested_schema)

    assert as_arrow(Stream()) == TABLE


def test_results_in_the_kind_that_was_given():
    assert like_given(TABLE, TABLE) is TABLE
    frame = like_given(TABLE, polars.from_arrow(TABLE))
    assert isinstance(frame, polars.DataFrame)
    assert frame["n"].to_list() == [None, 5]
    frame = like_given(TABLE, TABLE.to_pandas())
    assert isinstance(frame, pandas.DataFrame)
    assert frame["n"].dtype == pandas.Int32Dtype()
    assert frame["t"].dtype == "int64"
    assert frame["n"].isna().tolist() == [True, False]


@pytest.mark.parametrize("given", [[{"t": 1}], "events.csv", {"t": [1]}])
def test_other_things(given):
    with pytest.raises(SchemaError, match="the events cannot be read from a builtins"):
        as_arrow(given)


def test_columns_that_arrow_cannot_hold():
    with pytest.raises(SchemaError, match="cannot be read as an Arrow table"):
        as_arrow(pandas.DataFrame({"t": [1, "x"]}))


def test_two_columns_of_one_name_in_pandas():
    frame = pandas.DataFrame([[1, 2, 3]], columns=["t", "x", "x"])
    with pytest.raises(SchemaError, match="several columns of the name 'x'"):
        as_arrow(frame)
    # 0 and "0" are two names in pandas, and one here.
    with pytest.raises(SchemaError, match="several columns of the name '0'"):
        as_arrow(pandas.DataFrame([[1, 2]], columns=[0, "0"]))


def test_sparse_columns_of_pandas():
    frame = pandas.DataFrame({"t": [1, 2], "x": pandas.arrays.SparseArray([0, 1])})
    with pytest.raises(SchemaError, match="cannot be read as an Arrow table"):
        as_arrow(frame)


def test_python_objects_in_polars_are_no_binary_data():
    frame = polars.DataFrame({"t": [1], "x": polars.Series([object()], dtype=polars.Object)})
    with pytest.raises(SchemaError, match="a column 'x' of Python objects"):
        as_arrow(frame)


def test_run_end_encoded_columns_are_written_out():
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["x", None])
    table = pa.table({"t": pa.chunked_array([[1, 2, 3]]), "s": runs})
    assert as_arrow(table)["s"].to_pylist() == ["x", "x", None]
    assert as_arrow(table.slice(1)).column("s").to_pylist() == ["x", None]
    assert as_arrow(table.slice(0, 0)).column("s").to_pylist() == []


def test_nanoseconds_in_structs_stay_times_in_pandas():
    moment = pandas.Timestamp("2024-01-01 10:00", tz="Europe/Paris")
    event = {"t": moment, "gap": pandas.Timedelta("1 s"), "n": 1}
    kind = pa.struct([("t", pa.timestamp("ns", "Europe/Paris")), ("gap", pa.duration("ns")), ("n", pa.int64())])
    table = pa.table({"a": pa.array([event, None], kind), "b": pa.array([[event], []], pa.list_(kind))})
    frame = like_given(table, pandas.DataFrame())
    assert frame["a"].tolist() == [event, None]
    assert frame["b"].tolist() == [[event], []]


def test_frames_of_spark_are_for_detect():
    class DataFrame:
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError

    DataFrame.__module__ = "pyspark.sql.classic.dataframe"
    with pytest.raises(SchemaError, match=r"cep\.detect"):
        as_arrow(DataFrame())
