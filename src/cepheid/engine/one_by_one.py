"""A query over a stream whose events come one by one, as Python objects: no table is made on the way.

Between two events all that is held lies in three places: events that the watermark has not passed in a heap, the others
as values and as columns with room (`engine.single_columns`), partial matches in the session's own pool. A kernel is
called with arguments that were laid out before, on the events that the watermark has passed. Whoever needs the stream
as it is held for batches, settles it first.
"""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.compiler.elements import RemoteData
from cepheid.compiler.load import chain_kernel, is_compiled, kernels, n_made
from cepheid.compiler.repeated_call import RepeatedCall
from cepheid.compiler.single import event_functions, reason_not_single
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.carried import CarriedSession
from cepheid.engine.carrying import reason_not_carried
from cepheid.engine.compaction import compact
from cepheid.engine.matches import Matches
from cepheid.engine.output import assemble
from cepheid.engine.session import matches_in
from cepheid.engine.settings import Settings
from cepheid.engine.single_columns import SingleColumns
from cepheid.engine.single_output import row_maker
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.events.batch import EventBatch
from cepheid.events.reorder import ReorderBuffer
from cepheid.events.single import EventReader, Values, not_held_as_python
from cepheid.kernels import layout as k
from cepheid.language.bound import BoundQuery

FIRST_ROOM = 1 << 12
"""For so many events there is room at first. When it is full, what is not needed any more is forgotten, which costs a
look at all that is held; so there is always room for as many again as are held."""

ASK_EVERY = 64
"""Of events that are watched; so often is it asked whether they are to be sampled."""

Row = dict[str, Any]


def reason_in_batches(compiled: CompiledPlan, settings: Settings, events: Any) -> str | None:
    """Why single events take the road of batches, each as a table of one row; None where they need not.

    Args:
        compiled: the plan of the only query.
        settings: how much may be held.
        events: the pyarrow Schema of the events.
    """
    if compiled.automaton.bound.inner is not None:
        return "its events are the matches of another query (FROM)"
    if (reason := reason_not_carried(compiled)) is not None:
        return reason
    if settings.max_partial_matches_per_key is not None:
        return "partial matches are counted for each value of SAME"
    return reason_not_single(compiled) or not_held_as_python(events)


class Home(Protocol):
    """Where what is held lives for batches: a stream of one query.

    Attributes:
        watermark_us: see `engine.stream.Stream`.
    """

    watermark_us: int


