"""Several queries over one batch of events: what they have in common is done once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cepheid.compiler.event_index import EventIndex
from cepheid.engine.composite import composites
from cepheid.engine.matches import Matches
from cepheid.engine.session import Work, prepare, run_outputs, run_plan
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.errors import CepheidError
from cepheid.events.batch import EventBatch
from cepheid.language.bound import BoundQuery


@dataclass(frozen=True, eq=False)
class Found:
    """What one of the queries found.

    Attributes:
        events: what it was matched in: the events that were read, or composite ones.
        matches: its matches, which point into ``events``.
        works: what was done for the queries under it (FROM), the innermost first, and for itself.
        timed_out: what timed out, where it was asked for.
    """

    events: EventBatch
    matches: Matches
    works: tuple[Work, ...]
    timed_out: Matches | None = None


@dataclass(eq=False)
class Together:
    """Runs queries over the same events, one after the other.

    The events are in order and converted once, and `EventIndex` finds those that can matter to each query. A query that
    stands behind FROM is run once, be it one of the set or not: in a set, a name means one query.

    Attributes:
        batch: the events that were read.
        timed_out: the queries of which to find what timed out, too.
        settings: how much each query may hold.
    """

    batch: EventBatch
    timed_out: frozenset[str] = frozenset()
    settings: Settings = DEFAULTS
    _found: dict[str, Found] = field(default_factory=dict)
    _events: dict[str | None, EventBatch] = field(default_factory=dict)
    _indexes: dict[str | None, EventIndex] = field(default_factory=dict)

    def run(self, name: str, bound: BoundQuery) -> Found:
        """The matches of a query, which has this name in FROM.

        Raises:
            NotSupportedError: the query has a meaning that the engine cannot run yet.
            DataError: a value does not fit a machine word.
        """
        if name in self._found:
            return self._found[name]
        source, works = bound.query.source, tuple[Work, ...]()
        if source not in self._events:
            self._events[source] = self.batch
            if bound.inner is not None and source is not None:
                under = self.run(source, bound.inner)
                self._events[source] = composites(bound, under.events, under.matches, whole=True)
            self._indexes[source] = EventIndex(self._events[source])
        if source is not None:
            works = self._found[source].works
        work = Work()
        events, index = self._events[source], self._indexes[source]
        if name in self.timed_out:
            compiled = prepare(bound, timed_out=True)
            matches, left = run_outputs(compiled, events, work=work, index=index, settings=self.settings)
            self._found[name] = Found(events, matches, (*works, work), left)
        else:
            matches = run_plan(prepare(bound), events, work=work, index=index, settings=self.settings)
            self._found[name] = Found(events, matches, (*works, work))
        return self._found[name]


def run_together(
    bounds: Mapping[str, BoundQuery],
    batch: EventBatch,
    *,
    timed_out: Collection[str] = (),
    settings: Settings = DEFAULTS,
) -> dict[str, Found]:
    """The matches of each query, as if it were run alone.

    Args:
        bounds: name -> query, its parameters replaced by values.
        batch: the events.
        timed_out: the names of those of which to find what timed out, too.
        settings: how much each query may hold.

    Raises:
        NotSupportedError, DataError, CapacityError: as `Together.run`, with the name of the query.
    """
    together = Together(batch, frozenset(timed_out), settings)
    found = {}
    for name, bound in bounds.items():
        try:
            found[name] = together.run(name, bound)
        except CepheidError as error:
            raise error.located(bound.text, bound.origin or name) from None
    return found
