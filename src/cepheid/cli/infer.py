"""A schema for a query that comes without one: columns of the types that its conditions ask for.

For looking at a query only: it lets `check` and `explain` say all that does not depend on real columns. What nothing
tells is taken for text where it is only compared for equality, for a number where it is ordered.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from cepheid.cli.schema_file import declared_only
from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, DataType, set_of, struct
from cepheid.language.bound import Catalog, Function, Store
from cepheid.language.functions import BUILTINS, Takes
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Node,
    Query,
    Remote,
    Repeat,
    walk,
)

_LITERALS = {
    LiteralKind.INT: FLOAT,
    LiteralKind.FLOAT: FLOAT,
    LiteralKind.DECIMAL: FLOAT,
    LiteralKind.TEXT: TEXT,
    LiteralKind.BOOL: BOOL,
    LiteralKind.DURATION: DURATION,
    LiteralKind.TIMESTAMP: TIMESTAMP,
}
_TAKES = {Takes.NUMBER: FLOAT, Takes.DIGITS: INT, Takes.INT: INT, Takes.TEXT: TEXT, Takes.TIMESTAMP: TIMESTAMP}
_TIME_NAMES = ("ts", "time", "timestamp", "event_time", "t")

_Place = tuple[str, ...]
"""("", attribute, field, ...) of an event; (store, field, ...) or (store,) of a remote element; ("()", function)."""


def inferred(query: Query, *others: Query) -> tuple[Schema, Catalog, list[str]]:
    """A schema and catalog that the query fits, as far as one can tell.

    Args:
        query: one that reads events.
        others: those that read its matches (FROM), which may name stores and functions, too.

    Returns:
        Both, and what was assumed, one line for each column or store: ``amount: float``.
    """
    clues = _Clues()
    conditions = [n.until for n in walk(query.pattern) if isinstance(n, Repeat) and n.until is not None]
    if query.where is not None:
        conditions.append(query.where)
    # Twice: what one condition tells may decide what another one leaves open.
    for _ in range(2):
        for condition in conditions:
            clues.visit(condition, BOOL)
        for expression in (*query.same, *(item.expression for item in query.returns)):
            clues.visit(expression, None)
    # What nothing tells of an attribute, its name may: `ts` is when the event was.
    for name in _TIME_NAMES:
        place = clues.find(("", name)) if ("", name) in clues.leader else None
        if place is not None and place not in clues.kinds and place not in clues.ordered:
            clues.kinds[place] = TIMESTAMP
            break
    types = clues.settle()
    fields = _fields({place[1:]: dtype for place, dtype in types.items() if place[0] == ""})
    time = next((n for n in _TIME_NAMES if fields.get(n, TIMESTAMP) == TIMESTAMP and n in fields), None)
    time = time or next(n for n in _TIME_NAMES if n not in fields)
    kind = "type" if fields.get("type", TEXT) == TEXT else "#type"
    assumed = [f"{name}: {dtype}" for name, dtype in fields.items() if name != time]
    schema = Schema(fields={time: TIMESTAMP, kind: TEXT, **fields}, time=time, time_unit="s", type=kind)
    stores, functions = clues.stores(types), clues.functions(types)
    for other in others:
        known = inferred(other)[1]
        stores, functions = {**known.stores, **stores}, {**known.functions, **functions}
    for store in stores.values():
        values = ", ".join(f"{name}: {dtype}" if name else str(dtype) for name, dtype in store.fields.items())
        assumed.append(f"store {store.name}: {values}")
    for function in functions.values():
        arguments = ", ".join(str(dtype) for dtype in function.arguments)
        assumed.append(f"function {function.name}({arguments}): {function.result}")
    return schema, Catalog(functions, stores), assumed


def _fields(types: dict[_Place, DataType]) -> dict[str, DataType]:
    """Types of attributes from those of paths: ``address.city`` makes ``address`` a struct."""
    inner: dict[str, dict[_Place, DataType]] = defaultdict(dict)
    plain: dict[str, DataType] = {}
    for path, dtype in types.items():
        plain.setdefault(path[0], dtype)
        if len(path) > 1:
            inner[path[0]][path[1:]] = dtype
    return {name: struct(**_fields(inner[name])) if name in inner else dtype for name, dtype in plain.items()}


@dataclass
class _Clues:
    """What is known of the types of places, and which places have the same type."""

    leader: dict[_Place, _Place] = field(default_factory=dict)
    kinds: dict[_Place, DataType] = field(default_factory=dict)
    ordered: set[_Place] = field(default_factory=set)
    keys: dict[str, tuple[Expression, ...]] = field(default_factory=dict)
    sets: dict[_Place, _Place] = field(default_factory=dict)
    calls: dict[str, tuple[Expression, ...]] = field(default_factory=dict)

    def find(self, place: _Place) -> _Place:
        self.leader.setdefault(place, place)
        while self.leader[place] != place:
            place = self.leader[place]
        return place

    def join(self, one: _Place, other: _Place) -> None:
        one, other = self.find(one), self.find(other)
        if one == other:
            return
        self.leader[other] = one
        if other in self.kinds:
            self.kinds.setdefault(one, self.kinds[other])
        if other in self.ordered:
            self.ordered.add(one)

    def known(self, expression: Expression) -> DataType | None:
        """The type of an expression, where it can be told by now."""
        match expression:
            case Literal():
                return _LITERALS.get(expression.kind)
            case Attribute() | Remote():
                return self.kinds.get(self.find(_place(expression)))
            case Negative():
                return self.known(expression.operand)
            case Arithmetic():
                left, right = self.known(expression.left), self.known(expression.right)
                if TIMESTAMP in (left, right):
                    return TIMESTAMP if DURATION in (left, right) else DURATION if left == right else None
                if expression.operator in "+-" and FLOAT not in (left, right):
                    return None
                return DURATION if DURATION in (left, right) else FLOAT
            case Aggregate():
                if expression.function in ("count", "sum", "avg") or expression.argument is None:
                    return FLOAT
                return self.known(expression.argument)
            case Call():
                return self._known_call(expression)
            case Compare() | Conjunction() | Disjunction() | Negation() | In() | InSet() | Like() | IsNull():
                return BOOL
            case _:
                return None

    def _known_call(self, call: Call) -> DataType | None:
        builtin = BUILTINS.get(call.function.lower())
        if builtin is None:
            return self.kinds.get(self.find(_place(call)))
        if Takes.ALIKE in builtin.takes:
            return next((t for a in call.arguments if (t := self.known(a)) is not None), None)
        result = builtin.result([_TAKES[builtin.taken(i)] for i in range(len(call.arguments))], None)
        return FLOAT if result is not None and result.is_number else result

    def visit(self, node: Expression, wanted: DataType | None) -> None:
        """Take the clues of an expression that should have the type ``wanted`` (None: unknown)."""
        match node:
            case Attribute() | Remote():
                place = self.find(_place(node))
                if wanted is not None:
                    self.kinds.setdefault(place, wanted)
                if isinstance(node, Remote):
                    self.keys.setdefault(node.store, node.key)
                    for part in node.key:
                        self.visit(part, None)
            case Conjunction() | Disjunction():
                for operand in node.operands:
                    self.visit(operand, BOOL)
            case Negation():
                self.visit(node.operand, BOOL)
            case Compare():
                self._visit_alike([node.left, node.right], is_ordered=node.operator not in ("=", "<>"))
            case In():
                self._visit_alike([node.operand, *node.options])
            case InSet():
                self._visit_in_set(node)
            case Like():
                self.visit(node.operand, TEXT)
            case IsNull():
                self.visit(node.operand, None)
            case Negative():
                self.visit(node.operand, wanted or FLOAT)
            case Arithmetic():
                self._visit_arithmetic(node, wanted)
            case Aggregate():
                if node.argument is not None:
                    inner = {"sum": FLOAT, "avg": FLOAT, "count": None}.get(node.function, wanted)
                    self.visit(node.argument, inner)
            case Call():
                self._visit_call(node, wanted)
            case _:
                pass

    def _visit_alike(self, parts: list[Expression], is_ordered: bool = False) -> None:
        common = next((t for part in parts if (t := self.known(part)) is not None), None)
        for part in parts:
            self.visit(part, common)
        places = [self.find(_place(part)) for part in parts if _is_placed(part)]
        if is_ordered:
            self.ordered.update(places)
        for other in places[1:]:
            self.join(places[0], other)

    def _visit_in_set(self, node: InSet) -> None:
        self.visit(node.operand, None)
        self.visit(node.container, None)
        if isinstance(node.container, Remote) and _is_placed(node.operand):
            self.sets[_place(node.container)] = _place(node.operand)
        elif isinstance(node.container, Remote):
            self.kinds[self.find(_place(node.container))] = set_of(self.known(node.operand) or TEXT)

    def _visit_arithmetic(self, node: Arithmetic, wanted: DataType | None) -> None:
        left, right = self.known(node.left), self.known(node.right)
        sides: tuple[DataType | None, DataType | None]
        if node.operator == "-" and wanted == DURATION and DURATION not in (left, right):
            sides = (TIMESTAMP, TIMESTAMP)
        elif node.operator in "+-" and (wanted == TIMESTAMP or TIMESTAMP in (left, right)):
            sides = (TIMESTAMP, TIMESTAMP if right == TIMESTAMP else DURATION)
        elif DURATION in (left, right) and node.operator in "+-":
            sides = (TIMESTAMP if right == DURATION else DURATION, DURATION)
        elif wanted == DURATION and node.operator == "*":
            sides = (DURATION, FLOAT)
        elif node.operator in "+-" and wanted is None and FLOAT not in (left, right):
            # Numbers, unless another condition tells that they are times.
            self.ordered.update(self.find(_place(n)) for n in (node.left, node.right) if _is_placed(n))
            sides = (None, None)
        else:
            sides = (FLOAT, FLOAT)
        self.visit(node.left, sides[0])
        self.visit(node.right, sides[1])

    def _visit_call(self, node: Call, wanted: DataType | None) -> None:
        builtin = BUILTINS.get(node.function.lower())
        if builtin is None:
            self.calls.setdefault(node.function, node.arguments)
            place = self.find(_place(node))
            if wanted is not None:
                self.kinds.setdefault(place, wanted)
            for argument in node.arguments:
                self.visit(argument, None)
        elif Takes.ALIKE in builtin.takes:
            common = self._known_call(node) or wanted
            for argument in node.arguments:
                self.visit(argument, common)
        else:
            for index, argument in enumerate(node.arguments):
                self.visit(argument, _TAKES[builtin.taken(index)])

    def settle(self) -> dict[_Place, DataType]:
        """The type of every place that was met."""
        types = {}
        for place in list(self.leader):
            if place not in self.sets:
                leader = self.find(place)
                types[place] = self.kinds.get(leader, FLOAT if leader in self.ordered else TEXT)
        for place, element in self.sets.items():
            types[place] = set_of(types.get(element, TEXT))
        return types

    def stores(self, types: dict[_Place, DataType]) -> dict[str, Store]:
        """The remote stores that were met."""
        found = {}
        for name, key in self.keys.items():
            places = {place[1:]: dtype for place, dtype in types.items() if place[0] == name}
            fields = _fields({path: dtype for path, dtype in places.items() if path})
            if () in places and not fields:
                fields = {"": places[()]}
            found[name] = Store(name, tuple(self._type(part, types) for part in key), fields)
        return found

    def functions(self, types: dict[_Place, DataType]) -> dict[str, Function]:
        """The functions that were met and are not built in."""
        return {
            name: Function(name, tuple(self._type(a, types) for a in arguments), types["()", name], declared_only)
            for name, arguments in self.calls.items()
        }

    def _type(self, part: Expression, types: dict[_Place, DataType]) -> DataType:
        if _is_placed(part):
            return types[_place(part)]
        known = self.known(part)
        return INT if known == FLOAT and isinstance(part, Literal) and part.kind is LiteralKind.INT else known or TEXT


def _is_placed(node: Node) -> bool:
    return isinstance(node, Attribute | Remote) or (isinstance(node, Call) and node.function.lower() not in BUILTINS)


def _place(node: Node) -> _Place:
    if isinstance(node, Call):
        return ("()", node.function)
    if isinstance(node, Remote):
        return (node.store, *node.path)
    assert isinstance(node, Attribute)
    return ("", *node.path)
