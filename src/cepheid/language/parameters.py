"""Values for the parameters of a query: ``:limit`` becomes a constant of the type that it was found to have."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar, cast

from cepheid.errors import ParameterError, SetupError
from cepheid.events.characters import lone_surrogate
from cepheid.events.types import DataType, Kind
from cepheid.language.bind import bound_query, placed_in
from cepheid.language.bound import BoundQuery
from cepheid.language.composite import composite_schema
from cepheid.language.faults import listing, place_of, shortened, suggestion
from cepheid.language.literals import INT_LEAST, INT_MOST, as_decimal, timestamp_us
from cepheid.language.scope import article
from cepheid.language.tree import Expression, In, InSet, Literal, LiteralKind, Node, Parameter, walk

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_N = TypeVar("_N", bound=Node)

_EXPECTED: Mapping[Kind, str] = {
    Kind.BOOL: "True or False",
    Kind.INT: "a whole number",
    Kind.FLOAT: "a number other than NaN",
    Kind.DECIMAL: "a decimal.Decimal (or a number) whose digits, the point left out, fit 64 bits",
    Kind.TEXT: "a str",
    Kind.TIMESTAMP: "a datetime, a date, or a text such as '2024-01-31 10:00:00'",
    Kind.DURATION: "a datetime.timedelta",
    Kind.LIST: "a list, tuple or set of values",
}


def require_parameters(values: object) -> Mapping[str, object]:
    """What stands as ``parameters=``; nothing for None.

    Raises:
        SetupError: it is no mapping.
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise SetupError(
            f"parameters={values!r} is no mapping",
            remedy='give the values by the names of the parameters: {"limit": 5}, or leave it out',
        )
    return values


def with_parameters(bound: BoundQuery, values: Mapping[str, object]) -> BoundQuery:
    """The query with every parameter replaced by a constant.

    Args:
        bound: a bound query; ``bound.parameters`` says which parameters it has, and of what type.
        values: parameter -> value. Numbers are numbers (NumPy's too), times are datetimes (UTC where they
            name no zone), dates or ISO texts, lengths of time are timedeltas; what stands after IN
            (``a.x IN :wanted``) is a list, tuple or set, which may be empty.

    Returns:
        A bound query without parameters, equal to the one that the constants in their place would give, but
        that values which no event can satisfy are not refused: there are then no matches. Its ``query`` is
        still the tree as written. An empty list gives an `In` without options: false, NOT IN true. A decimal
        that is computed with a constant has as many digits after the point as the constant's value needs.

    Raises:
        ParameterError: a parameter has no value, a value has no parameter, or has the wrong type.
        SetupError: the values are no mapping.
    """
    require_parameters(values)
    _check_names(bound, values)
    if not bound.parameters:
        return bound
    inner, schema = bound.inner, bound.schema
    if inner is not None:
        inner = with_parameters(inner, {name: values[name] for name in inner.parameters})
        # Values may change the type of a column: a decimal has the digits that its constants need.
        assert bound.query.source is not None, "what has an inner query names it"
        schema = composite_schema(inner, bound.query.source)
    text, placed = placed_in(bound.query, bound.text)
    named = {node.name for node in walk(placed) if isinstance(node, Parameter)}
    constants = {name: _constants(bound, name, values[name]) for name in bound.parameters if name in named}
    filled = _substituted(placed, constants)
    result = replace(bound_query(filled, schema, bound.catalog, text, filled=True), inner=inner)
    returns = tuple(replace(new, name=old.name) for new, old in zip(result.returns, bound.returns, strict=True))
    result = replace(result, returns=returns, identified=bound.identified)
    return replace(result, query=bound.query, text=bound.text, origin=bound.origin)


def _check_names(bound: BoundQuery, values: Mapping[str, object]) -> None:
    for name in values:
        if name not in bound.parameters:
            known = listing(f":{have}" for have in bound.parameters)
            raise ParameterError(
                f"the query has no parameter :{name}",
                remedy=suggestion(name, bound.parameters, f"its parameters are: {known}"),
                origin=bound.origin,
            )
    for name, dtype in bound.parameters.items():
        if name not in values:
            raise _error(bound, name, f"the parameter :{name} has no value", f"give it {_EXPECTED[dtype.kind]}")


def _error(bound: BoundQuery, name: str, message: str, remedy: str) -> ParameterError:
    _, placed = placed_in(bound.query, bound.text)
    node = next((n for n in walk(placed) if isinstance(n, Parameter) and n.name == name), None)
    span = place_of(node) if bound.text else None
    text = bound.text if span is not None else None
    return ParameterError(message, remedy=remedy, text=text, span=span, origin=bound.origin)


