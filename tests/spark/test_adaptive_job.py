"""A streaming job that chooses its evaluation plan: each switch is told with the numbers that led to it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.job.load import load
from cepheid.job.streaming import run_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x = c.x WITHIN 1 ms POLICY any RETURN a.id AS a, c.id AS c"
JOB = f"""
[source]
path = "in"
format = "jsonl"
time = "ts"
time_unit = "us"
type = "kind"
columns = {{ x = "int", id = "int" }}

[query]
text = "{QUERY}"

[settings]
evaluation = "adaptive"

[sink]
path = "found"

[stream]
checkpoint = "checkpoint"
watermark = "0 s"
trigger = "available now"
"""
NUMBERS = r"waits (without end|[\d.e+-]+ (s|ms|us)), is served in [\d.e+-]+ (s|ms|us), \d+% busy"
SWITCH = re.compile(
    rf"batch (\d+), bucket \d+: evaluation plan (.+) -> (.+?); a last event before .+?: {NUMBERS}; now .+?: {NUMBERS}; "
    r"rates a \S+/s, b \S+/s, c \S+/s; conditions hold \S+, \S+"
)


def write(folder: Path, name: str, since_us: int, gap_us: int, n: int) -> list[dict[str, object]]:
    """A file of events, so many microseconds apart, of which few end a match."""
    random = Random(name)
    rows = []
    for i in range(n):
        (kind,) = random.choices("ABC", (47, 47, 6))
        rows.append({"ts": since_us + i * gap_us, "kind": kind, "x": random.randrange(4_000), "id": since_us + i})
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    hidden.rename(folder / name)
    return rows


@pytest.mark.slow
def test_each_switch_is_told_with_the_numbers_that_led_to_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    job = load(tmp_path / "job.toml")
    rows, said, totals = list[dict[str, object]](), list[str](), []
    # A thousand events in a window, then hardly two, then a thousand again.
    for name, since_us, gap_us, n in (
        ("1", 10**9, 1, 8_000),
        ("2", 2 * 10**9, 600, 3_000),
        ("3", 3 * 10**9, 1, 8_000),
    ):
        rows += write(tmp_path / "in", f"{name}.jsonl", since_us, gap_us, n)
        totals.append(run_stream(job, said.append, said.append).totals)

    switches = [found for line in said if (found := SWITCH.search(line))]
    assert switches, said
    assert switches[0][2] == "eager"
    assert switches[0][3] != "eager"
    for before, after in pairwise(switches):  # each goes on from the plan before, over restarts
        assert before[3] == after[2]
    assert sum(one.n_plan_switches for one in totals) == len(switches), "\n".join(said)
    assert sum(one.n_plan_decisions for one in totals) >= len(switches)
    assert any("decision on a plan" in line and "1 switch" in line for line in said), said

    files = (tmp_path / "found").glob("*.jsonl")
    found = {(row["a"], row["c"]) for file in files for row in map(json.loads, file.read_text().splitlines())}
    table = pa.Table.from_pylist(rows)
    wanted = cep.match(table, QUERY, time="ts", time_unit="us", type="kind").to_pylist()
    assert found == {(row["a"], row["c"]) for row in wanted}
    assert len(found) > 100
