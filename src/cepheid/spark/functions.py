"""The built-in functions that Spark computes as the engine does.

Left to the engine: round and power (Spark rounds and raises otherwise in the last digit), lower and upper (Java's
letter tables differ), and whatever a function does not take here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.events.types import DataType, Kind
from cepheid.language import tree
from cepheid.spark import values
from cepheid.spark.values import NotPushed

_HALF_EXACT = float(2**52)  # from here on every double is a whole number


@dataclass(frozen=True)
class Invocation:
    """A call of a built-in function whose arguments are columns already.

    Attributes:
        call: as written.
        arguments: its arguments.
        types: theirs.
        result: the type of the result.
    """

    call: tree.Call
    arguments: Sequence[Column]
    types: Sequence[DataType]
    result: DataType

    @property
    def first(self) -> Column:
        """The first argument."""
        return self.arguments[0]


def _abs(of: Invocation) -> Column:
    if of.result.kind is Kind.FLOAT:
        return F.abs(of.first)
    return F.when(of.first < 0, values.negative(of.first, of.result)).otherwise(of.first)


def _sign(of: Invocation) -> Column:
    if of.types[0].kind is Kind.FLOAT:
        return F.signum(of.first)
    return F.when(of.first > 0, values.long(1)).when(of.first < 0, values.long(-1)).when(of.first == 0, values.long(0))


def _whole(spark: Callable[[Column], Column]) -> Callable[[Invocation], Column]:
    def function(of: Invocation) -> Column:
        match of.types[0].kind:
            case Kind.INT:
                return of.first
            case Kind.FLOAT:
                # Spark gives a bigint, which does not hold every double.
                small = F.abs(of.first) < F.lit(_HALF_EXACT)
                return F.when(small, spark(of.first).cast("double")).otherwise(of.first)
            case kind:
                raise NotPushed(f"{of.call.function} of {kind.value}")

    return function


def _sqrt(of: Invocation) -> Column:
    return F.sqrt(values.double(of.first, of.types[0]))


def _distance(of: Invocation) -> Column:
    x1, y1, x2, y2 = (values.double(c, t) for c, t in zip(of.arguments, of.types, strict=True))
    return F.sqrt((x1 - x2) * (x1 - x2) + (y1 - y2) * (y1 - y2))


def _chosen(spark: Callable[..., Column]) -> Callable[[Invocation], Column]:
    def function(of: Invocation) -> Column:
        alike = []
        for column, dtype in zip(of.arguments, of.types, strict=True):
            if dtype.kind is Kind.NULL:
                alike.append(values.null(of.result))
            elif of.result.kind is Kind.FLOAT:
                alike.append(values.double(column, dtype))
            elif dtype == of.result:
                alike.append(column)
            else:
                raise NotPushed(f"{of.call.function} of {dtype} as {of.result}")
        return alike[0] if len(alike) == 1 else spark(*alike)

    return function


def _length(of: Invocation) -> Column:
    return F.length(of.first).cast("long")


def _substring(of: Invocation) -> Column:
    _, position, length = of.call.arguments
    at, n = (a.value if isinstance(a, tree.Literal) else None for a in (position, length))
    # Spark counts positions below 1 from the end of the text.
    if not (isinstance(at, int) and isinstance(n, int) and 1 <= at < 2**31 and 0 <= n < 2**31):
        raise NotPushed("substring with a place that is computed, or before the text")
    return F.substring(of.first, at, n)


def _text(spark: Callable[..., Column]) -> Callable[[Invocation], Column]:
    def function(of: Invocation) -> Column:
        arguments = (
            values.null(DataType(Kind.TEXT)) if t.kind is Kind.NULL else c
            for c, t in zip(of.arguments, of.types, strict=True)
        )
        return spark(*arguments)

    return function


def _date_part(spark: Callable[[Column], Column]) -> Callable[[Invocation], Column]:
    def function(of: Invocation) -> Column:
        days = F.call_function("div", of.first - _in_day(of.first), values.long(values.DAY_US))
        return spark(F.date_from_unix_date(days.cast("int"))).cast("long")

    return function


def _time_part(unit_us: int, n_units: int) -> Callable[[Invocation], Column]:
    def function(of: Invocation) -> Column:
        return F.call_function("div", _in_day(of.first), values.long(unit_us)) % values.long(n_units)

    return function


def _in_day(instant: Column) -> Column:
    """Microseconds since midnight, UTC: Spark's own functions go by the session's time zone."""
    return F.pmod(instant, values.long(values.DAY_US))


FUNCTIONS: Mapping[str, Callable[[Invocation], Column]] = {
    "abs": _abs,
    "sign": _sign,
    "floor": _whole(F.floor),
    "ceil": _whole(F.ceil),
    "sqrt": _sqrt,
    "distance": _distance,
    "least": _chosen(F.least),
    "greatest": _chosen(F.greatest),
    "coalesce": _chosen(F.coalesce),
    "length": _length,
    "trim": _text(F.trim),
    "substring": _substring,
    "concat": _text(F.concat),
    "starts_with": _text(F.startswith),
    "ends_with": _text(F.endswith),
    "year": _date_part(F.year),
    "month": _date_part(F.month),
    "day": _date_part(F.dayofmonth),
    "day_of_week": _date_part(F.dayofweek),
    "hour": _time_part(3_600_000_000, 24),
    "minute": _time_part(60_000_000, 60),
    "second": _time_part(1_000_000, 60),
}
"""Name in lower case -> its translation, which raises `NotPushed` for what it does not take."""
