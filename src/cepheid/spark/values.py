"""Values of attributes as Spark columns, in one form per kind, and arithmetic on them as the engine does it.

INT is bigint, FLOAT double, TIMESTAMP and DURATION bigint microseconds, TEXT string compared by bytes, DECIMAL and
BOOL what they are. Spark's ANSI mode, on by default, raises on overflow and on division by zero, where a query's
meaning is NULL; so the ``try_`` functions stand wherever that can happen.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.events.types import DataType, Kind
from cepheid.language import tree
from cepheid.language.literals import constant_value

DAY_US = 86_400_000_000
_MOST_DIGITS = 38  # of a Spark decimal
_WORD_DIGITS = 19  # that the unscaled int64 of a decimal can have
_EXACT_DIGITS = 15  # of an integer that a double surely holds
_BINARY = "UTF8_BINARY"
_WORDS = (Kind.INT, Kind.TIMESTAMP, Kind.DURATION)


class NotPushed(Exception):
    """Why an expression is not translated."""


def named(name: str) -> Column:
    """The column called ``name``, whatever characters that has."""
    return F.col("`" + name.replace("`", "``") + "`")


def long(value: int) -> Column:
    """A constant of type bigint."""
    return F.lit(value).cast("long")


def micros(column: Column, of: spark.DataType) -> Column:
    """Microseconds since the epoch, UTC (bigint), of a column of timestamps or dates.

    A timestamp without zone is read as UTC whatever the session's time zone: casting it to one with a zone would
    read it in the session's zone, in which some local times stand for two instants.
    """
    if isinstance(of, spark.TimestampType):
        return F.unix_micros(column)
    days = F.unix_date(column if isinstance(of, spark.DateType) else column.cast("date")).cast("long")
    midnight = days * long(DAY_US)
    if isinstance(of, spark.DateType):
        return midnight
    seconds = (F.extract(F.lit("SECOND"), column) * 1_000_000).cast("long")
    return midnight + F.hour(column) * long(3_600_000_000) + F.minute(column) * long(60_000_000) + seconds


def by_bytes(column: Column, dtype: spark.DataType) -> Column:
    """Text compared by bytes, also where the column has a collation of its own."""
    return column if is_binary(dtype) else F.collate(column, _BINARY)


def is_binary(dtype: spark.DataType) -> bool:
    """False for text with a collation of its own."""
    return not isinstance(dtype, spark.StringType) or getattr(dtype, "collation", _BINARY) == _BINARY


def canonical(dtype: DataType) -> spark.DataType:
    """The type of the Spark column that holds values of type ``dtype`` here.

    Raises:
        NotPushed: there is none.
    """
    match dtype.kind:
        case Kind.INT | Kind.TIMESTAMP | Kind.DURATION:
            return spark.LongType()
        case Kind.FLOAT:
            return spark.DoubleType()
        case Kind.DECIMAL:
            return spark.DecimalType(min(_digits(dtype), _MOST_DIGITS), dtype.scale or 0)
        case Kind.TEXT:
            return spark.StringType()
        case Kind.BOOL | Kind.NULL:
            return spark.BooleanType()
        case kind:
            raise NotPushed(f"{kind.value} is not computed with in Spark")


def null(dtype: DataType) -> Column:
    """NULL, as a value of ``dtype``."""
    return F.lit(None).cast(canonical(dtype))


def literal(constant: tree.Literal, dtype: DataType) -> Column:
    """A constant of the query."""
    value = constant_value(constant)
    if value is None:
        return null(dtype)
    match dtype.kind:
        case Kind.INT | Kind.TIMESTAMP | Kind.DURATION if isinstance(value, int):
            return long(value)
        case Kind.FLOAT if isinstance(value, int | float):
            return F.lit(float(value))
        case Kind.DECIMAL if isinstance(value, decimal.Decimal) and (dtype.precision or 99) <= _MOST_DIGITS:
            return F.lit(value).cast(spark.DecimalType(dtype.precision or 0, dtype.scale or 0))
        case Kind.TEXT | Kind.BOOL:
            return F.lit(value)
        case _:
            raise NotPushed(f"a constant of type {dtype}")


def double(column: Column, dtype: DataType) -> Column:
    """A value as a double."""
    if dtype.kind is Kind.FLOAT:
        return column
    if dtype.kind is Kind.DECIMAL and (dtype.precision is None or dtype.precision > _EXACT_DIGITS):
        # The engine divides the unscaled number by a power of ten: one rounding only while both are exact.
        raise NotPushed(f"{dtype} may round otherwise on its way to a float")
    return column.cast("double")


def same(one: Column, left: DataType, other: Column, right: DataType) -> tuple[Column, Column]:
    """Two values as columns of one type, in which Spark compares them as the engine does.

    Raises:
        NotPushed: there is no such type.
    """
    if left.kind is Kind.NULL:
        return null(right), other
    if right.kind is Kind.NULL:
        return one, null(left)
    if left.kind is right.kind and left.kind is not Kind.DECIMAL:
        return one, other
    if not (left.is_number and right.is_number):
        raise NotPushed(f"{left} meets {right}")
    if Kind.FLOAT in (left.kind, right.kind):
        return double(one, left), double(other, right)
    whole = max(_digits(t) - (t.scale or 0) for t in (left, right))
    if whole + max(left.scale or 0, right.scale or 0) > _MOST_DIGITS:
        raise NotPushed("more digits than a Spark decimal has")
    return _exact(one, left), _exact(other, right)


def arithmetic(operator: str, one: Column, left: DataType, other: Column, right: DataType, result: DataType) -> Column:
    """``one operator other``.

    Raises:
        NotPushed: Spark might give something else.
    """
    if Kind.NULL in (left.kind, right.kind):
        return null(result)
    if operator == "/":
        return F.try_divide(double(one, left), double(other, right))
    if result.kind is Kind.FLOAT:
        one, other = double(one, left), double(other, right)
        return F.try_mod(one, other) if operator == "%" else _PLAIN[operator](one, other)
    if result.kind is Kind.DECIMAL:
        return _decimal_arithmetic(operator, one, left, other, right)
    if result.kind in _WORDS and left.kind in _WORDS and right.kind in _WORDS:
        return _CHECKED[operator](one, other)
    raise NotPushed(f"{left} {operator} {right} is not computed in Spark")


def negative(column: Column, dtype: DataType) -> Column:
    """``-column``."""
    match dtype.kind:
        case Kind.FLOAT:
            return -column
        case Kind.INT | Kind.DURATION:
            return F.try_subtract(long(0), column)
        case Kind.DECIMAL:
            return _fits_word(-column, dtype.scale or 0)
        case _:
            raise NotPushed(f"-{dtype}")


def compare(operator: str, one: Column, other: Column) -> Column:
    """``one operator other``, both of one type."""
    return _COMPARISONS[operator](one, other)


def _digits(dtype: DataType) -> int:
    return _WORD_DIGITS if dtype.kind is Kind.INT else dtype.precision or 0


def _exact(column: Column, dtype: DataType) -> Column:
    return column.cast(spark.DecimalType(_WORD_DIGITS, 0)) if dtype.kind is Kind.INT else column


def _fits_word(column: Column, scale: int) -> Column:
    """NULL where the unscaled number of a decimal does not fit int64."""
    least, greatest = (decimal.Decimal(bound).scaleb(-scale) for bound in (-(2**63), 2**63 - 1))
    fits = (column >= F.lit(least)) & (column <= F.lit(greatest))
    return F.when(fits, column).cast(spark.DecimalType(max(_WORD_DIGITS, scale), scale))


def _decimal_arithmetic(operator: str, one: Column, left: DataType, other: Column, right: DataType) -> Column:
    scales = [t.scale or 0 for t in (left, right)]
    if operator in ("+", "-"):
        scale = max(scales)
        needed = max(_digits(t) - (t.scale or 0) for t in (left, right)) + scale + 1
    elif operator == "*":
        # Spark reserves one digit more than a product can have.
        scale, needed = sum(scales), sum(_digits(t) for t in (left, right)) + 1
    else:
        raise NotPushed(f"decimal {operator}")
    if needed > _MOST_DIGITS:
        raise NotPushed("more digits than a Spark decimal has")
    return _fits_word(_PLAIN[operator](_exact(one, left), _exact(other, right)), scale)


_COMPARISONS: Mapping[str, Callable[[Column, Column], Column]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_PLAIN: Mapping[str, Callable[[Column, Column], Column]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_CHECKED: Mapping[str, Callable[[Column, Column], Column]] = {
    "+": F.try_add,
    "-": F.try_subtract,
    "*": F.try_multiply,
    "%": F.try_mod,
}