def _constants(bound: BoundQuery, name: str, value: object) -> tuple[Literal, ...]:
    """The constant of a parameter, or all of them for one that stands after IN."""
    dtype = bound.parameters[name]
    if dtype.kind is not Kind.LIST:
        return (_constant(bound, name, value, dtype),)
    assert dtype.element is not None
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise _wrong(bound, name, value, dtype)
    # A set has no order of its own; the query built from it should not depend on the run.
    items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
    return tuple(_constant(bound, name, item, dtype.element) for item in items)


def _wrong(bound: BoundQuery, name: str, value: object, dtype: DataType) -> ParameterError:
    kind = type(value).__name__
    given = "None" if value is None else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} ({shortened(repr(value))})"
    remedy = f"give it {_EXPECTED[dtype.kind]}"
    if value is None:
        remedy += "; for NULL write IS NULL in the query"
    elif isinstance(value, str) and lone_surrogate(value) is not None:
        remedy += " without halves of surrogate pairs, which are no characters"
    elif dtype.kind is Kind.INT and isinstance(value, int) and not isinstance(value, bool):
        remedy = "give it one that fits 64 bits"
    elif dtype.kind is Kind.INT and isinstance(value, (float, Decimal)):
        remedy += f", or write (1.0 * :{name}) in the query to compare with fractions"
    return _error(bound, name, f"the parameter :{name} is {article(dtype)}, and the value is {given}", remedy)


def _constant(bound: BoundQuery, name: str, value: object, dtype: DataType) -> Literal:
    plain = _plain(value)
    literal = _literal(plain, dtype)
    if literal is None:
        raise _wrong(bound, name, value, dtype)
    return literal


def _plain(value: object) -> object:
    """``value`` as Python has it, where it is a scalar of NumPy or pandas (which are not imported for this)."""
    converted: Any = value
    if type(value).__name__ in ("datetime64", "timedelta64"):
        converted = converted.astype(f"{type(value).__name__}[us]")
    if type(value).__module__.partition(".")[0] == "numpy" and getattr(converted, "size", 0) == 1:
        converted = converted.item()
    return converted


def _literal(value: object, dtype: DataType) -> Literal | None:
    match dtype.kind:
        case Kind.BOOL:
            return Literal(value, LiteralKind.BOOL) if isinstance(value, bool) else None
        case Kind.TEXT:
            fits = isinstance(value, str) and lone_surrogate(value) is None
            return Literal(value, LiteralKind.TEXT) if fits else None
        case Kind.INT:
            whole = _whole(value)
            return None if whole is None else Literal(whole, LiteralKind.INT)
        case Kind.FLOAT:
            number = _float(value)
            return None if number is None else Literal(number, LiteralKind.FLOAT)
        case Kind.DECIMAL:
            if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
                return None
            exact = as_decimal(value)
            return None if exact is None else Literal(exact, LiteralKind.DECIMAL)
        case Kind.TIMESTAMP:
            return _timestamp(value)
        case Kind.DURATION:
            if not isinstance(value, timedelta):
                return None
            return Literal(value // timedelta(microseconds=1), LiteralKind.DURATION)
        case _:
            return None


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (float, Decimal)):
        if not math.isfinite(value) or value != int(value):
            return None
        value = int(value)
    try:
        whole = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return whole if INT_LEAST <= whole <= INT_MOST else None


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    # An infinity stands for "no limit"; NaN equals no constant, not even itself in Python.
    return None if math.isnan(number) else number


def _timestamp(value: object) -> Literal | None:
    if isinstance(value, str):
        moment = timestamp_us(value)
        return None if moment is None else Literal(moment, LiteralKind.TIMESTAMP)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    # pandas.NaT is a datetime that is no time; it does not equal itself.
    if not isinstance(value, datetime) or value != value:
        return None
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return Literal((aware - _EPOCH) // timedelta(microseconds=1), LiteralKind.TIMESTAMP)


def _substituted(node: _N, constants: Mapping[str, tuple[Literal, ...]]) -> _N:
    """``node`` with constants for parameters; one after IN becomes the list of its values."""
    changes: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changes[item.name] = _replaced(value, constants)
        elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
            changes[item.name] = tuple(_replaced(part, constants) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes) if changes else node


def _replaced(node: Node, constants: Mapping[str, tuple[Literal, ...]]) -> Node:
    if isinstance(node, Parameter):
        (constant,) = constants[node.name]
        return replace(constant, span=node.span)
    if isinstance(node, InSet) and isinstance(node.container, Parameter):
        options = tuple(replace(c, span=node.container.span) for c in constants[node.container.name])
        operand = cast(Expression, _replaced(node.operand, constants))
        return In(operand, options, node.negated, span=node.span)
    return _substituted(node, constants)
