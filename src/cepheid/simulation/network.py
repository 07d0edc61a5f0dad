"""A plan for a network carried out in virtual time: engines at its sites, messages on its links, matches at its sinks.

Every site looks at what has come, and at what has arisen there, at each step of the clock; its engines join it and give
out matches, or what output selectors take of them, along the links of the plan. A message takes a time of its own over
each link, so messages overtake each other. After each step a vertex announces how far its output has come, behind all
that it has sent; announcements are no messages of the plan, and are counted apart.

Whatever the plan, the delays, and what is down for a while, the matches are those of one engine over all events
(`centralized_matches`): the identity and the order key of an event travel with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from cepheid.engine.session import run
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.errors import NetworkError
from cepheid.events.column import Int64Array
from cepheid.network.check import require_well_formed
from cepheid.network.from_query import PlannedQuery
from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.model import Edge, Node
from cepheid.simulation.network_links import Links, Outage
from cepheid.simulation.network_sites import Arrivals, Sent, Site, Told, sites_of
from cepheid.simulation.network_trace import Trace, admitted

Match = tuple[tuple[str, int], ...]
"""(variable, row of the event in the table of the trace), in the order of the events."""


@dataclass(frozen=True)
class Crash:
    """A site that dies and comes back.

    Attributes:
        node: the site.
        at_us: from this time on it does nothing, and what it held is lost back to its last checkpoint.
        back_us: from this time on it runs again.
    """

    node: Node
    at_us: int
    back_us: int


@dataclass(frozen=True)
class SimulationSettings:
    """How a plan is carried out.

    Attributes:
        hop_us: the least and the greatest time that a message takes over a link, us; drawn evenly.
        step_us: how often a site looks at what has come, us; a twentieth of the window where None.
        outages: links that carry nothing for a while.
        crashes: sites that die and come back.
        checkpoint_steps: so many steps lie between two checkpoints of a site.
    """

    hop_us: tuple[int, int] = (1_000, 50_000)
    step_us: int | None = None
    outages: tuple[Outage, ...] = ()
    crashes: tuple[Crash, ...] = ()
    checkpoint_steps: int = 4

    def __post_init__(self) -> None:
        if not 0 < self.hop_us[0] <= self.hop_us[1]:
            raise ValueError(f"hop_us={self.hop_us}: the least and the greatest time over a link, from 1 us on")
        if self.step_us is not None and self.step_us < 1:
            raise ValueError(f"step_us={self.step_us}: a step takes 1 us or more")
        if self.checkpoint_steps < 1:
            raise ValueError(f"checkpoint_steps={self.checkpoint_steps}: a checkpoint is made after 1 step or more")


@dataclass(frozen=True, eq=False)
class Simulated:
    """What came of a plan.

    Attributes:
        graph: the plan.
        matches: query -> its matches, of all its sinks.
        messages: link -> messages that it carried.
        sent: vertex -> messages that it sent; each goes over all of its links.
        latency_us: query -> for each match, from when its last event arose until it was told; int64.
        n_taken: site -> rows of events and matches that its engines took in.
        busy_ns: site -> CPU time that its steps took, ns; the only number here that is another one in each run.
        n_steps: of the clock.
        n_announced: announcements of how far the output of a vertex has come, on all links.
        n_overtaking: messages that came to a site before one that the same vertex had sent in an earlier step.
        n_sent_again, n_told_again: messages that vertices sent, and matches that sinks told, a second time: after a
            site had come back.
        n_late: what came to an engine when its watermark had passed it; 0 unless sites die, and then some of what came
            a second time.
        n_refused: what came to an engine that it has no use for, as a query keeps fewer events of a type than another.
    """

    graph: InevGraph
    matches: Mapping[str, frozenset[Match]]
    messages: Mapping[Edge, int]
    sent: Mapping[Vertex, int]
    latency_us: Mapping[str, Int64Array]
    n_taken: Mapping[Node, int]
    busy_ns: Mapping[Node, int]
    n_steps: int
    n_announced: int
    n_overtaking: int
    n_sent_again: int
    n_told_again: int
    n_late: int
    n_refused: int

    @property
    def n_messages(self) -> int:
        """Messages on all links."""
        return sum(self.messages.values())


def simulate(
    graph: InevGraph,
    queries: Sequence[PlannedQuery],
    trace: Trace,
    random: Generator,
    settings: SimulationSettings | None = None,
) -> Simulated:
    """Carry out a plan on a trace.

    Args:
        graph: the plan, as `network.planner.plan_workload` makes it.
        queries: those of its workload.
        trace: the events, on the same network.
        random: draws the time of each message over each link.
        settings: how it is carried out.

    Raises:
        NetworkError: the plan is not well formed, is for other queries or sites, or a site that dies is none.
    """
    require_well_formed(graph)
    settings = settings or SimulationSettings()
    _check(graph, queries, trace, settings)
    return _Run(graph, queries, trace, random, settings).outcome()


def _check(graph: InevGraph, queries: Sequence[PlannedQuery], trace: Trace, settings: SimulationSettings) -> None:
    workload = graph.workload
    if [query.network_query for query in queries] != list(workload.queries):
        raise NetworkError(
            "the queries are not those of the plan's workload", remedy="give the queries that the plan was made for"
        )
    if trace.network.nodes != workload.network.nodes or trace.network.sources != workload.network.sources:
        raise NetworkError(
            "the trace is of another network than the plan", remedy="read it with the network of the plan"
        )
    for query in queries:
        if query.bound.schema != trace.batch.schema:
            raise NetworkError(
                f"the query {query.name} and the trace have different schemas", remedy="read the trace with its schema"
            )
    for crash in settings.crashes:
        if crash.node not in workload.network.places:
            raise NetworkError(f"{crash.node}, which dies, is no site", remedy="name a site of the network")


class _Run:
    def __init__(
        self,
        graph: InevGraph,
        queries: Sequence[PlannedQuery],
        trace: Trace,
        random: Generator,
        settings: SimulationSettings,
    ) -> None:
        self.graph, self.trace, self.settings = graph, trace, settings
        self.links = Links(graph.workload.network, settings.hop_us, settings.outages, random)
        self.sites = sites_of(graph, queries, trace, admitted(trace, queries))
        for site in self.sites:
            if any(crash.node == site.node for crash in settings.crashes):
                site.keep_log()
        self.step_us = settings.step_us or max(1, queries[0].window_us // 20)
        self.takers: dict[Vertex, set[Node]] = {}
        for before, vertex in graph.edges:
            if vertex.node != before.node:
                self.takers.setdefault(before, set()).add(vertex.node)
        self.by_node = {site.node: site for site in self.sites}
        self.told: dict[str, dict[Match, int]] = {query.name: {} for query in queries}
        self.sent = dict.fromkeys(graph.vertices, 0)
        self.seen: dict[tuple[Vertex, str | None], set[tuple[int, ...]]] = {}
        self.down: set[Node] = set()
        self.busy_ns = dict.fromkeys(self.by_node, 0)
        self.n_announced = self.n_sent_again = self.n_told_again = self.n_steps = 0

    def outcome(self) -> Simulated:
        first = int(self.trace.arises_us.min()) if len(self.trace) else 0
        now_us = first + self.step_us
        while True:
            self.n_steps += 1
            for site in self.sites:
                begun_ns = time.thread_time_ns()
                self._step(site, now_us)
                self.busy_ns[site.node] += time.thread_time_ns() - begun_ns
            if self._is_done(now_us):
                break
            now_us += self.step_us
        joiners = [one.joiner for site in self.sites for stage in site.stages for one in stage.evaluations.values()]
        return Simulated(
            graph=self.graph,
            matches={name: frozenset(found) for name, found in self.told.items()},
            messages=self.links.messages,
            sent=self.sent,
            latency_us={name: np.array(list(found.values()), np.int64) for name, found in self.told.items()},
            n_taken={site.node: sum(stage.n_taken for stage in site.stages) for site in self.sites},
            busy_ns=self.busy_ns,
            n_steps=self.n_steps,
            n_announced=self.n_announced,
            n_overtaking=self.links.n_overtaking,
            n_sent_again=self.n_sent_again,
            n_told_again=self.n_told_again,
            n_late=sum(joiner.n_late for joiner in joiners),
            n_refused=sum(joiner.n_refused for joiner in joiners),
        )

    def _is_done(self, now_us: int) -> bool:
        """Nothing is on its way, and every engine knows that nothing comes any more."""
        if any(site.has_more or site.waiting for site in self.sites) or self.down:
            return False
        if any(crash.back_us > now_us for crash in self.settings.crashes):
            return False
        return all(stage.watermark_us == AFTER_ALL_US for site in self.sites for stage in site.stages)

    def _step(self, site: Site, now_us: int) -> None:
        """What a site does at one moment."""
        node = site.node
        if any(crash.node == node and crash.at_us <= now_us < crash.back_us for crash in self.settings.crashes):
            self.down.add(node)
            return
        again: list[Sent] = []
        if node in self.down:
            self.down.remove(node)
            again = site.restore()
        for sent in [*again, *site.come(now_us)]:
            for stage in site.takers(sent.vertex):
                stage.push(sent)
        for before in site.foreign:
            watermark_us = self.links.watermark(before, node, now_us)
            if watermark_us is not None:
                self._come(site, before, watermark_us)
        for sent in site.arisen(now_us):
            self._give_out(site, sent, now_us)
        # All that arose until now has been given out; the clock of the site says when that is.
        skewed_us = now_us + self.trace.skew_us.get(node, 0)
        for vertex in site.sources:
            self._announce(site, vertex, skewed_us if site.has_more else AFTER_ALL_US, now_us)
        for stage in site.stages:
            for told in stage.step():
                if isinstance(told, Told):
                    self._tell(told, now_us)
                else:
                    self._give_out(site, told, now_us)
            self._announce(site, stage.vertex, stage.output_watermark_us, now_us)
        if site.keeps_log and self.n_steps % self.settings.checkpoint_steps == 0:
            site.checkpoint()

    def _give_out(self, site: Site, sent: Sent, now_us: int) -> None:
        """Hand what a vertex gives out to the engines that take it, here and elsewhere."""
        for stage in site.takers(sent.vertex):
            stage.push(sent)
        if not sent.vertex.links:
            return
        n = len(sent.rows)
        if site.keeps_log:
            seen = self.seen.setdefault((sent.vertex, sent.kind), set())
            rows = [tuple(row) for row in sent.rows.tolist()]
            self.n_sent_again += sum(row in seen for row in rows)
            seen.update(rows)
        self.sent[sent.vertex] += n
        for node, at_us in self.links.send(sent.vertex, n, now_us).items():
            if node in self.takers.get(sent.vertex, ()):
                self.by_node[node].waiting.append(Arrivals(sent, at_us))

    def _announce(self, site: Site, vertex: Vertex, watermark_us: int, now_us: int) -> None:
        self._come(site, vertex, watermark_us)
        if vertex.links and watermark_us != BEFORE_ALL_US:
            self.n_announced += len(vertex.ways)
            self.links.announce(vertex, watermark_us, now_us, self.takers.get(vertex, ()))

    def _come(self, site: Site, before: Vertex, watermark_us: int) -> None:
        for stage in site.takers(before):
            stage.come(before, watermark_us)

    def _tell(self, told: Told, now_us: int) -> None:
        known = self.told[told.query]
        rows = self.trace.batch
        for bindings in told.bindings:
            places = np.array([position for _, position in bindings], np.int64)
            match = tuple(zip((name for name, _ in bindings), rows.rows_of(places).tolist(), strict=True))
            if match in known:
                self.n_told_again += 1
                continue
            known[match] = now_us - int(self.trace.arises_us[places].max())


def centralized_matches(queries: Sequence[PlannedQuery], trace: Trace) -> Mapping[str, frozenset[Match]]:
    """Query -> its matches, found by one engine over all events."""
    return {query.name: frozenset(_found(query, trace)) for query in queries}


def _found(query: PlannedQuery, trace: Trace) -> Iterator[Match]:
    matches = run(query.bound, trace.batch)
    names = list(query.bound.variables)
    rows = trace.batch.rows_of(matches.positions).tolist()
    entries = list(zip((names[number] for number in matches.variables.tolist()), rows, strict=True))
    for start, stop in pairwise(matches.offsets.tolist()):
        yield tuple(entries[start:stop])


def centralized_messages(queries: Sequence[PlannedQuery], trace: Trace) -> tuple[Node, int]:
    """The site to which all events that some query takes have the fewest links, and how many messages that are."""
    network = trace.network
    per_site = np.bincount(trace.places[admitted(trace, queries)], minlength=len(network.nodes))
    costs = network.hops @ per_site
    place = int(np.argmin(costs))
    return network.nodes[place], int(costs[place])
