"""When matches of varying length were decided, and by which event (SEMANTICS 7.2)."""

from __future__ import annotations

import numpy as np

from cepheid.compiler.columns import KernelEvents
from cepheid.engine.neighbours import closing, or_neighbours
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k
from cepheid.plan.automaton import Automaton

END_US = np.iinfo(np.int64).max


def decisions(
    automaton: Automaton,
    events: KernelEvents,
    batch: EventBatch,
    firsts: k.Ints,
    lasts: k.Ints,
    decided: k.Ints,
    deciders: k.Ints,
) -> tuple[k.Ints, k.Ints, k.Ints]:
    """The decision points of matches in terms of the batch, from those of the kernel.

    The kernel knows neither the end of a sliding window nor the event at a place of a partition.

    Args:
        automaton: the plan.
        events, batch: the events, as the kernel has them and as they were given.
        firsts, lasts: int64, (n,): the first event of each match and its last, as the kernel numbers them.
        decided: int64, (n,): us, or a place in the partition where the plan counts events.
        deciders: int64, (n,): the event that decided, as the kernel numbers it, or less than 0: the end of a window
            did, or `TIMED_OUT` or `NOT_LEFT`; see also `LATE_AFTER`, `NEIGHBOUR` and `ALONE` in `kernels.layout`.

    Returns:
        us, the greatest int64 for the end of the input; positions in the batch, or -1; and `TIMED_OUT` or `NOT_LEFT`
        for what is no match, or else -1 or more.
    """
    kinds = np.where(deciders <= k.LATE_AFTER, -1, deciders)
    if not len(firsts):
        return decided, deciders, kinds
    near = np.flatnonzero(deciders <= k.NEIGHBOUR)
    if not len(near):
        return *_decisions(automaton, events, batch, firsts, lasts, decided, deciders), kinds
    own, alone = decided[near], deciders[near] == k.ALONE
    decided, deciders = decided.copy(), deciders.copy()
    decided[near] = closing(automaton, events, firsts[near], own)
    deciders[near] = k.LATE_AFTER - own if automaton.two_clocks else -1
    decided, deciders = _decisions(automaton, events, batch, firsts, lasts, decided, deciders)
    decided[near], deciders[near], read = or_neighbours(events, batch, own, decided[near], deciders[near])
    kinds[near[alone]] = np.where(read[alone], k.NOT_LEFT, k.TIMED_OUT)
    return decided, deciders, kinds


def _decisions(
    automaton: Automaton,
    events: KernelEvents,
    batch: EventBatch,
    firsts: k.Ints,
    lasts: k.Ints,
    decided: k.Ints,
    deciders: k.Ints,
) -> tuple[k.Ints, k.Ints]:
    """The same where nothing is decided by the event after the last one."""
    if automaton.two_clocks:
        return _by_two_clocks(automaton, events, batch, firsts, lasts, decided, deciders)
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


def _by_two_clocks(
    automaton: Automaton,
    events: KernelEvents,
    batch: EventBatch,
    firsts: k.Ints,
    lasts: k.Ints,
    decided: k.Ints,
    deciders: k.Ints,
) -> tuple[k.Ints, k.Ints]:
    """The same where one window or gap counts events and another measures time: the earliest of their ends decides."""
    assert events.counted is not None
    counted, late = events.counted, deciders < 0
    selected = np.arange(len(batch)) if events.selected is None else events.selected
    told = k.LATE_AFTER - deciders
    lasts = np.where(told >= 0, told & ((1 << k.GAPS_SHIFT) - 1), lasts)
    gaps = np.where(told >= 0, (told >> k.GAPS_SHIFT) + 1, 1)
    partitions = counted.partitions[selected[firsts]]

    def moment(reached: k.Ints, by_count: bool) -> tuple[k.Ints, k.Ints]:
        """When a clock has come so far: us, and the event by which it has, or -1."""
        if not by_count:
            return reached, np.full(len(reached), -1)
        at = counted.event_at(partitions, reached)
        return np.where(at < 0, END_US, batch.time_us[np.maximum(at, 0)]), at

    closes, by = moment(decided, automaton.counts_events)
    others = []
    if automaton.each_by_other and automaton.each is not None:
        clock = batch.time_us if automaton.counts_events else counted.places
        before = clock[selected[lasts]]
        # None of the two is near the end of int64 where the sum is.
        is_far = (gaps == k.MANY_GAPS) | (automaton.each > (END_US - np.maximum(before, 0)) // gaps)
        reached = np.where(is_far, END_US, before + automaton.each * np.where(is_far, 0, gaps))
        others.append(moment(reached, not automaton.counts_events))
    if events.windows is not None:
        windows = events.windows
        reached = windows.numbers[firsts] * windows.slide + windows.last
        others.append(moment(reached, automaton.counts_events != automaton.slides_by_other))
    for time, event in others:
        # What an event ends comes before what the time of that event does.
        same_time = (time == closes) & (event >= 0) & ((by < 0) | (event < by))
        earlier = (time < closes) | same_time
        closes, by = np.where(earlier, time, closes), np.where(earlier, event, by)
    own = selected[np.maximum(deciders, 0)]
    return np.where(late, closes, batch.time_us[own]), np.where(late, by, own)
