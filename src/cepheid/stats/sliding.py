"""Sums over the last stretch of a stream, sample by sample."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Sums = NDArray[np.float64]


class SlidingSums:
    """Sums over as many of the last samples as cover a span, and at least the last one.

    Attributes:
        n_samples: how many samples the sums are over.
    """

    def __init__(self, span: float) -> None:
        """Begin without samples.

        Args:
            span: the length to be covered, in the unit of the lengths of samples.
        """
        self._span = span
        self._samples: deque[tuple[float, Sums]] = deque()

    def add(self, length: float, values: Sums) -> None:
        """Take a sample.

        Args:
            length: of the stretch that it is about; one that is negative counts as none.
            values: to be summed; shape (n,), float64, the same n always.
        """
        self._samples.append((max(length, 0.0), values))
        # What is left without the oldest must still cover the span.
        while len(self._samples) > 1 and self.length - self._samples[0][0] >= self._span:
            self._samples.popleft()

    @property
    def samples(self) -> tuple[tuple[float, Sums], ...]:
        """What the sums are over, the oldest first: to be given to `add` again, which makes the same sums."""
        return tuple(self._samples)

    @property
    def n_samples(self) -> int:
        """How many samples the sums are over."""
        return len(self._samples)

    @property
    def length(self) -> float:
        """The length that the samples cover."""
        return sum(length for length, _ in self._samples)

    def sums(self) -> Sums:
        """The sums; shape (n,), float64.

        Raises:
            IndexError: there is no sample.
        """
        total = self._samples[0][1].copy()
        for _, values in list(self._samples)[1:]:
            total += values
        return total


def share(n_held: float, n_tried: float) -> float:
    """An estimate of a share that is neither 0 nor 1: half a success and half a failure are added to what was seen.

    Args:
        n_held: how often it was so.
        n_tried: of so many times; 0 gives 1/2.
    """
    return float((n_held + 0.5) / (n_tried + 1))
