"""The sites of a simulated network: sources, engines that join what comes, and what a site is restored from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from cepheid.engine.joiner import JoinedMatches, Joiner
from cepheid.engine.order_key import identities
from cepheid.engine.partial_matches import PartialMatches
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.network.from_query import PlannedQuery
from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.model import Node
from cepheid.network.parts import feeds, output_watermark, parts
from cepheid.simulation.network_trace import Trace


@dataclass(frozen=True, eq=False)
class Sent:
    """What a vertex gives out in one step.

    Attributes:
        vertex: which.
        kind: the type of single events; None for whole matches.
        rows: positions of events in the trace, int64, (n, k): of single events one column, of matches one for each type
            that they bind, in the order of the types' names.
    """

    vertex: Vertex
    kind: str | None
    rows: Int64Array


@dataclass(frozen=True, eq=False)
class Told:
    """Matches of a query, told at a sink: for each of them, (variable, position in the trace) of all its events."""

    query: str
    bindings: tuple[tuple[tuple[str, int], ...], ...]


@dataclass(frozen=True)
class Arrivals:
    """Some of what a vertex sent, with the time when each of it comes to the site."""

    sent: Sent
    at_us: Int64Array


class _Evaluation:
    """A joiner at a vertex: of a query of which it is a sink, or of the projection that is sent on."""

    def __init__(self, trace: Trace, query: PlannedQuery, bound: BoundQuery, given: Mapping[str, frozenset[str]]):
        self.query, self.bound = query, bound
        self._trace = trace
        self._parts = {name: [query.variables[kind] for kind in sorted(kinds)] for name, kinds in given.items()}
        self._columns = {
            name: tuple(variable for variable in variables if len(variables) == 1 or self._binds(variable))
            for name, variables in self._parts.items()
        }
        self.joiner = Joiner(bound, self._parts)
        self.pushed = False

    def _binds(self, variable: str) -> bool:
        return not self.bound.variables[variable].negated

    def push(self, part: str, rows: Int64Array) -> None:
        self.joiner.push(part, PartialMatches(self._trace.batch, self._columns[part], rows))
        self.pushed = True

    def found(self) -> JoinedMatches | None:
        """New matches, where there can be any."""
        joiner = self.joiner
        if not self.pushed and not joiner.n_waiting and joiner.watermark_us != AFTER_ALL_US:
            return None
        self.pushed = False
        found = joiner.matches()
        return found if len(found) else None

    def positions(self, found: JoinedMatches) -> Int64Array:
        """The position in the trace of each event of its batch."""
        known = self._trace.positions
        return np.array([known[key] for key in identities(found.batch)], np.int64)

    def rows(self, found: JoinedMatches) -> Int64Array:
        """Matches as rows of positions in the trace, a column for each type."""
        partial = found.partial_matches()
        order = sorted(range(len(partial.variables)), key=lambda i: self.query.types[partial.variables[i]])
        return self.positions(found)[partial.positions[:, order]]

    def told(self, found: JoinedMatches) -> Told:
        names = list(self.bound.variables)
        places = self.positions(found)[found.matches.positions].tolist()
        variables = [names[number] for number in found.matches.variables.tolist()]
        bindings = tuple(zip(variables, places, strict=True))
        ends = found.matches.offsets.tolist()
        whole = tuple(bindings[start:stop] for start, stop in pairwise(ends))
        return Told(self.query.name, whole)

    def restore(self, snapshot: bytes) -> None:
        self.joiner = Joiner.restored(self.bound, self._parts, snapshot)
        self.pushed = True


class _Stage:
    """A vertex that evaluates a projection; counts the rows that its engines take in."""

    def __init__(
        self, graph: InevGraph, vertex: Vertex, queries: Sequence[PlannedQuery], trace: Trace, longest_us: int
    ) -> None:
        self.vertex = vertex
        self.n_taken = 0
        self.before = graph.before(vertex)
        self.feeds = {one: feeds(graph, one) for one in self.before}
        self._longest_us = longest_us
        given = parts(graph, vertex.projection)
        self.queries = {
            query.name: _Evaluation(trace, query, query.bound, given)
            for query in queries
            if query.network_query.planned == vertex.projection
        }
        self.output: _Evaluation | None = None
        if any(vertex.projection in inputs for inputs in graph.combination.inputs.values()):
            # A query without loops is its own projection.
            plain = (one for one in self.queries.values() if not one.query.network_query.kleene)
            self.output = next(plain, None)
            if self.output is None:
                query = next(query for query in queries if query.has(vertex.projection))
                self.output = _Evaluation(trace, query, query.projected(vertex.projection), given)
        self._selected: dict[str, set[int]] = {kind: set() for kind in vertex.selector or ()}
        self._come_us = dict.fromkeys(self.before, BEFORE_ALL_US)
        self._distinct = list(self.queries.values())
        if self.output is not None and self.output not in self._distinct:
            self._distinct.append(self.output)

    @property
    def evaluations(self) -> dict[str, _Evaluation]:
        """All its joiners, by a name for each."""
        return self.queries if self.output is None else {**self.queries, "": self.output}

    @property
    def watermark_us(self) -> int:
        """How far all its inputs have come."""
        return min(self._come_us.values())

    @property
    def output_watermark_us(self) -> int:
        """How far its output has come."""
        if self.watermark_us in (BEFORE_ALL_US, AFTER_ALL_US):
            return self.watermark_us
        return output_watermark(self.vertex, self.watermark_us, self._longest_us)

    def push(self, sent: Sent) -> None:
        """Take in what a vertex before it gave out."""
        part = self.feeds[sent.vertex][sent.kind]
        for evaluation in self._distinct:
            evaluation.push(part, sent.rows)
            self.n_taken += len(sent.rows)

    def come(self, before: Vertex, watermark_us: int) -> None:
        """The output of a vertex before it has come so far."""
        self._come_us[before] = max(self._come_us[before], watermark_us)

    def step(self) -> Iterator[Sent | Told]:
        """What can be told by now: matches of queries, and output to be sent."""
        watermark_us = self.watermark_us
        for evaluation in self._distinct:
            if watermark_us != BEFORE_ALL_US:
                evaluation.joiner.advance(watermark_us)
            found = evaluation.found()
            if found is None:
                continue
            if evaluation.query.name in self.queries and evaluation is self.queries[evaluation.query.name]:
                yield evaluation.told(found)
            if evaluation is self.output:
                yield from self._sent(evaluation.rows(found))

    def _sent(self, rows: Int64Array) -> Iterator[Sent]:
        if self.vertex.selector is None:
            yield Sent(self.vertex, None, rows)
            return
        kinds = sorted(self.vertex.projection.bound)
        for kind, known in sorted(self._selected.items()):
            fresh = [event for event in np.unique(rows[:, kinds.index(kind)]).tolist() if event not in known]
            known.update(fresh)
            if fresh:
                yield Sent(self.vertex, kind, np.array(fresh, np.int64)[:, np.newaxis])

    def snapshot(self) -> tuple[dict[str, bytes], dict[str, frozenset[int]]]:
        """All that it holds."""
        joiners = {name: evaluation.joiner.snapshot() for name, evaluation in self.evaluations.items()}
        return joiners, {kind: frozenset(known) for kind, known in self._selected.items()}

    def restore(self, snapshot: tuple[dict[str, bytes], dict[str, frozenset[int]]]) -> None:
        """Hold what a snapshot says, and nothing else."""
        joiners, selected = snapshot
        for name, evaluation in self.evaluations.items():
            evaluation.restore(joiners[name])
        self._selected = {kind: set(known) for kind, known in selected.items()}


@dataclass(frozen=True, eq=False)
class _Checkpoint:
    n_arisen: int
    stages: tuple[tuple[dict[str, bytes], dict[str, frozenset[int]]], ...]


@dataclass(eq=False)
class Site:
    """A site: the sources of its events, and the vertices of a plan that it evaluates.

    What comes to it waits in a log until a checkpoint has been made that it went into. A site that dies loses what it
    holds; when it is back, it goes on from its last checkpoint and reads the log again from there.

    Attributes:
        node: which.
        sources: the vertices of its sources -> the positions of their events, in the order in which they arise.
        stages: what it evaluates, inputs before what is made of them.
        keeps_log: it will die (`keep_log`).
        n_arisen: events of its sources that were given out.
        waiting: what is on its way to it.
        foreign: the vertices at other sites whose output is taken here.
    """

    node: Node
    trace: Trace
    sources: Mapping[Vertex, Int64Array]
    stages: tuple[_Stage, ...]
    keeps_log: bool = False
    n_arisen: int = 0
    waiting: list[Arrivals] = field(default_factory=list)

    def __post_init__(self) -> None:
        events = [(vertex, position) for vertex, positions in self.sources.items() for position in positions.tolist()]
        self._of_sources = {vertex: number for number, vertex in enumerate(self.sources)}
        times = self.trace.arises_us[[position for _, position in events]] if events else np.zeros(0, np.int64)
        order = np.argsort(times, kind="stable")
        self._events = np.array([position for _, position in events], np.int64)[order]
        self._kinds = np.array([self._of_sources[vertex] for vertex, _ in events], np.int64)[order]
        self._arise_us = times[order]
        self._takers: dict[Vertex, list[_Stage]] = {}
        for stage in self.stages:
            for before in stage.before:
                self._takers.setdefault(before, []).append(stage)
        self.foreign = tuple(vertex for vertex in self._takers if vertex.node != self.node)
        self._log: list[Sent] = []
        self._checkpoint: _Checkpoint | None = None

    def takers(self, vertex: Vertex) -> Sequence[_Stage]:
        """What here takes the output of a vertex."""
        return self._takers.get(vertex, ())

    def arisen(self, now_us: int) -> Iterator[Sent]:
        """Events of its sources since the last call."""
        until = int(np.searchsorted(self._arise_us, now_us, "right"))
        events, kinds = self._events[self.n_arisen : until], self._kinds[self.n_arisen : until]
        self.n_arisen = until
        for vertex, number in self._of_sources.items():
            own = events[kinds == number]
            if len(own):
                yield Sent(vertex, next(iter(vertex.projection.types)), own[:, np.newaxis])

    @property
    def has_more(self) -> bool:
        """Whether events of its sources will arise yet."""
        return self.n_arisen < len(self._events)

    def keep_log(self) -> None:
        """Make checkpoints, and keep what comes between them: the site will die."""
        self.keeps_log = True
        self.checkpoint()

    def come(self, now_us: int) -> list[Sent]:
        """What has come to it since the last call."""
        come, waiting = [], []
        for arrivals in self.waiting:
            there = arrivals.at_us <= now_us
            if there.all():
                come.append(arrivals.sent)
                continue
            waiting.append(arrivals)
            if there.any():
                sent = arrivals.sent
                come.append(Sent(sent.vertex, sent.kind, sent.rows[there]))
                waiting[-1] = Arrivals(Sent(sent.vertex, sent.kind, sent.rows[~there]), arrivals.at_us[~there])
        self.waiting = waiting
        if self.keeps_log:
            self._log += come
        return come

    def checkpoint(self) -> None:
        """Make what it holds outlast it."""
        self._checkpoint = self._made_checkpoint()
        self._log = []

    def restore(self) -> list[Sent]:
        """Go on from the last checkpoint; what has come since then is to be taken in again."""
        assert self._checkpoint is not None, "only a site that keeps a log dies"
        self.n_arisen = self._checkpoint.n_arisen
        for stage, snapshot in zip(self.stages, self._checkpoint.stages, strict=True):
            stage.restore(snapshot)
        return list(self._log)

    def _made_checkpoint(self) -> _Checkpoint:
        return _Checkpoint(self.n_arisen, tuple(stage.snapshot() for stage in self.stages))


def sites_of(graph: InevGraph, queries: Sequence[PlannedQuery], trace: Trace, wanted: BoolArray) -> list[Site]:
    """The sites of a plan, in the order of the network.

    Args:
        graph: the plan.
        queries: of its workload.
        trace: all events.
        wanted: those that sources give out.
    """
    window = queries[0].bound.window
    longest_us = queries[0].window_us - window.exclusive
    result = []
    order = {projection: number for number, projection in enumerate(graph.combination.ordered())}
    for place, node in enumerate(graph.workload.network.nodes):
        own = [vertex for vertex in graph.vertices if vertex.node == node]
        here = wanted & (trace.places == place)
        sources = {
            vertex: np.flatnonzero(here & trace.of_type(next(iter(vertex.projection.types))))
            for vertex in own
            if vertex.projection.is_primitive
        }
        stages = sorted(
            (vertex for vertex in own if not vertex.projection.is_primitive), key=lambda v: order[v.projection]
        )
        made = tuple(_Stage(graph, vertex, queries, trace, longest_us) for vertex in stages)
        result.append(Site(node, trace, sources, made))
    return result
