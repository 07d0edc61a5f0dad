"""Closes windows: gives events to the kernel in the order in which they were received, and asks a slack policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.load import closing_kernel
from cepheid.compiler.machine_code import MachineFunction
from cepheid.kernels import closing_layout as at
from cepheid.ports.slack import Closing, Grid, Guard, Int64Array, Kind, SlackPolicy

REASONS = ("events", "learned", "latest", "gave up", "elapsed", "spent", "silent")
"""Why a window was closed, by the number of the reason."""

GAVE_UP = at.GAVE_UP
LEARNED = at.LEARNED

_KINDS = {
    Kind.LEARNED: at.BY_RULE,
    Kind.EVENTS: at.BY_EVENT,
    Kind.DELAY: at.AFTER_DELAY,
    Kind.MEAN_DELAY: at.AFTER_MEAN_DELAY,
}
_GUARDS = {Guard.NONE: at.UNGUARDED, Guard.BUDGET: at.GUARD_BUDGET, Guard.KNOWN: at.GUARD_PAPER}

ALARM_MISSES = 16
"""So many misses more than chance explains, and what was learned is forgotten. Chosen: a distribution that changes so
that every window misses is found out in 20 windows, and one run of 400,000 windows with the ratio at the budget gives
no false alarm."""

_ROWS = 4096
_FLAGS = 1024


@dataclass(frozen=True, eq=False)
class Closed:
    """Windows that were closed, in runs of neighbours.

    Attributes:
        windows: int64, (n,): the first window of each run.
        counts: int64: how many windows are in it.
        at: int64: when its first window was closed, ticks.
        every: int64: how much later each further one was, ticks.
        reasons: int64, numbers of `REASONS`.
        sources: int64: the source that kept the first one open longest; -1 for none.
        risks: float64: the chance that the first one misses an event, where asked for; NaN where it is not known.
    """

    windows: Int64Array
    counts: Int64Array
    at: Int64Array
    every: Int64Array
    reasons: Int64Array
    sources: Int64Array
    risks: NDArray[np.float64]

    @classmethod
    def of(cls, rows: list[Int64Array], risks: list[NDArray[np.float64]]) -> Closed:
        """Rows of the kernel's output."""
        found = np.concatenate([np.empty((0, at.OUT_FIELDS), np.int64), *rows])
        columns = [at.O_WINDOW, at.O_COUNT, at.O_AT, at.O_EVERY, at.O_REASON, at.O_SOURCE]
        windows, counts, moments, every, reasons, sources = (found[:, column] for column in columns)
        chances = np.concatenate([np.empty(0), *risks])
        return cls(windows, counts, moments, every, reasons, sources, chances)

    def each(self, grid: Grid) -> tuple[Int64Array, Int64Array]:
        """The number of every window, and its slack in ticks (``s(k)``)."""
        run = np.repeat(np.arange(len(self.windows)), self.counts)
        step = np.arange(len(run)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        windows = self.windows[run] + step
        return windows, self.at[run] + step * self.every[run] - (windows * grid.slide + grid.nominal)


class Closer:
    """Says which windows are closed as events are received and as time goes on."""

    def __init__(self, policy: SlackPolicy, grid: Grid, *, first: int | None = None, risks: bool = False) -> None:
        """Start at the beginning of a stream.

        Args:
            policy: asked about when windows may be closed; for this stream alone.
            grid: the windows.
            first: the first of them; by default the first that ends not before the first event.
            risks: tell the chance of a miss of each window that is closed.
        """
        self.policy = policy
        self.grid = grid
        self._risks = risks
        self._state = _state(policy.closing, grid, first, risks=risks)
        self._sources = np.empty(0, np.int64)
        self._edges = np.empty(0, np.int64)
        self._waits = np.empty(0, np.int64)
        self._n_flags = max(_FLAGS, 1 << (2 * (grid.size // grid.slide) + 2).bit_length())
        self._missed = np.full(2 * self._n_flags, at.BEFORE, np.int64)
        self._out = np.empty(_ROWS * at.OUT_FIELDS, np.int64)
        self._lasts = np.empty(0, np.int64)
        policy.begin(grid)

    @property
    def n_closed(self) -> int:
        """Windows that were closed."""
        return int(self._state[at.N_CLOSED])

    @property
    def n_missed(self) -> int:
        """Windows that were closed and miss an event, as far as is known."""
        # Where a late event is lost to windows that are still open, these are among those that will.
        n_open = np.count_nonzero(self._missed[: self._n_flags] >= self._state[at.WINDOW])
        return int(self._state[at.N_MISSED]) - int(n_open)

    @property
    def n_late(self) -> int:
        """Events that came when a window of theirs was closed."""
        return int(self._state[at.N_LATE])

    @property
    def slack_sum(self) -> int:
        """The slack of all windows that were closed, ticks (``SL``)."""
        return int(self._state[at.SLACK_SUM])

    @property
    def n_lookups(self) -> int:
        """How often a wait was looked up (the paper's Table 1 counts these)."""
        return int(self._state[at.N_LOOKUPS])

    @property
    def n_summed(self) -> int:
        """How many products these look-ups would have cost, had each been a sum of its own."""
        return int(self._state[at.N_SUMMED])

    @property
    def n_sources(self) -> int:
        """Sources that have brought events."""
        return int(self._state[at.N_SOURCES])

    @property
    def now(self) -> int | None:
        """Up to when windows were looked at, ticks; None before the first event."""
        return None if self._state[at.NOW] == at.BEFORE else int(self._state[at.NOW])

    @property
    def closed_to(self) -> int | None:
        """The end of the last window that was closed, ticks; None for none."""
        window = int(self._state[at.WINDOW])
        return None if window == int(self._state[at.FIRST]) else self.grid.end(window - 1)

    def entries(self) -> int:
        """Waits that are known (the entries of the paper's cache)."""
        return int(np.count_nonzero((self._waits != at.UNKNOWN) & (self._edges != at.NEVER)))

    def receive(self, sources: Int64Array, generated: Int64Array, received: Int64Array) -> Closed:
        """Take events; windows are closed up to the time at which the last one was received.

        Args:
            sources: int64, (n,), see `SlackPolicy.saw`.
            generated: int64, (n,), ticks.
            received: int64, (n,), ticks, ascending; what lies before an earlier event counts as received with it.
        """
        if len(sources):
            self._add_sources(int(sources.max()) + 1)
        return self._run(sources, generated, received, at.BEFORE)

    def until(self, now: int) -> Closed:
        """Close what may be closed up to a time, ticks, if no event comes until then."""
        nothing = np.empty(0, np.int64)
        return self._run(nothing, nothing, nothing, now)

    def _run(self, sources: Int64Array, generated: Int64Array, received: Int64Array, limit: int) -> Closed:
        state = self._state
        kernel: Callable[[], int] | None = None
        events = np.concatenate((sources, generated, received))
        state[at.N_EVENTS], state[at.AT], state[at.STAGE], state[at.LIMIT] = len(sources), 0, 0, limit
        state[at.N_DONE] = n_seen = 0
        rows: list[Int64Array] = []
        risks: list[NDArray[np.float64]] = []
        while True:
            if self._risks and len(self._lasts) < _ROWS * self.n_sources:
                self._lasts = np.empty(_ROWS * self.n_sources, np.int64)
                kernel = None
            if kernel is None:
                kernel = self._kernel(events)
            code = kernel()
            if code != at.ASK_WAIT:
                self._drain(rows, risks)
            if code in (at.DONE, at.ASK_LEARN, at.ASK_RESET):
                n_done = int(state[at.N_DONE])
                if n_done > n_seen:
                    part = slice(n_seen, n_done)
                    self.policy.saw(sources[part], generated[part], received[part])
                    n_seen = n_done
            if code == at.DONE:
                return Closed.of(rows, risks)
            if code == at.ASK_WAIT:
                source, edge = int(state[at.ASKED]), int(state[at.ASKED_EDGE])
                self._waits[source * self._width + edge] = self.policy.wait(source, edge)
                continue
            width = self._width
            if code == at.ASK_LEARN:
                self._learn(int(state[at.ASKED]))
            elif code == at.ASK_RESET:
                state[at.SURPLUS] = 0
                self.policy.forget()
                for source in range(self.n_sources):
                    if self._sources[source * at.SOURCE_FIELDS + at.LAST] != at.BEFORE:
                        self._learn(source)
            if self._width != width:
                kernel = None  # there are other arrays now

    def _kernel(self, events: Int64Array) -> Callable[[], int]:
        kernel = closing_kernel()
        arrays = (self._state, self._sources, self._edges, self._waits, events, self._missed, self._out, self._lasts)
        return kernel.bound(*arrays) if isinstance(kernel, MachineFunction) else partial(kernel, *arrays)

    @property
    def _width(self) -> int:
        return int(self._state[at.WIDTH])

    def _drain(self, rows: list[Int64Array], risks: list[NDArray[np.float64]]) -> None:
        n = int(self._state[at.N_OUT])
        if not n:
            return
        found = self._out[: n * at.OUT_FIELDS].reshape(n, at.OUT_FIELDS).copy()
        rows.append(found)
        self._state[at.N_OUT] = 0
        if self._risks:
            lasts = self._lasts[: n * self.n_sources].reshape(n, self.n_sources)
            ends = found[:, at.O_WINDOW] * self.grid.slide + self.grid.phase
            risks.append(self.policy.risk(lasts, ends, found[:, at.O_AT]))

    def _learn(self, source: int) -> None:
        learned = self.policy.learn(source)
        fields = self._sources[source * at.SOURCE_FIELDS : (source + 1) * at.SOURCE_FIELDS]
        n = 0 if learned.edges is None else len(learned.edges)
        if n > self._width:
            self._widen(n)
        begin = source * self._width
        self._edges[begin : begin + self._width] = at.NEVER
        self._waits[begin : begin + self._width] = at.UNKNOWN
        if learned.edges is not None:
            self._edges[begin : begin + n] = learned.edges
        fields[at.COUNT] = 0
        fields[at.ASK_AFTER] = learned.ask_after
        fields[at.N_EDGES] = n
        fields[at.HORIZON] = min(learned.horizon, at.NEVER)
        fields[at.GIVE_UP] = min(learned.give_up, at.NEVER)
        fields[at.AFTER_END] = at.NEVER if learned.after_end is None else learned.after_end
        fields[at.SURE_END] = learned.sure_end
        self._state[at.STALE] = 1

    def _widen(self, least: int) -> None:
        width = max(least, 2 * self._width)
        for name, value in (("_edges", at.NEVER), ("_waits", at.UNKNOWN)):
            wider = np.full((self.n_sources, width), value, np.int64)
            wider[:, : self._width] = getattr(self, name).reshape(self.n_sources, self._width)
            setattr(self, name, wider.reshape(-1))
        self._state[at.WIDTH] = width

    def _add_sources(self, n: int) -> None:
        n_new = n - self.n_sources
        if n_new <= 0:
            return
        fresh = np.zeros((n_new, at.SOURCE_FIELDS), np.int64)
        fresh[:, at.LAST] = at.BEFORE
        fresh[:, at.ASK_AFTER] = 1
        fresh[:, at.HORIZON] = fresh[:, at.GIVE_UP] = fresh[:, at.AFTER_END] = at.NEVER
        self._sources = np.concatenate((self._sources, fresh.reshape(-1)))
        self._edges = np.concatenate((self._edges, np.full(n_new * self._width, at.NEVER)))
        self._waits = np.concatenate((self._waits, np.full(n_new * self._width, at.UNKNOWN)))
        self._state[at.N_SOURCES] = n

    def said(self) -> dict[str, Any]:
        """All that is held, as JSON can say it."""
        return {
            "state": self._state.tolist(),
            "sources": self._sources.tolist(),
            "edges": self._edges.tolist(),
            "waits": self._waits.tolist(),
            "missed": self._flagged(0),
            "spent": self._flagged(1),
            "policy": self.policy.said(),
        }

    def _flagged(self, half: int) -> list[int]:
        flags = self._missed[half * self._n_flags : (half + 1) * self._n_flags]
        found: list[int] = flags[flags != at.BEFORE].tolist()
        return found

    def restore(self, said: dict[str, Any]) -> None:
        """Go on from what `said` gave, of a closer with the same windows and an equal policy."""
        for name in ("state", "sources", "edges", "waits"):
            setattr(self, f"_{name}", np.array(said[name], np.int64))
        for half, name in enumerate(("missed", "spent")):
            windows = np.array(said[name], np.int64)
            self._missed[half * self._n_flags + (windows & (self._n_flags - 1))] = windows
        self.policy.restore(said["policy"])


def _state(closing: Closing, grid: Grid, first: int | None, *, risks: bool) -> Int64Array:
    state = np.zeros(at.STATE_FIELDS, np.int64)
    state[at.SLIDE], state[at.SIZE], state[at.PHASE] = grid.slide, grid.size, grid.phase
    state[at.NOMINAL] = grid.nominal
    state[at.SPENDS] = closing.spends
    state[at.DROPS] = grid.drops
    state[at.KIND], state[at.OFFSET] = _KINDS[closing.kind], closing.delay
    state[at.LATEST] = at.NEVER if closing.latest is None else closing.latest
    state[at.ALLOWANCE] = at.NEVER if closing.allowance is None else closing.allowance
    state[at.GUARD] = _GUARDS[closing.guard]
    state[at.BUDGET] = round(closing.budget * at.RATIO)
    deviation = (closing.budget * (1 - closing.budget)) ** 0.5
    state[at.DRIFT] = round((closing.budget + deviation / 2) * at.STEP)
    # An event that is late is missed by all windows that it lies in.
    state[at.ALARM] = ALARM_MISSES * at.STEP * max(1, -(-grid.size // grid.slide))
    state[at.FIRST] = state[at.WINDOW] = at.BEFORE if first is None else first
    state[at.NOW] = at.BEFORE
    state[at.RECORDS] = risks
    state[at.WIDTH] = 1
    state[at.STALE] = 1
    state[at.DECIDING] = -1
    return state
