"""What a streaming job may say, what its checkpoint tells, and what failures of Spark mean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cepheid.errors import CapacityError, DataError, JobError, QueryError, SetupError
from cepheid.job.checkpoint import held, query_id, require_same, resumed
from cepheid.job.load import parse
from cepheid.job.stream_outputs import require_places
from cepheid.job.stream_schema import declared_fields
from cepheid.job.streaming import require_possible
from tests.conftest import SOURCE

QUERY = '[query]\ntext = "PATTERN SEQ(A a, B b) WITHIN 5 s"\n'
KAFKA = '[source]\nkind = "kafka"\nservers = "x:1"\ntopics = "t"\ntime = "ts"\n'
STREAM = '[stream]\ncheckpoint = "c"\nwatermark = "5 s"\n'


def test_a_job_from_kafka_to_kafka():
    job = parse(KAFKA + QUERY + STREAM + '[sink]\nkind = "kafka"\nservers = "x:1"\ntopic = "u"\n', "j.toml", Path("/"))
    (source,) = job.model.source
    assert (source.kind, source.topics, job.model.sink.kind, job.model.runs_on) == ("kafka", ["t"], "kafka", "spark")
    assert job.model.stream is not None
    assert job.model.stream.trigger == "as it comes"


def test_a_job_from_delta_to_delta():
    source = '[source]\nkind = "delta"\npath = "in"\ntime = "ts"\ntype = "kind"\ncolumns = { id = "int" }\n'
    job = parse(source + QUERY + STREAM + '[sink]\nkind = "delta"\npath = "out"\n', "j.toml", Path("/"))
    (read,) = job.model.source
    assert (read.kind, read.event, job.model.sink.kind) == ("delta", None, "delta")
    assert list(declared_fields(read)) == ["id", "ts", "kind"]
    with pytest.raises(JobError, match=r"leave one out"):
        parse(source + 'event = "A"\n' + QUERY + STREAM, "j.toml", Path("/"))


def test_the_query_of_a_checkpoint_has_an_id(tmp_path: Path):
    with pytest.raises(JobError, match="does not say which query"):
        query_id(tmp_path)
    (tmp_path / "metadata").write_text('{"id":"4f"}')
    assert query_id(tmp_path) == "4f"


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        (KAFKA + QUERY, "source.kind 'kafka' is for streams", r"add \[stream\]"),
        ('[source]\nkind = "kafak"\n' + QUERY, "the kind is none that there is", 'use "files", "kafka"'),
        (
            '[source]\nkind = "kafka"\ntime = "t"\ntopics = "t"\n' + QUERY + STREAM,
            "'servers' is missing in",
            "servers =",
        ),
        (KAFKA + QUERY + '[stream]\ncheckpoint = "c"\nwatermark = 5\n', "it should be a text", 'as a text: "5 s"'),
        (KAFKA + QUERY + STREAM + "[late]\n", r"'path' is missing in \[late\]", 'path = "late"'),
        (KAFKA + 'servrs = "x"\n' + QUERY + STREAM, "no key 'source.servrs'", "did you mean 'servers'"),
        (KAFKA + QUERY + '[stream]\ncheckpoint = "c"\n', "says nothing of how late events may be", "how much later"),
        (KAFKA + QUERY + STREAM + 'trigger = "now"\n', "'now' says nothing of when batches begin", "available now"),
        (KAFKA + QUERY + STREAM + 'idle_flush = "5 events"\n', "'5 events' is not a length of time", "write"),
        ('engine = "local"\n' + KAFKA + QUERY + STREAM, "a stream runs on Spark", "leave engine out"),
        (KAFKA + QUERY + STREAM + '[sink]\nkind = "kafka"\npath = "x"\n', "no key 'sink.path'", "servers, topic, key"),
        (KAFKA + 'format = "text"\ncolumns = { a = "int" }\n' + QUERY + STREAM, "columns are fields of JSON", "leave"),
        (
            KAFKA + QUERY + STREAM + '[late]\nkind = "kafka"\nservers = "x:1"\ntopc = "x"\n',
            "no key 'late.topc'",
            "did you mean 'topic'",
        ),
        (
            KAFKA + QUERY + STREAM + '[rejected]\nkind = "kafka"\ntopic = "x"\n',
            r"'servers' is missing in \[rejected",
            "add",
        ),
        (
            KAFKA + QUERY + STREAM + '[sink.timed_out]\nkind = "delta"\npth = "x"\n',
            "no key 'sink.timed_out.pth'",
            "did you mean 'path'",
        ),
        (
            KAFKA
            + QUERY
            + STREAM
            + '[queries.files]\ntext = "A a"\n[queries.files.sink]\nkind = "kafka"\ntpic = "x"\n',
            "no key 'queries.files.sink.tpic'",
            "did you mean 'topic'",
        ),
        (
            KAFKA + QUERY + STREAM + '[queries.r]\ntext = "A a"\npath = "r"\n[queries.r.sink]\npath = "x"\n',
            "path says where the matches go, and sink does, too",
            "leave one",
        ),
        (
            '[source]\npath = "x"\ntime = "t"\n' + QUERY + '[sink.rejected]\nkind = "delta"\npath = "x"\n',
            "sink.rejected.kind 'delta' is for streams",
            "say where files are",
        ),
        (
            '[source]\npath = "x"\ntime = "t"\n' + QUERY + '[late]\npath = "x"\n',
            r"\[late\] is for streams",
            "leave it out",
        ),
    ],
)
def test_slips_are_told(text: str, message: str, remedy: str):
    with pytest.raises(JobError, match=message) as caught:
        parse(text, "job.toml", Path("/"))
    assert caught.value.span is not None
    with pytest.raises(JobError, match=remedy):
        raise JobError(caught.value.remedy or "")


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ('[sink]\npath = "out"\n[late]\npath = "./out"\n', r"\[late\] and \[sink\] both write /out"),
        (
            '[sink]\nkind = "kafka"\nservers = "x:1"\ntopic = "t"\n'
            '[sink.timed_out]\nkind = "kafka"\nservers = "x:1"\ntopic = "t"\n',
            r"\[sink.timed_out\] and \[sink\] both write the topic t",
        ),
        (
            '[queries.r]\ntext = "A a"\npath = "r"\n[rejected]\npath = "r"\n',
            r"\[queries.r\] and \[rejected\] both write /r",
        ),
    ],
)
def test_two_outputs_of_a_stream_need_two_places(sections: str, message: str):
    job = parse(KAFKA + QUERY + STREAM + sections, "job.toml", Path("/"))
    with pytest.raises(JobError, match=message) as caught:
        require_places(job)
    assert caught.value.span is not None


def test_a_stream_writes_nothing_into_what_it_reads(tmp_path: Path):
    (tmp_path / "in").mkdir()
    files = '[source]\npath = "in"\nformat = "jsonl"\ntime = "ts"\n'
    with pytest.raises(JobError, match=r"\[late\] would write .*in into what \[source\] reads"):
        require_places(parse(files + QUERY + STREAM + '[late]\npath = "in"\n', "job.toml", tmp_path))


def test_a_checkpoint_tells_where_its_job_goes_on(tmp_path: Path):
    assert resumed(tmp_path) is None
    for folder, numbers in (("offsets", (0, 1, 2)), ("commits", (0, 1))):
        (tmp_path / folder).mkdir()
        for number in numbers:
            lines = ["v1", json.dumps({"batchWatermarkMs": 0}), json.dumps({"pay": {"0": 10 * number, "1": 7}}), "5"]
            (tmp_path / folder / str(number)).write_text("\n".join(lines))
            (tmp_path / folder / f".{number}.crc").write_text("")
    found = resumed(tmp_path)
    assert found is not None
    assert (found.done, found.begun) == (1, 2)
    assert str(found) == "batch 1 is done, batch 2 had begun and is done again; read so far: pay/0 to 10, pay/1 to 7; 5"


def test_a_checkpoint_belongs_to_one_job(tmp_path: Path):
    folder = tmp_path / "new" / "checkpoint"
    require_same(folder, {"a query": "x", "a source": "y"}, "job.toml")
    require_same(folder, {"a query": "x", "a source": "y"}, "job.toml")
    with pytest.raises(JobError, match="was made with a query of another form"):
        require_same(folder, {"a query": "z", "a source": "y"}, "job.toml")


def test_settings_may_be_numbers_and_truths():
    options = "options = { maxOffsetsPerTrigger = 500, failOnDataLoss = false }\n"
    job = parse(KAFKA + options + QUERY + STREAM + '[spark]\n"spark.x" = 4\n', "job.toml", Path("/"))
    (source,) = job.model.source
    assert getattr(source, "options", None) == {"maxOffsetsPerTrigger": "500", "failOnDataLoss": "false"}
    assert job.model.spark == {"spark.x": "4"}


def test_files_that_no_stream_reads_are_refused_by_check(tmp_path: Path):
    source = '[source]\npath = "in"\nformat = "arrow"\ntime = "ts"\n'
    with pytest.raises(JobError, match="a stream of files reads CSV, JSON lines and Parquet") as caught:
        require_possible(parse(source + QUERY + STREAM, "job.toml", tmp_path))
    assert caught.value.span is not None


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path):
    (tmp_path / "offsets").mkdir()
    with pytest.raises(JobError, match="not of a job of cepheid"):
        require_same(tmp_path, {"a query": "x"}, "job.toml")
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="file cannot be written"), held(tmp_path / "file", "job.toml"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")
def test_two_jobs_do_not_share_a_checkpoint(tmp_path: Path):
    folder = tmp_path / "checkpoint"
    code = (
        "import sys, pathlib; from cepheid.job.checkpoint import held\n"
        "with held(pathlib.Path(sys.argv[1]), 'j'): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(JobError, match=rf"in use by another job, the process {other.pid}"),
            held(folder, "job.toml"),
        ):
            pass
        other.kill()
    with held(folder, "job.toml"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such locks")
def test_what_spark_left_unfinished_is_taken_off_when_a_job_goes_on(tmp_path: Path):
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
        (tmp_path / log / ".0.5d2f8a4e-3c0b-4c53-8a55-1a9a6d8d1c11.tmp").write_text("v1\n{")
        (tmp_path / log / "0").write_text("v1\n{}")
    with held(tmp_path, "job.toml"):
        assert [file.name for file in sorted(tmp_path.glob("*/*"))] == ["0", "0"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_disk_is_told_before_a_job_begins(tmp_path: Path):
    (tmp_path / "cepheid-job.lock").symlink_to("/dev/full")
    with (
        pytest.raises(SetupError, match=r"cannot be written: (No space left|Invalid)"),
        held(tmp_path, "job.toml"),
    ):
        pass


def test_failures_of_spark_in_words():
    pytest.importorskip("pyspark")
    from cepheid.spark.stream_failures import explained, in_words

    full = explained(RuntimeError("x\njava.io.IOException: No space left on device\n at y"))
    assert full is not None
    assert full.message == "the disk of the checkpoint or of the files is full"
    gone = explained(RuntimeError("org.apache.kafka.common.errors.UnknownTopicOrPartitionException: This server"))
    assert gone is not None
    assert "a topic of the job is not there" in gone.message
    assert explained(RuntimeError("something else")) is None
    assert in_words(RuntimeError("\nsomething else\nat x")).message == "Spark ended the stream: something else"
    own = CapacityError("too much", remedy="less")
    assert explained(own) is own
    text = (
        "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File x\n"
        "cepheid.errors.DataError: a value is odd\n  -> mend it\n\n\tat org.apache.spark.api"
    )
    told = explained(RuntimeError(text))
    assert isinstance(told, DataError)
    assert (told.message, told.remedy) == ("a value is odd", "mend it")


def test_a_streaming_job_is_checked_without_its_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from cepheid.cli.inspect_query import check_path

    query = '[query]\ntext = "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND b.kafka_offset > :n WITHIN 5 s"\n'
    path = tmp_path / "job.toml"
    path.write_text(KAFKA + 'type = "k"\ncolumns = { x = "int" }\n' + query + STREAM)
    check_path(path, None)
    said = capsys.readouterr()
    assert "fine" in said.out
    assert "no value for :n" in said.err
    several = KAFKA.replace("[source]", "[[source]]")
    path.write_text(
        several + 'event = "A"\ncolumns = { x = "int" }\n' + several + 'event = "B"\ncolumns = { y = "int" }\n'
        '[query]\ntext = "PATTERN SEQ(A a, B b) WHERE a.x < b.y WITHIN 5 s"\n' + STREAM
    )
    check_path(path, None)
    path.write_text(KAFKA + QUERY.replace("WITHIN", "WHERE a.x = 1 WITHIN") + STREAM)
    with pytest.raises(QueryError, match="x"):
        check_path(path, None)
    path.write_text(KAFKA + 'type = "k"\n' + QUERY + STREAM + '[queries.r]\npath = "x"\ntext = "A a WHERE a.x = 1"\n')
    with pytest.raises(QueryError, match=r"\[queries.r\].*no attribute x"):
        check_path(path, None)
