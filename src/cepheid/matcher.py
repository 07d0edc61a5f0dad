"""Matches in a stream that comes in parts, in this process: `cepheid.Matcher`."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.gauged import Gauged
from cepheid.engine.one_by_one import OneByOne
from cepheid.engine.outputs import TIMED_OUT, TOLD, asked_outputs, told_of
from cepheid.engine.settings import DEFAULTS, Settings, require_settings
from cepheid.engine.slack import SlackWatch
from cepheid.engine.snapshot import require_same, unpacked
from cepheid.engine.stream import Stream
from cepheid.engine.streams import Streams, policies_by_name
from cepheid.engine.turns import in_turn
from cepheid.engine.watched import Watched
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.errors import DataError, QueryError, level_outside
from cepheid.events.batch import NOTHING_REJECTED
from cepheid.events.frames import EVENT, like_given
from cepheid.events.given import (
    empty_of,
    first_given,
    in_columns,
    read_columns,
    read_given,
    require_order,
    told_columns,
)
from cepheid.events.given_times import moment_us, slack_us
from cepheid.events.ingest import read_events
from cepheid.events.schema import Schema
from cepheid.events.single import EventReader, first_table, is_event
from cepheid.language.bound import Catalog
from cepheid.language.check import require_bounded
from cepheid.language.hopeless import told, warn_of_no_matches
from cepheid.language.parameters import require_parameters, with_parameters
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation
from cepheid.policies.slack.settings import Slack, received_column
from cepheid.ports.evaluation import Decision
from cepheid.ports.pairs import PairPolicy
from cepheid.query import Asked, Query, QuerySet, catalog_with, with_values


class Matcher(Gauged, Watched):
    """One query over one stream, which comes in parts; or a set of them.

        matcher = cep.Matcher(query, time="ts", type="kind", slack=timedelta(seconds=5))
        for table in tables:
            matches = matcher.push(table)
        rest = matcher.close()

    `push` takes events, in any order. The *watermark* says up to which time all events have come: what is pushed at
    or before it is late, goes to `late`, and is in no match. A match is given by the first call after which the
    watermark has reached its decision point: its last event, or, where something must not come or a loop may go on,
    the end of its window. All calls together give the matches that `cepheid.match` gives for all events that were not
    late, in the same order, however the stream is cut.

    The watermark moves by `advance` and `close`, and where ``slack`` is given, by each `push`: to the greatest time
    that was pushed, less the slack and a microsecond. So an event that comes at most ``slack`` after a newer one is on
    time.

    Where a call raises while it searches (a registered function fails, the process is interrupted), the matches that it
    had to give are not known: the matcher then refuses every further call. One that raises because its events do not do
    changes nothing.

    Of a `cepheid.QuerySet` each call gives a dict from the names to what the query of that name alone gives; events are
    read, put in order and kept back once for all. The watermark, `late` and `rejected` are those of the stream.

    Memory is bounded by what one window of the query holds, beside the events that the watermark has not passed:
    `gauge` tells. A query without a window keeps each start until it becomes a match; where a loop or ``any`` would
    make more and more of it, it is refused.

    With ``outputs=`` each call gives `cepheid.Outputs`; ``timed_out`` is what was left when its window closed, as of
    `cepheid.match`, from the first call after which the watermark has reached that time.

    Several threads may call one matcher: calls take turns, each as a whole, and other threads run while one searches.
    `late` and `rejected` are then those of whichever push was last: hold ``lock`` (a `threading.RLock`, which each
    call holds) over the push and the look at them.

    Attributes:
        late: the late events of the last `push`, as they came, in the kind of table that was pushed.
        rejected: a pyarrow Table of the rows of the last `push` that could not be read as events: row (int64, counted
            through all pushes), column and reason (text).
    """

    def __init__(
        self,
        query: Asked | QuerySet,
        *,
        time: str,
        type: str | None = None,
        order: str | Sequence[str] | None = None,
        time_unit: str | None = None,
        parameters: Mapping[str, object] | None = None,
        catalog: Catalog | None = None,
        queries: Mapping[str, Asked] | None = None,
        schema: Any = None,
        slack: timedelta | str | int | float | Slack | None = None,
        received: str | None = None,
        outputs: str | Collection[str] | None = None,
        settings: Settings = DEFAULTS,
        policy: PairPolicy | Mapping[str, PairPolicy] | None = None,
    ) -> None:
        """Start at the beginning of a stream.

        Args:
            query, time, type, time_unit, parameters, catalog, queries: see `cepheid.match`. In a set a query that is
                FROM another one of it runs that one for itself.
            order: the columns that order events of equal time; by default they keep the order in which they come.
            schema: the columns of the events, as a pyarrow Schema or a table with these columns; by default those of
                the first push.
            slack: how much later than newer ones an event may come and still be on time: a timedelta, ``"5 s"``, or a
                number in ``time_unit``. None: only `advance` and `close` move the watermark. Or a `cepheid.Slack`, by
                which windows are closed; the watermark is the end of the last one.
            received: the column that says when an event was received, for a `cepheid.Slack`; else when it is pushed.
            outputs: some of ``matches`` and ``timed_out``, of which each call then gives `cepheid.Outputs`.
            settings: how much a query may hold: `cepheid.Settings`.
            policy: looks at pairs of events and partial matches, counts what comes of them, and may keep them apart
                (`cepheid.ports.pairs`); of a set, one for each query that is to have one, by its name.

        Raises:
            QueryError: the query does not fit the ``schema``, or is one that a stream cannot run
                (`NotSupportedError`). Where no schema is given, the first `push` tells.
            SchemaError, ParameterError: the columns or parameters do not do; there is no such output.
            SetupError: the settings, catalog, queries or parameters are none.
        """
        self._outputs = None if outputs is None else asked_outputs(outputs, TOLD)
        self._tells_timed_out = TIMED_OUT in (self._outputs or ())
        self._query = query if isinstance(query, QuerySet) else Query.of(query)
        require_order(order)
        self._options: dict[str, Any] = {"time": time, "type": type, "order": order, "time_unit": time_unit}
        self._parameters = require_parameters(parameters)
        self._settings = require_settings(settings).choosing(AdaptiveEvaluation)
        self._policy = policy
        self._catalog = catalog_with(catalog, queries)
        self._slack = slack if isinstance(slack, Slack) else None
        self._slack_us = None if slack is None or isinstance(slack, Slack) else slack_us(slack, time_unit)
        self._received = received_column(received, self._slack)
        self._watch: SlackWatch | None = None
        self._given: Any = None
        self._arrow: Any = None
        self._schema: Schema | None = None
        self._stream: Stream | Streams | None = None
        self._reader: EventReader | None = None
        self._singles: OneByOne | None = None
        self._watermark_us = BEFORE_ALL_US
        self._failure: BaseException | None = None
        self.lock = threading.RLock()
        self.late: Any = None
        self.rejected: Any = None
        if schema is not None:
            self._bind(*read_given(empty_of(schema), **self._options))

    @in_turn
    def push(self, events: Any) -> Any:
        """Take events, or one event.

        Args:
            events: as for `cepheid.match`. Every push has the same columns; types that can be cast without loss are.
                Or one event: a dict (or another mapping) from columns to values, a dataclass, a named tuple, a Row of
                Spark, or a tuple with the values of all columns in their order. What it does not name is NULL.

        Returns:
            The matches that are decided by now and were not before, as the same kind of table, and after one event as a
            list of dicts: none where ``slack`` is not given, as the watermark stays.

        Warns:
            UserWarning: events were rejected (no time, no type); partial matches were dropped.

        Raises:
            QueryError, SchemaError: see `Matcher`; or the columns differ from those before.
            CapacityError: more partial matches would be held than the settings allow; every further call is refused.
            DataError: the matcher is closed, a value cannot be worked with, or a registered function fails.
        """
        self._require_whole()
        if self._watermark_us == AFTER_ALL_US:
            raise DataError("the matcher is closed: its stream has ended", remedy="start another one")
        if is_event(events, self._options["time"]):
            return self._push_event(events)
        self._settle()
        table, schema = read_given(events, **self._options)
        stream = self._stream
        if stream is None or self._schema is None:
            stream = self._bind(table, schema)
        elif table.schema != self._arrow:
            table = in_columns(table, self._arrow, missing_are_null=isinstance(events, Mapping))
        self._given = first_given(events)
        return self._push_table(stream, table)

    def _push_event(self, event: Any) -> Any:
        """Take one event."""
        if self._stream is None or self._reader is None:
            self._bind(*read_given(first_table(event), **self._options))
            assert self._stream is not None
            assert self._reader is not None
        stream, singles, values = self._stream, self._singles, self._reader.values(event)
        self._given = EVENT
        time_us = None
        if singles is not None and (singles.is_open or singles.open()):
            time_us = self._reader.time_us(values)
        if singles is None or time_us is None:
            return self._push_table(stream, self._reader.table([values]))
        number = stream.n_arrived
        stream.n_arrived = number + 1
        self.rejected = _NOTHING_REJECTED
        if time_us <= self._watermark_us:
            stream.n_late += 1
            self.late = [dict(zip(self._reader.names, values, strict=True))]
            return []
        self.late = []
        singles.push(values, time_us, number)
        if self._slack_us is not None and time_us - self._slack_us > self._watermark_us:
            self._watermark_us = time_us - self._slack_us - 1
        return self._moved_singly(singles)

    def _push_table(self, stream: Stream | Streams, table: Any) -> Any:
        """Take the events of a table with the columns of the stream."""
        assert self._schema is not None
        first_row = stream.n_arrived
        batch = read_events(table, self._schema)
        watermarks = self._watermarks(batch)
        with self._failing():
            self.late = like_given(stream.push(batch, watermarks), self._given)
        self.rejected = batch.rejected.table(first_row)
        if n := len(batch.rejected):
            counts = ", ".join(f"{number} for {column}" for column, number in batch.rejected.counts.items())
            said = f"{n} of {table.num_rows} events were rejected ({counts}): see Matcher.rejected"
            warnings.warn(said, stacklevel=2)
        if self._watch is not None:
            return self._moved_by(self._watch)
        if self._slack_us is None or not len(batch):
            return self._moved(self._watermark_us)
        return self._moved(int(batch.time_us[-1]) - self._slack_us - 1)

    @in_turn
    def advance(self, time: datetime | np.datetime64 | str | int | float) -> Any:
        """Move the watermark: all events up to ``time`` have been pushed.

        Args:
            time: a datetime (of Python, pandas or numpy), an ISO text, or a number in ``time_unit``. Times without a
                zone are UTC. A time before the watermark changes nothing.

        Returns:
            The matches that are decided by now and were not before, as the kind of table that was pushed last.

        Raises:
            DataError: ``time`` is none; a value cannot be worked with, or a registered function fails.
        """
        return self._moved(moment_us(time, self._options["time_unit"]))

    @in_turn
    def close(self) -> Any:
        """End the stream: whatever is decided by the end of the input is given, and nothing is kept.

        Returns:
            The last matches, as the kind of table that was pushed last.

        Raises:
            DataError: a value cannot be worked with, or a registered function fails.
        """
        return self._moved(AFTER_ALL_US)

    @in_turn
    def switch(self, evaluation: str) -> None:
        """Go on with another evaluation plan: no match is lost, and none comes twice. Of a set, in all its queries.

        Args:
            evaluation: ``eager``, ``lazy``, or a plan such as ``b/c a``: see `cepheid.Settings`.

        Raises:
            NotSupportedError: a query has no such choice.
            QueryError: the plan does not name its variables.
        """
        self._require_whole()
        self._settle()
        settings = self._settings.with_plan(evaluation).choosing(AdaptiveEvaluation)
        if isinstance(self._stream, Streams):
            plans = self._stream.plans_for(evaluation)
            with self._failing():
                self._stream.switch(plans, settings)
        elif self._stream is not None:
            plan = self._stream.plan_for(evaluation)
            with self._failing():
                self._stream.switch(plan, settings)
        self._settings = settings
        self._take_singles()

    @in_turn
    def snapshot(self) -> bytes:
        """What is held, as bytes: a matcher made in the same way goes on from there with `restore`.

        Raises:
            DataError: nothing was pushed yet, and no schema was given.
        """
        stream = self._known()
        assert self._schema is not None
        slack = {} if self._watch is None else {"slack": self._watch.said()}
        return stream.snapshot({**self._asked(), **told_columns(self._arrow, self._schema), **slack})

    @in_turn
    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot: to all later calls the answers are those of the matcher that made it.

        Args:
            snapshot: of a matcher with the same query, options and parameters; not that of a newer version of cepheid.

        Raises:
            DataError: it is no snapshot, one of another query, or of a version that is too different; or this matcher
                has had events already.
        """
        self._require_whole()
        if self._stream is not None and self._stream.n_arrived:
            raise DataError("the matcher has had events already", remedy="restore into a new one")
        said, tables = unpacked(snapshot)
        require_same(said, self._asked())
        table, schema = read_columns(said, self._options)
        stream = self._bind(table, schema)
        stream.restore(said, tables, schema)
        self._watermark_us = stream.watermark_us
        if self._watch is not None:
            self._watch.restore(said["slack"])
        self._take_singles()

    def _asked(self) -> dict[str, str]:
        """The query and its options, as texts."""
        behind = {name: str(query) for name, query in sorted(self._catalog.queries.items())}
        own = self._query
        return {
            "query": repr({name: str(own[name]) for name in own}) if isinstance(own, QuerySet) else str(own),
            "queries": repr(behind),
            "parameters": repr(sorted(self._parameters.items())),
            "options": repr(self._options | ({"timed_out": True} if self._tells_timed_out else {})),
            **({} if self._slack is None else {"slack_policy": repr((self._slack, self._received))}),
        }

    @property
    def batched_because(self) -> str | None:
        """Why single events take the road of batches, each as a table of one row, which costs a hundred times more.

        None where they do not: then an event goes from Python's objects to the kernel, and a match back, with no table
        between. So it is for queries whose partial matches live on between two steps (see "How it is run" in
        ``docs/streams.md``).

        Raises:
            DataError: as of `gauge`.
        """
        with self.lock:
            stream = self._known()
            if self._outputs or self._slack:
                return "outputs= is given" if self._outputs else "slack= closes windows by a policy"
            return stream.batched_because if isinstance(stream, Stream) else "the matcher has a set of queries"

    @property
    def watermark_us(self) -> int | None:
        """The watermark, us since the epoch; None before it is known, the greatest int64 after `close`."""
        return None if self._watermark_us == BEFORE_ALL_US else self._watermark_us

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was decided on evaluation plans, the last ones of each query, where they are chosen (`Settings`)."""
        return () if self._stream is None else self._stream.decisions

    # --- inside ---------------------------------------------------------------------------------------

    def _known(self) -> Stream | Streams:
        """The stream; a `DataError` where its columns are not known, or the matcher has failed."""
        self._require_whole()
        if self._stream is None:
            raise DataError("nothing is known of the events yet", remedy="push some, or give the Matcher a schema=")
        self._settle()
        return self._stream

    def _bind(self, table: Any, schema: Schema) -> Stream | Streams:
        stream: Stream | Streams
        if isinstance(self._query, QuerySet):
            bounds = with_values(self._query.bind(schema, self._catalog), self._parameters)
            require_bounded(bounds)
            policies = policies_by_name(self._policy, bounds)
            stream = Streams(bounds, table.schema, self._settings, policies, timed_out=self._tells_timed_out)
        else:
            bound = with_parameters(self._query.bind(schema, self._catalog), self._parameters)
            bounds = {"": bound}
            require_bounded(bounds)
            if isinstance(self._policy, Mapping):
                raise QueryError("policy= of one query is one policy", remedy="give it without a name")
            stream = Stream(bound, table.schema, self._settings, self._policy, timed_out=self._tells_timed_out)
        self._begin_watch(tuple(bounds.values()))
        stream.watermark_us = self._watermark_us
        _ = stream.output  # a query whose output cannot be is refused before anything is pushed
        self._arrow, self._schema, self._stream = table.schema, schema, stream
        self._reader = EventReader(table.schema, schema)
        self._take_singles()
        warn_of_no_matches([reason for bound in bounds.values() for reason in told(bound)])
        return stream

    def _moved(self, watermark_us: int) -> Any:
        self._require_whole()
        self._watermark_us = max(self._watermark_us, watermark_us)
        if self._stream is None:  # nothing was pushed, so that not even the columns are known
            nothing = told_of(self._outputs, pa.table({}), pa.table({}))
            return dict.fromkeys(self._query, nothing) if isinstance(self._query, QuerySet) else nothing
        before = self._stream.n_dropped
        singles = self._singles
        if singles is not None and singles.is_open:
            if self._watermark_us != AFTER_ALL_US:
                return self._moved_singly(singles)
            self._settle()
        with self._failing():
            found = self._stream.advance(self._watermark_us)
            left = self._stream.timed_out() if self._tells_timed_out else None
        if singles is not None and isinstance(self._stream, Stream) and not self._stream.runs(singles):
            self._take_singles()
        if self._stream.n_dropped > before:
            _warn_of_dropped(self._stream.n_dropped - before)
        if isinstance(found, dict):
            return {name: self._given_back(table, left and left[name]) for name, table in found.items()}
        return self._given_back(found, left)

    def _given_back(self, matches: Any, left: Any) -> Any:
        """What a call gives of a query, from pyarrow Tables; None for what was not asked for."""
        own = None if left is None else like_given(left, self._given)
        return told_of(self._outputs, like_given(matches, self._given), own)

    def _moved_singly(self, singles: OneByOne) -> list[dict[str, Any]]:
        """Step to the watermark, event by event."""
        try:
            found = singles.advance(self._watermark_us)
        except BaseException as error:
            self._fail(error)
            raise
        if singles.n_dropped:
            _warn_of_dropped(singles.n_dropped)
        if singles.is_due and isinstance(self._stream, Stream):
            with self._failing():
                if self._stream.adapt_singly(singles):
                    self._take_singles()
        return found

    def _take_singles(self) -> None:
        """What takes single events of the stream; None where they take the road of batches."""
        stream, reader = self._stream, None if self._outputs else self._reader
        reader = reader if self._slack is None else None
        self._singles = stream.one_by_one(reader) if isinstance(stream, Stream) and reader is not None else None

    def _settle(self) -> None:
        """Let the stream hold all that is held."""
        if self._singles is not None:
            with self._failing():
                self._singles.settle()
                if isinstance(self._stream, Stream):
                    self._stream.take_seen(self._singles)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """In its block, whatever is raised leaves a stream that has lost events."""
        try:
            yield
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        self._failure, self._stream, self._singles = error, None, None

    def _require_whole(self) -> None:
        """Refuse to go on where matches would be missed in silence."""
        if self._failure is not None:
            raise DataError(
                f"the matcher has failed before ({type(self._failure).__name__}), and what it held is gone",
                remedy="start another one, and push again from one window before the last match that was given",
            ) from self._failure


_NOTHING_REJECTED = NOTHING_REJECTED.table()


def _warn_of_dropped(n: int) -> None:
    warnings.warn(f"{n} partial matches were dropped, so matches may be missing", stacklevel=level_outside())
