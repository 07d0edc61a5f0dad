"""A query over a stream: events in any order in, matches out in the order of their decision points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler.elements import RemoteData
from cepheid.compiler.load import runs_compiled
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.adapting import Adapting, chooser_of
from cepheid.engine.carried import CarriedSession
from cepheid.engine.carrying import reason_not_carried
from cepheid.engine.composite import ORDER, attributes_read, composite_schema, composites
from cepheid.engine.gauge import Gauge
from cepheid.engine.gauge import by_key as keys_of
from cepheid.engine.incremental import Session, session
from cepheid.engine.matches import Matches
from cepheid.engine.one_by_one import OneByOne, reason_in_batches
from cepheid.engine.order_key import order_keys
from cepheid.engine.output import assemble, assemble_timed_out
from cepheid.engine.output_schema import output_schema, time_type, timed_out_schema
from cepheid.engine.sampling import MOST_EVENTS
from cepheid.engine.session import prepare
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.slack import SlackWatch
from cepheid.engine.snapshot import events_of_table, packed, table_of_events
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import NotSupportedError
from cepheid.events.arrow_memory import texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.reorder import ReorderBuffer, parted
from cepheid.events.schema import Schema
from cepheid.events.single import EventReader
from cepheid.language.bound import BoundQuery
from cepheid.language.composite import TIME
from cepheid.plan.evaluation import EAGER, asked_for
from cepheid.ports.evaluation import Decision
from cepheid.ports.pairs import PairPolicy


@dataclass(eq=False)
class _Stage:
    """One of the queries that stand behind each other in FROM.

    Attributes:
        bound: the query.
        plan: of the query.
        session: what matches it.
        buffer: its events that the watermark has not passed.
    """

    bound: BoundQuery
    plan: CompiledPlan
    session: Session
    buffer: ReorderBuffer


class Stream:
    """One query over one stream, with the queries that its events come from (FROM).

    Attributes:
        watermark_us: all events up to this time have come; the least int64 before anything is known, the greatest
            after the end of the input.
        n_arrived: rows that were pushed.
        n_late: events among them that came at or before the watermark.
        watch: what closes its windows, where a slack policy does; kept here, and used by who pushes.
        adapting: watches the events of the query itself, where its evaluation plan is to be chosen; else None.
    """

    def __init__(
        self,
        bound: BoundQuery,
        events: Any,
        settings: Settings = DEFAULTS,
        policy: PairPolicy | None = None,
        *,
        timed_out: bool = False,
    ) -> None:
        """Start at the beginning of the stream.

        Args:
            bound: the query, its parameters replaced by values.
            events: the pyarrow Schema of the events.
            settings: how much each query may hold.
            policy: looks at pairs of events and partial matches; of queries behind each other (FROM), at those of the
                one that reads these events.
            timed_out: what times out is asked for, too.

        Raises:
            NotSupportedError: the engine cannot run the query yet, or the policy cannot look at its pairs.
            ValueError: the orders of the policy do not fit.
        """
        self.watermark_us = BEFORE_ALL_US
        self.n_arrived = 0
        self.n_late = 0
        self.watch: SlackWatch | None = None
        self._bound = bound
        self._remote = RemoteData(bound)
        self._settings = settings
        self._timed_out = timed_out
        inner = settings.eager
        self._policy = policy
        first = bound.chain[-1]
        self._stages = [
            _stage(
                query,
                settings if query is bound else inner,
                policy if query is first else None,
                timed_out=timed_out and query is bound,
            )
            for query in bound.chain[::-1]
        ]
        # What times out is told with all attributes of its events.
        self._read = None if timed_out and bound.inner is None else attributes_read(self._stages[0].bound)
        self._events = events
        self.adapting = self._adapting(settings)

    @cached_property
    def output(self) -> Any:
        """The pyarrow Schema of the matches.

        Raises:
            QueryError: two columns would have one name.
        """
        return output_schema(self._bound, _events_of(self._bound, self._events))

    def push(self, batch: EventBatch, watermarks_us: Int64Array | None = None) -> Any:
        """Take events.

        Args:
            batch: as it was read; all of its rows count as arrived, rejected ones too.
            watermarks_us: int64, by position: the watermark when each event came, where it moved in between.

        Returns:
            A pyarrow Table of those that are late (SEMANTICS 7.1) and go into no match, in the order of arrival.
        """
        watermarks = self.watermark_us if watermarks_us is None else np.maximum(watermarks_us, self.watermark_us)
        on_time, late = parted(batch, watermarks, self.n_arrived, self.columns(batch.table, batch.schema))
        self.n_arrived += batch.table.num_rows
        self.n_late += late.num_rows
        self._stages[0].buffer.add(on_time)
        return late

    def advance(self, watermark_us: int) -> Any:
        """Move the watermark; one that lies before it stays where it is.

        Args:
            watermark_us: all events up to this time have come; `AFTER_ALL_US` at the end of the input.

        Returns:
            A pyarrow Table of the matches that are decided by now and were not before.

        Raises:
            DataError: a value does not fit a machine word, or a registered function fails.
        """
        return self.output_of(self.found(watermark_us))

    def output_of(self, found: tuple[EventBatch, Matches] | None) -> Any:
        """What `found` gave as a pyarrow Table."""
        return self._nothing if found is None else assemble(self._bound, *found, remote=self._remote)

    @cached_property
    def _nothing(self) -> Any:
        return self.output.empty_table()

    def timed_out(self) -> Any:
        """A pyarrow Table of what the last step found to have timed out (SEMANTICS 7.3), in the order of its ends."""
        found = self.left
        return self._none_timed_out if found is None else assemble_timed_out(self._bound, *found)

    @property
    def left(self) -> tuple[EventBatch, Matches] | None:
        """The same as `found` gives matches."""
        return self._stages[-1].session.timed_out

    @cached_property
    def _none_timed_out(self) -> Any:
        return timed_out_schema(self._bound, _events_of(self._bound, self._events)).empty_table()

    def found(self, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """As `advance`, but the matches by positions in a batch of events; None where there are none."""
        return self.step(self._stages[0].buffer.release(max(self.watermark_us, watermark_us)), watermark_us)

    def step(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """The same where the events wait for the watermark elsewhere.

        Args:
            ready: the events between the watermark before and this one, in order; its rows are its events.
            watermark_us: see `advance`.
        """
        self.watermark_us = reached = max(self.watermark_us, watermark_us)
        for stage, following in zip(self._stages, [*self._stages[1:], None], strict=True):
            reached = max(reached, stage.session.watermark_us)
            found = stage.session.step(ready, reached)
            if following is None:
                self._adapt(ready)
                break
            if found is not None:
                whole = self._timed_out and following is self._stages[-1]
                following.buffer.add(_as_events(following.bound, *found, whole=whole))
            ready = following.buffer.release(max(stage.session.settled_us, following.session.watermark_us))
            reached = stage.session.settled_us
        return found

    @property
    def plan(self) -> CompiledPlan:
        """The plan of the query whose events are those that are pushed."""
        return self._stages[0].plan

    def columns(self, table: Any, schema: Schema) -> list[str]:
        """The columns of a table of events that matches are made from."""
        names: list[str] = table.column_names
        if self._read is None:
            return names
        placed = {schema.time, schema.type, *schema.order}
        return [name for name in names if name in self._read or name in placed]

    def plan_for(self, evaluation: str) -> CompiledPlan:
        """The plan that a setting asks for.

        Args:
            evaluation: see `Settings`.

        Raises:
            NotSupportedError, QueryError: see `plan.evaluation.parse_evaluation`.
        """
        policy = None if self._bound.inner is not None else self._policy
        return _plan(self._bound, evaluation, policy, timed_out=self._timed_out)

    @property
    def batched_because(self) -> str | None:
        """Why single events come as tables of one row; None where `one_by_one` takes them."""
        if self._policy is not None:
            return "a policy looks at pairs of events and partial matches"
        return reason_in_batches(self._stages[-1].session.compiled, self._settings, self._events)

    def one_by_one(self, reader: EventReader) -> OneByOne | None:
        """What takes the events of this stream one by one, with its plan as it is now; None for `batched_because`."""
        session = self._stages[0].session
        if not isinstance(session, CarriedSession) or self.batched_because is not None:
            return None
        columns = self.columns(reader.table([]), reader.schema)
        singles = OneByOne(self, self._bound, session, self._stages[0].buffer, reader, self._events, columns)
        if self.adapting is not None:
            singles.watch(MOST_EVENTS)
        return singles

    def switch(self, compiled: CompiledPlan, settings: Settings) -> None:
        """Go on with a plan of `plan_for`, from the next event on.

        Args:
            compiled: the plan; where one is to be chosen, it begins with this.
            settings: those that ask for it.
        """
        self._stages[-1].plan = compiled
        self._stages[-1].session.switch(compiled)
        self.adapting = self._adapting(settings)

    def _adapting(self, settings: Settings) -> Adapting | None:
        """What watches the events of the query itself, where its plan is to be chosen.

        Raises:
            NotSupportedError: a policy looks at its pairs, which it can do under the eager plan only.
        """
        compiled = self._stages[-1].plan
        chooser = chooser_of(compiled, settings)
        if chooser is None:
            return None
        if compiled.hooks is not None:
            raise NotSupportedError(
                "no policy can look at pairs of events and partial matches yet where variables may wait for the last "
                "event, and evaluation='adaptive' lets them",
                remedy="run the query without the policy, or with evaluation='eager'",
                text=self._bound.text,
                origin=self._bound.origin,
                span=self._bound.query.pattern.span,
            )
        return Adapting(chooser, compiled)

    def _adapt(self, ready: EventBatch | None) -> None:
        if self.adapting is not None and ready is not None and len(ready):
            self._go_on_with(self.adapting.stepped(ready))

    def _go_on_with(self, plan: CompiledPlan | None) -> None:
        """Switch the query itself to a plan; None for the one that it has."""
        if plan is not None:
            self._stages[-1].plan = plan
            self._stages[-1].session.switch(plan)

    def adapt_singly(self, singles: OneByOne) -> bool:
        """Choose the plan by events that came one by one, where it is time to; whether it is another one now."""
        if self.adapting is None or not self.adapting.wants(*singles.passed()):
            return False
        plan = self.adapting.stepped(singles.take_seen(), asked=True)
        if plan is None:
            return False
        singles.settle()
        self._go_on_with(plan)
        return True

    def take_seen(self, singles: OneByOne) -> None:
        """Let what chooses the plan know of the events that came one by one, before others come by another road."""
        if self.adapting is not None and singles.has_seen:
            self.adapting.watched(singles.take_seen())

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was decided on the evaluation plan, the last times."""
        return () if self.adapting is None else tuple(self.adapting.decisions)

    def take_untold(self) -> list[tuple[str | None, Decision]]:
        """The decisions since this was called before; None stands for the name of the query."""
        return [] if self.adapting is None else [(None, decision) for decision in self.adapting.take_untold()]

    def runs(self, singles: OneByOne) -> bool:
        """Whether what takes single events does it with the plan as it is now."""
        return singles.compiled is self._stages[-1].session.compiled

    @property
    def n_bytes(self) -> int:
        """Bytes of all that is held."""
        return sum(stage.buffer.n_bytes + stage.session.n_bytes for stage in self._stages)

    def snapshot(self, said: Mapping[str, Any]) -> bytes:
        """What is held, as bytes from which `restore` goes on.

        Args:
            said: what else is to be kept, as JSON can say it.
        """
        stages, tables = self.saved()
        counts = {"watermark_us": self.watermark_us, "n_arrived": self.n_arrived, "n_late": self.n_late}
        return packed({**said, **counts, "stages": stages}, tables)

    def saved(self) -> tuple[list[dict[str, Any]], list[Any]]:
        """For a snapshot: what JSON can say of the queries, the innermost first, and tables of what they hold."""
        stages, tables = [], []
        for stage in self._stages:
            held, further, own = stage.session.saved()
            waiting = table_of_events(stage.buffer.events)
            stages.append({**own, "watermark_us": stage.session.watermark_us, "n_tables": 2 + len(further)})
            tables += [waiting, table_of_events(held), *further]
        if self.adapting is not None:
            stages[-1]["adapting"] = self.adapting.remembered()
        return stages, tables

    def restore(self, said: Mapping[str, Any], tables: list[Any], schema: Schema) -> None:
        """Go on, at the beginning of a stream, from a snapshot of a stream of the same query.

        Args:
            said: what JSON said, as `engine.snapshot.unpacked` gives it: the counts, and what `saved` gave as
                ``stages``.
            tables: those of `saved`.
            schema: of the events.

        Raises:
            DataError: the engine has another plan for the query than when the snapshot was made.
        """
        self.watermark_us = said["watermark_us"]
        self.n_arrived, self.n_late = said["n_arrived"], said["n_late"]
        for stage, own in zip(self._stages, said["stages"], strict=True):
            of_events = schema if stage.bound.inner is None else composite_schema(stage.bound)
            (waiting, held, *further), tables = tables[: own["n_tables"]], tables[own["n_tables"] :]
            events = events_of_table(waiting, of_events)
            if events is not None:
                stage.buffer.add(events)
            stage.session.restore(events_of_table(held, of_events), further, own, own["watermark_us"])
        # Not in snapshots of the formats before, and of streams whose plan was given: then it is learned anew.
        learned = said["stages"][-1].get("adapting")
        if self.adapting is not None and learned is not None:
            self._go_on_with(self.adapting.remember(learned))

    @property
    def n_waiting(self) -> int:
        """Events that the watermark has not passed."""
        return sum(len(stage.buffer) for stage in self._stages)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held that later calls may look at; `snapshot` and `gauge` forget what nothing can."""
        return not self.n_waiting and all(s.session.held is None and not s.session.n_held_back for s in self._stages)

    @property
    def n_dropped(self) -> int:
        """Partial matches that a cap made it forget."""
        return sum(stage.session.n_dropped for stage in self._stages)

    def gauge(self, *, by_key: bool = False) -> Gauge:
        """What is held at the moment.

        Args:
            by_key: for each key, too.
        """
        for stage in self._stages:
            stage.session.compact()
        held = [held for stage in self._stages if (held := stage.session.held) is not None]
        keys = None
        if self._bound.partition:
            keys = keys_of(self._bound, _events_of(self._bound, self._events), self._stages[-1].session)
        return Gauge(
            watermark_us=None if self.watermark_us == BEFORE_ALL_US else self.watermark_us,
            n_arrived=self.n_arrived,
            n_late=self.n_late,
            n_waiting=self.n_waiting,
            n_events=sum(len(events) for events, _ in held),
            n_partial_matches=sum(int(n_open.sum()) for _, n_open in held),
            n_timers=sum(stage.session.n_timers for stage in self._stages),
            n_keys=None if keys is None else len(keys),
            n_dropped=self.n_dropped,
            n_bytes=self.n_bytes,
            keys=keys if by_key else None,
            compiled=all(_runs_compiled(stage.session.compiled) for stage in self._stages),
            n_open_predicates=sum(stage.session.n_open_predicates for stage in self._stages),
            n_held_back=sum(stage.session.n_held_back for stage in self._stages),
        )


def _starts_with(bound: BoundQuery, settings: Settings, policy: PairPolicy | None, *, timed_out: bool) -> CompiledPlan:
    """The plan to begin with: one that postpones, where the stream can go on with it."""
    if settings.evaluation == EAGER and settings.max_open_predicates and policy is None and not timed_out:
        compiled = prepare(bound, postpones=True)
        if reason_not_carried(compiled) is None:
            return compiled
    return _plan(bound, settings.evaluation, policy, timed_out=timed_out)


def _plan(bound: BoundQuery, evaluation: str, policy: PairPolicy | None, *, timed_out: bool) -> CompiledPlan:
    """The plan that a setting asks for; what times out is told by one plan alone, whatever is asked for."""
    asked, wanted = asked_for(bound, evaluation), None if policy is None else policy.wanted
    return prepare(bound, timed_out=timed_out, evaluation=None if timed_out else asked, wanted=wanted)


def _stage(bound: BoundQuery, settings: Settings, policy: PairPolicy | None, *, timed_out: bool) -> _Stage:
    compiled = _starts_with(bound, settings, policy, timed_out=timed_out)
    return _Stage(bound, compiled, session(compiled, settings, policy), ReorderBuffer())


def _runs_compiled(plan: CompiledPlan) -> bool:
    return runs_compiled(plan.needs, plan.flags, chain=plan.chain is not None)


def _events_of(bound: BoundQuery, events: Any) -> Any:
    """The Arrow schema of the events of a query, those of the innermost being ``events``."""
    inner = bound.inner
    if inner is None:
        return events
    given = _events_of(inner, events)
    schema = output_schema(inner, given)
    return schema.append(pa.field(TIME, time_type(inner, given))) if inner.returns else schema


def _as_events(bound: BoundQuery, events: EventBatch, matches: Matches, *, whole: bool) -> EventBatch:
    """Matches of the inner query of ``bound`` as its events, with all attributes or those that it reads."""
    batch = composites(bound, events, matches, whole=whole)
    keys = texts_of(order_keys(events, matches))
    rows = np.arange(len(batch)) if batch.rows is None else batch.rows
    time_us = np.empty(len(batch), np.int64)
    time_us[rows] = batch.time_us
    return EventBatch(table=batch.table.append_column(ORDER, keys), schema=batch.schema, time_us=time_us, numbers=rows)
