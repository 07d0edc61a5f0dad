"""Where the events lie that a pattern can take, found without looking at the others.

For one pattern every condition on one event is evaluated on all events, which costs a pass for each. A set of patterns
shares this index instead: for each attribute that some pattern compares with a constant, the events are put into
buckets by (type, value), once. A pattern then reads the buckets that its constants leave, and evaluates its conditions
on the events in them: what it costs depends on the events that fit it, not on those that there are.

The buckets of an attribute are monotone in its values, so those that a comparison leaves hold all events that fulfil
it, and few others. Which do is decided by the conditions themselves: the index can only save work.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.fit import MANY_EVENTS
from cepheid.compiler.load import bucket_kernel, mark_kernels
from cepheid.events.batch import EventBatch
from cepheid.events.column import ArrowColumn, Column
from cepheid.events.types import Kind
from cepheid.language.tree import At, Attribute, Compare, Expression, In, Literal, LiteralKind
from cepheid.plan.automaton import Element

Ints = NDArray[np.int64]
Path = tuple[str, ...]

MOST_BUCKETS = 1 << 16
"""Of all types together: numbers below it are sorted in two passes over the events."""

N_OCTAVES = 12
"""Powers of two between the widest bucket of a column of numbers and the narrowest."""

SPARSE = 512
"""Fewer than one event in so many are sorted; more are marked in an array of all events."""

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = frozenset((Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION, Kind.BOOL))


@dataclass(frozen=True)
class _Comparison:
    """An attribute against constants: ``operator`` is one of ``= < <= > >=``; several values stand for IN."""

    path: Path
    operator: str
    values: tuple[object, ...]


Partition = tuple[Ints, NDArray[np.bool_] | None, Ints]
"""The code of each event's partition, where it has one (None: everywhere), and the positions where it has none."""


