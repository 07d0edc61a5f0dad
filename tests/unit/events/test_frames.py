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
