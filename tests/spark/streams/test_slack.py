"""Windows that a policy closes in streams: what a matcher gives for the events of each bucket, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import SchemaError, SetupError
from cepheid.spark.streams.outputs import parquet_writer
from tests.spark.streams.files import stream_of, write_part
from tests.unit.test_slack import slack, table

QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[device] WINDOW 400 ms SLIDE 100 ms RETURN a.number AS a, b.number AS b"
OUTPUTS = ("matches", "late", "closed", "fitted", "slack")
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "ms", "order": "number", "received": "got"}


def parts_of(events: pa.Table, n: int) -> list[pa.Table]:
    """Cuts between two moments of reception."""
    got = events["got"].to_numpy()
    cuts = np.searchsorted(got, got[np.arange(1, n) * len(got) // n], "left")
    return [events.slice(start, end - start) for start, end in zip([0, *cuts], [*cuts, len(got)], strict=True)]


def run_to(outputs: Any, folder: Path) -> None:
    writers = {name: parquet_writer(str(folder / name)) for name in OUTPUTS}
    writer = outputs.tagged.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).foreachBatch(outputs.written_by(writers)).start().awaitTermination()


@pytest.mark.slow
def test_a_stream_closes_windows_as_a_matcher_does(spark, tmp_path: Path) -> None:
    events = table(11, 900, n_sources=2)
    first, second, *rest = parts_of(events, 4)
    frame = stream_of(spark, tmp_path / "in", [first, second])
    asked = {"outputs": OUTPUTS, "slack": slack(per="device"), "partitions": 1}
    run_to(cep.detect(frame, QUERY, **asked, **COLUMNS), tmp_path)
    for part in rest:
        write_part(tmp_path / "in", part)
    run_to(cep.detect(frame, QUERY, **asked, **COLUMNS), tmp_path)  # from the checkpoint
    matcher = cep.Matcher(QUERY, slack=slack(per="device"), **COLUMNS)
    found = matcher.push(events).to_pylist()
    report = matcher.slack_report()
    read = {name: spark.read.parquet(str(tmp_path / name)).toArrow() for name in OUTPUTS}
    assert report.n_late > 10
    assert sorted(read["late"]["number"].to_pylist()) == sorted(matcher.late["number"].to_pylist())
    closed = read["closed"].sort_by([("window_end", "ascending")])
    ours = report.decisions
    # The last window may be closed by the last event alone, whose moment may not be over in the stream.
    n = closed.num_rows
    assert ours.num_rows - n <= 3
    for name in ("window_end", "closed_at", "reason", "source"):
        assert closed[name].cast(ours[name].type).to_pylist() == ours[name].slice(0, n).to_pylist(), name
    last = read["slack"].sort_by([("n_windows", "descending")]).slice(0, 1).to_pylist()[0]
    assert last["n_missed"] == report.n_missed
    assert last["miss_ratio"] == last["n_missed"] / last["n_windows"] <= 0.2
    assert (last["bucket"], last["n_late"], last["n_sources"]) == (closed["bucket"][0].as_py(), report.n_late, 2)
    # A source is told whenever it was learned anew, by the end of a micro-batch; what was learned last comes last.
    assert report.fitted.num_rows > 20
    fitted = read["fitted"].drop_columns(["bucket", "batch"]).to_pylist()
    assert len(fitted) > report.fitted.num_rows
    assert all(row in fitted for row in report.fitted.to_pylist())
    given = sorted(tuple(row.values()) for row in read["matches"].select(["a", "b"]).to_pylist())
    right = sorted((row["a"], row["b"]) for row in found)
    assert len(given) > 100
    assert set(given) <= set(right)
    assert len(right) - len(given) < 60  # those of the last windows


def test_what_does_not_do_is_refused(spark, tmp_path: Path) -> None:
    frame = stream_of(spark, tmp_path / "in", [table(1, 5)])
    columns = {name: value for name, value in COLUMNS.items() if name != "received"}
    with pytest.raises(SchemaError, match="no column of the stream"):
        cep.detect(frame, QUERY, slack=slack(), **columns)
    with pytest.raises(SchemaError, match="slack= and watermark="):
        cep.detect(frame, QUERY, slack="5 s", watermark="5 s", **columns)
    with pytest.raises(SetupError, match="Slack reads it"):
        cep.detect(frame, QUERY, slack="5 s", **COLUMNS)
    for name in ("closed", "fitted", "slack"):
        with pytest.raises(SchemaError, match=f"output {name}"):
            cep.detect(frame, QUERY, slack="5 s", outputs=name, **columns)
