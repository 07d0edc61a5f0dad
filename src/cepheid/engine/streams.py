"""Several queries over one stream: each event is read, put in order and kept back for the watermark once for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.compiler.routes import Routes, can_be_routed
from cepheid.compiler.sieve import Sieve
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.carrying import reason_not_carried
from cepheid.engine.gauge import Gauge
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.slack import SlackWatch
from cepheid.engine.snapshot import events_of_table, packed, table_of_events
from cepheid.engine.stream import Stream
from cepheid.engine.together import worth_routing
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import CepheidError, QueryError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.reorder import ReorderBuffer, parted, taken
from cepheid.events.schema import Schema
from cepheid.language.bound import BoundQuery
from cepheid.ports.evaluation import Decision
from cepheid.ports.pairs import PairPolicy


class Streams:
    """The queries of a set over one stream; see `engine.stream.Stream`.

    Attributes:
        watermark_us, n_arrived, n_late, watch: as of a `Stream`; the same for all queries.
    """

    def __init__(
        self,
        bounds: Mapping[str, BoundQuery],
        events: Any,
        settings: Settings = DEFAULTS,
        policies: Mapping[str, PairPolicy] | None = None,
        *,
        timed_out: bool = False,
    ) -> None:
        """Start at the beginning of the stream.

        Args:
            bounds: name -> query, its parameters replaced by values.
            events: the pyarrow Schema of the events.
            settings: how much each query may hold.
            policies: of some queries, by their names; see `Stream`.
            timed_out: what times out is asked for, too.

        Raises:
            NotSupportedError: the engine cannot run one of the queries yet, or a policy cannot look at its pairs.
        """
        self.watermark_us = BEFORE_ALL_US
        self.n_arrived = 0
        self.n_late = 0
        self.watch: SlackWatch | None = None
        self._bounds = dict(bounds)
        self._buffer = ReorderBuffer()
        self._streams: dict[str, Stream] = {}
        for name, bound in bounds.items():
            with self._telling(name):
                policy = (policies or {}).get(name)
                self._streams[name] = Stream(bound, events, settings, policy, timed_out=timed_out)
        self._sieve: Sieve | None = None
        self._narrowed = [name for name, stream in self._streams.items() if _is_narrowed(stream.plan)]

    @property
    def output(self) -> dict[str, Any]:
        """The pyarrow Schema of the matches of each query.

        Raises:
            QueryError: two columns would have one name.
        """
        found = {}
        for name, stream in self._streams.items():
            with self._telling(name):
                found[name] = stream.output
        return found

    def push(self, batch: EventBatch, watermarks_us: Int64Array | None = None) -> Any:
        """Take events; see `Stream.push`."""
        wanted = {column for stream in self._streams.values() for column in stream.columns(batch.table, batch.schema)}
        columns = [column for column in batch.table.column_names if column in wanted]
        watermarks = self.watermark_us if watermarks_us is None else np.maximum(watermarks_us, self.watermark_us)
        on_time, late = parted(batch, watermarks, self.n_arrived, columns)
        self.n_arrived += batch.table.num_rows
        self.n_late += late.num_rows
        self._buffer.add(on_time)
        return late

    def advance(self, watermark_us: int) -> dict[str, Any]:
        """Move the watermark; see `Stream.advance`.

        Returns:
            Name -> a pyarrow Table of the matches that are decided by now and were not before.
        """
        self.watermark_us = max(self.watermark_us, watermark_us)
        ready = self._buffer.release(self.watermark_us)
        parts = {} if ready is None else self._parts(ready)
        found = {}
        for name, stream in self._streams.items():
            with self._telling(name):
                found[name] = stream.output_of(stream.step(parts.get(name), self.watermark_us))
        return found

    def timed_out(self) -> dict[str, Any]:
        """Of each query, what the last step found to have timed out; see `Stream.timed_out`."""
        return {name: stream.timed_out() for name, stream in self._streams.items()}

    def plans_for(self, evaluation: str) -> dict[str, CompiledPlan]:
        """The plans that a setting asks for; see `Stream.plan_for`."""
        found = {}
        for name, stream in self._streams.items():
            with self._telling(name):
                found[name] = stream.plan_for(evaluation)
        return found

    def switch(self, plans: Mapping[str, CompiledPlan], settings: Settings) -> None:
        """Go on with the plans of `plans_for`, from the next event on."""
        for name, stream in self._streams.items():
            stream.switch(plans[name], settings)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was decided on the evaluation plans, the last times for each query, one query after the other."""
        return tuple(decision for stream in self._streams.values() for decision in stream.decisions)

    def take_untold(self) -> list[tuple[str | None, Decision]]:
        """The decisions since this was called before, with the names of their queries."""
        return [(name, one) for name, stream in self._streams.items() for _, one in stream.take_untold()]

    @property
    def n_dropped(self) -> int:
        """Partial matches that a cap made it forget, of all queries."""
        return sum(stream.n_dropped for stream in self._streams.values())

    @property
    def n_waiting(self) -> int:
        """Events that the watermark has not passed."""
        return len(self._buffer) + sum(stream.n_waiting for stream in self._streams.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held that later calls may look at; see `Stream.is_empty`."""
        return not len(self._buffer) and all(stream.is_empty for stream in self._streams.values())

    @property
    def n_bytes(self) -> int:
        """Bytes of all that is held."""
        return self._buffer.n_bytes + sum(stream.n_bytes for stream in self._streams.values())

    def gauge(self) -> Gauge:
        """What is held for all queries together."""
        own = [stream.gauge() for stream in self._streams.values()]
        return Gauge(
            watermark_us=own[0].watermark_us,
            n_arrived=self.n_arrived,
            n_late=self.n_late,
            n_waiting=len(self._buffer) + sum(gauge.n_waiting for gauge in own),
            n_events=sum(gauge.n_events for gauge in own),
            n_partial_matches=sum(gauge.n_partial_matches for gauge in own),
            n_timers=sum(gauge.n_timers for gauge in own),
            n_keys=None,
            n_dropped=self.n_dropped,
            n_bytes=self._buffer.n_bytes + sum(gauge.n_bytes for gauge in own),
            compiled=all(gauge.compiled for gauge in own),
            n_open_predicates=sum(gauge.n_open_predicates for gauge in own),
            n_held_back=sum(gauge.n_held_back for gauge in own),
        )

    def gauges(self, *, by_key: bool = False) -> dict[str, Gauge]:
        """What is held for each query, with the events that wait for the watermark, which are held once for all.

        Args:
            by_key: for each key, too.
        """
        return {
            name: replace(
                own := stream.gauge(by_key=by_key),
                n_arrived=self.n_arrived,
                n_late=self.n_late,
                n_waiting=own.n_waiting + len(self._buffer),
                n_bytes=own.n_bytes + self._buffer.n_bytes,
            )
            for name, stream in self._streams.items()
        }

    def snapshot(self, said: Mapping[str, Any]) -> bytes:
        """What is held, as bytes from which `restore` goes on.

        Args:
            said: what else is to be kept, as JSON can say it.
        """
        streams, tables = {}, [table_of_events(self._buffer.events)]
        for name, stream in self._streams.items():
            stages, further = stream.saved()
            streams[name] = {"stages": stages, "n_tables": len(further)}
            tables += further
        counts = {"watermark_us": self.watermark_us, "n_arrived": self.n_arrived, "n_late": self.n_late}
        return packed({**said, **counts, "streams": streams}, tables)

    def restore(self, said: Mapping[str, Any], tables: list[Any], schema: Schema) -> None:
        """Go on, at the beginning of a stream, from a snapshot of a stream of the same queries.

        Args:
            said, tables: as `engine.snapshot.unpacked` gives them.
            schema: of the events.

        Raises:
            DataError: the engine has another plan for a query than when the snapshot was made.
        """
        counts = {name: said[name] for name in ("watermark_us", "n_arrived", "n_late")}
        self.watermark_us, self.n_arrived, self.n_late = counts.values()
        waiting = events_of_table(tables[0], schema)
        if waiting is not None:
            self._buffer.add(waiting)
        at = 1
        for name, stream in self._streams.items():
            own = said["streams"][name]
            with self._telling(name):
                stream.restore({**counts, "stages": own["stages"]}, tables[at : at + own["n_tables"]], schema)
            at += own["n_tables"]

    def _parts(self, ready: EventBatch) -> dict[str, EventBatch | None]:
        """Of some events those that each query can take, in the columns that it reads; None for none."""
        parts: dict[str, EventBatch | None] = dict.fromkeys(self._streams, ready)
        for name, positions in zip(self._narrowed, self._taken_by(ready), strict=True):
            if positions is not None:
                parts[name] = taken(ready, positions) if len(positions) else None
        for name, part in parts.items():
            if part is not None:
                columns = self._streams[name].columns(part.table, part.schema)
                if len(columns) < part.table.num_columns:
                    parts[name] = replace(part, table=part.table.select(columns))
        return parts

    def _taken_by(self, ready: EventBatch) -> Iterator[Int64Array | None]:
        """The positions of the events that each of the queries that need no others can take; None for all."""
        plans = [self._streams[name].plan for name in self._narrowed]
        if worth_routing(ready, len(plans)):
            routes = Routes(ready, plans)
            for number in range(len(plans)):
                routed = routes.of(number)
                yield None if routed is None else routed.positions
        elif plans:
            if self._sieve is None:
                self._sieve = Sieve(plans, ready)
            yield from map(np.flatnonzero, self._sieve.takers(ready))

    @contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        """In its block, errors are about a query."""
        try:
            yield
        except CepheidError as error:
            bound = self._bounds[name]
            raise error.located(bound.text, bound.origin or name) from None


def _is_narrowed(plan: CompiledPlan) -> bool:
    """Whether a query needs no events but those that its elements take; sessions that run again keep others, too."""
    counts = plan.hooks is not None and plan.hooks.tells_cells  # places, before any filter
    return reason_not_carried(plan) is None and can_be_routed(plan) and not counts


def policies_by_name(
    policy: PairPolicy | Mapping[str, PairPolicy] | None, bounds: Mapping[str, BoundQuery]
) -> Mapping[str, PairPolicy]:
    """The policies of the queries of a set that have one.

    Raises:
        QueryError: they are not given by names of queries.
    """
    policies = policy if isinstance(policy, Mapping) else {}
    if set(policies) - set(bounds) or (policy is not None and policies is not policy):
        raise QueryError(
            "policy= of a set gives policies by the names of queries",
            remedy=f"give a dict with some of {', '.join(bounds)}",
        )
    return policies
