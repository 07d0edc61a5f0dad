"""What sites do when rates have changed, without a new plan: INEv, section 6.6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.errors import NetworkError
from cepheid.network.cost import transmission_cost
from cepheid.network.forwarding import Forwarding, selectors
from cepheid.network.graph import Combination, InevGraph
from cepheid.network.model import Node
from cepheid.network.planner import Plan
from cepheid.network.queries import Projection, Workload


@dataclass(frozen=True)
class Repair:
    """What a plan became under other rates.

    Attributes:
        broken: the plan as it was, under the new rates.
        repaired: what its sites made of it: the cheapest of doing all that follows, one part of it, or nothing.
        harmful: projections that match more often than their inputs come: their sites send the inputs instead.
        unsplit: projections whose split by a type no longer pays (Eq. 1): evaluated at the site kept for that case.
    """

    broken: InevGraph
    repaired: InevGraph
    harmful: frozenset[Projection]
    unsplit: frozenset[Projection]


def harmful_projections(workload: Workload, combination: Combination) -> frozenset[Projection]:
    """Projections, not queries, with more matches than inputs: each of their sites sees both rates."""
    return frozenset(
        projection
        for projection, inputs in combination.inputs.items()
        if projection not in workload.sinks and workload.rate(projection) > sum(workload.rate(one) for one in inputs)
    )


def invalid_partitions(workload: Workload, forwarding: Forwarding, combination: Combination) -> frozenset[Projection]:
    """Projections for whose split Eq. 1 does not hold."""
    network = workload.network
    found = set()
    for projection, part in combination.partition.items():
        others = sum(workload.rate(one) for one in combination.inputs[projection] if one.types != {part})
        own = 0.0 if projection in workload.sinks else workload.rate(projection) * network.mean_hops
        spread = forwarding.trees.size(network.sources[part])
        if network.global_rate(part) * network.mean_hops <= spread * others + own:
            found.add(projection)
    return frozenset(found)


def fallback_nodes(plan: Plan, forwarding: Forwarding | None = None) -> Mapping[Projection, Node]:
    """For each multi-node placement of a plan, the one site that takes its place: found with the plan, by its rates."""
    forwarding = forwarding or Forwarding(plan.graph.workload)
    fixed = _single_sites(plan.graph)
    result = {}
    for projection in plan.combination.partition:
        partition = {p: part for p, part in plan.combination.partition.items() if p != projection}
        graph = forwarding.graph(Combination(plan.combination.inputs, partition), plan.selectors, fixed=fixed)
        (vertex,) = graph.by_projection[projection]
        result[projection] = vertex.node
    return result


def repair(plan: Plan, workload: Workload) -> Repair:
    """A plan under other rates, and what its sites make of it by what each of them sees.

    Args:
        plan: made by earlier rates.
        workload: the same queries on the network with the new rates.

    Returns:
        What became of it, never dearer than leaving it as it was.

    Raises:
        NetworkError: the queries, the sites or the sources are others.
    """
    before = plan.graph.workload
    if [one.planned for one in before.queries] != [one.planned for one in workload.queries]:
        raise NetworkError(
            "the queries are not those of the plan's workload", remedy="give the queries that the plan was made for"
        )
    one, other = before.network, workload.network
    if (one.nodes, one.edges, one.sources) != (other.nodes, other.edges, other.sources):
        raise NetworkError("the network is another than the plan's", remedy="only rates may differ: plan anew")
    broken = InevGraph(workload, plan.graph.combination, plan.graph.vertices)
    if plan.is_centralized:
        return Repair(broken, broken, frozenset(), frozenset())
    forwarding = Forwarding(plan.graph.workload)
    harmful = harmful_projections(workload, plan.combination) - harmful_projections(
        plan.graph.workload, plan.combination
    )
    unsplit = invalid_partitions(workload, forwarding, plan.combination) - invalid_partitions(
        plan.graph.workload, forwarding, plan.combination
    )
    if not harmful and not unsplit:
        return Repair(broken, broken, harmful, unsplit)
    fixed = {**_single_sites(plan.graph), **fallback_nodes(plan, forwarding)}
    best = Repair(broken, broken, harmful, unsplit)
    least = transmission_cost(broken)
    # What one site does can cost others more than it saves, so parts of the repair are weighed, too.
    for some, others in ((harmful, unsplit), (harmful, frozenset()), (frozenset(), unsplit)):
        if not some and not others:
            continue
        combination = _without(plan.combination, some, others)
        graph = forwarding.graph(combination, selectors(plan.graph.workload, combination), fixed=fixed)
        repaired = InevGraph(workload, graph.combination, graph.vertices)
        if (cost := transmission_cost(repaired)) < least:
            best, least = Repair(broken, repaired, some, others), cost
    return best


def _single_sites(graph: InevGraph) -> dict[Projection, Node]:
    return {
        projection: graph.by_projection[projection][0].node
        for projection in graph.combination.inputs
        if projection not in graph.combination.partition
    }


def _without(combination: Combination, harmful: frozenset[Projection], unsplit: frozenset[Projection]) -> Combination:
    """The combination with the inputs of harmful projections in their place, and without some splits."""

    def parts(one: Projection) -> tuple[Projection, ...]:
        if one not in harmful:
            return (one,)
        return tuple(inner for given in combination.inputs[one] for inner in parts(given))

    partition = {p: kind for p, kind in combination.partition.items() if p not in unsplit and p not in harmful}
    inputs = {}
    for projection, given in combination.inputs.items():
        if projection in harmful:
            continue
        inputs[projection] = tuple(dict.fromkeys(inner for one in given for inner in parts(one)))
        part = partition.get(projection)
        if part is not None and any(part in one.types and one.types != {part} for one in inputs[projection]):
            del partition[projection]
    return Combination(inputs, partition)
