"""What an executor does with a bucket, without Spark: any cut, any failure, any worker gives the same matches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.output_schema import timed_out_schema
from cepheid.engine.outputs import LATE, MATCHES, TIMED_OUT
from cepheid.engine.stream import Stream
from cepheid.errors import DataError
from cepheid.events.ingest import schema_of
from cepheid.ports.pairs import Cells, Guard, Orders, Seen, Wanted
from cepheid.spark.streams import packs, state
from cepheid.spark.streams.buckets import labels
from cepheid.spark.streams.clock import Heard
from cepheid.spark.streams.step import BucketStep

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "stream_state" / "version_1.bin"
QUERY = "PATTERN SEQ(A a, B+ b, NOT C c) WHERE SAME[k] WITHIN 20 ms RETURN a.id AS a, count(b.id) AS n"
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "ms"}


def events(n: int, seed: int = 3) -> pa.Table:
    numbers = random.Random(seed)
    ts = sorted(numbers.randint(1, 3 * n) for _ in range(n))
    return pa.table(
        {
            "id": pa.array(range(n), pa.int64()),
            "ts": pa.array(ts, pa.int64()),
            "kind": [numbers.choice("ABC") for _ in range(n)],
            "k": pa.array([numbers.randint(0, 3) for _ in range(n)], pa.int64()),
        }
    )


TABLE = events(120)


class Group:
    """Spark's state of one bucket, as far as it is used."""

    def __init__(self) -> None:
        self.value: tuple[bytes] | None = None
        self.watermark_ms = 0
        self.timeout_ms: int | None = None

    @property
    def exists(self) -> bool:
        return self.value is not None

    @property
    def get(self) -> tuple[bytes]:
        assert self.value is not None
        return self.value

    def getCurrentWatermarkMs(self) -> int:
        return self.watermark_ms

    def update(self, value: tuple[bytes]) -> None:
        self.value, self.timeout_ms = value, None

    def setTimeoutTimestamp(self, timestamp_ms: int) -> None:
        assert timestamp_ms > 0
        assert timestamp_ms >= self.watermark_ms
        self.timeout_ms = timestamp_ms


def step_of(query: str = QUERY, **changes: Any) -> BucketStep:
    schema = schema_of(TABLE, order=["id"], **COLUMNS)
    bound = cep.Query.parse(query).bind(schema)
    outputs = {MATCHES: Stream(bound, TABLE.schema).output}
    step = BucketStep(
        bound, schema, TABLE.schema, TABLE.schema, state.described(query), outputs, tagged=None, delays_us=(5_000,)
    )
    return replace(step, **changes)


def packed(table: pa.Table) -> list[bytes]:
    """The packs of a table for one bucket."""
    with_bucket = table.append_column("cepheid bucket", pa.array([0] * table.num_rows, pa.int32()))
    packing = packs.Packing(TABLE.schema, (), "ts", "ms", labels(1))
    return [row for batch in packing(iter(with_bucket.to_batches())) for row in batch.column(1).to_pylist()]


def rows(results: Iterator[bytes], step: BucketStep, output: str = MATCHES) -> Counter[tuple[Any, ...]]:
    batches = [pa.ipc.read_record_batch(pa.py_buffer(result), step.outputs[output]) for result in results]
    return Counter(tuple(row.values()) for batch in batches for row in batch.to_pylist())


def right(watermark_ms: int, query: str = QUERY) -> Counter[tuple[Any, ...]]:
    matcher = cep.Matcher(query, schema=TABLE.schema, order="id", **COLUMNS)
    matcher.push(TABLE)
    return Counter(tuple(row.values()) for row in matcher.advance(watermark_ms).to_pylist())


