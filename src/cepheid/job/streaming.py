"""A job that is a stream: wired, started, watched, and ended between two batches."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cepheid.engine.outputs import PLANS
from cepheid.errors import JobError
from cepheid.job.checkpoint import Resumed, held, require_same, resumed
from cepheid.job.closed import Closed
from cepheid.job.load import Job
from cepheid.job.parameters import require_all, values_for
from cepheid.job.section import length_us
from cepheid.job.stream_outputs import Asked, asked_of, require_places, writers_of
from cepheid.job.stream_sinks import Writer
from cepheid.job.stream_sources import Streams, name_of, require_streamable, streams_of, type_column
from cepheid.job.telemetry import QUANTILES, Batch, Decided, Held, Telemetry, Totals, Written
from cepheid.language.printer import print_query


@dataclass(frozen=True)
class StreamReport:
    """What a streaming job did until it ended.

    Attributes:
        totals: of this run, not of those before it.
        stopped: it was asked to end; else it had read all that there was.
    """

    totals: Totals
    stopped: bool


def run_stream(
    job: Job,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    *,
    parameters: Mapping[str, str] | None = None,
) -> StreamReport:
    """Run a streaming job until it is stopped by a signal (INT or TERM), or all that there is has been read.

    Args:
        job: from `cepheid.job.load.load`, with a section ``[stream]``.
        say: takes what it goes on from, and a line for each batch.
        warn: takes warnings.
        parameters: values for parameters of the query, as texts; they go before those of the job file.

    Raises:
        CepheidError: whatever keeps the job from being done. Run it again, and it goes on with the batch that it could
            not finish.
    """
    require_possible(job)
    stream = job.model.stream
    assert stream is not None
    checkpoint = job.path_of(stream.checkpoint)
    with held(checkpoint, job.origin):
        require_same(checkpoint, _depends_on(job), job.origin)
        return _run(job, checkpoint, say, warn, parameters)


def _run(
    job: Job,
    checkpoint: Path,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    parameters: Mapping[str, str] | None,
) -> StreamReport:
    stream = job.model.stream
    assert stream is not None
    metrics = None
    if stream.metrics_port is not None:
        from cepheid.job.metrics import PrometheusMetrics

        metrics = PrometheusMetrics(stream.metrics_port)
    try:
        from cepheid.spark.session import local_session

        session = local_session("cepheid-job", config=_config(job))
        telemetry = Telemetry(say, warn, sources=[name_of(s) for s in job.model.source], metrics=metrics)
        asked = asked_of(job)
        rows, split = _wired(job, asked, session, parameters)
        batches = _Batches(split, asked.matches, writers_of(job, asked, split.columns), telemetry)
        say(_where(resumed(checkpoint), checkpoint))
        return _watched(job, session, rows, batches, telemetry, checkpoint, say)
    finally:
        if metrics is not None:
            metrics.close()


def require_possible(job: Job) -> None:
    """Refuse what a stream cannot do.

    Raises:
        JobError: the job asks for it.
    """
    model = job.model
    require_places(job)
    require_streamable(job)
    if model.engine == "local":
        raise JobError("a stream runs on Spark", remedy="leave --engine local out", origin=job.origin)


def _depends_on(job: Job) -> dict[str, str]:
    """The parts of a job that its checkpoint is of no use without."""
    queries = [print_query(job.query.tree), *(print_query(query.tree) for query in job.named.values())]
    sources = [source.model_dump_json(exclude={"servers", "options"}) for source in job.model.source]
    # Those that run for themselves have a state of their own.
    queries += [f"and {name}" for name in job.sinks]
    return {"a query": "\n".join(queries), "a source": "\n".join(sources)}


def _config(job: Job) -> dict[str, str]:
    from cepheid.spark.connectors import delta_config, kafka_config, together

    given = dict(job.model.spark)
    kinds = {job.model.sink.kind, *(source.kind for source in job.model.source)}
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # it is not for streams, and Spark says so at each start
        # A batch that failed is planned again by the next run; what is older serves nobody.
        "spark.sql.streaming.minBatchesToRetain": "20",
        **together(kafka_config(given) if "kafka" in kinds else {}, delta_config(given) if "delta" in kinds else {}),
        **given,
    }


def _wired(job: Job, asked: Asked, session: Any, parameters: Mapping[str, str] | None) -> tuple[Any, Any]:
    """The stream of all outputs, and what splits it."""
    from cepheid.spark.detect import detect
    from cepheid.spark.frames import events_of, events_of_types
    from cepheid.spark.stream_rows import without_unread

    stream, first = job.model.stream, job.model.source[0]
    assert stream is not None
    streams: Streams = streams_of(job, session)
    several = isinstance(streams.events, dict)
    kind = None if several else type_column(job, streams.events)
    given: dict[str, Any] = {
        "time": first.time,
        "time_unit": first.time_unit,
        "type": kind,
        "order": streams.order,
    }
    if several:
        schema = events_of_types({t: without_unread(rows) for t, rows in streams.events.items()}, **given).schema.events
    else:
        schema = events_of(without_unread(streams.events), **given).schema.events
    bounds = [query.bind(schema, job.catalog) for query in (job.query, *(job.named[name] for name in job.sinks))]
    parameters_of = {name: dtype for bound in bounds for name, dtype in bound.parameters.items()}
    values = values_for(job, replace(bounds[0], parameters=parameters_of), parameters)
    for bound in bounds:
        require_all(bound, values)
    slack = job.model.slack
    found: Any = detect(
        streams.events,
        asked.query,
        **{**given, "order": streams.order or None},
        parameters=values,
        queries=asked.rest,
        outputs=asked.outputs,
        watermark=stream.watermark,
        idle_flush=stream.idle_flush,
        settings=job.model.settings.settings,
        slack=None if slack is None else slack.slack,
        received=None if slack is None else slack.received,
    )
    return found.tagged, found


@dataclass(frozen=True)
class _Batches:
    """Writes each batch.

    Attributes:
        found: the outputs of the query.
        matches: those of them that are matches.
        writers: output -> what writes its rows.
        telemetry: is told what was written.
        closed: bucket -> what its slack policy has done so far.
    """

    found: Any
    matches: tuple[str, ...]
    writers: Mapping[str, Writer]
    telemetry: Telemetry
    closed: dict[int, Closed] = field(default_factory=dict)

    def __call__(self, rows: Any, number: int) -> None:
        """Write one batch."""
        from cepheid.spark.stream_rows import summary_of
        from cepheid.spark.streams.closing import figures_of
        from cepheid.spark.streams.outputs import rows_of

        rows.persist()
        try:
            summary = summary_of(rows, self.matches, QUANTILES)
            n_rows = summary.n_rows
            columns = self.found.columns
            for name, writer in self.writers.items():
                if n_rows.get(name):
                    writer(rows_of(rows, name, columns[name]), number)
            written_s = time.time()
            if "slack" in columns:
                told = figures_of(rows_of(rows, "slack", columns["slack"]))
                self.closed.update({bucket: Closed.of_figures(figures) for bucket, figures in told.items()})
            plans = _plans_of(rows_of(rows, PLANS, columns[PLANS])) if n_rows.get(PLANS) else ()
        finally:
            rows.unpersist()
        self.telemetry.written(
            number,
            Written(
                n_matches=sum(n_rows.get(name, 0) for name in self.matches),
                n_late=sum(bucket.n_late for bucket in summary.buckets),
                plans=plans,
                n_rejected=n_rows.get("unread", 0) + n_rows.get("rejected", 0),
                latency_s=tuple(written_s - last_us / 1e6 for last_us in summary.last_us) or None,
                closed=Closed.of(self.closed.values()) if self.closed else None,
                held={b.number: Held(b.n_waiting, b.n_partial_matches, b.n_bytes) for b in summary.buckets},
            ),
        )


def _plans_of(rows: Any) -> tuple[Decided, ...]:
    """What was decided on evaluation plans, one bucket after the other."""
    names = ("bucket", "query", "time_us", "plan", "switched", "told")
    found = [tuple(row) for row in rows.select(*names).collect()]
    return tuple(
        Decided(bucket, query or "", plan, switched, told)
        for bucket, query, _, plan, switched, told in sorted(found, key=lambda row: (row[0], row[1] or "", row[2]))
    )


def _watched(
    job: Job,
    session: Any,
    rows: Any,
    batches: _Batches,
    telemetry: Telemetry,
    checkpoint: Path,
    say: Callable[[str], None],
) -> StreamReport:
    from cepheid.spark.stream_query import Progress, StreamRun
    from cepheid.spark.stream_rows import counts_of

    stream = job.model.stream
    assert stream is not None

    def told(progress: Progress) -> None:
        n_events, newest = counts_of(progress.observed)
        telemetry.done(
            Batch(progress.batch, n_events, newest, progress.watermark, progress.seconds, progress.state_bytes)
        )

    run = StreamRun(
        session,
        rows,
        write=batches,
        told=told,
        checkpoint=str(checkpoint),
        trigger=_trigger(stream.trigger),
        name=Path(job.origin).stem,
    )

    def stop() -> None:
        run.stop()
        say("stopping: the batch at hand is finished, and the next is not begun; a second signal ends the job at once")

    with stopping(stop) as asked:
        run.wait(telemetry.look)
    return StreamReport(telemetry.totals, asked.is_set())


def _trigger(said: str) -> dict[str, Any]:
    if said == "as it comes":
        return {}
    if said == "available now":
        return {"availableNow": True}
    return {"processingTime": f"{max(1, length_us(said) // 1000)} milliseconds"}


SAME_S = 0.5
"""Signals so soon after the first one are taken for the same: a shell, or `timeout`, sends it to a process and to its
group."""


def _end_at_once(number: int) -> None:
    """End the process; Spark's goes with it, and a job goes on from its checkpoint as after any failure."""
    # As an exception it would be met in the midst of a call to Java, whose own errors would follow it.
    os.write(2, b"ended at once by a second signal; run the job again to go on from its checkpoint\n")
    os._exit(128 + number)


@contextmanager
def stopping(stop: Callable[[], None], at_once: Callable[[int], None] = _end_at_once) -> Iterator[threading.Event]:
    """Let the first signal INT or TERM ask for the end, and a second one, after `SAME_S`, end the process.

    Args:
        stop: called by the first one.
        at_once: called with the number of the second one.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    first_s = 0.0

    def heard(number: int, _: object) -> None:
        nonlocal first_s
        if not asked.is_set():
            first_s = time.monotonic()
            asked.set()
            stop()
        elif time.monotonic() - first_s >= SAME_S:
            at_once(number)

    for number in before:
        signal.signal(number, heard)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _where(found: Resumed | None, checkpoint: Path) -> str:
    return f"a new stream, checkpoint {checkpoint}" if found is None else f"going on from {checkpoint}: {found}"
