"""When matches were decided that the next event of their partition ends (SEMANTICS 3.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import KernelEvents
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k
from cepheid.plan.automaton import Automaton

_END = 2**63 - 1


def closing(automaton: Automaton, events: KernelEvents, firsts: k.Ints, lasts: k.Ints) -> k.Ints:
    """When WITHIN and BETWEEN EACH let partial matches take no more, as far as the clock of the kernel tells.

    Args:
        automaton: of the plan.
        events: as the kernel has them.
        firsts, lasts: int64, (n,): the first and the last event of each, as the kernel numbers them.

    Returns:
        int64, (n,): us or places, the greatest int64 for never.
    """
    clock = events.ints[k.TIME_COLUMN * events.n :]
    closes = np.full(len(firsts), _END)
    for limit, since in ((automaton.within, firsts), (None if automaton.each_by_other else automaton.each, lasts)):
        if limit is not None:
            begin = clock[since]
            closes = np.minimum(closes, np.where(begin > _END - limit, _END, begin + limit))
    return closes


def or_neighbours(
    events: KernelEvents, batch: EventBatch, lasts: k.Ints, decided: k.Ints, deciders: k.Ints
) -> tuple[k.Ints, k.Ints, NDArray[np.bool_]]:
    """The next event of the partition, or what ends a partial match before that.

    Args:
        events, batch: the events, as the kernel has them and as they were given.
        lasts: int64, (n,): the last event of each, as the kernel numbers it.
        decided, deciders: int64, (n,): when its windows close, us, and the position of the event that does it, or -1.

    Returns:
        the same for whichever comes first; and whether the next event comes while the windows are open.
    """
    assert events.neighbours is not None
    own = lasts if events.selected is None else events.selected[lasts]
    following = events.neighbours.event_at(events.neighbours.partitions[own], events.neighbours.places[own] + 1)
    time = np.where(following < 0, _END, batch.time_us[np.maximum(following, 0)])
    sooner = (time < decided) | ((time == decided) & ((deciders < 0) | (following < deciders)))
    comes = (following >= 0) & sooner
    read = comes | ((following >= 0) & (following == deciders))  # one that fills a window is in it
    return np.where(comes, time, decided), np.where(comes, following, deciders), read
