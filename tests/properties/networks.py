"""Random networks, workloads of random queries, and traces for them, from one seed each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT, TIMESTAMP
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.network.forwarding import Forwarding
from cepheid.network.from_query import PlannedQuery, planned_queries
from cepheid.network.generate import NetworkSettings, draw_network, draw_pattern, type_names
from cepheid.network.graph import Combination, InevGraph
from cepheid.network.model import EventNetwork, Node
from cepheid.network.patterns import Absent, Interleaving, Pattern, Primitive, Sequence, types_of
from cepheid.network.queries import NetworkQuery, Projection, Selectivities, Workload, events_of
from cepheid.simulation.network_trace import Trace, read_trace

SECOND_US = 1_000_000
WINDOW_S = 10
FIELDS = {"time": TIMESTAMP, "type": TEXT, "site": INT, "number": INT, "x": INT, "k": INT}
SCHEMA = Schema(FIELDS, time="time", type="type", order=("site", "number"))


@dataclass(frozen=True)
class Shape:
    """What a random case may have.

    Attributes:
        n_nodes, n_types, n_queries: the greatest numbers of them.
        n_events: the greatest number of events.
        size: the greatest number of types of a query.
    """

    n_nodes: int = 6
    n_types: int = 5
    n_queries: int = 3
    n_events: int = 60
    size: int = 4


@dataclass(frozen=True, eq=False)
class Case:
    """A network, queries on it and events, with what a plan is made from."""

    network: EventNetwork
    texts: tuple[str, ...]
    queries: tuple[PlannedQuery, ...]
    table: pa.Table
    workload: Workload

    def trace(self, skew_us: dict[Node, int] | None = None) -> Trace:
        return read_trace(self.table, SCHEMA, self.network, skew_us=skew_us)


def text_of(pattern: Pattern | Absent, random: Random, loop: str | None, negated: str | None) -> str:
    """A pattern as it is written, with the variable ``v<type>`` for each type."""
    if isinstance(pattern, Primitive):
        name = f"{pattern.type} v{pattern.type}"
        if pattern.type == negated:
            return f"NOT {name}"
        return f"{pattern.type}{random.choice(('+', '{1,2}'))} v{pattern.type}" if pattern.type == loop else name
    assert not isinstance(pattern, Absent)
    word = "AND" if isinstance(pattern, Interleaving) else "SEQ"
    return f"{word}({', '.join(text_of(part, random, loop, negated) for part in pattern.parts)})"


def query_text(kinds: list[str], random: Random, rng: np.random.Generator, window_s: int = WINDOW_S) -> str:
    """A query over some types: SEQ and AND nested, at times with a loop, a NOT, SAME, and conditions of all kinds."""
    pattern = draw_pattern(kinds, rng)
    order = sorted(types_of(pattern))
    loop = random.choice(order) if random.random() < 0.4 else None
    # The language has NOT in sequences that stand in no AND.
    inner = pattern.parts[1:-1] if isinstance(pattern, Sequence) else ()
    places = [part.type for part in inner if isinstance(part, Primitive) and part.type != loop]
    negated = random.choice(places) if places and random.random() < 0.5 and len(order) > 2 else None
    text = text_of(pattern, random, loop, negated)
    conditions = []
    for one in order:
        for other in order:
            if one < other and random.random() < 0.5:
                comparison = random.choice(("v{}.k = v{}.k", "v{}.x < v{}.x", "v{}.x <> v{}.x", "v{}.k = v{}.k"))
                conditions.append(comparison.format(one, other))
    if random.random() < 0.2:
        conditions.append(f"v{random.choice(order)}.x > {random.choice((0, 1, 2))}")
    if loop is not None and random.random() < 0.4:
        whole = random.choice(("sum(v{}.x) > 3", "count(v{}) < 3", "v{}.x >= prev(v{}).x"))
        conditions.append(whole.format(loop, loop))
    if random.random() < 0.15:
        conditions.append("SAME[k]")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"PATTERN {text}{where} WITHIN {window_s} s POLICY any"


def case(seed: int, shape: Shape | None = None) -> Case:
    """A case."""
    shape = shape or Shape()
    random, rng = Random(seed), np.random.default_rng(seed)
    settings = NetworkSettings(
        n_nodes=random.randint(1, shape.n_nodes),
        n_types=random.randint(2, shape.n_types),
        node_ratio=random.choice((0.3, 0.6)),
        topology=random.choice(("ring", "degree")),
    )
    network = draw_network(settings, rng)
    kinds = list(type_names(settings.n_types))
    weights = {kind: random.choice((1, 1, 2, 6)) for kind in kinds}
    # What planning believes need not be so: the matches are the same, and more kinds of plans are tried.
    network = network.with_rates({kind: random.choice((1.0, 30.0, 1000.0)) for kind in kinds})
    texts = []
    for _ in range(random.randint(1, shape.n_queries)):
        own = random.sample(kinds, random.randint(2, min(shape.size, len(kinds))))
        texts.append(query_text(own, random, rng))
        if len(own) > 2 and random.random() < 0.4:  # another that can share projections of the same types
            texts.append(texts[-1])
    queries = planned_queries({f"q{i}": bind(parse(text), SCHEMA) for i, text in enumerate(texts)})
    pairs = {
        frozenset((one, other)): random.choice((0.01, 0.1, 1.0)) for one in kinds for other in kinds if one < other
    }
    workload = Workload(
        network, tuple(query.network_query for query in queries), Selectivities(pairs, seed=random.choice((None, seed)))
    )
    # A loop without bound takes any set of the events in a window.
    n_most = min(shape.n_events, 16) if any("+" in text for text in texts) else shape.n_events
    table = table_for(network, weights, random, random.randint(1, n_most))
    return Case(network, tuple(texts), queries, table, workload)


def features_of(made: Case, graph: InevGraph) -> frozenset[str]:
    """What a case has, and its plan."""
    loops = [text for text in made.texts if "+ v" in text or "{1,2} v" in text]
    nots = [text for text in made.texts if "NOT " in text]
    inputs = [one for given in graph.combination.inputs.values() for one in given]
    has = {
        "SEQ": any("SEQ(" in text for text in made.texts),
        "AND": any("AND(" in text for text in made.texts),
        "NSEQ": bool(nots),
        "KL": bool(loops),
        "NSEQ and KL in one query": bool(set(nots) & set(loops)),
        "several queries": len(made.texts) > 1,
        "split over sites": bool(graph.combination.partition),
        "projections as inputs": any(not one.is_primitive for one in inputs),
        "output selectors": any(vertex.selector is not None for vertex in graph.vertices),
    }
    return frozenset(name for name, held in has.items() if held)


def drawn_plan(case: Case, random: Random) -> InevGraph:
    """Any plan, good or bad: random inputs, splits and output selectors."""
    forwarding = Forwarding(case.workload)
    inputs: dict[Projection, tuple[Projection, ...]] = {}
    partition: dict[Projection, str] = {}
    for query in case.workload.queries:
        _choose(case.workload, query, query.planned, random, inputs, partition)
    combination = Combination(inputs, partition)
    used = {one for given in inputs.values() for one in given if not one.is_primitive}
    chosen = {}
    for one in sorted(used, key=lambda p: (p.name, sorted(c.text for c in p.conditions))):
        if random.random() < 0.5:
            chosen[one] = frozenset(random.sample(sorted(one.bound), random.randint(1, len(one.bound))))
    return forwarding.graph(combination, chosen)


def _choose(
    workload: Workload,
    query: NetworkQuery,
    projection: Projection,
    random: Random,
    inputs: dict[Projection, tuple[Projection, ...]],
    partition: dict[Projection, str],
) -> None:
    if projection in inputs:
        return
    parts = sorted(projection.bound - workload.kleene.get(projection, frozenset()))
    part = random.choice(parts) if parts and random.random() < 0.6 else None
    given = [] if part is None else [events_of(part)]
    smaller = [p for p in query.projections() if p.types < projection.types and part not in p.types]
    missing = projection.types - {part}
    while missing:
        fitting = [p for p in smaller if p.types & missing]
        one = random.choice(fitting) if fitting and random.random() < 0.7 else events_of(random.choice(sorted(missing)))
        given.append(one)
        missing -= one.types
        if not one.is_primitive:
            _choose(workload, query, one, random, inputs, partition)
    inputs[projection] = tuple(dict.fromkeys(given))
    if part is not None:
        partition[projection] = part


def table_for(network: EventNetwork, weights: dict[str, int], random: Random, n: int) -> pa.Table:
    """Events of a network; their times have ties, and come in no order."""
    span_s = random.choice((8, 20, 40))
    events = []
    for number in range(n):
        kind = random.choices(list(weights), list(weights.values()))[0]
        time_us = random.randint(0, span_s * 2) * SECOND_US // 2
        where = random.choice(network.sources[kind])
        events.append((time_us, kind, where, number, random.randint(0, 4), random.choice((0, 1, 2, None))))
    columns = list(zip(*events, strict=True))
    types = (pa.timestamp("us", "UTC"), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64())
    return pa.table({name: pa.array(values, dtype) for name, values, dtype in zip(FIELDS, columns, types, strict=True)})
