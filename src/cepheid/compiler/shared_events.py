"""The events of a batch for the kernels of queries whose matches share their structure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import clocks_of, counted_events, evaluated, fitting, partition_codes, plain_ints
from cepheid.compiler.sliding import partitions_of, spread
from cepheid.compiler.tables import CompiledPlan
from cepheid.events.batch import EventBatch

FEW_MASKS = 1 << 16
"""Masks of elements below it are looked up in a table. The bound is chosen."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SharedEvents:
    """Events that fit some element, those of each partition (and window, where windows slide) side by side.

    Attributes:
        classes: int32, (n,): those that fit the same elements are of one class.
        masks: for each class the elements that its events fit, as bits.
        clock: int64, (n,): their times in us, or their places in their partitions: what WITHIN measures.
        positions: int64, (n,): their positions in the batch.
        starts: int64: where each partition begins, and ``n``; there is no empty one.
        null_keys: positions of events with NULL in SAME, which are in no partition.
    """

    classes: NDArray[np.int32]
    masks: tuple[int, ...]
    clock: Ints
    positions: Ints
    starts: Ints
    null_keys: Ints


def shared_events_of(compiled: CompiledPlan, batch: EventBatch) -> SharedEvents:
    """The events of a batch.

    Raises:
        DataError: a value does not fit a machine word; a registered function fails; windows hold too many events.
    """
    automaton = compiled.automaton
    positions, fit = fitting(compiled, batch, {})
    null_keys = np.zeros(0, np.int64)
    partition: Ints | None = None
    if automaton.partition:
        plain = plain_ints(batch, automaton.partition[0]) if len(automaton.partition) == 1 else None
        if plain is not None:
            partition, valid = plain, None
        else:
            partition, valid = partition_codes([evaluated(compiled, batch, e) for e in automaton.partition])
        if valid is not None:
            null_keys = np.flatnonzero(~valid)
            fit[~valid[positions]] = 0
    fits = fit != 0
    if not fits.all():
        positions, fit = positions[fits], fit[fits]
    clocks = clocks_of(compiled, batch, counted_events(compiled, batch, partition, null_keys))
    codes = None if partition is None else partition[positions]
    if automaton.sliding:
        copied, windows = spread(automaton.bound.window, clocks[automaton.slides_by_other][positions])
        codes = partitions_of(None if codes is None else codes[copied], windows)
        positions, fit = positions[copied], fit[copied]
    starts = np.array([0, len(positions)] if len(positions) else [0], np.int64)
    if codes is not None and len(codes):
        order, starts = _side_by_side(codes)
        positions, fit = positions[order], fit[order]
    classes, masks = _classes(fit)
    return SharedEvents(classes, masks, clocks[0][positions], positions, starts, null_keys)


def _side_by_side(codes: Ints) -> tuple[Ints, Ints]:
    """The order that puts equal codes side by side, those of each as they were, and where each begins (and all end)."""
    least = codes.min()
    narrow = int(codes.max()) - int(least) < 1 << 16
    # NumPy sorts numbers of two bytes by their digits, ten times as fast as wider ones.
    order = np.argsort((codes - least).astype(np.uint16) if narrow else codes, kind="stable")
    ordered = codes[order]
    begins = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return order.astype(np.int64, copy=False), np.concatenate(([0], begins, [len(codes)])).astype(np.int64)


def _classes(fit: Ints) -> tuple[NDArray[np.int32], tuple[int, ...]]:
    """The class of each event, and the mask of each class."""
    if not len(fit):
        return np.zeros(0, np.int32), ()
    if int(fit.max()) < FEW_MASKS and int(fit.min()) >= 0:
        masks = np.flatnonzero(np.bincount(fit))
        lookup = np.zeros(int(masks[-1]) + 1, np.int32)
        lookup[masks] = np.arange(len(masks))
        return lookup[fit], tuple(masks.tolist())
    masks, classes = np.unique(fit, return_inverse=True)
    return classes.astype(np.int32), tuple(masks.tolist())
