"""The columns that a plan reads: expressions over one event, evaluated column-wise before the kernel runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from cepheid.events.types import INT, TIMESTAMP, DataType, Kind
from cepheid.language.tree import (
    Aggregate,
    At,
    Attribute,
    Call,
    Conjunction,
    Disjunction,
    Expression,
    Node,
    Remote,
    names_of_nodes,
    walk,
)


class Register(Enum):
    """The two kinds of machine words."""

    INT = "int"
    FLOAT = "float"


@dataclass(frozen=True)
class Shape:
    """How a value is held: as int64 (with a decimal scale, or as a text rank) or as float64.

    Attributes:
        register: the machine word.
        scale: decimal digits after the point; 0 for all but decimals.
        text: a rank in the dictionary that all text columns of the plan share.
        ordered: a float as an int64 of the same order (NaN greatest, the two zeros one).
        bounded: to be compared with a value that came from another scale. One that was brought up to ``scale`` and
            does not fit is the greatest or least int64, and no other value is: none of those that were brought up is
            near, and the others stop one short. So every comparison of the two is exact.
    """

    register: Register
    scale: int = 0
    text: bool = False
    ordered: bool = False
    bounded: bool = False


FLOAT_SHAPE = Shape(Register.FLOAT)
INT_SHAPE = Shape(Register.INT)
ORDERED_SHAPE = Shape(Register.INT, ordered=True)


def shape_of(dtype: DataType) -> Shape | None:
    """The shape of a type, or None where it cannot be computed with."""
    match dtype.kind:
        case Kind.FLOAT:
            return FLOAT_SHAPE
        case Kind.BOOL | Kind.INT | Kind.TIMESTAMP | Kind.DURATION | Kind.NULL:
            return INT_SHAPE
        case Kind.DECIMAL:
            return Shape(Register.INT, scale=dtype.scale or 0)
        case Kind.TEXT:
            return Shape(Register.INT, text=True)
    return None


@dataclass(frozen=True)
class Request:
    """A column.

    Attributes:
        expression: over attributes of one event (``variable`` None); None for the partition's code, the time and the
            place.
        type: the type of the expression, or None for the partition.
        shape: how its values are to be held.
        variables: where it calls a registered function or looks something up, the variables whose events it is for:
            that is done for no others.
        step: of a place in the partition: that of the event so many events later; None for what is none.
        name: tells apart those that a policy asks for.
    """

    expression: Expression | None
    type: DataType | None
    shape: Shape
    variables: frozenset[str] = frozenset()
    step: int | None = None
    name: str = ""

    @property
    def is_plain_int(self) -> bool:
        """Whether integers are held as they are."""
        return self.shape == INT_SHAPE


PARTITION = Request(None, None, INT_SHAPE)
TIME = Request(None, TIMESTAMP, INT_SHAPE)
OTHER_CLOCK = Request(None, INT, INT_SHAPE)
"""The places of events in their partitions where TIME is their times, and vice versa."""
PLACE = Request(None, INT, INT_SHAPE, step=0)
"""The place of an event in its partition, before any filter."""
PLACE_AFTER = Request(None, INT, INT_SHAPE, step=1)
"""That of the next one."""
TYPE_NUMBER = Request(None, INT, INT_SHAPE, name="type")
"""The number of an event's type, for policies."""
PLACE_IN_WINDOW = Request(None, INT, INT_SHAPE, name="place")
"""The place of an event in the window that slides, or in its partition, before any filter; for policies."""


@dataclass
class Requests:
    """The columns of a plan, numbered apart for ints and floats.

    Attributes:
        functions: the registered functions.
        ints, floats: the columns.
    """

    functions: Collection[str] = ()
    ints: list[Request] = field(default_factory=list)
    floats: list[Request] = field(default_factory=list)

    def number(self, request: Request) -> int:
        """The number of a column, which is added where it is new."""
        kept = self.floats if request.shape.register is Register.FLOAT else self.ints
        if request not in kept:
            kept.append(request)
        return kept.index(request)

    def leaf(self, expression: Expression, shape: Shape, types: Mapping[Expression, DataType]) -> int:
        """The number of the column for an expression over one event of a variable."""
        return self.of(expression, types[expression], shape)

    def of(self, expression: Expression, dtype: DataType, shape: Shape) -> int:
        """The same for an expression of type ``dtype`` that bind has not seen."""
        calls = any(
            isinstance(node, Remote) or (isinstance(node, Call) and node.function in self.functions)
            for node in walk(expression)
        )
        names = {node.variable for node in walk(expression) if isinstance(node, Attribute)} if calls else ()
        variables = frozenset(name for name in names if name is not None)
        return self.number(Request(detached(expression), dtype, shape, variables))


def detached(node: Expression) -> Expression:
    """An expression over one event of a variable, as one over attributes of an event.

    ``first(b).x`` and its like become ``x``: which event is read is the operand's business.
    """
    if isinstance(node, Attribute):
        return replace(node, variable=None, at=At.EACH)
    changes: dict[str, object] = {}
    for name in names_of_nodes(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            changes[name] = tuple(detached(v) if isinstance(v, Node) else v for v in value)  # type: ignore[arg-type]
        elif isinstance(value, Node):
            changes[name] = detached(value)  # type: ignore[arg-type]
    return replace(node, **changes) if changes else node  # type: ignore[arg-type]


def leaf_of(expression: Expression) -> tuple[str, At] | None:
    """The variable and element that an expression is about, where it is a column of that event's; else None.

    Where the event is absent, a column is, too. So an operand of AND or OR must not read no event at all: it would have
    to count alone then.
    """
    about: tuple[str, At] | None = None
    for node in walk(expression):
        if isinstance(node, Aggregate):
            return None
        if isinstance(node, Conjunction | Disjunction):
            for operand in node.operands:
                if not any(isinstance(part, Attribute | Aggregate) for part in walk(operand)):
                    return None
        if isinstance(node, Attribute):
            assert node.variable is not None
            if about not in (None, (node.variable, node.at)):
                return None
            about = (node.variable, node.at)
    return about
