"""Samples of a stream for what chooses between evaluation plans: what comes how often, and which conditions hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cepheid.compiler.columns import evaluated, fitting, partition_codes
from cepheid.compiler.columnwise.casts import as_type
from cepheid.compiler.requests import detached
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import evaluate, holds
from cepheid.engine.session import prepare
from cepheid.engine.trials import arrangements, tried_on
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, Column, Int64Array, constant
from cepheid.events.reorder import joined, taken
from cepheid.events.types import INT
from cepheid.language.bound import Conjunct
from cepheid.language.tree import Aggregate, Attribute, Call, Remote, walk
from cepheid.plan.between import conditions_between
from cepheid.plan.evaluation import asked_for
from cepheid.ports.evaluation import Sampled, Trial

MOST_RECENT = 100_000
"""Of the events that came one after the other, so many are kept at least for trials of plans, where they came."""

MOST_EVENTS = 4_096
"""Events of one sample: the last ones that came, or some of all where they come in one batch."""

SHARE_AT_ONCE, FEWEST_AT_ONCE, MOST_AT_ONCE = 1 / 4096, 512, 2_048
"""Of a bounded input, on which nothing is tried, a sample is such a share, and has so many at least and at most: a
plan is chosen but once, and what that takes must not be seen beside what the whole takes."""

RUN = 16
"""Of a large batch, so many events in a row are taken at a time: events that lie beside each other are read faster."""

N_COMBINATIONS_AN_EVENT, N_AT_ONCE_AN_EVENT = 8, 4
"""Combinations of events that are drawn for each condition, for each event that a sample may have, of a stream and of a
bounded input; those in the order of the pattern are looked at."""

MOST_CALLS = 64
"""Combinations on which a registered function is called."""


class Sampler:
    """Keeps what comes until a sample is asked for. That costs next to nothing: no event is looked at before.

    Attributes:
        n_events: events since the last sample.
        last_us: the time of the last one, us.
    """

    def __init__(self, compiled: CompiledPlan, *, tries: bool = True) -> None:
        """Begin.

        Args:
            compiled: a plan of the query, any one.
            tries: plans may be tried on the events that come; without, none are kept for that, and samples of a large
                batch are smaller.
        """
        self._tries = tries
        self._compiled = compiled
        bound = compiled.automaton.bound
        self._conditions = conditions_between(bound)
        self._variables = {e.variable: e.index for e in compiled.automaton.elements if not e.negated}
        self._recent: deque[EventBatch] = deque()
        self._n_recent = 0
        self._batches: deque[EventBatch] = deque()
        self._n_held = 0
        self._most_events = MOST_EVENTS
        self._random = np.random.default_rng(0)
        self._since_us: int | None = None
        self.n_events = 0
        self.last_us = 0

    def add(self, batch: EventBatch, n: int) -> None:
        """Take events that came, in order, after all before.

        Args:
            batch: the events, at least one; or the last of them.
            n: how many they were.
        """
        if self._since_us is None:
            self._since_us = int(batch.time_us[0])
        until_us = int(batch.time_us[-1])
        self._remember(batch, n)
        if not self._tries:
            self._most_events = min(max(FEWEST_AT_ONCE, int(n * SHARE_AT_ONCE)), MOST_AT_ONCE)
        if len(batch) > MOST_RECENT or batch.rows is not None:
            batch = self._some(batch)  # so that what is large, or part of something large, is not held as a whole
        self.n_events += n
        self.last_us = until_us
        self._batches.append(batch)
        self._n_held += len(batch)
        while self._n_held - len(self._batches[0]) >= self._most_events:
            self._n_held -= len(self._batches.popleft())

    def remembered(self) -> dict[str, int | None]:
        """Where the sample stands that was begun, for `remember`; of its events, how many they are."""
        return {"since_us": self._since_us, "last_us": self.last_us, "n_events": self.n_events}

    def remember(self, said: Mapping[str, int | None]) -> None:
        """Go on with a sample that another one has begun; what its events were like is told by those to come."""
        self._since_us = said["since_us"]
        self.last_us, self.n_events = said["last_us"] or 0, said["n_events"] or 0

    def sample(self) -> Sampled:
        """What came since the last sample; there must be some. A new sample begins."""
        batch = joined([self._some(one) for one in self._batches])
        positions, fit = fitting(self._compiled, batch, {})
        of_variable = {name: positions[(fit >> index) & 1 == 1] for name, index in self._variables.items()}
        assert self._since_us is not None
        until_us = self.last_us
        sampled = Sampled(
            until_us=until_us,
            elapsed_us=until_us - self._since_us,
            n_events=self.n_events,
            shares=tuple(len(found) / len(batch) for found in of_variable.values()),
            held=tuple(self._held(batch, one.conjunct, of_variable) for one in self._conditions),
            same=self._same(batch) if self._compiled.automaton.partition else None,
            n_recent=self._n_recent,
            trial=self._trial if self._tries else None,
        )
        self._batches.clear()
        self._n_held = self.n_events = 0
        self._since_us = until_us
        return sampled

    def _some(self, batch: EventBatch) -> EventBatch:
        """As many events of a batch as a sample may have, as a batch whose rows they are."""
        if len(batch) > self._most_events:
            starts = np.unique(self._random.integers(0, len(batch) // RUN, max(1, self._most_events // RUN)))
            return _some_of(batch, (starts[:, None] * RUN + np.arange(RUN)).ravel())
        return batch if batch.rows is None else _some_of(batch, np.arange(len(batch)))

    def _remember(self, batch: EventBatch, n: int) -> None:
        """Keep the events for trials."""
        if not self._tries or batch.rows is not None:
            return
        if n > len(batch):  # some between these and those before are missing
            self._recent.clear()
            self._n_recent = 0
        if len(batch) > MOST_RECENT:
            batch = taken(batch, np.arange(len(batch) - MOST_RECENT, len(batch)))
        self._recent.append(batch)
        self._n_recent += len(batch)
        while self._n_recent - len(self._recent[0]) >= MOST_RECENT:
            self._n_recent -= len(self._recent.popleft())

    def _trial(self, plan: str) -> Trial | None:
        """What a plan takes on the events that came last."""
        if not self._recent:
            return None
        if len(self._recent) > 1:
            together = joined(list(self._recent))
            self._recent.clear()
            self._recent.append(together)
        bound = self._compiled.automaton.bound
        compiled = prepare(bound, evaluation=asked_for(bound, plan))
        return tried_on(compiled, arrangements(self._recent[0]))

    def _held(self, batch: EventBatch, conjunct: Conjunct, of_variable: dict[str, Int64Array]) -> tuple[float, float]:
        """On how many combinations of events, in the order of the pattern, a condition holds, and of how many."""
        functions = self._compiled.automaton.bound.catalog.functions
        calls = any(isinstance(node, Call) and node.function in functions for node in walk(conjunct.expression))
        rows = self._combinations([of_variable[name] for name in conjunct.variables], few=calls)
        n = len(rows[0])
        if not n:
            return 0.0, 0.0
        of = dict(zip(conjunct.variables, rows, strict=True))

        def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
            if isinstance(node, Aggregate):  # of a loop that has taken one event
                if node.argument is None or node.function == "count":
                    return constant(1, INT, n)
                column = evaluate(node.argument, resolve, n, functions)
                assert isinstance(column, Column), "aggregates are over scalars"
                return as_type(column, self._compiled.automaton.bound.types[node])
            assert isinstance(node, Attribute), "what is remote is refused before"
            assert node.variable is not None
            return batch.column_at(node.path, of[node.variable])

        column = evaluate(conjunct.expression, resolve, n, functions)
        assert isinstance(column, Column)
        return float(np.count_nonzero(holds(column))), float(n)

    def _combinations(self, events: list[Int64Array], *, few: bool) -> list[Int64Array]:
        """Events of some variables, one of each, in the order of the pattern; all have the same number of rows."""
        an_event = N_COMBINATIONS_AN_EVENT if self._tries else N_AT_ONCE_AN_EVENT
        n = an_event * self._most_events if all(len(found) for found in events) else 0
        # Drawn one by one: all pairs of a few events would say more of these events than of the stream.
        rows = [found[self._random.integers(0, max(len(found), 1), n, np.int32)] for found in events]
        in_order = np.ones(len(rows[0]), np.bool_)
        for before, after in pairwise(rows):
            in_order &= before < after
        places = np.flatnonzero(in_order)
        if few:
            places = places[:MOST_CALLS]
        return [found[places] for found in rows]

    def _same(self, batch: EventBatch) -> tuple[float, float]:
        """How many pairs of events are of one partition, and how many there are."""
        compiled = self._compiled
        columns = [evaluated(compiled, batch, detached(expression)) for expression in compiled.automaton.partition]
        codes, valid = partition_codes(columns)
        counts = np.unique(codes if valid is None else codes[valid], return_counts=True)[1].astype(np.float64)
        n = counts.sum()
        return float((counts * (counts - 1)).sum() / 2), float(n * (n - 1) / 2)


def _some_of(batch: EventBatch, positions: Int64Array) -> EventBatch:
    """Some events of a batch, as a batch whose rows are its events."""
    if batch.rows is None:
        return taken(batch, positions)
    rows = pa.array(batch.rows[positions])
    return EventBatch(
        table=batch.table.take(rows), schema=batch.schema, time_us=batch.time_us[positions], numbers=positions
    )
