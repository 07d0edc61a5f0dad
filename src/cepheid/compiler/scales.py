"""Attributes that queries compare with constants: between which of the constants the value of each event lies.

Of an event, that is all that these comparisons need to know. It is found once, however many queries ask.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from cepheid.compiler.load import cell_kernel
from cepheid.events.arrow_memory import texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import Column
from cepheid.events.types import FLOAT, INT, DataType, Kind
from cepheid.language.literals import INT_LEAST, INT_MOST, constant_value
from cepheid.language.tree import At, Attribute, Compare, Expression, In, Literal, LiteralKind

Ints = NDArray[np.int64]
Halves = NDArray[np.int32]
Path = tuple[str, ...]
Range = tuple[int, int]

N_SQUARES = 2_048
"""Of a grid over the constants: its numbers fit the processor's nearest cache."""

_EXACT_FLOATS = 2**53
"""Whole numbers up to here are floats, too."""

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WHOLE = frozenset((Kind.INT, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION))


@dataclass(frozen=True)
class Comparison:
    """An attribute against constants: ``operator`` is one of ``= < <= > >=``; several values stand for IN."""

    path: Path
    operator: str
    values: tuple[object, ...]


def comparison_of(expression: Expression) -> Comparison | None:
    """The comparison that a condition on one event is; None for any other condition."""
    match expression:
        case Compare(operator=operator, left=Attribute(at=At.EACH) as read, right=Literal() as constant):
            pass
        case Compare(operator=operator, left=Literal() as constant, right=Attribute(at=At.EACH) as read):
            operator = _MIRRORED.get(operator, operator)
        case In(operand=Attribute(at=At.EACH) as read, negated=False):
            literals = [option for option in expression.options if isinstance(option, Literal)]
            if len(literals) < len(expression.options) or any(one.kind is LiteralKind.NULL for one in literals):
                return None
            return Comparison(read.path, "=", tuple(constant_value(one) for one in literals))
        case _:
            return None
    if operator not in _MIRRORED or constant.kind is LiteralKind.NULL:
        return None
    return Comparison(read.path, operator, (constant_value(constant),))


@dataclass(frozen=True, eq=False)
class Scale:
    """The constants that an attribute is compared with.

    With ``m`` constants, a value lies at 2 k + 1 where it is equal to the one of number k, below the first at 0, above
    the last at 2 m, and NaN is above all numbers. So a comparison is true of the values in one or a few ranges.

    Attributes:
        constants: int64, or float64 for floats; ascending, each once. Texts stand there by their numbers.
        conditions: comparison -> its operator and constants, as they are for machine words.
        texts: of an attribute of texts: these, by number; else None.
    """

    constants: NDArray[Any]
    conditions: dict[Comparison, tuple[str, list[Any]]]
    texts: tuple[str, ...] | None = None

    @property
    def n_places(self) -> int:
        """How many places there are."""
        return 2 * len(self.constants) + 1

    def ranges(self, comparisons: Iterable[Comparison]) -> list[Range]:
        """The places of all values of which some comparisons are true: from one to before another, apart."""
        ranges = [(0, self.n_places)]
        known = self._known
        for comparison in comparisons:
            operator, values = self.conditions[comparison]
            equal = [2 * bisect_left(known, value) + 1 for value in values]
            match operator:
                case "=":
                    true = [(place, place + 1) for place in sorted(set(equal))]
                case "<":
                    true = [(0, equal[0])]
                case "<=":
                    true = [(0, equal[0] + 1)]
                case ">":
                    true = [(equal[0] + 1, self.n_places)]
                case _:
                    true = [(equal[0], self.n_places)]
            ranges = [(max(a, c), min(b, d)) for a, b in ranges for c, d in true if max(a, c) < min(b, d)]
        return ranges

    @cached_property
    def _known(self) -> list[Any]:
        known: list[Any] = self.constants.tolist()
        return known

    def places(self, column: Column) -> Ints:
        """The place of each value; int64, (n,). Those of rows without a value are of no meaning."""
        values = self._numbers(column)
        below = np.searchsorted(self.constants, values)
        return (below + np.searchsorted(self.constants, values, "right")).astype(np.int64, copy=False)

    def write_cells(self, column: Column, types: Halves, first: int, cells: Halves, counts: Ints) -> None:
        """The same for many events, with their types: ``first`` + type * ``n_places`` + the place of the value.

        Args:
            column: the values, as `values_of` gives them.
            types: int32, (n,): the numbers of the types of the events.
            first: the number of the first cell.
            cells: int32, (n,): gets the cells; events without a value are taken for 0.
            counts: int64, (types * ``n_places``,): the events of each cell are added.
        """
        scale, grid = self._grid()
        values = self._numbers(column)
        of_values: tuple[Any, ...] = (values,)
        if values.dtype != np.float64:
            of_values = values.__array_interface__["data"][0], values.itemsize
        # Kernels that run as plain Python compute with NumPy's scalars, which warn where machine code does not.
        with np.errstate(over="ignore", invalid="ignore"):
            write = cell_kernel(floats=values.dtype == np.float64)
            write(*of_values, types, self.constants, grid, scale, first, cells, counts)

    def _numbers(self, column: Column) -> NDArray[Any]:
        """The values as numbers that the constants are compared with: int32, int64 or float64."""
        if self.texts is None:
            return column.values
        dictionary = column.dictionary
        codes = pc.index_in(texts_of(list(self.texts)).cast(dictionary.type), value_set=dictionary).to_pylist()
        numbers = np.full(len(dictionary), -1, np.int64)
        for number, code in enumerate(codes):
            if code is not None:
                numbers[code] = number
        found: Ints = numbers[column.values]
        return found

    def _grid(self) -> tuple[NDArray[np.float64], Halves]:
        """The grid of `kernels.routing` over the constants, whose place on it is found in the same way there."""
        numbers = self.constants.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            span = float(numbers[-1] - numbers[0])
            scale = np.array([numbers[0], N_SQUARES / span if span > 0.0 else _STEEP])
            places = (numbers - scale[0]) * scale[1] + 1.0
        last = N_SQUARES + 1
        squares = np.where(places < last, np.maximum(places, 0.0), last).astype(np.int64)
        return scale, np.searchsorted(squares, np.arange(last + 2)).astype(np.int32)


