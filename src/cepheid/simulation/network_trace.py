"""Events of a network of sites, as they arise: what a plan is tried on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.engine.order_key import identities
from cepheid.engine.session import run
from cepheid.errors import DataError, NetworkError, SchemaError
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray, Int64Array
from cepheid.events.ingest import read_events
from cepheid.events.schema import TIME_UNITS, Schema
from cepheid.network.from_query import PlannedQuery
from cepheid.network.model import EventNetwork, Node
from cepheid.plan.projection import project


@dataclass(frozen=True, eq=False)
class Trace:
    """Events with the sites where they arise.

    Attributes:
        network: the sites.
        batch: the events in their order, with the times that their sites stamped on them.
        places: the place of each event's site in ``network.nodes``, int64, (n,).
        arises_us: when each event arises, int64, (n,); its stamped time where the clock of its site is right.
        skew_us: site -> how far its clock is ahead.
    """

    network: EventNetwork
    batch: EventBatch
    places: Int64Array
    arises_us: Int64Array
    skew_us: Mapping[Node, int]

    def __len__(self) -> int:
        return len(self.batch)

    @cached_property
    def positions(self) -> Mapping[bytes, int]:
        """Identity of an event (SEMANTICS 1.1) -> its position."""
        return {key: position for position, key in enumerate(identities(self.batch))}

    def of_type(self, kind: str) -> BoolArray:
        """Where the events of a type are."""
        codes, names = self.batch.type_codes, self.batch.type_names
        if codes is None or kind not in names:
            return np.zeros(len(self), np.bool_)
        return np.asarray(codes == names.index(kind), np.bool_)


def read_trace(
    table: Any, schema: Schema, network: EventNetwork, *, site: str = "site", skew_us: Mapping[Node, int] | None = None
) -> Trace:
    """A trace from a table.

    Args:
        table: a pyarrow Table of events, their times as they are.
        schema: of the events; it names a type and the columns of an order key.
        network: its sites; types that it does not know are left to be.
        site: the column with the site of each event.
        skew_us: site -> how far its clock is ahead, us. The site stamps its events by its clock, and the stamped time
            *is* the time of an event, everywhere: what the queries mean, they mean for the stamped events.

    Raises:
        SchemaError: there is no type, no order key or no such column.
        NetworkError: a site is not in the network, or an event arises at a site that is no source of its type.
        DataError: an event has no time or no type, two have one order key, or a time column cannot hold the skew.
    """
    skew_us = dict(skew_us or {})
    if schema.type is None or not schema.order:
        lacking, role = ("type", "type=") if schema.type is None else ("order key", "order=")
        raise SchemaError(f"the events of a network have no {lacking}", remedy=f"name its columns with {role}")
    if site not in table.column_names:
        raise SchemaError(
            f"the events have no column {site!r} with their sites",
            remedy=f"name one of {', '.join(table.column_names)} with site=",
        )
    for node in skew_us:
        if node not in network.places:
            raise NetworkError(f"{node}, whose clock is skewed, is no site", remedy="name a site of the network")
    of_row = _places(table.column(site), network)
    skews = np.array([skew_us.get(node, 0) for node in network.nodes], np.int64)
    if skews.any():
        table = table.set_column(
            table.column_names.index(schema.time),
            schema.time,
            _stamped(table.column(schema.time), skews[of_row], schema),
        )
    batch = read_events(table, schema)
    if len(batch.rejected):
        raise DataError(
            f"the event in row {int(batch.rejected.rows[0])} has no place: {batch.rejected.reasons[0]}",
            remedy="the events of a network have a time and a type",
        )
    places = of_row[batch.rows_of(np.arange(len(batch)))]
    trace = Trace(network, batch, places, batch.time_us - skews[places], skew_us)
    _check_sources(trace)
    if len(trace.positions) < len(trace):
        raise DataError(
            "two events have one order key", remedy="an order key tells each event from all others; the site is in it"
        )
    return trace


def _places(values: Any, network: EventNetwork) -> Int64Array:
    """The place of the site in each row, which may be written as text."""
    known = {str(node): place for place, node in enumerate(network.nodes)} | dict(network.places)
    encoded = pc.dictionary_encode(values).combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    names = encoded.dictionary.to_pylist()
    if encoded.null_count:
        raise NetworkError(f"{encoded.null_count} events have no site", remedy="say where each event arises")
    for name in names:
        if name not in known:
            raise NetworkError(f"events arise at {name}, which is no site of the network", remedy="add the site")
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return np.array([known[name] for name in names], np.int64)[codes] if names else np.zeros(0, np.int64)


def _stamped(times: Any, skew_us: Int64Array, schema: Schema) -> Any:
    """A column of times with a skew on each of them, in the type that it had."""
    try:
        if pa.types.is_timestamp(times.type):
            return pc.add_checked(times, pa.array(skew_us, pa.duration("us"))).cast(times.type)
        if pa.types.is_integer(times.type):
            unit_us = TIME_UNITS[schema.time_unit or "us"]
            if (skew_us % unit_us).any():
                raise pa.ArrowInvalid(f"a skew is no whole number of {schema.time_unit}")
            return pc.add_checked(times, pa.array(skew_us // unit_us)).cast(times.type)
    except pa.ArrowException as error:
        raise DataError(
            f"the column {schema.time!r} cannot hold the skew: {error}", remedy="use microseconds"
        ) from error
    raise DataError(
        f"the column {schema.time!r} is {times.type}, to which no skew can be added",
        remedy="give timestamps or whole numbers",
    )


def _check_sources(trace: Trace) -> None:
    network = trace.network
    for kind, sites in network.sources.items():
        is_source = np.zeros(len(network.nodes), np.bool_)
        is_source[[network.places[node] for node in sites]] = True
        foreign = np.flatnonzero(trace.of_type(kind) & ~is_source[trace.places])
        if len(foreign):
            node = network.nodes[int(trace.places[foreign[0]])]
            raise NetworkError(
                f"an event of {kind} arises at {node}, which is no source of {kind}",
                remedy=f"name {node} as a source of {kind}",
            )


def admitted(trace: Trace, queries: Sequence[PlannedQuery]) -> BoolArray:
    """Where events are that take part in some query: of its types, and kept by its conditions on single events.

    Sources send no others. The conditions are evaluated by an engine, as a query of one event.
    """
    found = np.zeros(len(trace), np.bool_)
    for query in queries:
        for variable in query.bound.variables:
            bound = project(query.bound, [variable])
            found[run(bound, trace.batch).positions] = True
    return found
