"""When matches of varying length were decided, and by which event (SEMANTICS 7.2)."""

from __future__ import annotations

import numpy as np

from cepheid.compiler.columns import KernelEvents
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k


def decisions(
    events: KernelEvents, batch: EventBatch, firsts: k.Ints, decided: k.Ints, deciders: k.Ints
) -> tuple[k.Ints, k.Ints]:
    """The decision points of matches in terms of the batch, from those of the kernel.

    The kernel knows neither the end of a sliding window nor the event at a place of a partition.

    Args:
        events, batch: the events, as the kernel has them and as they were given.
        firsts: int64, (n,): the first event of each match, as the kernel numbers it.
        decided: int64, (n,): us, or a place in the partition where the windows count events.
        deciders: int64, (n,): the event that decided, as the kernel numbers it, or -1: the end of a window did.

    Returns:
        us, the greatest int64 for the end of the input; and positions in the batch, or -1.
    """
    if not len(firsts):
        return decided, deciders
    late = deciders < 0
    selected = np.arange(len(batch)) if events.selected is None else events.selected
    if events.windows is not None:
        windows = events.windows
        closes = windows.numbers[firsts] * windows.slide + windows.last
        decided = np.where(late, np.minimum(decided, closes), decided)
    deciders = np.where(late, -1, selected[np.maximum(deciders, 0)])
    if events.counted is None:
        return decided, deciders
    closing = events.counted.event_at(events.counted.partitions[selected[firsts]], decided)
    deciders = np.where(late, closing, deciders)
    return np.where(deciders < 0, np.iinfo(np.int64).max, batch.time_us[np.maximum(deciders, 0)]), deciders
