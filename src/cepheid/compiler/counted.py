"""The places of events in their partitions, for windows that count events (SEMANTICS 5.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountedEvents:
    """The events of a batch, by partition.

    Attributes:
        places: int64, (n,): the place of each event in its partition, before any filter.
        partitions: int64, (n,): the number of its partition.
        in_order: int64, (n,): positions in the batch, those of one partition side by side.
        starts: int64, (number of partitions + 1,): where each partition begins in ``in_order``.
        before: int64, (number of partitions,): how many events of each partition came before the batch; None: none.
    """

    places: Ints
    partitions: Ints
    in_order: Ints
    starts: Ints
    before: Ints | None = None

    def event_at(self, partitions: Ints, places: Ints) -> Ints:
        """The positions in the batch of events that are at some places of partitions; -1 where there is none."""
        lengths = np.diff(self.starts)
        if self.before is not None:
            places = places - self.before[partitions]
        there = places < lengths[partitions]
        at = self.starts[:-1][partitions] + np.where(there, places, 0)
        return np.where(there, self.in_order[at], -1)


def count_events(codes: Ints | None, left_out: Ints, n: int, known: Ints | None = None) -> CountedEvents:
    """Count events.

    Args:
        codes: int64, (n,): of the partition of each event; None where all are in one.
        left_out: positions of events that are in no partition.
        n: number of events.
        known: `EventBatch.places`, where the batch is a later part of a stream.
    """
    counted = _count(codes, left_out, n)
    if known is None or n == 0:
        return counted
    # What is kept of a partition ends with its last event, so the place of its first event tells all others.
    firsts = known[counted.in_order[np.minimum(counted.starts[:-1], n - 1)]]
    before = np.maximum(firsts, 0)
    return replace(counted, places=counted.places + before[counted.partitions], before=before)


def _count(codes: Ints | None, left_out: Ints, n: int) -> CountedEvents:
    everywhere = np.arange(n)
    if codes is None:
        return CountedEvents(everywhere, np.zeros(n, np.int64), everywhere, np.array([0, n], np.int64))
    _, partitions = np.unique(codes, return_inverse=True)
    partitions = partitions.astype(np.int64) + 1
    partitions[left_out] = 0
    in_order = np.argsort(partitions, kind="stable").astype(np.int64, copy=False)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(partitions, minlength=1))))
    places = np.empty(n, np.int64)
    places[in_order] = everywhere - starts[partitions[in_order]]
    return CountedEvents(places, partitions, in_order, starts)
