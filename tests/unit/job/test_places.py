"""Events that a job cannot use are told with the file and the line that they come from, like rows it cannot read."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.errors import DataError, JobError
from cepheid.job.load import parse
from cepheid.job.run import run

JOB = """
[source]
path = {path}
time = "t"
time_unit = "s"
type = "kind"
[query]
text = "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 5 RETURN a.t AS t"
[rejected]
path = "bad/rows.jsonl"
null_keys = true
"""


@pytest.mark.parametrize(
    ("section", "line"), [("[rejected]", 11), ("[sink.rejected]", 11), ("[sink]\nrejected.path", None)]
)
@pytest.mark.parametrize("by_option", [False, True])
def test_null_keys_is_refused_by_the_engine_that_runs_the_job(tmp_path, section, line, by_option):
    (tmp_path / "a.csv").write_text("t,kind,k\n1,A,1\n2,B,\n")
    text = JOB.format(path='"a.csv"')
    if line is None:
        text = text.replace("[rejected]\npath", section).replace("null_keys", "rejected.null_keys")
    else:
        text = text.replace("[rejected]", section)
    if not by_option:
        text = 'engine = "spark"' + text
    job = parse(text, "job.toml", tmp_path)
    with pytest.raises(JobError, match=r"rejected\.null_keys is for the engine local") as error:
        run(job.with_engine("spark") if by_option else job)
    if line is not None:
        assert error.value.line == line
    assert "[source]" not in str(error.value)
    assert not (tmp_path / "bad").exists()
    assert run(job.with_engine("local")).n_rejected == 1  # in place of what the file says


def rejected(folder, *paths):
    run(parse(JOB.format(path=json.dumps(paths)), "job.toml", folder))
    rows = [json.loads(line) for line in (folder / "bad" / "rows.jsonl").read_text().splitlines()]
    return [
        (row["file"].removeprefix(f"{folder}/"), row["line"], row["reason"].partition(",")[0].partition(":")[0])
        for row in rows
    ]


def test_csv_and_json_lines(tmp_path):
    # A quoted line end, an empty line and a bad row shift the lines against the rows.
    first = 't,kind,k,s\n1,A,1,"two\nlines"\n\n2,,1,x\nnever,B,1,x\n3,B\n,B,1,x\n4,B,,x\n5,B,1,x\n'
    second = '{"t": 6, "kind": "A", "k": 1}\n\n{"t": 7}\n[]\n{"t": null, "kind": "B", "k": 1}\n{"t": 8, "kind": "B"}\n'
    (tmp_path / "a.csv").write_text(first)
    (tmp_path / "b.jsonl").write_text(second)
    assert sorted(rejected(tmp_path, "a.csv", "b.jsonl")) == [
        ("a.csv", 5, "the type is NULL"),
        ("a.csv", 6, "not a number"),
        ("a.csv", 7, "the number of fields is 2"),
        ("a.csv", 8, "the time is NULL"),
        ("a.csv", 9, "NULL in SAME"),
        ("b.jsonl", 3, "the type is NULL"),
        ("b.jsonl", 4, "not a JSON object but array"),
        ("b.jsonl", 5, "the time is NULL"),
        ("b.jsonl", 6, "NULL in SAME"),
    ]


def test_files_without_lines(tmp_path):
    for name in ("a", "b"):
        table = pa.table({"t": [1, None], "kind": ["A", "B"], "k": [1, 1]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    assert rejected(tmp_path, "a.parquet", "b.parquet") == [
        ("a.parquet", None, "the time is NULL"),
        ("b.parquet", None, "the time is NULL"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "", "a.csv: no event is in it"),
        ("a.jsonl", "\n", "a.jsonl: no event is in it"),
        (
            "a.jsonl",
            '[{"t": 1, "kind": "A", "k": 1},\n{"t": 2, "kind": "B", "k": 1}]',
            "none of its 2 rows can be read; ",
        ),
    ],
)
def test_without_any_row_the_reason_is_told_and_not_a_missing_column(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=said):
        rejected(tmp_path, name)


def test_times_beyond_the_years_of_python(tmp_path):
    job = JOB.replace(" RETURN a.t AS t", "") + '[sink]\npath = "{sink}"\n'
    (tmp_path / "a.csv").write_text("t,kind,k\n4000000000000,A,1\n4000000000001,B,1\n")
    with pytest.raises(DataError, match="beyond the years 1 to 9999"):
        run(parse(job.format(path='"a.csv"', sink="out.jsonl"), "job.toml", tmp_path))
    assert list(tmp_path.rglob("*.jsonl*")) == []
    run(parse(job.format(path='"a.csv"', sink="out.parquet"), "job.toml", tmp_path))
    assert len(pq.read_table(tmp_path / "out.parquet")) == 1


def test_rejected_events_with_times_beyond_the_years_of_python(tmp_path):
    times = pa.array([4 * 10**18, -(2**63)]).cast(pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"t": times, "kind": [None, "A"], "k": [1, 1]}), tmp_path / "a.parquet")
    assert [reason for _, _, reason in rejected(tmp_path, "a.parquet")] == [
        "the type is NULL",
        "the time -9223372036854775808 us is beyond the range of times",
    ]
    assert json.loads((tmp_path / "bad" / "rows.jsonl").read_text().splitlines()[0])["raw"].startswith('{"t": 4000')
