"""Matches in a table in this process: `cepheid.match`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.composite import events_for
from cepheid.engine.output import assemble
from cepheid.engine.session import Work
from cepheid.engine.session import run as run_engine
from cepheid.engine.together import Found, run_together
from cepheid.events.arrow_memory import array_of, texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.frames import like_given
from cepheid.events.given import first_given, read_given
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery, Catalog
from cepheid.language.parameters import with_parameters
from cepheid.query import Asked, Query, QuerySet, catalog_with, with_values

NULL_KEY = "NULL in SAME: the event is in no partition"


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
    """

    matches: Any
    rejected: Any
    n_events: int
    n_null_key: int
    work: Work

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

    Returns:
        RETURN's columns, or the default ones: ``match_id``, first and last time, SAME's attributes, and a struct for
        each variable. Matches come in the order in which they were decided. For a set of queries, a dict from the
        name of each to its matches, which are those that it has alone.

    Warns:
        UserWarning: events were rejected (no time, no type).

    Raises:
        QueryError: the query does not fit the events, or cannot be run yet (`NotSupportedError`).
        SchemaError, DataError, ParameterError: the events or parameters do not do.
    """
    options: dict[str, Any] = {
        "time": time,
        "type": type,
        "order": order,
        "time_unit": time_unit,
        "parameters": parameters,
        "catalog": catalog,
        "queries": queries,
    }
    given = first_given(events)
    if isinstance(query, QuerySet):
        results = run_set(events, query, **options)
        _warn_of_rejected(next(iter(results.values())))
        return {name: like_given(result.matches, given) for name, result in results.items()}
    result = run(events, query, **options)
    _warn_of_rejected(result)
    return like_given(result.matches, given)


def _warn_of_rejected(result: Result) -> None:
    n_rejected = len(result.rejected)
    if n_rejected:
        reasons = pc.value_counts(result.rejected["reason"]).to_pylist()
        said = "; ".join(f"{entry['counts']} x {entry['values']}" for entry in reasons[:5])
        warnings.warn(
            f"{n_rejected} of {result.n_events} events were rejected ({said}); cepheid.local.run returns them",
            stacklevel=3,
        )


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
    reject_null_keys: bool = False,
) -> Result:
    """The same as `match`, with what was rejected and what it took.

    Args:
        events, query, time, type, order, time_unit, parameters, catalog, queries: see `match`.
        reject_null_keys: list events with NULL in SAME among the rejected ones (of those read, not composite ones).

    Raises:
        as `match`.
    """
    asked = Query.of(query)
    table, schema = read_given(events, time=time, type=type, order=order, time_unit=time_unit)
    bound = with_parameters(asked.bind(schema, catalog_with(catalog, queries)), parameters or {})
    batch = read_events(table, schema)
    works: list[Work] = []
    own = events_for(bound, batch, works)
    work = Work()
    matches = run_engine(bound, own, work=work)
    return _result(bound, batch, Found(own, matches, (*works, work)), reject_null_keys=reject_null_keys)


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
    reject_null_keys: bool = False,
) -> dict[str, Result]:
    """The same as `run` for each query of a set, in one pass over the events.

    Args:
        events, time, type, order, time_unit, catalog, queries, reject_null_keys: see `run`.
        queries_asked: the set.
        parameters: values for the parameters of the queries; each gets those that it names.

    Returns:
        Name -> what `run` gives for that query alone.

    Raises:
        as `match`.
    """
    table, schema = read_given(events, time=time, type=type, order=order, time_unit=time_unit)
    bounds = with_values(queries_asked.bind(schema, catalog_with(catalog, queries)), parameters or {})
    batch = read_events(table, schema)
    found = run_together(bounds, batch)
    return {name: _result(bounds[name], batch, one, reject_null_keys=reject_null_keys) for name, one in found.items()}


def _result(bound: BoundQuery, batch: EventBatch, found: Found, *, reject_null_keys: bool) -> Result:
    rejected = batch.rejected.table()
    without_key = found.works[0].null_key_positions
    if reject_null_keys and without_key is not None:
        rejected = pa.concat_tables([rejected, _null_keys(batch, without_key)])
    return Result(
        matches=assemble(bound, found.events, found.matches),
        rejected=rejected,
        n_events=len(batch.table),
        n_null_key=sum(work.n_null_key for work in found.works),
        work=found.works[-1],
    )


def _null_keys(batch: EventBatch, positions: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    n = len(positions)
    return pa.table(
        {
            "row": array_of(batch.rows_of(positions)),
            "column": pa.nulls(n, pa.string()),
            "reason": texts_of([NULL_KEY] * n),
        }
    )