@dataclass(eq=False)
class EventIndex:
    """The buckets of a batch of events, made when they are first asked for; see the module.

    Attributes:
        batch: the events.
    """

    batch: EventBatch
    _by_path: dict[Path | None, _Buckets | None] = field(default_factory=dict)
    _partitions: dict[tuple[Expression, ...], Partition] = field(default_factory=dict)
    _bits: NDArray[Any] | None = None

    def candidates(self, element: Element) -> list[Ints]:
        """The positions of all events that can fit an element, and of some that cannot, in several parts.

        Each position is in one part at most; the positions are in no order.
        """
        types = self._types(element)
        best: list[tuple[int, int]] | None = None
        chosen: _Buckets | None = None
        n_best = -1
        for path, comparisons in _by_attribute(element):
            buckets = self._buckets(path)
            if buckets is None:
                continue
            slices = buckets.slices(comparisons, types)
            n = sum(stop - start for start, stop in slices)
            if best is None or n < n_best:
                best, chosen, n_best = slices, buckets, n
        if best is None:
            chosen = self._buckets(None)
            assert chosen is not None
            best = chosen.slices([], types)
        assert chosen is not None
        return [chosen.positions[start:stop] for start, stop in best if stop > start]

    def together(self, fitting: Sequence[tuple[int, Ints]]) -> tuple[Ints, Ints]:
        """Events of several elements as one ascending list.

        Args:
            fitting: the number of each element, and the positions of the events that fit it, each once.

        Returns:
            The positions, each once and ascending, and for each the bits of the elements that it fits.
        """
        n = len(self.batch)
        kind = _bits_type(max((number for number, _ in fitting), default=0))
        if self._bits is None or self._bits.dtype.itemsize < kind.itemsize:
            self._bits = np.zeros(-(-n // 8) * 8, kind)
        bits = self._bits
        if bits.dtype == np.uint8 and n >= MANY_EVENTS:
            return _marked(bits, fitting)
        for number, positions in fitting:
            bits[positions] |= bits.dtype.type(1 << number)
        parts = [positions for _, positions in fitting if len(positions)]
        if sum(len(part) for part in parts) * SPARSE < n:
            every = np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
            every = every[np.diff(every, prepend=-1) != 0]
        else:
            every = _nonzero(bits)
        found = bits[every].astype(np.int64)
        bits[every] = 0
        return every, found

    def partition(
        self,
        expressions: tuple[Expression, ...],
        codes: Callable[[], tuple[Ints, NDArray[np.bool_] | None]],
    ) -> Partition:
        """The partitions by some expressions, which ``codes`` finds the first time."""
        if expressions not in self._partitions:
            values, valid = codes()
            nowhere = np.zeros(0, np.int64) if valid is None else np.flatnonzero(~valid)
            self._partitions[expressions] = values, valid, nowhere
        return self._partitions[expressions]

    def _types(self, element: Element) -> list[int]:
        """The codes of the types that an element takes."""
        batch = self.batch
        if batch.type_codes is None:
            return [0]
        if not element.types:
            return list(range(len(batch.type_names)))
        return [code for code, name in enumerate(batch.type_names) if name in element.types]

    def _buckets(self, path: Path | None) -> _Buckets | None:
        if path not in self._by_path:
            self._by_path[path] = _buckets_of(self.batch, path)
        return self._by_path[path]


def _marked(bits: NDArray[np.uint8], fitting: Sequence[tuple[int, Ints]]) -> tuple[Ints, Ints]:
    """`EventIndex.together` for few elements and many events; ``bits`` are zeros, before and after."""
    mark, collect = mark_kernels()
    most = 0
    for number, positions in fitting:
        mark(positions, 1 << number, bits)
        most += len(positions)
    every, found = np.empty(most, np.int64), np.empty(most, np.int64)
    n_found = collect(bits, bits.view(np.uint64), every, found)
    return every[:n_found], found[:n_found]


def _bits_type(number: int) -> np.dtype[Any]:
    """The narrowest type that holds the bit of an element: what is narrow stays in the processor's cache."""
    return np.dtype(np.uint8 if number < 8 else np.int64)


def _nonzero(bits: NDArray[Any]) -> Ints:
    """The places that are not zero, ascending; few of many, so words of zeros are passed over first."""
    words = np.flatnonzero(bits.view(np.uint64) != 0)
    per_word = 8 // bits.dtype.itemsize
    within = np.flatnonzero(bits.reshape(-1, per_word)[words] != 0)
    return words[within // per_word] * per_word + within % per_word


# --- what a condition says of an attribute ------------------------------------------------------------


def _by_attribute(element: Element) -> Iterator[tuple[Path, list[_Comparison]]]:
    """The comparisons with constants that every event of an element fulfils, by attribute."""
    found: dict[Path, list[_Comparison]] = {}
    for conjunct in element.conditions:
        comparison = _comparison(conjunct.expression)
        if comparison is not None:
            found.setdefault(comparison.path, []).append(comparison)
    yield from found.items()


def _comparison(expression: Expression) -> _Comparison | None:
    match expression:
        case Compare(operator=operator, left=Attribute(at=At.EACH) as read, right=Literal() as constant):
            pass
        case Compare(operator=operator, left=Literal() as constant, right=Attribute(at=At.EACH) as read):
            operator = _MIRRORED.get(operator, operator)
        case In(operand=Attribute(at=At.EACH) as read, negated=False):
            literals = [option for option in expression.options if isinstance(option, Literal)]
            if len(literals) < len(expression.options) or any(one.kind is LiteralKind.NULL for one in literals):
                return None
            return _Comparison(read.path, "=", tuple(one.value for one in literals))
        case _:
            return None
    if operator not in _MIRRORED or constant.kind is LiteralKind.NULL:
        return None
    return _Comparison(read.path, operator, (constant.value,))


# --- buckets ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Buckets:
    """Events by type, then by the bucket of an attribute.

    Attributes:
        positions: of all events, by type, bucket and position, int64.
        starts: where each bucket of each type begins in them, and the end; int64, (n_types * n_buckets + 1,).
        n_buckets: of one type.
        scale: the bucket of a value.
    """

    positions: Ints
    starts: Ints
    n_buckets: int
    scale: _Scale | None

    def slices(self, comparisons: Sequence[_Comparison], types: Iterable[int]) -> list[tuple[int, int]]:
        """The parts of ``positions`` that the comparisons leave, for events of these types; they do not overlap."""
        ranges = [(0, self.n_buckets)]
        for comparison in comparisons:
            assert self.scale is not None
            left = self.scale.ranges(comparison)
            ranges = [(max(a, c), min(b, d)) for a, b in ranges for c, d in left if max(a, c) < min(b, d)]
        starts = self.starts
        return [
            (int(starts[code * self.n_buckets + a]), int(starts[code * self.n_buckets + b]))
            for code in types
            for a, b in ranges
        ]


class _Scale(Protocol):
    """From the values of an attribute to the numbers of their buckets."""

    def ranges(self, comparison: _Comparison) -> list[tuple[int, int]]:
        """The buckets that hold all values of which a comparison is true: from one to before another, apart."""
        ...


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Buckets as wide as about a constant part of the distance from the least value: narrow near it, wide far away."""

    low: float
    step: float
    shift: int
    n_buckets: int

    def of(self, values: NDArray[np.float64]) -> NDArray[np.uint64]:
        """The bucket of each number; NaN is the greatest."""
        with np.errstate(invalid="ignore", over="ignore"):
            distance = values - self.low
        np.maximum(distance, 0.0, out=distance)
        distance += self.step
        # The bits of numbers above zero are in the order of the numbers; those of NaN, whatever its sign, are above.
        buckets = distance.view(np.uint64)
        buckets >>= np.uint64(self.shift)
        buckets -= np.uint64(_bits(self.step) >> self.shift)
        np.minimum(buckets, np.uint64(self.n_buckets - 1), out=buckets)
        return buckets

    def of_one(self, number: float) -> int:
        """The bucket of one number, which is not NaN: the same as `of` gives."""
        distance = max(number - self.low, 0.0) + self.step
        return min((_bits(distance) >> self.shift) - (_bits(self.step) >> self.shift), self.n_buckets - 1)

    def ranges(self, comparison: _Comparison) -> list[tuple[int, int]]:
        """See `_Scale`."""
        numbers = [float(value) for value in comparison.values if isinstance(value, int | float)]
        if len(numbers) < len(comparison.values):
            return [(0, self.n_buckets)]
        buckets = sorted({self.of_one(number) for number in numbers})
        match comparison.operator:
            case "=":
                return [(bucket, bucket + 1) for bucket in buckets]
            case "<" | "<=":
                return [(0, buckets[0] + 1)]
            case _:
                return [(buckets[0], self.n_buckets)]


@dataclass(frozen=True, eq=False)
class _Texts:
    """A bucket for each text, or for several where there are many."""

    codes: dict[str, int]
    n_buckets: int

    def ranges(self, comparison: _Comparison) -> list[tuple[int, int]]:
        """See `_Scale`."""
        if comparison.operator != "=":
            return [(0, self.n_buckets)]
        codes = [self.codes[value] for value in comparison.values if isinstance(value, str) and value in self.codes]
        return [(bucket, bucket + 1) for bucket in sorted({code % self.n_buckets for code in codes})]


def _bits(number: float) -> int:
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return int(bits)


def _buckets_of(batch: EventBatch, path: Path | None) -> _Buckets | None:
    """The buckets of an attribute; None for one that has none. Without an attribute, those of the types alone."""
    n_types = 1 if batch.type_codes is None else max(1, len(batch.type_names))
    most = MOST_BUCKETS // n_types
    if most < 1 or (path is not None and most < 16):
        return None if path is not None else _sorted_by(batch, None, 1, None)
    if path is None:
        return _sorted_by(batch, None, 1, None)
    column = batch.column(path)
    if isinstance(column, ArrowColumn):
        return None
    if column.type.kind is Kind.TEXT:
        texts = column.dictionary.to_pylist()
        n_buckets = min(len(texts), most)
        scale: _Scale = _Texts({text: code for code, text in enumerate(texts)}, n_buckets)
        return _sorted_by(batch, column.values % n_buckets, n_buckets, scale)
    if column.type.kind not in _NUMBERS:
        return None
    numbers = _numbers(column, most)
    return _sorted_by(batch, numbers.of(column.values.astype(np.float64)), numbers.n_buckets, numbers)


def _numbers(column: Column, most: int) -> _Numbers:
    values = column.values.astype(np.float64, copy=False)
    finite = values[np.isfinite(values)] if column.type.kind is Kind.FLOAT else values
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    span = high - low
    if not 0.0 < span < np.inf:
        return _Numbers(low, 1.0, 62, 1)
    step = max(span / 2**N_OCTAVES, np.finfo(np.float64).tiny)
    shift = 52
    while shift > 0 and _n_between(step, span, shift - 1) <= most:
        shift -= 1
    return _Numbers(low, step, shift, _n_between(step, span, shift))


def _n_between(step: float, span: float, shift: int) -> int:
    """The number of buckets from the least value to the greatest."""
    return (_bits(span + step) >> shift) - (_bits(step) >> shift) + 1


def _sorted_by(batch: EventBatch, buckets: NDArray[Any] | None, n_buckets: int, scale: _Scale | None) -> _Buckets:
    """The events by type and bucket; one bucket for each type where ``buckets`` is None."""
    n_types = 1 if batch.type_codes is None else max(1, len(batch.type_names))
    n_all = n_types * n_buckets
    # Numbers of two bytes NumPy sorts by radix; many are put into their buckets by a kernel.
    dtype: Any = np.uint16 if n_all <= MOST_BUCKETS and len(batch) < MANY_EVENTS else np.int64
    keys: NDArray[Any] = (
        np.zeros(len(batch), dtype) if batch.type_codes is None else batch.type_codes.astype(dtype, copy=True)
    )
    if buckets is not None:
        if n_types > 1:
            keys *= dtype(n_buckets)
        keys += buckets.astype(dtype)
    starts = np.zeros(n_all + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=n_all), out=starts[1:])
    if len(keys) < MANY_EVENTS:
        return _Buckets(np.argsort(keys, kind="stable").astype(np.int64, copy=False), starts, n_buckets, scale)
    positions = np.empty(len(keys), np.int64)
    bucket_kernel()(keys.astype(np.int64, copy=False), starts.copy(), positions)
    return _Buckets(positions, starts, n_buckets, scale)
