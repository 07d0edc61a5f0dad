"""Sliding windows: an event goes to the kernel once for each window that holds it (SEMANTICS 5.2).

Windows are partitions to the kernel: what it finds in one, it finds in the events of that window alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.errors import DataError
from cepheid.language.bound import BoundWindow

Ints = NDArray[np.int64]

MOST_COPIES = 2**31


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of the events that go to the kernel.

    Attributes:
        numbers: int64, (number of copies,): the window of each copy: its start is that number times ``slide``.
        size, slide: us, or events.
        last: the greatest distance from the start inside: ``size`` where windows are closed, else one less.
    """

    numbers: Ints
    size: int
    slide: int
    last: int


def spread(window: BoundWindow, clock: Ints) -> tuple[Ints, Windows]:
    """Put events into windows.

    Args:
        window: one that slides.
        clock: int64, (m,): the times of the events in us, or their places in their partitions.

    Returns:
        which of the events each copy is, int64, ascending, and the windows of the copies.

    Raises:
        DataError: there would be too many copies.
    """
    size = window.size_us if window.size_us is not None else window.size_events
    slide = window.slide_us if window.slide_us is not None else window.slide_events
    assert size is not None
    assert slide is not None
    last = size if window.closed else size - 1
    lowest = -((last - clock) // slide)
    if window.size_events is not None:
        lowest = np.maximum(lowest, 0)  # the first window begins with the first event
    n_windows = clock // slide - lowest + 1
    if n_windows.sum(dtype=np.float64) >= MOST_COPIES:  # an int64 would not hold every sum
        raise DataError(
            f"the windows hold {n_windows.sum(dtype=np.float64):.0f} events together, more than a batch can hold",
            remedy="let windows slide further, or match a part of the events at a time",
        )
    copied = np.repeat(np.arange(len(clock)), n_windows)
    before = np.cumsum(n_windows) - n_windows
    numbers = lowest[copied] + np.arange(len(copied)) - before[copied]
    return copied, Windows(numbers, size, slide, last)


def partitions_of(codes: Ints | None, windows: Windows) -> Ints:
    """One code for each partition and window.

    Args:
        codes: int64, (number of copies,): of the partition, or None.
        windows: of the copies.
    """
    if codes is None or not len(windows.numbers):
        return windows.numbers
    _, partitions = np.unique(codes, return_inverse=True)
    least = int(windows.numbers.min())
    n_numbers = int(windows.numbers.max()) - least + 1
    numbers = windows.numbers - least
    if n_numbers * len(partitions) >= 2**63:  # windows that are short beside the stream leave most numbers out
        _, numbers = np.unique(numbers, return_inverse=True)
        n_numbers = len(numbers)
    combined: Ints = partitions.astype(np.int64) * n_numbers + numbers
    return combined
