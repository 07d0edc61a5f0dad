"""What a split will send, before anything is placed: INEv, section 6.2 (getSavings).

The paper adds up savings; here the cost is added up, and the savings are what is left of the cost without a split.
Each partitioning type is saved once, and each input is sent once to all the multi-node placements that take it: so
the two heuristics of the paper (sharedMNSavings, sharedInputs) hold by construction.

The search asks for the cost of many thousand splits, so types are bits here and projections are numbers, and what
depends on few of them is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cepheid.network.forwarding import selector
from cepheid.network.queries import Projection, Workload, events_of
from cepheid.network.steiner import SteinerTrees

NO_TYPE = -1
"""In place of a partitioning type: evaluated at one site."""


class Cut:
    """How one projection is made.

    Attributes:
        inputs: what its matches are joined from, as numbers.
        part: the type that splits it, by its place; `NO_TYPE` for none.
        sent: its inputs without the events that split it: these stay where they arise.
        known: the types whose events go to all of its sites, as bits; 0 for one site.
    """

    __slots__ = ("inputs", "known", "part", "sent")

    def __init__(self, inputs: tuple[int, ...], part: int, n_types: int) -> None:
        self.inputs, self.part = inputs, part
        self.sent = tuple(one for one in inputs if one != part)
        self.known = 0 if part == NO_TYPE else sum(1 << one for one in self.sent if one < n_types)


Split = Mapping[int, Cut]
"""Projection, as a number -> how it is made."""


@dataclass(eq=False)
class Estimator:
    """Estimates on one workload.

    Attributes:
        workload: what is split.
        trees: of its network.
        kinds: its types; each stands for its place, and as a bit for one shifted by that. The events of a type are the
            projection with the number of its place.
        projections: all that were numbered so far.
        masks: of each, its types as bits.
    """

    workload: Workload
    trees: SteinerTrees
    kinds: tuple[str, ...] = field(init=False)
    projections: list[Projection] = field(init=False, default_factory=list)
    masks: list[int] = field(init=False, default_factory=list)
    _numbers: dict[Projection, int] = field(init=False, default_factory=dict)
    _sent: dict[tuple[int, int], tuple[float, int]] = field(init=False, default_factory=dict)
    _lengths: dict[tuple[int, int], float] = field(init=False, default_factory=dict)
    _matches: dict[tuple[int, tuple[int, ...]], float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.kinds = tuple(sorted(self.workload.types))
        self._places = {kind: place for place, kind in enumerate(self.kinds)}
        network = self.workload.network
        self.rates = [network.global_rate(kind) for kind in self.kinds]
        self.spreads = [self.trees.size(network.sources[kind]) for kind in self.kinds]
        self._sites = [frozenset(network.sources[kind]) for kind in self.kinds]
        for kind in self.kinds:
            self.number(events_of(kind))

    def number(self, projection: Projection) -> int:
        """The number of a projection; equal ones have the same."""
        found = self._numbers.get(projection)
        if found is None:
            found = self._numbers[projection] = len(self.projections)
            self.projections.append(projection)
            self.masks.append(self.mask(projection.types))
        return found

    def mask(self, kinds: Iterable[str]) -> int:
        """Types as bits."""
        return sum(1 << self._places[kind] for kind in kinds)

    def cut(self, inputs: tuple[int, ...], part: int) -> Cut:
        """How a projection is made."""
        return Cut(inputs, part, len(self.kinds))

    def length(self, parts: int, source: int) -> float:
        """Links from a site to all sources of some types, on average over the sources of one type (or any site)."""
        key = (parts, source)
        found = self._lengths.get(key)
        if found is None:
            network = self.workload.network
            sites = frozenset().union(*(self._sites[place] for place in bits_of(parts)))
            if source == NO_TYPE:
                found = self.trees.size(sites) + network.mean_hops * len(network.nodes) / (
                    len(network.nodes) + len(sites) ** 2
                )
            else:
                held = {network.places[node] for edge in self.trees.tree(sites) for node in edge}
                held |= {network.places[node] for node in sites}
                nearest = network.hops[:, sorted(held)].min(axis=1)
                starts = [network.places[node] for node in self._sites[source]]
                found = self.trees.size(sites) + float(np.mean(nearest[starts]))
            self._lengths[key] = found
        return found

    def sent(self, one: int, known: int) -> tuple[float, int]:
        """The rate with which a projection is sent, and the types that must come as events beside it, as bits."""
        n_types = len(self.kinds)
        if one < n_types:
            return self.rates[one], 0
        mask = self.masks[one]
        key = (one, known & mask)
        found = self._sent.get(key)
        if found is None:
            projection = self.projections[one]
            kept = selector(self.workload, projection, frozenset(self.kinds[place] for place in bits_of(known & mask)))
            if kept is None:
                found = (self.workload.rate(projection), 0)
            else:
                rate = sum(self.workload.selected_rate(kind, projection) for kind in sorted(kept))
                found = (rate, mask & ~self.mask(kept))
            self._sent[key] = found
        return found

    def cost(self, split: Split) -> float:
        """Messages on all links in one window, roughly."""
        return self.costs(split).with_more({})

    def costs(self, before: Split) -> Costs:
        """The costs of splits that have one in common."""
        return Costs(self, before)

    def ways(self, cuts: Iterable[Cut], known: int, parts: dict[int, int], single: dict[int, bool]) -> None:
        """Add where the inputs of some cuts go.

        Args:
            cuts: how projections are made.
            known: types whose events go to all sites of some multi-node placement.
            parts: what is sent -> the types to whose sources it goes, as bits.
            single: what is sent to a site of its own.
        """
        n_types = len(self.kinds)
        kept, masks = self._sent, self.masks
        for cut in cuts:
            bit = 0 if cut.part == NO_TYPE else 1 << cut.part
            for one in cut.sent:
                if bit:
                    parts[one] = parts.get(one, 0) | bit
                else:
                    single[one] = True
                if one < n_types:
                    continue
                found = kept.get((one, known & masks[one]))
                more = (self.sent(one, known) if found is None else found)[1] & ~bit
                for place in bits_of(more) if more else ():
                    if bit:
                        parts[place] = parts.get(place, 0) | bit
                    else:
                        single[place] = True

    def of_way(self, one: int, source: int, known: int, bits: int, *, single: bool) -> float:
        """Messages of one input, with the type that splits it over its sites (itself for events)."""
        if bits:
            length = self._lengths.get((bits, source))
            if length is None:
                length = self.length(bits, source)
            if single:
                # A tree that passes through the network comes close to any site.
                length += self.workload.network.mean_hops / 2
        elif single:
            length = self.workload.network.mean_hops
        else:
            return 0.0
        return (self.rates[one] if one < len(self.kinds) else self.sent(one, known)[0]) * length

    def is_multi_node(self, cut: Cut, known: int, own: int) -> bool:
        """Eq. 1: whether a multi-node placement is worth it, with what the inputs send in place of their rates.

        Args:
            cut: of the projection.
            known: types whose events go to all sites of some multi-node placement.
            own: the projection; `NO_TYPE` for a query, whose matches go nowhere.
        """
        mean = self.workload.network.mean_hops
        others = sum(self.sent(one, known)[0] for one in cut.sent)
        more = 0.0 if own == NO_TYPE else self.sent(own, known)[0] * mean
        return self.rates[cut.part] * mean > self.spreads[cut.part] * others + more

    def matches(self, one: int, inputs: tuple[int, ...]) -> float:
        """Partial matches in one window when a projection is joined from inputs."""
        key = (one, inputs)
        found = self._matches.get(key)
        if found is None:
            given = tuple(self.projections[part] for part in inputs)
            found = self._matches[key] = self.workload.partial_match_rate(self.projections[one], given)
        return found


class Costs:
    """What splits cost that have one in common: what that one sends is added up once for each set of known types."""

    def __init__(self, estimator: Estimator, before: Split) -> None:
        self._estimator = estimator
        self._before = before
        self._known = known_types(before.values())
        self._laid: dict[int, tuple[dict[int, int], dict[int, bool], float]] = {}

    def with_more(self, more: Split) -> float:
        """The cost of the common split and more."""
        estimator, before = self._estimator, self._before
        fresh = {one: cut for one, cut in more.items() if one not in before}
        known = self._known | known_types(fresh.values())
        if known not in self._laid:
            self._laid[known] = self._lay(known)
        parts, single, total = self._laid[known]
        if not fresh:
            return total
        more_parts: dict[int, int] = {}
        more_single: dict[int, bool] = {}
        estimator.ways(fresh.values(), known, more_parts, more_single)
        n_types = len(estimator.kinds)
        for one in more_parts.keys() | more_single.keys():
            bits, alone = parts.get(one, 0), one in single
            all_bits, all_alone = bits | more_parts.get(one, 0), alone or one in more_single
            if bits == all_bits and alone == all_alone:
                continue
            source = one if one < n_types else (fresh[one] if one in fresh else before[one]).part
            total += estimator.of_way(one, source, known, all_bits, single=all_alone)
            if bits or alone:
                total -= estimator.of_way(one, source, known, bits, single=alone)
        return total

    def _lay(self, known: int) -> tuple[dict[int, int], dict[int, bool], float]:
        estimator, before = self._estimator, self._before
        parts: dict[int, int] = {}
        single: dict[int, bool] = {}
        estimator.ways(before.values(), known, parts, single)
        n_types = len(estimator.kinds)
        total = 0.0
        for one in {**parts, **single}:
            source = one if one < n_types else before[one].part
            total += estimator.of_way(one, source, known, parts.get(one, 0), single=one in single)
        return parts, single, total


_BITS: dict[int, tuple[int, ...]] = {}


def bits_of(mask: int) -> tuple[int, ...]:
    """The places of the bits that are set."""
    found = _BITS.get(mask)
    if found is None:
        found = tuple(place for place in range(mask.bit_length()) if mask >> place & 1)
        if len(_BITS) < 1 << 16:
            _BITS[mask] = found
    return found


def known_types(cuts: Iterable[Cut]) -> int:
    """Types whose events go to all sites of some multi-node placement, as bits."""
    known = 0
    for cut in cuts:
        known |= cut.known
    return known
