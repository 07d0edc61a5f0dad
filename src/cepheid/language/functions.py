"""The built-in functions: what each takes and what type it gives. What they compute is elsewhere.

A NULL argument gives NULL, but for the functions that pass NULLs over. Names are read in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from cepheid.events.types import BOOL, FLOAT, INT, TEXT, TIMESTAMP, DataType, Kind, decimal
from cepheid.language.results import DECIMAL_DIGITS, SCALARS, common_type_of, computed_decimal


class Takes(Enum):
    """What an argument may be."""

    NUMBER = "a number"
    DIGITS = "a whole number written in the query"
    INT = "an int"
    TEXT = "a text"
    TIMESTAMP = "a timestamp"
    ALIKE = "a value that can be compared with the others"


ResultRule: TypeAlias = Callable[[Sequence[DataType], int | None], DataType | None]
"""Types of the arguments and the value of the DIGITS one -> type of the result (None: no such result)."""


@dataclass(frozen=True)
class Builtin:
    """A built-in function.

    Attributes:
        name: in lower case.
        signature: as a message shows it.
        takes: what each argument may be; the last stands for all that follow.
        n_least, n_most: how many arguments it takes; ``n_most`` None for no bound.
        result: the type of the result, from those of the arguments.
        passes_nulls: NULL arguments are passed over (all NULL: NULL); else one NULL gives NULL.
    """

    name: str
    signature: str
    takes: tuple[Takes, ...]
    n_least: int
    n_most: int | None
    result: ResultRule
    passes_nulls: bool = False

    def taken(self, index: int) -> Takes:
        """What the argument at ``index`` may be."""
        return self.takes[min(index, len(self.takes) - 1)]


def accepts(takes: Takes, dtype: DataType) -> bool:
    """True where an argument of type ``dtype`` is what a function takes; the literal NULL always is."""
    if dtype.kind is Kind.NULL:
        return takes is not Takes.DIGITS
    match takes:
        case Takes.NUMBER:
            return dtype.is_number
        case Takes.INT | Takes.DIGITS:
            return dtype.kind is Kind.INT
        case Takes.TEXT:
            return dtype.kind is Kind.TEXT
        case Takes.TIMESTAMP:
            return dtype.kind is Kind.TIMESTAMP
        case Takes.ALIKE:
            return dtype.kind in SCALARS


def _always(dtype: DataType) -> ResultRule:
    return lambda types, digits: dtype


def _same(types: Sequence[DataType], digits: int | None) -> DataType:
    return types[0]


def _common(types: Sequence[DataType], digits: int | None) -> DataType | None:
    return common_type_of(types)


def _sign(types: Sequence[DataType], digits: int | None) -> DataType:
    return FLOAT if types[0].kind is Kind.FLOAT else INT


def _whole(types: Sequence[DataType], digits: int | None) -> DataType:
    return computed_decimal(0) if types[0].kind is Kind.DECIMAL else types[0]


def _round(types: Sequence[DataType], digits: int | None) -> DataType:
    if types[0].kind is not Kind.DECIMAL:
        return types[0]
    scale = min(types[0].scale or 0, max(0, digits or 0))
    return decimal(max(DECIMAL_DIGITS, scale), scale)


def _number(name: str, result: ResultRule) -> Builtin:
    return Builtin(name, f"{name}(number)", (Takes.NUMBER,), 1, 1, result)


def _text(name: str, result: DataType) -> Builtin:
    return Builtin(name, f"{name}(text)", (Takes.TEXT,), 1, 1, _always(result))


def _time(name: str) -> Builtin:
    return Builtin(name, f"{name}(timestamp)", (Takes.TIMESTAMP,), 1, 1, _always(INT))


_TABLE = (
    _number("abs", _same),
    _number("sign", _sign),
    _number("floor", _whole),
    _number("ceil", _whole),
    Builtin("round", "round(number[, digits])", (Takes.NUMBER, Takes.DIGITS), 1, 2, _round),
    _number("sqrt", _always(FLOAT)),
    Builtin("power", "power(number, number)", (Takes.NUMBER,), 2, 2, _always(FLOAT)),
    Builtin("least", "least(value, value, ...)", (Takes.ALIKE,), 2, None, _common, passes_nulls=True),
    Builtin("greatest", "greatest(value, value, ...)", (Takes.ALIKE,), 2, None, _common, passes_nulls=True),
    Builtin("coalesce", "coalesce(value, ...)", (Takes.ALIKE,), 1, None, _common, passes_nulls=True),
    Builtin("distance", "distance(x1, y1, x2, y2)", (Takes.NUMBER,), 4, 4, _always(FLOAT)),
    _text("length", INT),
    _text("lower", TEXT),
    _text("upper", TEXT),
    _text("trim", TEXT),
    Builtin(
        "substring",
        "substring(text, position from 1, length)",
        (Takes.TEXT, Takes.INT, Takes.INT),
        3,
        3,
        _always(TEXT),
    ),
    Builtin("concat", "concat(text, ...)", (Takes.TEXT,), 1, None, _always(TEXT)),
    Builtin("starts_with", "starts_with(text, prefix)", (Takes.TEXT,), 2, 2, _always(BOOL)),
    Builtin("ends_with", "ends_with(text, suffix)", (Takes.TEXT,), 2, 2, _always(BOOL)),
    _time("year"),
    _time("month"),
    _time("day"),
    _time("hour"),
    _time("minute"),
    _time("second"),
    _time("day_of_week"),
)

BUILTINS: Mapping[str, Builtin] = {builtin.name: builtin for builtin in _TABLE}
"""Name in lower case -> built-in function."""


def expected(takes: Takes, others: Sequence[DataType], outer: DataType | None, gives_float: bool) -> DataType | None:
    """The type that a parameter has as an argument, or None where the text does not say.

    Args:
        takes: what the argument may be.
        others: types of the other arguments, as far as they are known.
        outer: the type that the whole call meets, or None.
        gives_float: the function computes in floats, whatever it is given.
    """
    match takes:
        case Takes.TEXT:
            return TEXT
        case Takes.INT | Takes.DIGITS:
            return INT
        case Takes.TIMESTAMP:
            return TIMESTAMP
        case Takes.NUMBER:
            if gives_float:
                return FLOAT
            return outer if outer is not None and outer.is_number else None
        case Takes.ALIKE:
            met = common_type_of(others)
            return outer if met is None or met.kind is Kind.NULL else met
