"""Matches in a table in this process: `cepheid.match`, and their number: `cepheid.count`."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.compiler.elements import RemoteData
from cepheid.engine.adapting import run_chosen
from cepheid.engine.composite import events_for
from cepheid.engine.counting import count as count_matches
from cepheid.engine.counting import count_by_event
from cepheid.engine.first import cut, first_matches, require_limit
from cepheid.engine.late_events import FollowedTime, in_arrival, punctual, receptions
from cepheid.engine.matches import Matches
from cepheid.engine.output import assemble, assemble_timed_out
from cepheid.engine.outputs import NULL_KEY, REJECTED, TIMED_OUT, Outputs, asked_outputs, replayed_outputs
from cepheid.engine.rejected import missing_keys
from cepheid.engine.session import Work, prepare, run_outputs
from cepheid.engine.settings import DEFAULTS, Settings, require_settings
from cepheid.engine.slack import warning_of, watch_of
from cepheid.engine.slack_report import SlackReport
from cepheid.engine.together import Found, run_together
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import CepheidError, SetupError, level_outside
from cepheid.events.arrow_memory import array_of, texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.frames import like_given
from cepheid.events.given import first_given, read_given
from cepheid.events.given_times import slack_us
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery, Catalog
from cepheid.language.hopeless import missing_type, told, warn_of_no_matches
from cepheid.language.parameters import require_parameters, with_parameters
from cepheid.plan.evaluation import asked_for
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation
from cepheid.policies.slack.settings import Slack, received_column
from cepheid.query import Asked, Query, QuerySet, catalog_with, with_values


@dataclass(frozen=True, eq=False)
class Result:
    """What a query found in a table.

    Attributes:
        matches: a pyarrow Table, one row a match, in the order of SEMANTICS 7.2.
        rejected: a pyarrow Table with the columns row (int64, in the caller's table), column and reason (text):
            events without a time or type, and, where asked for, with NULL in SAME.
        n_events: events read, rejected ones among them.
        n_null_key: events with NULL in SAME, which are in no partition; composite events (FROM) among them.
        work: what the engine did for the query itself.
        timed_out: a pyarrow Table of what timed out, as `cepheid.Outputs` says; None where it was not asked for.
        hopeless: why there are no matches in any table, where that is certain; texts with the place in the query.
        missing_type: an event type that every match needs and no event has: a sentence, and the type that may be
            meant, or None. None where there are matches.
        late: a pyarrow Table of the events that came too late; None where no slack was asked for.
        slack_report: what a `cepheid.Slack` did; else None.
        n_dropped: partial matches that were dropped, as `cepheid.Settings` allowed; also for the queries behind FROM.
    """

    matches: Any
    rejected: Any
    n_events: int
    n_null_key: int
    work: Work
    timed_out: Any = None
    hopeless: tuple[str, ...] = ()
    missing_type: tuple[str, str | None] | None = None
    n_dropped: int = 0
    late: Any = None
    slack_report: SlackReport | None = None

    @property
    def closed(self) -> Any:
        """A pyarrow Table of the windows that a `cepheid.Slack` closed; else None."""
        return None if self.slack_report is None else self.slack_report.decisions

    @property
    def fitted(self) -> Any:
        """A pyarrow Table of the distributions that a `cepheid.Slack` learned; else None."""
        return None if self.slack_report is None else self.slack_report.fitted

    @property
    def slack(self) -> Any:
        """A pyarrow Table of one row: what a `cepheid.Slack` did; else None."""
        return None if self.slack_report is None else self.slack_report.figures

    @property
    def n_matches(self) -> int:
        """The number of matches."""
        return len(self.matches)


def match(
    events: Any,
    query: Asked | QuerySet,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    outputs: str | Collection[str] | None = None,
    limit: int | None = None,
    settings: Settings = DEFAULTS,
    slack: timedelta | str | int | float | Slack | None = None,
    received: str | None = None,
) -> Any:
    """All matches of a query in a table, as the same kind of table; of a set of queries, a table for each.

    Args:
        events: a pyarrow Table, a pandas or Polars DataFrame, or several by event type:
            ``{"Txn": table, "Denied": other}``.
        query: a `cepheid.Query`, its text, or one made with `cepheid.build`; or a `cepheid.QuerySet`, which is run in
            one pass.
        time: the column of event time: timestamps, dates, ISO texts, or numbers with ``time_unit``.
        type: the column of the event type, where the events have several types in one table.
        order: the columns that order events of equal time; the number of the row by default.
        time_unit: the unit of a time column of numbers, and of a bare number in a window: us, ms, s, min, h or d.
        parameters: values for the query's parameters (``:limit``).
        catalog: functions and stores that the query names.
        queries: the queries whose matches may be the events of this one or of each other (``FROM name``), by name.
        outputs: some of ``matches``, ``timed_out`` and ``rejected``; without it, the matches alone.
        limit: give so many matches at most, the first ones in their order (of a set of queries, of each). Under
            ``POLICY any`` without conditions between events (see `count`), without windows that slide and with events
            that each fit one element of those that may come next, they cost only what they are; for other queries, for
            sets and with other outputs all matches are found first.
        settings: how much a query may hold: `cepheid.Settings`.
        slack: replay the table as a stream, in which events that come too late are in no match: see `cepheid.Matcher`.
            The events came as ``received`` says, or in the order of the rows. Then ``late`` is an output, too, and
            of a `cepheid.Slack` ``closed``, ``fitted`` and ``slack``. None: no event is late.
        received: the column that says when an event was received, for ``slack``; a `cepheid.Slack` needs one.

    Returns:
        RETURN's columns, or the default ones: ``match_id``, first and last time, SAME's attributes, and a struct for
        each variable. Matches come in the order in which they were decided. For a set of queries, a dict from the
        name of each to its matches, which are those that it has alone. With ``outputs``, `cepheid.Outputs` in place of
        each table of matches: tables of the same kind under those names. Of ``rejected`` the columns are ``row`` in the
        caller's table (through all tables, where there are several), ``column`` and ``reason``.

    Warns:
        UserWarning: events were rejected (no time, no type), and ``rejected`` is not asked for; or partial matches were
            dropped, as the settings allow.
        NoMatchWarning: there are no matches and could be none: conditions exclude each other, or no event has a type
            that every match needs, and one is spelled alike.

    Raises:
        QueryError: the query does not fit the events, or cannot be run yet (`NotSupportedError`).
        CapacityError: more partial matches would be held than the settings allow.
        SchemaError, DataError, ParameterError: the events or parameters do not do; there is no such output.
        SetupError: the limit is no number of matches; the settings, catalog, queries or parameters are none.
    """
    require_settings(settings)
    require_limit(limit)
    asked = (
        None if outputs is None else asked_outputs(outputs, replayed_outputs(slack, by_policy=isinstance(slack, Slack)))
    )
    options: dict[str, Any] = {
        "time": time,
        "type": type,
        "order": order,
        "time_unit": time_unit,
        "parameters": parameters,
        "catalog": catalog,
        "queries": queries,
        "limit": limit,
        "settings": settings,
        "slack": slack,
        "received": received_column(received, slack, replayed=True),
    }
    if asked is not None:
        options |= {"reject_null_keys": REJECTED in asked, "timed_out": TIMED_OUT in asked}
    given = first_given(events)

    def given_back(result: Result) -> Any:
        if asked is None:
            return like_given(result.matches, given)
        tables = {name: like_given(getattr(result, name), given) for name in asked}
        return Outputs(**tables)

    if isinstance(query, QuerySet):
        results = run_set(events, query, **{**options, "timed_out": query if options.get("timed_out") else ()})
    else:
        results = {"": run(events, query, **options)}
    _warn_of_dropped(sum(result.n_dropped for result in results.values()))
    if asked is None or REJECTED not in asked:
        first = next(iter(results.values()))
        _warn_of_rejected(first.rejected, first.n_events, 'outputs=("matches", "rejected")')
    warn_of_no_matches([s for name, r in results.items() for s in _why_none(name, r.hopeless, r.missing_type)])
    if isinstance(query, QuerySet):
        return {name: given_back(result) for name, result in results.items()}
    return given_back(results[""])


def count(
    events: Any,
    query: Asked | QuerySet,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    by_event: bool = False,
    settings: Settings = DEFAULTS,
) -> Any:
    """The number of matches of a query in a table; of a set of queries, that of each.

    It is exact, and it is the number of rows that `match` gives. Under ``POLICY any`` without conditions between
    events, the matches are not made: an event costs the same, however many there are. (SAME, windows and NOT between
    two elements may be there; NOT at an end or of a group, UNTIL, BETWEEN EACH, AFTER MATCH, ONE MATCH PER WINDOW and
    prefixes may not.) For other queries the matches are found and counted.

    Args:
        events, query, time, type, order, time_unit, parameters, catalog, queries, settings: see `match`.
        by_event: tell the numbers by the last events of the matches.

    Returns:
        An int of any size; for a set of queries, a dict from the name of each to its number. With ``by_event``, in
        place of each number, a table of the same kind as the events, with a row for each event that is the last one of
        a match, in the order of the events: ``row``, its number in the caller's table (with FROM, the number of the
        composite event, from 0), and ``n_matches``, both int64.

    Warns:
        as `match`.

    Raises:
        CapacityError: there may be more matches than a number of 4,300 digits tells; with ``by_event``, an event ends
            2**63 of them or more; or as `match`.
        QueryError, SchemaError, DataError, ParameterError: as `match`.
    """
    require_settings(settings)
    settings = settings.choosing(AdaptiveEvaluation)
    given = first_given(events)
    table, schema = read_given(events, time=time, type=type, order=order, time_unit=time_unit)
    known = catalog_with(catalog, queries)
    bounds = query.bind(schema, known) if isinstance(query, QuerySet) else {"": Query.of(query).bind(schema, known)}
    bounds = with_values(bounds, require_parameters(parameters))
    batch = read_events(table, schema)
    counted: dict[str, Any] = {}
    said: list[str] = []
    n_dropped = 0
    for name, bound in bounds.items():
        works: list[Work] = [Work()]
        try:
            own = events_for(bound, batch, works, settings=settings)
            if by_event:
                positions, numbers = count_by_event(bound, own, work=works[0], settings=settings)
                number = len(positions)
                rows = {"row": array_of(own.rows_of(positions)), "n_matches": array_of(numbers)}
                counted[name] = like_given(pa.table(rows), given)
            else:
                counted[name] = number = count_matches(bound, own, work=works[0], settings=settings)
        except CepheidError as error:
            raise error.located(bound.text, bound.origin or name or None) from None
        n_dropped += sum(work.n_dropped for work in works)
        if not number:
            said += _why_none(name, told(bound), _missing_type(bound, batch))
    _warn_of_dropped(n_dropped)
    rejected = batch.rejected.table()
    _warn_of_rejected(rejected, len(batch.table), 'cep.match with outputs="rejected"')
    warn_of_no_matches(said)
    return counted if isinstance(query, QuerySet) else counted[""]


def _warn_of_dropped(n_dropped: int) -> None:
    if n_dropped:
        warnings.warn(f"{n_dropped} partial matches were dropped, so matches may be missing", stacklevel=3)


def _warn_of_rejected(rejected: Any, n_events: int, returned_by: str) -> None:
    if len(rejected):
        reasons = pc.value_counts(rejected["reason"]).to_pylist()
        said = "; ".join(f"{entry['counts']} x {entry['values']}" for entry in reasons[:5])
        warnings.warn(
            f"{len(rejected)} of {n_events} events were rejected ({said}); {returned_by} returns them", stacklevel=3
        )


def _missing_type(bound: BoundQuery, batch: EventBatch) -> tuple[str, str | None] | None:
    return missing_type(bound, batch.type_names) if batch.type_names else None


def _why_none(name: str, hopeless: Sequence[str], missing: tuple[str, str | None] | None) -> list[str]:
    """Why there are no matches, where that is no chance of these events; a type that may be misspelt, too."""
    said = list(hopeless)
    if missing is not None and missing[1] is not None:
        said.append(f"{name}: {missing[0]}" if name else missing[0])
    return said


def run(
    events: Any,
    query: Asked,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    limit: int | None = None,
    settings: Settings = DEFAULTS,
    reject_null_keys: bool = False,
    timed_out: bool = False,
    slack: timedelta | str | int | float | Slack | None = None,
    received: str | None = None,
) -> Result:
    """The same as `match`, with what was rejected and what it took.

    Args:
        events, query, time, type, order, time_unit, parameters, catalog, queries, limit, settings, slack,
            received: see `match`.
        reject_null_keys: list events with NULL in SAME among the rejected ones (of those read, not composite ones).
        timed_out: find what timed out, too.

    Raises:
        as `match`.
    """
    asked = Query.of(query)
    table, schema = read_given(events, time=time, type=type, order=order, time_unit=time_unit)
    bound = with_parameters(asked.bind(schema, catalog_with(catalog, queries)), require_parameters(parameters))
    batch = read_events(table, schema)
    arrived = _arrived(batch, [bound], slack, received, time_unit)
    batch = arrived.batch
    works: list[Work] = []
    settings = settings.choosing(AdaptiveEvaluation)
    remote = RemoteData(bound)
    own = events_for(bound, batch, works, whole=timed_out, settings=settings)
    work = Work()
    left: Matches | None = None
    if timed_out:
        asked_for(bound, settings.evaluation)  # one plan tells it, but what is asked for must be one, too
        matches, left = run_outputs(prepare(bound, timed_out=True), own, work=work, settings=settings)
    elif limit is not None and not reject_null_keys:  # events behind the last of these matches may not be looked at
        matches = first_matches(bound, own, limit, work=work, settings=settings)
    else:
        matches = run_chosen(bound, own, work=work, settings=settings)
    if limit is not None:
        matches = cut(matches, limit)
    found = Found(own, matches, (*works, work), left)
    return arrived.told(_result(bound, batch, found, remote, reject_null_keys=reject_null_keys))


def run_set(
    events: Any,
    queries_asked: QuerySet,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    limit: int | None = None,
    settings: Settings = DEFAULTS,
    reject_null_keys: bool = False,
    timed_out: Collection[str] = (),
    slack: timedelta | str | int | float | Slack | None = None,
    received: str | None = None,
) -> dict[str, Result]:
    """The same as `run` for each query of a set, in one pass over the events.

    Args:
        events, time, type, order, time_unit, catalog, queries, limit, settings, reject_null_keys, slack, received: see
            `run`.
        queries_asked: the set.
        parameters: values for the parameters of the queries; each gets those that it names.
        timed_out: the names of the queries of which to find what timed out, too.

    Returns:
        Name -> what `run` gives for that query alone.

    Raises:
        as `match`.
    """
    table, schema = read_given(events, time=time, type=type, order=order, time_unit=time_unit)
    bounds = with_values(queries_asked.bind(schema, catalog_with(catalog, queries)), require_parameters(parameters))
    batch = read_events(table, schema)
    arrived = _arrived(batch, list(bounds.values()), slack, received, time_unit)
    batch = arrived.batch
    chosen = settings.choosing(AdaptiveEvaluation)
    remotes = {name: RemoteData(bound) for name, bound in bounds.items()}
    found = run_together(bounds, batch, timed_out=timed_out, settings=chosen)
    if limit is not None:
        found = {name: replace(one, matches=cut(one.matches, limit)) for name, one in found.items()}
    results = {
        name: _result(bounds[name], batch, own, remotes[name], reject_null_keys=reject_null_keys)
        for name, own in found.items()
    }
    return {name: arrived.told(result) for name, result in results.items()}


@dataclass(frozen=True, eq=False)
class _Arrived:
    """The events of a table that came on time, the others, and the windows that were closed."""

    batch: EventBatch
    late: Any = None
    report: SlackReport | None = None

    def told(self, result: Result) -> Result:
        return replace(result, late=self.late, slack_report=self.report)


def _arrived(
    batch: EventBatch,
    bounds: Sequence[BoundQuery],
    slack: timedelta | str | int | float | Slack | None,
    received: str | None,
    time_unit: str | None,
) -> _Arrived:
    if slack is None:
        return _Arrived(batch)
    if not isinstance(slack, Slack):
        if received is None:
            arrived = np.argsort(batch.rows_of(np.arange(len(batch))), kind="stable")
        else:
            received_us, _ = receptions(batch, received, time_unit, BEFORE_ALL_US)
            arrived = in_arrival(received_us)
        passed_us = np.empty(len(batch), np.int64)
        passed_us[arrived] = FollowedTime(slack_us(slack, time_unit)).passed(batch.time_us[arrived])
        return _Arrived(*punctual(batch, passed_us))
    if received is None:
        raise SetupError(
            "a cep.Slack goes by when events were received, and no column of the table says that",
            remedy="name it: received=",
        )
    watch = watch_of(slack, bounds, received=received, received_unit=time_unit)
    watermarks = watch.take(batch, 0)
    if said := warning_of(watch):
        warnings.warn(said, stacklevel=level_outside())
    return _Arrived(*punctual(batch, watermarks), report=watch.report)


def _result(
    bound: BoundQuery, batch: EventBatch, found: Found, remote: RemoteData, *, reject_null_keys: bool
) -> Result:
    rejected = batch.rejected.table()
    without_key = found.works[0].null_key_positions
    if reject_null_keys and without_key is not None:
        rejected = pa.concat_tables([rejected, _null_keys(bound, batch, without_key)])
    none = not len(found.matches)
    return Result(
        hopeless=tuple(told(bound)) if none else (),
        missing_type=_missing_type(bound, batch) if none else None,
        matches=assemble(bound, found.events, found.matches, remote=remote),
        rejected=rejected,
        n_events=len(batch.table),
        n_null_key=sum(work.n_null_key for work in found.works),
        work=found.works[-1],
        n_dropped=sum(work.n_dropped for work in found.works),
        timed_out=None if found.timed_out is None else assemble_timed_out(bound, found.events, found.timed_out),
    )


def _null_keys(bound: BoundQuery, batch: EventBatch, positions: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    bound = bound.chain[-1]
    positions, names = missing_keys(bound, batch, positions)
    return pa.table(
        {
            "row": array_of(batch.rows_of(positions)),
            "column": texts_of(names),
            "reason": texts_of([NULL_KEY] * len(names)),
        }
    )
