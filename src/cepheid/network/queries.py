"""Queries, workloads, projections, and how often they match (INEv, sections 3.2, 3.3 and 6.1)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from cepheid.errors import NetworkError
from cepheid.network.model import EventNetwork
from cepheid.network.patterns import (
    Absent,
    Interleaving,
    Pattern,
    Primitive,
    closure,
    kleene_types,
    negated_types,
    require_plannable,
    restrict,
    types_of,
    without_kleene,
)


@dataclass(frozen=True)
class Condition:
    """A conjunct of a query as planning sees it.

    Attributes:
        types: the types that it reads; none where it holds for whatever stands in a match (SAME).
        text: what tells it from others.
    """

    types: frozenset[str]
    text: str


@dataclass(frozen=True)
class Projection:
    """A query restricted to some of its types, with the conditions among them; one type alone is its events.

    Two are equal where pattern and conditions are, so that queries share them.
    """

    pattern: Pattern
    conditions: frozenset[Condition] = frozenset()

    def __post_init__(self) -> None:
        # Projections are keys everywhere; hashing the tree each time would be most of the planning.
        object.__setattr__(self, "_hash", hash((self.pattern, self.conditions)))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def types(self) -> frozenset[str]:
        """All types, negated ones too: E(p)."""
        return types_of(self.pattern)

    @cached_property
    def negated(self) -> frozenset[str]:
        """The types under NOT."""
        return negated_types(self.pattern)

    @cached_property
    def bound(self) -> frozenset[str]:
        """The types of which a match holds an event."""
        return self.types - self.negated

    @property
    def is_primitive(self) -> bool:
        """It is the events of one type."""
        return isinstance(self.pattern, Primitive)

    @cached_property
    def name(self) -> str:
        """Its pattern as text."""
        return str(self.pattern)

    def __str__(self) -> str:
        return self.name


def events_of(kind: str) -> Projection:
    """The events of one type, as a projection.

    Conditions on one event belong to its sources: they are in its rate (section 3.2, r(o) = σ(o) r(ε)).
    """
    return Projection(Primitive(kind))


@dataclass(frozen=True)
class NetworkQuery:
    """A query of a workload.

    Attributes:
        name: how it is spoken of.
        pattern: its operators.
        conditions: what its projections test, each where they have its types. How much of a type the conditions on
            single events leave is in the rates of the sources; those on loops as a whole are none of these.
    """

    name: str
    pattern: Pattern
    conditions: frozenset[Condition] = frozenset()

    def __post_init__(self) -> None:
        require_plannable(self.pattern, self.name)
        for condition in self.conditions:
            if not condition.types <= self.types:
                foreign = sorted(condition.types - self.types)
                raise NetworkError(
                    f"a condition of the query {self.name} reads {', '.join(foreign)}, which its pattern does not name",
                    remedy="add the type to the pattern or take the condition away",
                )

    @cached_property
    def types(self) -> frozenset[str]:
        """All types, negated ones too."""
        return types_of(self.pattern)

    @cached_property
    def kleene(self) -> frozenset[str]:
        """The types under KL."""
        return kleene_types(self.pattern)

    @cached_property
    def negated(self) -> frozenset[str]:
        """The types under NOT."""
        return negated_types(self.pattern)

    @cached_property
    def planned(self) -> Projection:
        """The query without its loops, which its sinks put back (section 6.1).

        Loops that bound the gap of a NOT stay: with one event in their place, the NOT would say something else.
        """
        kept = frozenset().union(*self._closures.values()) & self.kleene if self.negated else frozenset()
        return Projection(without_kleene(self.pattern, kept), self.conditions)

    @cached_property
    def _closures(self) -> dict[str, frozenset[str]]:
        needed = closure(self.pattern)
        return {
            kind: others.union(*(c.types for c in self.conditions if kind in c.types)) - {kind}
            for kind, others in needed.items()
        }

    def closed(self, kinds: frozenset[str]) -> bool:
        """Whether a projection to these types can test the NOTs that it has.

        It has all that each of them stands between, and all that its conditions read, and no loop is among that: the
        gap begins or ends with the last or the first event of the loop, whichever events that will be.
        """
        needed = [self._closures[kind] for kind in kinds & self.negated]
        return all(others <= kinds and not others & self.kleene for others in needed)

    def projection(self, kinds: frozenset[str]) -> Projection:
        """The query, without loops, restricted to some of its types."""
        if len(kinds) == 1:
            return events_of(next(iter(kinds)))
        pattern = restrict(without_kleene(self.pattern), kinds)
        assert pattern is not None
        return Projection(pattern, frozenset(c for c in self.conditions if c.types <= kinds))

    def projections(self) -> tuple[Projection, ...]:
        """All projections of two types or more, negation-closed, but the query itself: Π_q, smaller ones first."""
        kinds = sorted(self.types)
        result = []
        for n in range(2, len(kinds)):
            for chosen in combinations(kinds, n):
                some = frozenset(chosen)
                if self.closed(some) and len(some - self.negated) > 1:
                    result.append(self.projection(some))
        return tuple(result)


@dataclass(frozen=True)
class Selectivities:
    """How many of the pairs of events that could stand in a match do.

    Attributes:
        pairs: two types -> the part of their pairs that satisfies the conditions between them; 1 where none is given.
        single: (projection as text, type) -> the part of the events of the type that are in a match of the projection
            (σ(ε, p), section 5.3). Where none is given, they are such that their product is the projection's
            selectivity: all equal, or drawn where there is a seed.
        seed: of the drawing; None for equal ones.
    """

    pairs: Mapping[frozenset[str], float] = field(default_factory=dict)
    single: Mapping[tuple[str, str], float] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        for kinds, value in self.pairs.items():
            if len(kinds) != 2:
                raise NetworkError(
                    f"a selectivity of {len(kinds)} types ({', '.join(sorted(kinds))})", remedy="give one for two types"
                )
            if not 0 <= value <= 1:
                raise NetworkError(
                    f"the selectivity of {' and '.join(sorted(kinds))} is {value}", remedy="it lies between 0 and 1"
                )
        for (projection, kind), value in self.single.items():
            if not 0 <= value <= 1:
                raise NetworkError(
                    f"the selectivity of {kind} in {projection} is {value}", remedy="it lies between 0 and 1"
                )

    def of(self, projection: Projection) -> float:
        """σ(p): the product over the pairs of types of which a match holds events."""
        kinds = sorted(projection.bound)
        return math.prod(self.pairs.get(frozenset(pair), 1.0) for pair in combinations(kinds, 2))

    def of_type(self, kind: str, projection: Projection) -> float:
        """σ(ε, p): the part of the events of a type that are in some match."""
        given = self.single.get((projection.name, kind))
        if given is not None:
            return given
        whole = self.of(projection)
        kinds = sorted(projection.bound)
        if whole == 0:
            return 0.0
        if self.seed is None:
            return float(whole ** (1 / len(kinds)))
        return float(whole ** _shares(self.seed, projection.name, len(kinds))[kinds.index(kind)])


@lru_cache(maxsize=1 << 14)
def _shares(seed: int, name: str, n: int) -> tuple[float, ...]:
    """The part that each type has in the selectivity of a projection, as an exponent: drawn by its name."""
    digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
    return tuple(np.random.default_rng(int.from_bytes(digest, "little")).dirichlet(np.ones(n)).tolist())


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries on one network, over the same window.

    Attributes:
        network: where their events arise.
        queries: in the order in which they are planned.
        selectivities: of their conditions.
    """

    network: EventNetwork
    queries: tuple[NetworkQuery, ...]
    selectivities: Selectivities = field(default_factory=Selectivities)

    def __post_init__(self) -> None:
        if not self.queries:
            raise NetworkError("the workload has no query", remedy="name at least one")
        names = [query.name for query in self.queries]
        if len(set(names)) < len(names):
            raise NetworkError("two queries of the workload have one name", remedy="give each a name of its own")
        for query in self.queries:
            self.network.require_sources(query.types, query.name)
        object.__setattr__(self, "_rates", {})
        object.__setattr__(self, "_selected", {})

    @cached_property
    def types(self) -> frozenset[str]:
        """The types that some query names."""
        return frozenset().union(*(query.types for query in self.queries))

    @cached_property
    def sinks(self) -> frozenset[Projection]:
        """The queries as they are planned."""
        return frozenset(query.planned for query in self.queries)

    @cached_property
    def kleene(self) -> Mapping[Projection, frozenset[str]]:
        """Planned query -> its types under KL."""
        result: dict[Projection, frozenset[str]] = {}
        for query in self.queries:
            result[query.planned] = result.get(query.planned, frozenset()) | query.kleene
        return result

    def with_network(self, network: EventNetwork) -> Workload:
        """The same queries on another network."""
        return Workload(network, self.queries, self.selectivities)

    def rate(self, projection: Projection) -> float:
        """R(p): matches in the whole network in one window.

        The rate of its pattern (section 3.2) from local rates, times the numbers of sources of its types: so the rate
        from global rates.
        """
        known: dict[Projection, float] = self._rates  # type: ignore[attr-defined]
        if projection not in known:
            known[projection] = self.selectivities.of(projection) * self._unselected(projection.pattern)
        return known[projection]

    def _unselected(self, pattern: Pattern) -> float:
        if isinstance(pattern, Primitive):
            return self.network.global_rate(pattern.type)
        whole = math.prod(self._unselected(part) for part in pattern.parts if not isinstance(part, Absent))
        return len(pattern.parts) * whole if isinstance(pattern, Interleaving) else whole

    def selected_rate(self, kind: str, projection: Projection) -> float:
        """σ(ε, p) R(ε): the different events of a type in all matches, in one window."""
        known: dict[tuple[str, Projection], float] = self._selected  # type: ignore[attr-defined]
        key = (kind, projection)
        if key not in known:
            known[key] = self.selectivities.of_type(kind, projection) * self.network.global_rate(kind)
        return known[key]

    def is_beneficial(self, projection: Projection) -> bool:
        """Whether it matches less often than its events come (section 6.1, whose printed sign is reversed)."""
        return self.rate(projection) < sum(self.network.global_rate(kind) for kind in projection.types)

    def beneficial(self, query: NetworkQuery) -> tuple[Projection, ...]:
        """Π_eval: the projections of a query that are worth sending, smaller ones first."""
        return tuple(p for p in query.projections() if self.is_beneficial(p))

    def partial_match_rate(self, projection: Projection, inputs: tuple[Projection, ...]) -> float:
        """pm(p): partial matches that are made and kept in one window when inputs are joined, the rarest first.

        The paper leaves open what counts. Here each input that comes is one, as in a tree of operators, and so is each
        match of the conditions among the types that are joined so far, up to the matches themselves.
        """
        ordered = sorted(inputs, key=lambda i: (self.rate(i), i.name))
        total = sum(self.rate(one) for one in inputs)
        joined: frozenset[str] = frozenset()
        for place, one in enumerate(ordered):
            more = (joined | one.bound) & projection.bound
            if place and more != joined:
                part = restrict(projection.pattern, more)
                if part is not None:
                    total += self.rate(Projection(part))
            joined = more
        return total
