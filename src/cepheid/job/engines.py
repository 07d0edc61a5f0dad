"""The engines that a job can run on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.connectors.rejected import N_RAW_MAX, REJECTED_SCHEMA
from cepheid.connectors.writing import rows_of
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.slack_report import SlackReport, report_of
from cepheid.errors import DataError, NoMatchWarning
from cepheid.events.ingest import read_events
from cepheid.events.schema import Schema
from cepheid.events.types import DataType
from cepheid.job.slack_section import SlackSection
from cepheid.plan.evaluation import ADAPTIVE
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation
from cepheid.ports.evaluation import Decision
from cepheid.query import Query, QuerySet, catalog_with


@dataclass(frozen=True)
class Found:
    """What an engine found.

    Attributes:
        matches: an Arrow table.
        n_matches: its rows.
        rejected: events that it could not use, with the columns of `REJECTED_SCHEMA`.
        rejected_rows: which those are, counted through all tables.
        n_null_key: events with NULL in SAME, which are in no partition; None where the engine does not tell.
        others: the matches of further queries that were asked for, by name.
        timed_out: an Arrow table of what timed out, or None where it was not asked for.
        late: an Arrow table of the events that came too late; None where none can.
        slack_report: what the slack policy of the job did; None without one.
        decisions: what was decided on evaluation plans; on Spark by each task, in no particular order.
    """

    matches: Any
    n_matches: int
    rejected: Any
    rejected_rows: Sequence[int]
    n_null_key: int | None = None
    others: Mapping[str, Any] = field(default_factory=dict)
    timed_out: Any = None
    late: Any = None
    slack_report: SlackReport | None = None
    decisions: tuple[Decision, ...] = ()


MAIN = "[query]"
"""The name of the job's own query in a set."""


def match_local(
    tables: Mapping[str | None, Any],
    query: Query,
    schema: Schema,
    parameters: Mapping[str, object],
    *,
    null_keys: bool = False,
    named: Mapping[str, Query] | None = None,
    others: Sequence[str] = (),
    timed_out: bool = False,
    settings: Settings = DEFAULTS,
    slack: SlackSection | None = None,
) -> Found:
    """The matches, found in this process.

    Args:
        tables: event type -> its events; one table under None where a column tells the type.
        query: the query.
        schema: of the events.
        parameters: values of the query's parameters.
        null_keys: events with NULL in SAME are rejected ones too.
        named: further queries, which may stand behind FROM.
        others: the names of those whose own matches are wanted, too.
        timed_out: find what timed out of the query itself, too.
        settings: how much each query may hold.
        slack: which events come too late; None for none of them.

    Warns:
        UserWarning: partial matches were dropped, as the settings allow.
    """
    from cepheid.local import run_set

    asked, rest = _asked(query, named or {}, others)
    results = run_set(
        tables[None] if None in tables else dict(tables),
        asked,
        time=schema.time,
        time_unit=schema.time_unit,
        type=None if schema.per_type else schema.type,
        order=list(schema.order) or None,
        parameters=dict(parameters),
        queries=rest,
        reject_null_keys=null_keys,
        timed_out=(MAIN,) if timed_out else (),
        settings=settings,
        slack=None if slack is None else slack.slack,
        received=None if slack is None else slack.received,
    )
    n_dropped = sum(result.n_dropped for result in results.values())
    if n_dropped:
        warnings.warn(f"{n_dropped} partial matches were dropped, so matches may be missing", stacklevel=2)
    result = results[MAIN]
    rows = result.rejected["row"].to_pylist()
    rejected = _as_rejected(result.rejected, _raw_events(tables, rows))
    found = {name: results[name].matches for name in others}
    found_all = Found(result.matches, result.n_matches, rejected, rows, result.n_null_key, found, result.timed_out)
    decisions = tuple(one.work.decision for one in results.values() if one.work.decision is not None)
    return replace(found_all, late=result.late, slack_report=result.slack_report, decisions=decisions)


def _asked(query: Query, named: Mapping[str, Query], others: Sequence[str]) -> tuple[QuerySet, dict[str, Query]]:
    """The queries that are run for their own matches, and the rest."""
    rest = {name: other for name, other in named.items() if name not in others}
    return QuerySet({MAIN: query, **{name: named[name] for name in others}}), rest


def _raw_events(tables: Mapping[str | None, Any], rows: Sequence[int]) -> list[str]:
    """The events in these rows, counted through all tables, as JSON cut to the length of raw text."""
    raw = {}
    wanted = set(rows)
    n_before = 0
    for table in tables.values():
        here = sorted(row for row in wanted if n_before <= row < n_before + len(table))
        for row, event in zip(
            here, _readable(table.take(pa.array([row - n_before for row in here], pa.int64()))), strict=True
        ):
            raw[row] = json.dumps(event, default=str, ensure_ascii=False)[:N_RAW_MAX]
        n_before += len(table)
    return [raw[row] for row in rows]


def _readable(table: Any) -> list[dict[str, Any]]:
    """The rows; where a time is beyond what Python has, the plain values of it, in numbers where they are times."""
    try:
        return rows_of(table)
    except DataError:
        plain = table.select([f.name for f in table.schema if not pa.types.is_nested(f.type)])
        times = [pa.types.is_timestamp(f.type) or pa.types.is_date(f.type) for f in plain.schema]
        return rows_of(
            pa.table(
                [
                    column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64()) if is_time else column
                    for column, is_time in zip(plain.columns, times, strict=True)
                ],
                names=plain.column_names,
            )
        )


