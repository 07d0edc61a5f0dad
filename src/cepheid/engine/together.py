"""Several queries over one batch of events: what they have in common is done once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cepheid.compiler.routes import Routed, Routes
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.adapting import decided
from cepheid.engine.composite import composites
from cepheid.engine.matches import Matches
from cepheid.engine.session import Work, prepare, run_outputs, run_plan
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.errors import CepheidError
from cepheid.events.batch import EventBatch
from cepheid.language.bound import BoundQuery
from cepheid.plan.evaluation import asked_for
from cepheid.ports.evaluation import Decision

FEWEST = 10_000
"""Where there are fewer events, counted once for each query, they are not worth the loading of kernels, 1 ms in all."""


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


class Together:
    """Runs queries over the same events, one after the other.

    The events are in order and converted once, and `Routes` finds those that each query can take in one pass. A query
    that stands behind FROM is run once, be it one of the set or not: in a set, a name means one query.
    """

    def __init__(
        self,
        bounds: Mapping[str, BoundQuery],
        batch: EventBatch,
        *,
        timed_out: Collection[str] = (),
        settings: Settings = DEFAULTS,
    ) -> None:
        """Take queries and events.

        Args:
            bounds: name -> query, its parameters replaced by values.
            batch: the events that were read.
            timed_out: the names of those of which to find what timed out, too.
            settings: how much each query may hold.
        """
        self._bounds = dict(bounds)
        for bound in bounds.values():
            while bound.inner is not None and bound.query.source is not None:
                self._bounds.setdefault(bound.query.source, bound.inner)
                bound = bound.inner
        self._timed_out = frozenset(timed_out)
        self._settings = settings
        self._found: dict[str, Found] = {}
        self._streams: dict[str | None, _Stream] = {}
        self._batch = batch
        self._decisions: dict[str, Decision | None] = {}

    def run(self, name: str) -> Found:
        """The matches of a query.

        Raises:
            NotSupportedError: one of the queries over the same events has a meaning that the engine cannot run yet.
            DataError: a value does not fit a machine word.
        """
        if name in self._found:
            return self._found[name]
        bound = self._bounds[name]
        source = _source(bound)
        works: tuple[Work, ...] = ()
        if source is not None:
            under = self.run(source)
            works = under.works
            if source not in self._streams:
                events = composites(bound, under.events, under.matches, whole=True)
                self._streams[source] = self._stream(source, events)
        elif None not in self._streams:
            self._streams[None] = self._stream(None, self._batch)
        stream = self._streams[source]
        work, routed = Work(decision=self._decisions.get(name)), stream.routed(name)
        compiled = stream.plans.pop(name)
        if name in self._timed_out:
            matches, left = run_outputs(compiled, stream.events, work=work, routed=routed, settings=self._settings)
            self._found[name] = Found(stream.events, matches, (*works, work), left)
        else:
            # The plan is there; what else is asked for may be the default, which more kernels know.
            matches = run_plan(compiled, stream.events, work=work, routed=routed, settings=self._settings.eager)
            self._found[name] = Found(stream.events, matches, (*works, work))
        return self._found[name]

    def _prepared(self, name: str, bound: BoundQuery, events: EventBatch) -> CompiledPlan:
        evaluation = asked_for(bound, self._settings.evaluation)
        if name in self._timed_out:  # one plan tells it, but what is asked for must be one, too
            return prepare(bound, timed_out=True)
        compiled = prepare(bound, evaluation=evaluation)
        compiled, self._decisions[name] = decided(compiled, events, self._settings)
        return compiled

    def _stream(self, source: str | None, events: EventBatch) -> _Stream:
        """The events of a source, and all queries over them."""
        plans = {}
        for name, bound in self._bounds.items():
            if _source(bound) == source:
                try:
                    plans[name] = self._prepared(name, bound, events)
                except CepheidError as error:
                    raise error.located(bound.text, bound.origin or name) from None
        return _Stream(events, plans)


class _Stream:
    """Events, and the plans to be run over them.

    Attributes:
        events: the events.
        plans: name -> plan.
    """

    def __init__(self, events: EventBatch, plans: dict[str, CompiledPlan]) -> None:
        """Route the events, where that is worth it."""
        self.events = events
        self.plans = plans
        self._numbers = {name: number for number, name in enumerate(plans)}
        self._routes = None
        if worth_routing(events, len(plans)):
            self._routes = Routes(events, list(plans.values()))

    def routed(self, name: str) -> Routed | None:
        """The events for a plan; None where it is to be run alone."""
        return None if self._routes is None else self._routes.of(self._numbers[name])


def worth_routing(events: EventBatch, n_plans: int) -> bool:
    """Whether to find the events that each of some plans can take in one pass, before they are run."""
    return n_plans > 1 and len(events) * n_plans >= FEWEST


def _source(bound: BoundQuery) -> str | None:
    """The name of the query whose matches are the events; None where they are those that were read."""
    return None if bound.inner is None else bound.query.source


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
    together = Together(bounds, batch, timed_out=timed_out, settings=settings)
    found = {}
    for name, bound in bounds.items():
        try:
            found[name] = together.run(name)
        except CepheidError as error:
            raise error.located(bound.text, bound.origin or name) from None
    return found
