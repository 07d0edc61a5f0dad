"""What the compiled engine gives for a case, as lines of the notation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.composite import composites
from cepheid.engine.matches import Matches
from cepheid.engine.session import prepare, run, run_outputs
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery
from cepheid.local import Result
from cepheid.local import run as run_local
from cepheid.query import Query
from cepheid.testing.harness import ORDER, SOURCE, innermost, table_of
from cepheid.testing.oracle import OracleEvent, Watermark
from tests.conformance.notation import SECOND_US, Case, one_line, stream

AT_THE_END = int(np.iinfo(np.int64).max)


def on_time(case: Case) -> list[OracleEvent]:
    """The events of a case that are not late: a table has no watermark, so late ones are left out beforehand."""
    reached: int | None = None
    events: list[OracleEvent] = []
    for item in stream(case.events).items:
        if isinstance(item, Watermark):
            reached = item.time
        elif reached is None or item.time > reached:
            events.append(item)
    return events


def lines(case: Case) -> list[str]:
    """The matches that are decided by the time at which the watermark of a case stands, in the engine's order.

    The engine does not tell whether an event or the watermark decided a match, so ``at`` stands for both; compare with
    `expected`.
    """
    bound, events = case.bound(), on_time(case)
    table, schema = table_of(events, innermost(bound).schema)
    names = stream(case.events).names
    found, decided, _ = _found(bound, read_events(table, schema), [names[event] for event in events])
    # A table ends, where the watermark of a case may stand still: then what is decided later is not reported.
    reached = AT_THE_END if case.watermark_us is None else case.watermark_us
    return [line for line, at in zip(found, decided, strict=True) if at <= reached]


def timed_out(case: Case) -> list[str]:
    """What timed out by the time at which the watermark of a case stands, in the engine's order; not for FROM."""
    bound, events = case.bound(), on_time(case)
    table, schema = table_of(events, bound.schema)
    names = stream(case.events).names
    batch = read_events(table, schema)
    _, out = run_outputs(prepare(bound, timed_out=True), batch)
    written = _lines(bound, batch, out, [names[event] for event in events])
    reached = AT_THE_END if case.watermark_us is None else case.watermark_us
    return [line for line, at in zip(written, out.decided_us.tolist(), strict=True) if at <= reached]


def expected(told: Sequence[str]) -> list[str]:
    """The matches of a case, or what timed out, as `lines` and `timed_out` write them."""
    return [one_line(line).replace("| with ", "| at ") for line in told]


def _found(bound: BoundQuery, batch: EventBatch, names: Sequence[str]) -> tuple[list[str], list[int], Any]:
    """The line of each match and when it was decided, the batch that it was found in, and its matches."""
    if bound.inner is not None:
        below, _, (events, matches) = _found(bound.inner, batch, names)
        batch = composites(bound, events, matches)
        names = [f"({line.partition(' | ')[0]})" for line in below]
    found = run(bound, batch)
    return _lines(bound, batch, found, names), found.decided_us.tolist(), (batch, found)


def _lines(bound: BoundQuery, batch: EventBatch, found: Matches, names: Sequence[str]) -> list[str]:
    rows = batch.rows_of(found.positions).tolist()
    return [_line(bound, batch, found, number, rows, names) for number in range(len(found))]


def _line(
    bound: BoundQuery, batch: EventBatch, found: Matches, number: int, rows: list[int], names: Sequence[str]
) -> str:
    entries = range(found.offsets[number], found.offsets[number + 1])
    elements: dict[int, list[str]] = {}
    for entry in entries:
        elements.setdefault(int(found.variables[entry]), []).append(names[rows[entry]])
    variables = list(bound.variables)
    pairs = []
    for variable, events in sorted(elements.items()):
        value = events[0] if len(events) == 1 else f"[{', '.join(events)}]"
        pairs.append(f"{variables[variable]}={value}")
    notes = []
    decided = int(found.decided_us[number])
    if decided == AT_THE_END:
        notes.append("at end")
    elif decided != int(batch.time_us[found.positions[entries[-1]]]):
        notes.append(f"at {_seconds(decided)}")
    if found.window_start_us is not None and found.window_end_us is not None:
        bounds = (int(found.window_start_us[number]), int(found.window_end_us[number]))
        in_events = bound.window.size_events is not None
        notes.append(f"in {' '.join(str(b) if in_events else _seconds(b) for b in bounds)}")
    return " ".join(pairs) + (f" | {', '.join(notes)}" if notes else "")


def _seconds(microseconds: int) -> str:
    return f"{microseconds / SECOND_US:.6f}".rstrip("0").rstrip(".")


def local(case: Case) -> tuple[Result, Any]:
    """What `cepheid.local.run` says of a case, and the table of its events that it was given."""
    events = on_time(case)
    table, _ = table_of(events, innermost(case.bound()).schema)
    names = stream(case.events).names
    result = run_local(
        table,
        Query.parse(case.query),
        time="ts",
        time_unit="s",
        type="kind",
        order=[ORDER, SOURCE],
        catalog=case.known,
        reject_null_keys=True,
    )
    return result, pa.array([names[event] for event in events], pa.string())