@pytest.mark.parametrize("seed", range(4))
def test_cuts_failures_and_workers_change_nothing(seed: int):
    numbers = random.Random(seed)
    step, group = step_of(), Group()
    found: Counter[tuple[Any, ...]] = Counter()
    at = 0
    while at < TABLE.num_rows:
        size = numbers.randint(1, 30)
        part = TABLE.slice(at, size)
        # Parts of a micro-batch come in any order, and from any worker.
        payloads = packed(part.slice(0, size // 2)) + packed(part.slice(size // 2))
        numbers.shuffle(payloads)
        if numbers.random() < 0.4:
            before = group.value, group.timeout_ms
            list(step(b"run", 0, payloads, group))  # what it gives is lost, and so is its state
            group.value, group.timeout_ms = before
        worker = numbers.choice((b"run", b"another worker"))
        found += rows(step(worker, 0, payloads, group), step)
        at += size
    last = TABLE["ts"].to_pylist()[-1]
    assert found == right(last - 6)
    # Spark calls when its watermark has moved, as long as something is held; then there is nothing left to call for.
    assert group.timeout_ms is not None
    group.watermark_ms = last + 1_000
    found += rows(step(b"run", 0, [], group), step)
    assert found == right(last + 999)
    assert group.timeout_ms is None


@pytest.mark.parametrize("policy", ["next", "any"])
def test_what_times_out_is_told_when_its_window_closes(policy: str):
    query = f"PATTERN SEQ(A a, B b, C c) WHERE SAME[k] AND a.id < b.id WITHIN 20 ms POLICY {policy} RETURN a.id AS a"
    step, group = step_of(query), Group()
    bound = step.bound
    step = replace(step, outputs={**step.outputs, TIMED_OUT: timed_out_schema(bound, TABLE.schema)})
    fields = [("output", pa.string())] + [(n, pa.struct(list(step.outputs[n]))) for n in (MATCHES, TIMED_OUT)]
    step = replace(step, tagged=pa.schema(fields))
    found: dict[str, list[Any]] = {MATCHES: [], TIMED_OUT: []}
    last = TABLE["ts"].to_pylist()[-1]
    for number, at in enumerate((*range(0, TABLE.num_rows, 17), TABLE.num_rows)):
        group.watermark_ms = last + 1_000 if at == TABLE.num_rows else 0
        worker = f"worker {number // 2}".encode()  # every other one begins with the bytes
        for result in step(worker, 0, packed(TABLE.slice(at, 17)), group):
            for row in pa.ipc.read_record_batch(pa.py_buffer(result), step.tagged).to_pylist():
                found[row["output"]].append(repr(row[row["output"]]))
    matcher = cep.Matcher(query, schema=TABLE.schema, order="id", outputs=(MATCHES, TIMED_OUT), **COLUMNS)
    matcher.push(TABLE)
    right = matcher.advance(last + 999)
    assert right.timed_out.num_rows > 10
    assert sorted(found[MATCHES]) == sorted(map(repr, right.matches.to_pylist()))
    assert sorted(found[TIMED_OUT]) == sorted(map(repr, right.timed_out.to_pylist()))


def test_late_events_are_told_and_in_no_match():
    step = step_of()
    step = replace(step, outputs={**step.outputs, LATE: TABLE.schema})
    step = replace(
        step,
        tagged=pa.schema([("output", pa.string())] + [(n, pa.struct(list(step.outputs[n]))) for n in (MATCHES, LATE)]),
    )
    group = Group()
    list(step(b"late", 0, packed(TABLE.slice(60)), group))
    results = list(step(b"late", 0, packed(TABLE.slice(0, 3)), group))
    batches = [pa.ipc.read_record_batch(pa.py_buffer(result), step.tagged) for result in results]
    late = [row["late"]["id"] for batch in batches for row in batch.to_pylist() if row["output"] == "late"]
    assert late == [0, 1, 2]


def test_a_silent_bucket_waits_for_the_events_of_others():
    step, group = step_of(), Group()
    found = rows(step(b"silent", 0, packed(TABLE.slice(0, 20)), group), step)
    # A pack without events says how far the others have come.
    clock = packs.pack(packs.Heard((10_000_000,)), 0, None)
    found += rows(step(b"silent", 0, [clock], group), step)
    matcher = cep.Matcher(QUERY, schema=TABLE.schema, order="id", **COLUMNS)
    matcher.push(TABLE.slice(0, 20))
    assert found == Counter(tuple(row.values()) for row in matcher.close().to_pylist())
    assert group.timeout_ms is None


def test_another_query_is_refused():
    group = Group()
    list(step_of()(b"first", 0, packed(TABLE), group))
    with pytest.raises(DataError, match="the checkpoint was made with the query"):
        list(step_of(QUERY.replace("20 ms", "30 ms"))(b"second", 0, packed(TABLE), group))


def test_state_of_version_1_is_read():
    """The file was written after the first 60 events; it must be readable as long as the version is known."""
    step, group = step_of(), Group()
    group.value = (GOLDEN.read_bytes(),)
    found = rows(step(b"golden", 0, packed(TABLE.slice(60)), group), step)
    before = rows(step(b"before", 0, packed(TABLE.slice(0, 60)), Group()), step)
    assert found + before == right(TABLE["ts"].to_pylist()[-1] - 6)


class KeepsApart:
    """Keeps all Bs from what has begun, and remembers how often it was asked, by whatever worker."""

    wanted = Wanted(guard=True, observe=True, work=True, n_bins=4)

    def __init__(self) -> None:
        self.n_looks = self.n_dropped = 0

    def begin(self, cells: Cells) -> Orders:
        utilities = np.ones(cells.shape, np.int64)
        utilities[cells.types.index("B"), cells.states.index("a")] = 0
        return Orders(Guard(utilities, 0), n_work=1, observe=True)

    def look(self, seen: Seen) -> Orders:
        self.n_looks += 1
        self.n_dropped = int(seen.dropped.sum() + seen.groups_dropped.sum())
        return Orders(n_work=1)

    def remembered(self) -> dict[str, object]:
        return {"n_looks": self.n_looks}

    def remember(self, said: dict[str, int]) -> None:
        self.n_looks = said["n_looks"]


def test_a_policy_goes_with_the_state_from_worker_to_worker():
    made: list[KeepsApart] = []

    def policy() -> KeepsApart:
        made.append(KeepsApart())
        return made[-1]

    step, group = step_of(policy=policy), Group()
    for at in range(0, TABLE.num_rows, 20):
        assert not rows(step(str(at).encode(), 0, packed(TABLE.slice(at, 20)), group), step)
    assert len(made) == 6
    assert [one.n_looks for one in made] == sorted({one.n_looks for one in made})
    assert [one.n_dropped for one in made] == sorted({one.n_dropped for one in made})
    assert rows(step_of()(b"none", 0, packed(TABLE), Group()), step)


def test_a_worker_hears_of_its_micro_batches(monkeypatch: pytest.MonkeyPatch):
    number = 0

    class Context:
        def getLocalProperty(self, key: str) -> str | None:
            return str(number) if key == "streaming.sql.batchId" else None

    warm = state.WarmStreams()
    monkeypatch.setattr("cepheid.spark.streams.step.TaskContext.get", Context)
    monkeypatch.setattr(state, "WARM", warm)
    step, groups = step_of(), (Group(), Group())
    nothing = [packs.pack(Heard((5,)), 0, None)]
    for number, buckets in enumerate(((0, 1), (0,), (0,))):  # the second goes on in another worker
        for bucket in buckets:
            list(step(b"run", bucket, nothing, groups[bucket]))
        assert len(warm) == (1 if number == 2 else 2)
    assert warm.take(b"run", 1, state.read(groups[1].get[0]).token) is None