_STEEP = 1e300
"""Squares for a distance of one, so that on the grid of a single constant all other values lie apart from it."""


def scale_of(dtype: DataType, comparisons: Iterable[Comparison]) -> Scale | None:
    """The scale of an attribute of a type for comparisons of it; None where none of them can be told by one."""
    texts: tuple[str, ...] | None = None
    conditions: dict[Comparison, tuple[str, list[Any]]] = {}
    if dtype.kind is Kind.TEXT:
        texts = tuple(sorted({value for one in comparisons for value in one.values if isinstance(value, str)}))
        numbers = {text: number for number, text in enumerate(texts)}
        for one in comparisons:
            if one.operator == "=":
                conditions[one] = "=", [numbers[value] for value in one.values if isinstance(value, str)]
    else:
        for one in comparisons:
            told = _told(dtype, one)
            if told is not None:
                conditions[one] = told
    if not conditions:
        return None
    # Where no value can be equal to any constant, there are none; but every scale has one.
    constants = sorted({value for _, values in conditions.values() for value in values}) or [0]
    wide: Any = np.float64 if dtype.kind is Kind.FLOAT else np.int64
    return Scale(np.array(constants, wide), conditions, texts)


def values_of(batch: EventBatch, path: Path) -> Column | None:
    """An attribute as int32, int64 or float64; None for one that is not compared with constants.

    Raises:
        DataError: a value does not fit a machine word.
    """
    values = batch.plain(path)
    if values is None:
        column = batch.column(path)
        return column if isinstance(column, Column) else None
    if values.dtype.kind == "f":
        return Column(np.ascontiguousarray(values, np.float64), None, FLOAT)
    narrow = values.dtype.itemsize <= 4 and values.dtype != np.uint32
    return Column(np.ascontiguousarray(values, np.int32 if narrow else np.int64), None, INT)


def _told(dtype: DataType, comparison: Comparison) -> tuple[str, list[Any]] | None:
    """A comparison of numbers as one of machine words with as exact a result; None where there is none."""
    operator, told = comparison.operator, []
    for value in comparison.values:
        if dtype.kind is Kind.FLOAT:
            if not isinstance(value, int | float) or not math.isfinite(value):
                return None
            told.append(float(value))
            continue
        exact = _exactly(dtype, value)
        if exact is None:
            return None
        if exact.denominator == 1:
            told.append(int(exact))
        elif operator != "=":
            # No whole number lies between the value and the next lower one.
            operator = ">" if operator in (">", ">=") else "<="
            told.append(math.floor(exact))
    if any(isinstance(value, int) and not INT_LEAST <= value <= INT_MOST for value in told):
        return None
    return operator, told


def _exactly(dtype: DataType, value: object) -> Fraction | None:
    """The machine word, or what lies between two, that a constant is where a column of whole numbers meets it."""
    if isinstance(value, float):
        # Where one of the two is as great as this, whole numbers are rounded before they meet a float.
        return Fraction(value) if dtype.kind is Kind.INT and abs(value) < _EXACT_FLOATS else None
    if not isinstance(value, int | Decimal):
        return None
    if dtype.kind is Kind.DECIMAL:
        return Fraction(value) * Fraction(10) ** (dtype.scale or 0)
    return Fraction(value) if dtype.kind in _WHOLE else None