class OneByOne:
    """Takes the events of a stream one by one; what it holds is the stream's between `open` and `settle`.

    Attributes:
        is_open: whether it holds what the stream holds.
        n_dropped: partial matches that a cap made it forget in the last step.
        compiled: the plan.
        is_due: whether it is time to ask `passed`; False where nothing is watched.
    """

    def __init__(
        self,
        home: Home,
        bound: BoundQuery,
        session: CarriedSession,
        buffer: ReorderBuffer,
        reader: EventReader,
        events: Any,
        columns: list[str],
    ) -> None:
        """Make ready for a stream; nothing is taken from it yet.

        Args:
            home: the stream.
            bound: the query.
            session: of the stream; of its plan there is no `reason_in_batches`.
            buffer: of the stream.
            reader: reads its events.
            events: their pyarrow Schema.
            columns: those that are held for batches.
        """
        self.is_open = False
        self.n_dropped = 0
        self._home = home
        self._bound = bound
        self._remote = RemoteData(bound)
        self.compiled = self._compiled = compiled = session.compiled
        self.is_due = False
        self._seen: deque[tuple[int, int, Values]] | None = None
        self._n_seen = self._n_asked = 0
        self._session = session
        self._buffer = buffer
        self._reader = reader
        self._held_columns = columns
        self._functions = event_functions(compiled, reader, events)
        self._row_of = row_maker(bound, compiled, reader, events)
        self._order_at = [reader.names.index(name) for name in reader.schema.order]
        self._waiting: list[tuple[int, Any, int, Values]] = []
        self._has_runs = bool(compiled.plan[k.P_RUN_FIELD] >= 0)
        self._length = int(compiled.plan[k.P_FIXED_LENGTH])
        self._lasts_us = compiled.automaton.within
        self._columns = SingleColumns(compiled, self._functions, 1)
        self._pool = session.pool

    # --- the stream -------------------------------------------------------------------------------------

    def open(self) -> bool:
        """Take over what the stream holds; False where Python has no value for something in it."""
        held, waiting = self._session.batch, self._buffer.events
        try:
            rows = [] if held is None else self._reader.rows(held.table)
            later = [] if waiting is None else self._reader.rows(waiting.table)
        except (ValueError, OverflowError):
            return False
        self._pool = self._session.pool
        room = FIRST_ROOM
        while room < 2 * len(rows):
            room *= 2
        self._functions.codes.clear()
        self._columns = columns = SingleColumns(self._compiled, self._functions, room)
        if held is not None:
            assert held.numbers is not None
            fits = self._functions.fit
            for values, time_us, number in zip(rows, held.time_us.tolist(), held.numbers.tolist(), strict=True):
                columns.add(values, time_us, number, fits(values))
            before = self._session.events
            assert before is not None
            self._session.recode(columns.events, columns.events.changes_from(before, columns.n))
        if waiting is not None:
            assert waiting.numbers is not None
            for values, time_us, number in zip(later, waiting.time_us.tolist(), waiting.numbers.tolist(), strict=True):
                self.push(values, time_us, number)
            self._buffer.clear()
        self._n_out = len(self._pool.out)
        self._forgot_us = BEFORE_ALL_US
        self._point(first=columns.n)
        self.is_open = True
        return True

    def settle(self) -> None:
        """Give back what the stream holds."""
        if not self.is_open:
            return
        self._forget(self._session.watermark_us)
        columns = self._columns
        batch = self._batch(columns.rows, columns.times_us.copy(), columns.numbers) if columns.n else None
        self._session.take_back(batch, columns.exactly() if columns.n else None)
        if self._waiting:
            waiting = [heappop(self._waiting) for _ in range(len(self._waiting))]
            times = np.array([one[0] for one in waiting], np.int64)
            self._buffer.add(self._batch([one[3] for one in waiting], times, [one[2] for one in waiting]))
        self._columns = SingleColumns(self._compiled, self._functions, 1)
        self.is_open = False

    def push(self, values: Values, time_us: int, number: int) -> None:
        """Take an event that the watermark has not passed.

        Args:
            values: of the event.
            time_us: its time.
            number: its number in the stream.
        """
        key = tuple([_sort_key(values[at]) for at in self._order_at]) if self._order_at else ()
        heappush(self._waiting, (time_us, key, number, values))

    def advance(self, watermark_us: int) -> list[Row]:
        """Move the watermark, which is not before the one before, nor at the end.

        Returns:
            The matches that are decided by now and were not before.

        Raises:
            CapacityError: more partial matches would be held than may be.
        """
        self._home.watermark_us = self._session.watermark_us = watermark_us
        waiting, columns, functions, seen = self._waiting, self._columns, self._functions, self._seen
        self.n_dropped = 0
        n_before = columns.n
        found: list[Row] = []
        while waiting and waiting[0][0] <= watermark_us:
            time_us, _, number, values = heappop(waiting)
            if seen is not None:
                seen.append((time_us, number, values))
                self._n_seen += 1
                self.is_due = self._n_seen - self._n_asked >= ASK_EVERY
            fit = functions.fit(values)
            if not fit or (functions.partitioned and functions.partition(values) is None):
                continue
            if columns.n == columns.room:
                found += self._stepped(time_us - 1)
                self._forget(time_us - 1)
                n_before = -1
            columns.add(values, time_us, number, fit)
        if columns.n != n_before or self._has_runs:
            found += self._stepped(watermark_us)
        if columns.n and self._lasts_us is not None:
            since_us = watermark_us - self._lasts_us
            # What is held is of no use, or of little; then the rest is looked at again after as long a time.
            if since_us > columns.events.ints[columns.n - 1] and since_us > self._forgot_us:
                self._forget(watermark_us)
        return found

    def watch(self, most: int) -> None:
        """Remember the last events, so many at most, for what samples the stream."""
        self._seen = deque(maxlen=most)

    def passed(self) -> tuple[int, int]:
        """The time of the last event that the watermark has passed, us, and how many there were since `take_seen`."""
        assert self._seen
        self._n_asked, self.is_due = self._n_seen, False
        return self._seen[-1][0], self._n_seen

    @property
    def has_seen(self) -> bool:
        """Whether there are events that are watched and were not taken."""
        return bool(self._seen)

    def take_seen(self) -> tuple[EventBatch, int]:
        """The last of these events, and how many there were."""
        assert self._seen
        times, numbers, rows = zip(*self._seen, strict=True)
        n = self._n_seen
        self._seen.clear()
        self._n_seen = self._n_asked = 0
        return self._batch(list(rows), np.array(times, np.int64), list(numbers)), n

    # --- inside -----------------------------------------------------------------------------------------

    def _stepped(self, until_us: int) -> list[Row]:
        """Let the kernel see the events that it has not seen, and what is decided until a time; what it found."""
        pool = self._pool
        if not self._compiled_step and n_made() != self._n_made:
            self._point()  # perhaps with machine code
        with nullcontext() if self._compiled_step else np.errstate(all="ignore"):
            self._words[k.M_STOP] = self._columns.n
            if self._columns.has_nulls and self._as_chain:
                self._point()
            while (code := self._step()) != k.DONE:
                if code != k.POOL_FULL or not self._made_room():
                    pool.make_room(code)
                self._point()
            if self._has_runs:
                self._fire.put(0, until_us + 1)
                while (code := self._fire()) != k.DONE:
                    pool.make_room(code)
                    self._point()
                    self._fire.put(0, until_us + 1)
        return self._found() if self._words[k.M_N_MATCHES] else []

    def _made_room(self) -> bool:
        """See `Caps.made_room`."""
        caps = self._session.caps
        before = caps.n_dropped
        made = caps.made_room(self._pool, self._columns.events)
        self.n_dropped += caps.n_dropped - before
        return made

    def _found(self) -> list[Row]:
        """What the kernel found, in order."""
        pool, columns, row_of = self._pool, self._columns, self._row_of
        if row_of is not None:
            length = self._length
            entries = pool.out[: self._words[k.M_N_ENTRIES]].tolist()
            places = [entries[at : at + length] for at in range(0, len(entries), length)]
            if len(places) > 1:
                places.sort(key=lambda match: (match[-1], match))
            rows, numbers, times = columns.rows, columns.numbers, columns.times
            found = [
                row_of(([rows[i] for i in match], [numbers[i] for i in match], [times[i] for i in match]))
                for match in places
            ]
        else:
            found = self._assembled()
        if len(pool.out) == self._n_out:
            self._words[k.M_N_MATCHES] = self._words[k.M_N_ENTRIES] = 0
        else:
            pool.forget_matches()
            self._point()
        return found

    def _assembled(self) -> list[Row]:
        """The same by way of a table."""
        pool, columns = self._pool, self._columns
        nothing = EventBatch(table=pa.table({}), schema=self._reader.schema, time_us=columns.times_us)
        matches = matches_in(self._compiled, nothing, columns.events, pool.pool, pool.out)
        positions, of_entry = np.unique(matches.positions, return_inverse=True)
        used = positions.tolist()
        batch = self._batch(
            [columns.rows[i] for i in used], columns.times_us[positions], [columns.numbers[i] for i in used]
        )
        own = Matches(
            offsets=matches.offsets,
            positions=of_entry.reshape(-1).astype(np.int64, copy=False),
            variables=matches.variables,
            decided_us=matches.decided_us,
        )
        found: list[Row] = assemble(self._bound, batch, own, remote=self._remote).to_pylist()
        return found

    def _forget(self, watermark_us: int) -> None:
        """Forget what nothing can come of any more; afterwards there is room.

        Args:
            watermark_us: the events that the kernel has seen are all up to this time.
        """
        columns = self._columns
        self._forgot_us = watermark_us
        needed = compact(self._compiled, self._pool, columns.events, watermark_us)
        room = FIRST_ROOM
        while room < 2 * len(needed):
            room *= 2
        columns.keep(needed, room)
        if columns.n_codes > 2 * columns.n + FIRST_ROOM:
            self._session.recode(columns.events, columns.read_again())
        self._point(first=columns.n)

    def _point(self, first: int | None = None) -> None:
        """Lay out the kernels' arguments anew, as arrays are others now.

        Args:
            first: the index of the next event, where the columns are others, too.
        """
        compiled, pool, events = self._compiled, self._pool, self._columns.events
        if first is not None:
            pool.set_events(events, first=first)
        self._words = pool.pool.data
        self._as_chain = compiled.chain is not None and not self._columns.has_nulls
        self._n_made = n_made()
        if self._as_chain:
            step = chain_kernel()
            self._compiled_step = is_compiled(step)
            self._step = RepeatedCall(step, compiled.plan, compiled.chain, pool.pool, events.ints, pool.out)
            return
        loaded, arrays = kernels(compiled.needs), (events.ints, events.floats, events.nulls)
        self._compiled_step = is_compiled(loaded.advance)
        self._step = RepeatedCall(
            loaded.advance, compiled.plan, pool.pool, pool.reals, *arrays, pool.out, *loaded.helpers
        )
        if self._has_runs:
            helpers = loaded.helpers[:2]
            self._fire = RepeatedCall(
                loaded.fire, 0, 0, 0, compiled.plan, pool.pool, pool.reals, *arrays, pool.out, *helpers
            )

    def _batch(self, rows: list[Values], time_us: k.Ints, numbers: list[int]) -> EventBatch:
        """Events as a batch of their own."""
        return EventBatch(
            table=self._reader.table(rows, self._held_columns),
            schema=self._reader.schema,
            time_us=time_us,
            numbers=np.array(numbers, np.int64),
        )


def _sort_key(value: Any) -> tuple[Any, ...]:
    """Where a value of the order key stands: NULL before all others, NaN behind."""
    if value is None:
        return (0,)
    return (2,) if value != value else (1, value)
