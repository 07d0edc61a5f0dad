"""Sub-expressions between events that no table computes: the kernel asks the host for their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.events.types import DataType
from cepheid.language.tree import Aggregate, At, Attribute, Expression, children


@dataclass(frozen=True)
class Hosted:
    """A sub-expression whose value is a number, a time or a truth, and what the host gets to compute it.

    Attributes:
        expression: as it stands in the query.
        events: for each operand that is an event: its variable, and which element.
        of_groups: the operands after those are what says which elements these aggregates are over, of loops under a NOT
            of a group; and whether they are over the elements before the one that a condition is tried on.
        aggregates: the operands after those, which the kernel has computed.
        aggregate_types: their types.
        type: of the value.
        is_remote: it is a whole condition, and looks something up in a remote store.
    """

    expression: Expression
    events: tuple[tuple[str, At], ...]
    of_groups: tuple[tuple[Aggregate, bool], ...]
    aggregates: tuple[Aggregate, ...]
    aggregate_types: tuple[DataType, ...]
    type: DataType
    is_remote: bool = False

    @property
    def n_indices(self) -> int:
        """How many operands are numbers of events or of rows."""
        return len(self.events) + len(self.of_groups)


def operands_of(expression: Expression) -> tuple[tuple[tuple[str, At], ...], tuple[Aggregate, ...]]:
    """The events and the aggregates that an expression reads, each once."""
    events: dict[tuple[str, At], None] = {}
    aggregates: dict[Aggregate, None] = {}
    for node in values_read(expression):
        if isinstance(node, Aggregate):
            aggregates[node] = None
        else:
            assert node.variable is not None
            events[node.variable, node.at] = None
    return tuple(events), tuple(aggregates)


def values_read(node: Expression) -> Iterator[Attribute | Aggregate]:
    """The attributes and aggregates of an expression; what stands in an aggregate is not among them."""
    if isinstance(node, Attribute | Aggregate):
        yield node
        return
    for child in children(node):
        yield from values_read(child)  # type: ignore[arg-type]
