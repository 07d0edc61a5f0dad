"""How often each of some whole numbers was seen: a distribution fitted without a family of shapes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64Array = NDArray[np.int64]

_FEW_BINS = 1 << 10


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Counts of the values that were seen: a histogram with a bin for each (ProbSlack, 𝔉 in section 3.1).

    Attributes:
        values: int64, (n,), ascending, each once.
        counts: int64, (n,), each from 1.
    """

    values: Int64Array
    counts: Int64Array

    @classmethod
    def of(cls, values: Int64Array) -> Frequencies:
        """Those of some values, int64, in any order."""
        if len(values):
            least = int(values.min())
            span = int(values.max()) - least + 1
            if span <= max(_FEW_BINS, 4 * len(values)):  # counted in place, without sorting
                in_place = np.bincount(values - least, minlength=span)
                seen = np.flatnonzero(in_place)
                return cls(seen + least, in_place[seen])
        found, counts = np.unique(values, return_counts=True)
        return cls(found.astype(np.int64), counts.astype(np.int64))

    @classmethod
    def none(cls) -> Frequencies:
        """Nothing was seen."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n(self) -> int:
        """How many were seen."""
        return int(self.counts.sum())

    def and_also(self, *others: Frequencies) -> Frequencies:
        """What was seen in several samples together."""
        samples = [sample for sample in (self, *others) if len(sample)]
        if len(samples) <= 1:
            return samples[0] if samples else self
        seen = np.concatenate([sample.values for sample in samples])
        weights = np.concatenate([sample.counts for sample in samples])
        least = int(min(sample.values[0] for sample in samples))
        span = int(max(sample.values[-1] for sample in samples)) - least + 1
        if span <= max(_FEW_BINS, 4 * len(seen)):  # added in place, without sorting
            added = np.bincount(seen - least, weights, span)
            places = np.flatnonzero(added)
            return Frequencies(places + least, np.rint(added[places]).astype(np.int64))
        values, places = np.unique(seen, return_inverse=True)
        counts = np.bincount(places, weights, len(values))
        return Frequencies(values, np.rint(counts).astype(np.int64))

    def said(self) -> list[list[int]]:
        """The values and the counts, as JSON can say them."""
        return [self.values.tolist(), self.counts.tolist()]

    @classmethod
    def from_said(cls, said: Any) -> Frequencies:
        """What `said` gave."""
        values, counts = said
        return cls(np.array(values, np.int64), np.array(counts, np.int64))


@dataclass(frozen=True, eq=False)
class Bins:
    """A distribution on ranges of whole numbers, which do not overlap and ascend.

    Attributes:
        least, greatest: int64, (n,): the ends of each range, both in it.
        probabilities: float64, (n,), their sum is 1.
    """

    least: Int64Array
    greatest: Int64Array
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, seen: Frequencies, n_most: int) -> Bins:
        """A bin for each value; where these are more than ``n_most``, for neighbours that are about as often together.

        Args:
            seen: at least one value.
            n_most: at least 1.
        """
        values, counts = seen.values, seen.counts
        total = counts.sum()
        if len(values) <= n_most:
            return cls(values, values, counts / total)
        # By the middle of what lies below and with each value, so that a frequent value stands alone.
        middle = np.cumsum(counts) - counts / 2
        group = np.minimum((middle * n_most / total).astype(np.int64), n_most - 1)
        first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
        last = np.concatenate((first[1:], [len(values)])) - 1
        return cls(values[first], values[last], np.add.reduceat(counts, first) / total)

    def said(self) -> list[list[Any]]:
        """The ends and the probabilities, as JSON can say them."""
        return [self.least.tolist(), self.greatest.tolist(), self.probabilities.tolist()]

    @classmethod
    def from_said(cls, said: Any) -> Bins:
        """What `said` gave."""
        least, greatest, probabilities = said
        return cls(np.array(least, np.int64), np.array(greatest, np.int64), np.array(probabilities, np.float64))


class LatestStretches:
    """The values of the last stretches of a stream, of which one ends whenever `end_stretch` is called.

    With one stretch it is a window that jumps (ProbSlack's Listing 4). With several it slides: what it holds is at most
    one part in ``n_stretches`` older than it should be. (Section 3.1 leaves sliding windows as future work.)
    """

    def __init__(self, n_stretches: int = 1) -> None:
        """Start empty.

        Args:
            n_stretches: how many are held beside the one that has not ended, less one; at least 1.
        """
        self._ended: deque[Frequencies] = deque(maxlen=n_stretches - 1)
        self._open = Frequencies.none()

    def add(self, values: Int64Array) -> None:
        """Count values, int64."""
        self._open = self._open.and_also(Frequencies.of(values))

    def seen(self) -> Frequencies:
        """All that is held."""
        return self._open.and_also(*self._ended)

    def end_stretch(self) -> None:
        """Begin the next stretch, and forget the oldest one."""
        self._ended.append(self._open)
        self._open = Frequencies.none()

    def clear(self) -> None:
        """Forget everything."""
        self._ended.clear()
        self._open = Frequencies.none()

    @property
    def n_entries(self) -> int:
        """Values that are counted, those of each stretch by themselves."""
        return len(self._open) + sum(len(stretch) for stretch in self._ended)

    def said(self) -> Any:
        """What is held, as JSON can say it."""
        return [stretch.said() for stretch in (*self._ended, self._open)]

    def restore(self, said: Any) -> None:
        """Go on from what `said` gave."""
        *ended, self._open = map(Frequencies.from_said, said)
        self._ended.clear()
        self._ended.extend(ended)
