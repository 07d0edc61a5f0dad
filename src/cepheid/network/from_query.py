"""Queries of the language as planning sees them, and what of a query is evaluated where its projections are.

`planned_queries` gives the queries of a workload; `PlannedQuery.projected` the query that a vertex of a plan evaluates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

from cepheid.errors import NetworkError
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.printer import print_expression
from cepheid.language.structure import is_loop
from cepheid.language.tree import Aggregate, And, Attribute, Event, Node, Not, Pattern, Repeat, Seq
from cepheid.network import patterns
from cepheid.network.queries import Condition, NetworkQuery, Projection
from cepheid.plan.projection import Split, not_split_because, project, split

_N = TypeVar("_N", bound=Node)


@dataclass(frozen=True, eq=False)
class PlannedQuery:
    """A query, and what planning sees of it.

    Attributes:
        bound: the query.
        network_query: its pattern over types, and its conditions.
        variables: type -> the variable that stands for it.
    """

    bound: BoundQuery
    network_query: NetworkQuery
    variables: Mapping[str, str]

    @property
    def name(self) -> str:
        """How it is spoken of."""
        return self.network_query.name

    @cached_property
    def types(self) -> Mapping[str, str]:
        """Variable -> its type."""
        return {variable: kind for kind, variable in self.variables.items()}

    @property
    def window_us(self) -> int:
        """The length of its window, us."""
        assert self.bound.window.within_us is not None, "queries without one are refused"
        return self.bound.window.within_us

    def has(self, projection: Projection) -> bool:
        """Whether a projection is one of this query: other queries of the workload may have it, too."""
        query, kinds = self.network_query, projection.types
        if not kinds <= query.types:
            return False
        if projection.is_primitive:
            return True
        return query.closed(kinds) and query.projection(kinds) == projection

    def projected(self, projection: Projection) -> BoundQuery:
        """The query of a projection: what a site evaluates that sends its matches on; loops are taken out.

        Raises:
            NetworkError: it is no projection of this query (`has`).
        """
        if not self.has(projection):
            raise NetworkError(
                f"{projection} is no projection of the query {self.name}", remedy="plan the workload anew"
            )
        return project(self.bound, [self.variables[kind] for kind in sorted(projection.types)])


def planned_queries(bounds: Mapping[str, BoundQuery]) -> tuple[PlannedQuery, ...]:
    """The queries of a workload.

    Args:
        bounds: name -> query, its parameters replaced by values.

    Raises:
        NetworkError: one of them cannot be planned (`planned_query`), or two have other windows or other events.
    """
    planned = tuple(planned_query(name, bound) for name, bound in bounds.items())
    for one, other in pairwise(planned):
        if one.bound.window != other.bound.window:
            raise NetworkError(
                f"the queries {one.name} and {other.name} have different windows",
                remedy="rates are those in one window: plan queries with another window as another workload",
            )
        if one.bound.schema != other.bound.schema:
            raise NetworkError(
                f"the queries {one.name} and {other.name} read events of different schemas",
                remedy="bind the queries of a workload with one schema",
            )
    return planned


def network_query(name: str, bound: BoundQuery) -> NetworkQuery:
    """What planning sees of a query.

    Raises:
        NetworkError: it cannot be planned (`planned_query`).
    """
    return planned_query(name, bound).network_query


def planned_query(name: str, bound: BoundQuery) -> PlannedQuery:
    """A query as planning sees it.

    Its conditions are told apart by their text, with types in place of variables: so queries share projections
    whatever their variables are called.

    Args:
        name: how it is spoken of.
        bound: the query, its parameters replaced by values.

    Raises:
        NetworkError: it has no projections (`plan.projection.not_split_because`) or no window, a variable takes
            several types or any, a type stands twice, a NOT is over several events or at an end.
    """
    if bound.parameters:
        raise NetworkError(
            f"the parameters {', '.join(sorted(bound.parameters))} of the query {name} have no values",
            remedy="replace them by values before the query is planned",
        )
    reason = not_split_because(bound)
    if reason is not None:
        raise NetworkError(
            f"the query {name} cannot be split: {reason}", remedy="evaluate it at one site, with all its events"
        )
    if bound.window.within_us is None:
        raise NetworkError(
            f"the query {name} has no window, and rates are those in one window", remedy="add WITHIN and a length"
        )
    types = {variable.name: _type_of(name, variable.name, variable.types) for variable in bound.variables.values()}
    pattern = _pattern(name, bound.pattern, types)
    assert not isinstance(pattern, patterns.Absent), "a pattern is no NOT"
    query = NetworkQuery(name, pattern, _conditions(bound, split(bound), types))
    return PlannedQuery(bound, query, {kind: variable for variable, kind in types.items()})


def _type_of(query: str, variable: str, types: tuple[str, ...]) -> str:
    if len(types) == 1:
        return types[0]
    shown = "an element" if variable.startswith("#") else f"the variable {variable}"
    takes = "events of any type" if not types else f"events of the types {', '.join(types)}"
    raise NetworkError(
        f"{shown} of the query {query} takes {takes}",
        remedy="name one type for each variable: sources and rates are known by types",
    )


def _pattern(query: str, pattern: Pattern, types: Mapping[str, str]) -> patterns.Pattern | patterns.Absent:
    match pattern:
        case Event():
            return patterns.Primitive(_type(pattern, types))
        case Repeat():
            assert isinstance(pattern.part, Event), "repeated groups are not split"
            return patterns.Primitive(_type(pattern.part, types), kleene=is_loop(pattern))
        case Not():
            if not isinstance(pattern.part, Event):
                raise NetworkError(
                    f"a NOT of the query {query} is over several events",
                    remedy="a query that is split over sites has NOT over single events only; evaluate it at one site",
                )
            return patterns.Absent(_type(pattern.part, types))
        case Seq():
            return patterns.sequence(tuple(_pattern(query, part, types) for part in pattern.parts))
        case And():
            parts = (_pattern(query, part, types) for part in pattern.parts)
            # A query with NOT inside AND is none: bind refuses it.
            return patterns.interleaving(tuple(part for part in parts if not isinstance(part, patterns.Absent)))
        case _:
            raise AssertionError("such patterns are not split")


def _type(event: Event, types: Mapping[str, str]) -> str:
    assert event.name is not None, "bound patterns name each element"
    return types[event.name]


def _conditions(bound: BoundQuery, of_query: Split, types: Mapping[str, str]) -> frozenset[Condition]:
    """What projections test: `plan.projection.project`. Conditions on loops as a whole are left to the sinks."""
    tested = [*of_query.conjuncts, *(conjunct for gap in of_query.gaps for conjunct in gap.conjuncts)]
    found = {_condition(conjunct, types) for conjunct in tested}
    for expression in bound.partition:
        found.add(Condition(frozenset(), f"SAME[{print_expression(expression)}]"))
    return frozenset(found)


def _condition(conjunct: Conjunct, types: Mapping[str, str]) -> Condition:
    expression = _renamed(conjunct.expression, types)
    return Condition(frozenset(types[variable] for variable in conjunct.variables), print_expression(expression))


def _renamed(node: _N, names: Mapping[str, str]) -> _N:
    """An expression with other names of variables."""
    changes: dict[str, Any] = {}
    if isinstance(node, Attribute | Aggregate) and node.variable is not None:
        changes["variable"] = names[node.variable]
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changes[item.name] = _renamed(value, names)
        elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
            changes[item.name] = tuple(_renamed(part, names) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes) if changes else node