def _as_rejected(rejected: Any, raw: Sequence[str] | None = None) -> Any:
    """Rejected events in the columns of rejected rows: the event itself is the raw text."""
    return pa.table(
        {
            "file": pa.nulls(len(rejected), pa.string()),
            "line": pa.nulls(len(rejected), pa.int64()),
            "column": rejected["column"] if "column" in rejected.column_names else pa.nulls(len(rejected), pa.string()),
            "reason": rejected["reason"],
            "raw": pa.nulls(len(rejected), pa.string()) if raw is None else pa.array(raw, pa.string()),
        },
        schema=REJECTED_SCHEMA,
    )


def match_spark(
    tables: Mapping[str | None, Any],
    query: Query,
    schema: Schema,
    parameters: Mapping[str, object],
    *,
    named: Mapping[str, Query] | None = None,
    others: Sequence[str] = (),
    timed_out: bool = False,
    settings: Settings = DEFAULTS,
    slack: SlackSection | None = None,
) -> Found:
    """The matches, found by Spark on this machine; see `match_local`.

    The events are read by this process and handed to Spark, so that both engines see the same ones. Matches come in no
    particular order.
    """
    from cepheid.spark.detect import detect
    from cepheid.spark.session import local_session
    from cepheid.spark.told_decisions import TellingChoosers

    session = local_session("cepheid-job")
    telling = None
    if settings.evaluation == ADAPTIVE:
        telling = TellingChoosers.of(settings.chooser or AdaptiveEvaluation, session.sparkContext)
        settings = replace(settings, chooser=telling)
    numbered = _numbered(tables) if not schema.order else dict(tables)
    frames = {name: session.createDataFrame(_in_utc(table)) for name, table in numbered.items()}
    asked, rest = _asked(query, named or {}, others)
    given = frames[None] if None in frames else {str(name): frame for name, frame in frames.items()}
    options: dict[str, Any] = {
        "time": schema.time,
        "time_unit": schema.time_unit,
        "type": schema.type,
        "order": list(schema.order) or [_ROW],
        "parameters": parameters,
        "settings": settings,
        **({} if slack is None else {"slack": slack.slack, "received": slack.received}),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoMatchWarning)  # the report has them
        detected = detect(given, asked, **options, queries=rest, outputs=("matches", *_REPLAYED[slack is not None]))
    found = {name: _in_utc(_without_row(outputs.matches.toArrow())) for name, outputs in detected.items()}
    late, report = None, None
    if slack is not None:
        told = {name: getattr(detected[MAIN], name).toArrow() for name in _REPLAYED[True]}
        late = _in_utc(told["late"].drop_columns([name for name in (_ROW,) if name in told["late"].column_names]))
        report = report_of(told["slack"], told["closed"].sort_by("window_end"), told["fitted"])
    detected.unpersist()
    left = None
    if timed_out:
        known = query.bind(schema, catalog_with(None, named)).parameters
        own = {name: value for name, value in parameters.items() if name in known}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoMatchWarning)
            outputs = detect(given, query, **{**options, "parameters": own}, queries=named, outputs="timed_out")
        left = _in_utc(_without_row(outputs.timed_out.toArrow()))
    matches = found.pop(MAIN)
    decisions = () if telling is None else telling.decisions
    return Found(
        matches,
        len(matches),
        *_rejected_of(tables, schema),
        others=found,
        timed_out=left,
        late=late,
        slack_report=report,
        decisions=decisions,
    )


_REPLAYED: dict[bool, tuple[str, ...]] = {False: (), True: ("late", "closed", "fitted", "slack")}
"""Whether a policy closes windows -> the outputs that tell of it."""

_ROW = "#row"
"""The column that Spark orders events of equal time by where the job names none: rows have no order of their own."""


def _numbered(tables: Mapping[str | None, Any]) -> dict[str | None, Any]:
    """The tables with the number of each row through all of them, which is the order key in this process."""
    numbered, n_before = {}, 0
    for name, table in tables.items():
        numbered[name] = table.append_column(_ROW, pa.array(np.arange(n_before, n_before + len(table))))
        n_before += len(table)
    return numbered


def _in_utc(table: Any) -> Any:
    """Times without a zone are UTC; Spark would read them in the zone of its session."""
    fields = [
        f.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(f.type) and f.type.unit != "ns" else f
        for f in table.schema
    ]
    return table.cast(pa.schema(fields))


def _without_row(matches: Any) -> Any:
    """The matches without `_ROW` in the events that they hold."""
    for position, column in enumerate(matches.schema):
        kept = _type_without_row(column.type)
        if kept != column.type:
            matches = matches.set_column(position, column.name, matches[column.name].cast(kept))
    return matches


def _type_without_row(arrow: Any) -> Any:
    if pa.types.is_struct(arrow):
        return pa.struct([f.with_type(_type_without_row(f.type)) for f in arrow if f.name != _ROW])
    if pa.types.is_list(arrow) and pa.types.is_struct(arrow.value_type):
        return pa.list_(_type_without_row(arrow.value_type))
    return arrow


def _rejected_of(tables: Mapping[str | None, Any], schema: Schema) -> tuple[Any, list[int]]:
    """The events, and their rows, without time or type, which Spark leaves out without a word."""
    found, rows, n_before = [], [], 0
    for table in tables.values():
        own = schema if not schema.per_type else replace(schema, type=None, fields=_fields(table, schema), per_type={})
        rejected = read_events(table, own).rejected.table()
        found.append(rejected)
        rows += [n_before + row for row in rejected["row"].to_pylist()]
        n_before += len(table)
    return _as_rejected(pa.concat_tables(found), _raw_events(tables, rows)), rows


def _fields(table: Any, schema: Schema) -> dict[str, DataType]:
    return {name: schema.fields[name] for name in table.column_names}
