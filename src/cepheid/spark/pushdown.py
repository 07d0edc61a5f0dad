"""Conditions on one event as Spark columns, where Spark gives what the engine gives.

An expression is translated whole or not at all: what Spark would compute otherwise (rounding, powers, letter case,
a registered function, ...) is left to the engine, which sees the event then. Values travel through the translation
in one form per kind: INT as bigint, FLOAT as double, TIMESTAMP and DURATION as bigint microseconds, TEXT as string
compared by bytes. Spark's ANSI mode, on by default, raises on overflow and on division by zero, where a query's
meaning is NULL; so the ``try_`` functions stand wherever that can happen.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeGuard

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.events.types import DataType, Kind
from cepheid.language import tree
from cepheid.language.tree import LiteralKind
from cepheid.spark import values
from cepheid.spark.functions import FUNCTIONS, Invocation
from cepheid.spark.schema import data_type
from cepheid.spark.values import NotPushed, named

_EPOCH = datetime.datetime(1970, 1, 1)
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Source:
    """The DataFrame that attributes are read from.

    Attributes:
        columns: its schema.
    """

    columns: spark.StructType

    def find(self, path: Sequence[str]) -> tuple[Column, spark.DataType] | None:
        """The column that an attribute is, as it stands, with its type; None where the events lack it."""
        if path[0] not in self.columns.names:
            return None
        column, dtype = named(path[0]), self.columns[path[0]].dataType
        for name in path[1:]:
            if not isinstance(dtype, spark.StructType) or name not in dtype.names:
                return None
            column, dtype = column.getField(name), dtype[name].dataType
        return column, dtype


@dataclass(frozen=True)
class Translation:
    """How expressions over one event become columns of a DataFrame.

    Attributes:
        source: where attributes are found.
        types: the type of every expression node, as bound.
        registered: names of registered functions, which shadow built-in ones.
    """

    source: Source
    types: Mapping[tree.Expression, DataType]
    registered: frozenset[str] = frozenset()

    def translate(self, expression: tree.Expression) -> Column | None:
        """The column that ``expression`` is for every event, or None where Spark might give something else."""
        try:
            return self.column(expression)
        except NotPushed:
            return None

    def column(self, expression: tree.Expression) -> Column:
        """As `translate`.

        Raises:
            NotPushed: Spark might give something else; says why.
        """
        match expression:
            case tree.Literal():
                return values.literal(expression, self.types[expression])
            case tree.Attribute():
                return self._attribute(expression)
            case tree.Compare():
                return self._compare(expression.operator, expression.left, expression.right)
            case tree.Conjunction():
                return reduce(lambda left, right: left & right, map(self.column, expression.operands))
            case tree.Disjunction():
                return reduce(lambda left, right: left | right, map(self.column, expression.operands))
            case tree.Negation():
                return ~self.column(expression.operand)
            case tree.IsNull():
                return self._is_null(expression)
            case tree.In():
                found = self._in(expression)
                return ~found if expression.negated else found
            case tree.InSet():
                found = self._in_list(expression)
                return ~found if expression.negated else found
            case tree.Like():
                found = F.like(self.column(expression.operand), F.lit(_plain_pattern(expression.pattern)))
                return ~found if expression.negated else found
            case tree.Arithmetic():
                return self._arithmetic(expression)
            case tree.Negative():
                return values.negative(self.column(expression.operand), self.types[expression])
            case tree.Call():
                return self._call(expression)
            case _:
                raise NotPushed(f"{type(expression).__name__} is not about one event")

    # --- attributes and conditions -------------------------------------------------------------------

    def _attribute(self, attribute: tree.Attribute) -> Column:
        if attribute.at is not tree.At.EACH:
            raise NotPushed(f"{attribute.at.value}() is about a whole variable")
        found = self.source.find(attribute.path)
        if found is None:
            return values.null(self.types[attribute])
        column, dtype = found
        match data_type(dtype).kind:
            case Kind.INT:
                return column if isinstance(dtype, spark.LongType) else column.cast("long")
            case Kind.FLOAT:
                return column if isinstance(dtype, spark.DoubleType) else column.cast("double")
            case Kind.TIMESTAMP:
                return values.micros(column, dtype)
            case Kind.TEXT:
                return values.by_bytes(column, dtype)
            case Kind.BOOL | Kind.DECIMAL:
                return column
            case kind:
                raise NotPushed(f"{kind.value} is not computed with in Spark")

    def _is_null(self, test: tree.IsNull) -> Column:
        found = self.source.find(test.operand.path) if _is_each(test.operand) else None
        column = found[0] if found is not None else self.column(test.operand)
        return column.isNotNull() if test.negated else column.isNull()

    def _compare(self, operator: str, left: tree.Expression, right: tree.Expression) -> Column:
        native = self._compare_times(operator, left, right)
        if native is not None:
            return native
        one, other = values.same(self.column(left), self.types[left], self.column(right), self.types[right])
        return values.compare(operator, one, other)

    def _compare_times(self, operator: str, left: tree.Expression, right: tree.Expression) -> Column | None:
        """A time column compared with a constant, in the column's own type: sources can skip data by it."""
        if isinstance(left, tree.Literal) and _is_each(right):
            return self._compare_times(_MIRRORED[operator], right, left)
        if not (_is_each(left) and isinstance(right, tree.Literal) and right.kind is LiteralKind.TIMESTAMP):
            return None
        found = self.source.find(left.path)
        if found is None or not isinstance(found[1], spark.TimestampType | spark.TimestampNTZType):
            return None
        assert isinstance(right.value, int)
        if isinstance(found[1], spark.TimestampType):
            return values.compare(operator, found[0], F.timestamp_micros(values.long(right.value)))
        try:
            moment = _EPOCH + datetime.timedelta(microseconds=right.value)
        except OverflowError:
            return None
        return values.compare(operator, found[0], F.lit(moment.isoformat(" ")).cast("timestamp_ntz"))

    def _in(self, test: tree.In) -> Column:
        dtype = self.types[test.operand]
        plain = [o for o in test.options if isinstance(o, tree.Literal) and self.types[o] == dtype]
        if dtype.kind in (Kind.INT, Kind.TEXT, Kind.TIMESTAMP, Kind.DURATION) and len(plain) == len(test.options):
            operand = self.column(test.operand)
            return operand.isin([o.value for o in plain])
        # Not isin for floats: above a number of options Spark looks them up in a hash set, in which -0.0 is not 0.0.
        return balanced_or([self._compare("=", test.operand, option) for option in test.options])

    def _in_list(self, test: tree.InSet) -> Column:
        element = self.types[test.container].element
        operand = self.types[test.operand]
        if not _is_each(test.container) or element is None or operand.kind is not element.kind:
            raise NotPushed("only lists that are columns are looked into, for values of their own type")
        found = self.source.find(test.container.path)
        if found is None or not isinstance(found[1], spark.ArrayType):
            raise NotPushed("the events have no such list")
        if element.kind not in (Kind.INT, Kind.TEXT, Kind.BOOL) or not values.is_binary(found[1].elementType):
            raise NotPushed(f"lists of {element} are not looked into by Spark")
        return F.array_contains(found[0], self.column(test.operand))

    # --- computed values -----------------------------------------------------------------------------

    def _arithmetic(self, computed: tree.Arithmetic) -> Column:
        left, right = computed.left, computed.right
        return values.arithmetic(
            computed.operator,
            self.column(left),
            self.types[left],
            self.column(right),
            self.types[right],
            self.types[computed],
        )

    def _call(self, call: tree.Call) -> Column:
        name = call.function.lower()
        if call.function in self.registered or name in self.registered:
            raise NotPushed(f"{call.function} is a registered function")
        translate = FUNCTIONS.get(name)
        if translate is None:
            raise NotPushed(f"{name} is not computed by Spark as by the engine")
        arguments = [self.column(a) for a in call.arguments]
        types = [self.types[a] for a in call.arguments]
        return translate(Invocation(call, arguments, types, self.types[call]))


def _is_each(expression: tree.Expression) -> TypeGuard[tree.Attribute]:
    return isinstance(expression, tree.Attribute) and expression.at is tree.At.EACH


def balanced_or(conditions: Sequence[Column]) -> Column:
    """OR of many without a deep tree, on which Spark's optimizer recurses."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return balanced_or(conditions[:middle]) | balanced_or(conditions[middle:])


def _plain_pattern(pattern: str) -> str:
    """``pattern``, if its backslashes stand before ``%``, ``_`` or a backslash; Spark refuses others."""
    at = 0
    while (at := pattern.find("\\", at)) >= 0:
        if pattern[at + 1 : at + 2] not in ("%", "_", "\\"):
            raise NotPushed("a backslash that escapes nothing")
        at += 2
    return pattern
