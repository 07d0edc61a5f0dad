"""What `explain` says of a query, as data: an automaton to draw and the facts that stand beside it.

`plan.explain` fills it, `plan.draw` writes it as SVG, Mermaid or text. Every text in it is finished: the
drawing adds no words of its own about the query and reads no tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class State:
    """A state of the automaton: what a partial match has bound so far.

    Attributes:
        id: unique within the explanation; states are drawn from left to right in the order in which they stand
            in `Explanation.states`.
        label: what stands in the circle, short: the variable bound last (``a``), or ``""`` for the initial state.
        initial: the state before any event.
        accepting: a partial match here is a match.
        kleene: the variable bound last may take more than one event.
    """

    id: int
    label: str
    initial: bool = False
    accepting: bool = False
    kleene: bool = False


class EdgeKind(Enum):
    """What an edge does with an event."""

    TAKE = "take"  # binds it and goes on
    LOOP = "loop"  # binds it to a Kleene variable and stays
    SKIP = "skip"  # goes on without an event: an optional element that took nothing
    NEGATED = "negated"  # ends the partial match: the event must not come


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of the automaton.

    Attributes:
        source, target: ids of states. A LOOP edge has both the same; a NEGATED edge leads from the state in which
            the event is forbidden to the one that is reached without it, and is drawn as a guard between the two.
        label: the element as written, such as ``Txn a`` or ``NOT Refund r``; ``""`` on a SKIP edge.
        kind: see `EdgeKind`.
        predicates: the conditions that are tested on this edge, printed, in the order in which they are tested.
        policy: ``"any"``, ``"next"`` or ``"strict"`` where the edge's own differs from the query's, else None.
    """

    source: int
    target: int
    label: str
    kind: EdgeKind = EdgeKind.TAKE
    predicates: tuple[str, ...] = ()
    policy: str | None = None


class PredicateClass(Enum):
    """What a predicate needs to know before it can be tested."""

    SINGLE = "single"  # one event
    CROSS = "cross"  # two events or more
    AGGREGATE = "aggregate"  # the elements of a Kleene variable
    PARTITION = "partition"  # SAME, or an equality used as one
    NEGATED = "negated"  # an event that must not come
    REMOTE = "remote"  # a look-up in a store


@dataclass(frozen=True, slots=True)
class PredicateRow:
    """One conjunct of WHERE, and where it is tested.

    Attributes:
        text: the condition, printed.
        class_: see `PredicateClass`.
        where: such as ``"before the engine"`` or ``"on edge a -> b"``.
        pushed: it is tested column by column before events reach the engine (by Spark, in a Spark job).
    """

    text: str
    class_: PredicateClass
    where: str
    pushed: bool = False


@dataclass(frozen=True)
class Explanation:
    """A query as it will run.

    Attributes:
        query: the text of the query.
        states: from left to right.
        edges: in any order.
        predicates: in the order of WHERE; SAME first.
        window: such as ``"WITHIN 5 minutes"``, or ``"none"``.
        policy: ``"any"``, ``"next"`` or ``"strict"``.
        partition: the expressions of SAME, printed; empty for one partition.
        skip: such as ``"NO SKIP"``.
        returns: the output columns, such as ``"a.card AS card"``; empty for the default output.
        columns: the columns that the events need, the time, type and order columns included; empty if unknown.
        warnings: what `check` found, one sentence each.
        evaluation: which variables wait for the last event; empty where all are evaluated as their events arrive.
        notes: other remarks, such as where the query waits before it reports a match.
    """

    query: str
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    predicates: tuple[PredicateRow, ...] = ()
    window: str = "none"
    policy: str = "next"
    partition: tuple[str, ...] = ()
    skip: str = "NO SKIP"
    returns: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    evaluation: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def drawn(self) -> tuple[Edge, ...]:
        """The edges as they are drawn: what is forbidden in a state, once for all edges that lead on from it."""
        guards: set[tuple[int, str, tuple[str, ...]]] = set()
        kept = []
        for edge in self.edges:
            guard = (edge.source, edge.label, edge.predicates)
            if edge.kind is EdgeKind.NEGATED:
                if guard in guards:
                    continue
                guards.add(guard)
            kept.append(edge)
        return tuple(kept)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What stands below the automaton, (name, value); a value is empty where there is nothing to say."""
        planned = (("evaluation", self.evaluation),) if self.evaluation else ()
        return (
            ("policy", self.policy),
            ("window", self.window),
            ("partition", ", ".join(self.partition) or "one, of all events"),
            ("after a match", self.skip),
            ("returns", ", ".join(self.returns) or "the default columns"),
            ("columns read", ", ".join(self.columns)),
            *planned,
        )
