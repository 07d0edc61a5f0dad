"""Which events and which columns a query needs: what Spark need not hand to the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.language import tree
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.plan.dropping import reason_to_keep_all
from cepheid.spark.pushdown import Source, Translation, balanced_or
from cepheid.spark.values import by_bytes, named


def may_drop_events(bound: BoundQuery) -> bool:
    """Whether an event that fits no element may be left out without changing a match (`reason_to_keep_all`)."""
    return reason_to_keep_all(bound) is None


def single_event_conjuncts(bound: BoundQuery) -> Mapping[str, tuple[Conjunct, ...]]:
    """Variable -> the conjuncts that every event must satisfy to be taken for it, whatever else is taken."""
    return {
        name: tuple(c for c in bound.conjuncts if c.variables == (name,) and _is_about_one_event(c.expression))
        for name in bound.variables
    }


def admitted(bound: BoundQuery, source: Source) -> Column | None:
    """The condition that an event fits some element, negated ones included, as far as Spark can tell.

    An element's condition is its types and those of its single-event conjuncts that Spark computes as the engine
    does; the rest is left to the engine. So what is dropped fits no element, but not everything that is kept fits.

    Args:
        bound: the query, parameters filled in, for which `may_drop_events` holds.
        source: the DataFrame.

    Returns:
        A condition that is true for the events to keep; None where that is every event.
    """
    translation = Translation(source, bound.types, frozenset(bound.catalog.functions))
    conjuncts = single_event_conjuncts(bound)
    alternatives: list[Column] = []
    unconditional: set[str] = set()
    for name, variable in bound.variables.items():
        tests = [t for c in conjuncts[name] if (t := translation.translate(c.expression)) is not None]
        types = variable.types if bound.schema.type is not None else ()
        if not types and not tests:
            return None
        if types and not tests:
            unconditional.update(types)
            continue
        if types:
            tests.insert(0, _is_of(types, bound.schema.type or "", source))
        alternatives.append(reduce(lambda one, other: one & other, tests))
    if unconditional:
        alternatives.append(_is_of(sorted(unconditional), bound.schema.type or "", source))
    return balanced_or(alternatives) if alternatives else F.lit(False)


def needed_columns(bound: BoundQuery) -> frozenset[str] | None:
    """The columns that the query needs to be matched and returned; None for all (no RETURN).

    Time, type, order columns, and the roots of the attributes in the condition, UNTIL, SAME and RETURN.
    """
    if not bound.returns:
        return None
    schema = bound.schema
    names = {schema.time, *schema.order}
    if schema.type is not None:
        names.add(schema.type)
    for expression in _expressions(bound):
        names.update(n.path[0] for n in tree.walk(expression) if isinstance(n, tree.Attribute))
    return frozenset(names)


def _expressions(bound: BoundQuery) -> Iterator[tree.Node]:
    yield bound.pattern  # for UNTIL
    yield from (c.expression for c in bound.conjuncts)
    yield from bound.partition
    yield from (r.expression for r in bound.returns)


def _is_about_one_event(expression: tree.Expression) -> bool:
    for node in tree.walk(expression):
        if isinstance(node, tree.Aggregate | tree.Remote | tree.Parameter):
            return False
        if isinstance(node, tree.Attribute) and node.at is not tree.At.EACH:
            return False
    return True


def _is_of(types: Sequence[str], column: str, source: Source) -> Column:
    # Compared by bytes: a type column may have a collation in which more texts are equal.
    names = by_bytes(named(column), source.columns[column].dataType)
    return names == F.lit(types[0]) if len(types) == 1 else names.isin(list(types))
