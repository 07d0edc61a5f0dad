"""Projections of a query evaluated apart and joined, in random parts and at random moments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from cepheid.engine.joiner import JoinedMatches, Joiner
from cepheid.engine.partial_matches import PartialMatches, partial_matches_of, read_partial_matches, single_events
from cepheid.engine.session import run
from cepheid.events.ingest import read_events
from cepheid.events.schema import Schema
from cepheid.language.bound import BoundQuery
from cepheid.plan.projection import project, split
from cepheid.testing.harness import ORDER, SOURCE, table_of
from cepheid.testing.oracle import match
from cepheid.testing.oracle_events import OracleEvent

Bindings = frozenset[tuple[str, str, int]]
"""A match: variable, source of the event, order key of the event."""


def with_order_key(bound: BoundQuery) -> BoundQuery:
    """The query over events that have an order key as columns."""
    _, schema = table_of([], bound.schema)
    return replace(bound, schema=schema)


def random_parts(bound: BoundQuery, random: Random) -> dict[str, frozenset[str]]:
    """Two or three inputs that have all variables together, overlapping or not; NOTs are in them where they can be."""
    of_query = split(bound)
    parts: list[set[str]] = [set() for _ in range(random.choice((2, 2, 3)))]
    for name in of_query.positive:
        for part in random.sample(parts, random.choice((1, 1, 1, 2))):
            part.add(name)
    if random.random() < 0.15:
        parts[0] |= set(of_query.positive)
    made = [part for part in parts if part]
    for gap in of_query.gaps:
        closing = [part for part in made if gap.closure is not None and gap.closure <= part]
        chosen = random.choice([*closing, None])
        if chosen is None:
            made.append(set(gap.negated))
        else:
            chosen |= set(gap.negated)
    random.shuffle(made)
    return {f"part {i}": frozenset(part) for i, part in enumerate(made)}


def evaluated(
    bound: BoundQuery, events: Sequence[OracleEvent], variables: frozenset[str], random: Random
) -> PartialMatches:
    """The matches of a projection, found by an engine of its own."""
    table, schema = table_of(events, bound.schema if not bound.schema.order else _without_order(bound.schema))
    batch = read_events(table, schema)
    if len(variables) == 1 and random.random() < 0.5:
        return single_events(next(iter(variables)), batch)
    projection = project(bound, variables)
    found = partial_matches_of(projection, batch, run(projection, batch))
    if random.random() < 0.3:
        return read_partial_matches(found.table(), schema)
    return found


def _without_order(schema: Schema) -> Schema:
    fields = {name: dtype for name, dtype in schema.fields.items() if name not in (ORDER, SOURCE)}
    return replace(schema, fields=fields, order=())


def found_by_joining(
    bound: BoundQuery, events: Sequence[OracleEvent], parts: dict[str, frozenset[str]], random: Random
) -> Counter[Bindings]:
    """What a joiner tells, with partial matches in random order, some of them twice, and a watermark that moves."""
    inputs = {name: evaluated(bound, events, variables, random) for name, variables in parts.items()}
    waiting = [
        (int(partial.batch.time_us[row].max()) + random.choice((0, 0, 1, 5)) * 1_000_000 * random.random(), name, row)
        for name, partial in inputs.items()
        for row in partial.positions
        for _ in range(random.choice((1, 1, 1, 2)))
    ]
    if random.random() < 0.5:
        random.shuffle(waiting)
    else:
        waiting.sort(key=lambda item: item[0])
    joiner = Joiner(bound, parts)
    told: Counter[Bindings] = Counter()
    while waiting:
        n = random.choice((1, 2, 5, 40))
        now, waiting = waiting[:n], waiting[n:]
        for name in dict.fromkeys(name for _, name, _ in now):
            rows = np.array([row for _, of, row in now if of == name])
            joiner.push(name, replace(inputs[name], positions=rows))
        if random.random() < 0.6:
            ends = [int(inputs[name].batch.time_us[row].max()) for _, name, row in waiting]
            if ends:
                joiner.advance(min(ends) - 1 - random.choice((0, 0, 1_000_000)))
        if random.random() < 0.5:
            told.update(bindings_of(joiner.matches()))
        if random.random() < 0.1:
            joiner = Joiner.restored(bound, parts, joiner.snapshot())
    joiner.advance(None)
    told.update(bindings_of(joiner.matches()))
    assert joiner.n_late == 0
    assert joiner.n_events == joiner.n_rows == joiner.n_waiting == 0
    assert not joiner.matches()
    return told


def bindings_of(found: JoinedMatches) -> Iterable[Bindings]:
    """Each match as what it binds to which variable."""
    if not len(found):
        return
    names = list(found.bound.variables)
    events = found.batch.table.select([SOURCE, ORDER]).to_pylist()
    matches = found.matches
    for start, stop in zip(matches.offsets[:-1].tolist(), matches.offsets[1:].tolist(), strict=True):
        own = [(names[matches.variables[i]], events[matches.positions[i]]) for i in range(start, stop)]
        yield frozenset((name, event[SOURCE], event[ORDER]) for name, event in own)


def found_by_oracle(bound: BoundQuery, events: Sequence[OracleEvent]) -> Counter[Bindings]:
    """The matches of the whole query over all events in one place."""
    result = match(bound, events, timed_out=False)
    return Counter(frozenset((n, e.source, e.order[0]) for n, e in found.bindings) for found in result.matches)
