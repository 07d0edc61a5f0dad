"""Some of the matches of a batch, and the events that they are made of."""

from __future__ import annotations

import numpy as np

from cepheid.engine.matches import Matches
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray
from cepheid.events.reorder import taken


def chosen(matches: Matches, kept: BoolArray) -> Matches:
    """Some of the matches, in their order.

    Args:
        matches: n matches.
        kept: bool, (n,).
    """
    if kept.all():
        return matches
    lengths = np.diff(matches.offsets)
    entries = np.repeat(kept, lengths)
    # By name, not as the same kind of matches with other arrays: the engine has kinds that hold them otherwise.
    return Matches(
        offsets=np.concatenate(([0], np.cumsum(lengths[kept]))).astype(np.int64),
        positions=matches.positions[entries],
        variables=matches.variables[entries],
        decided_us=matches.decided_us[kept],
        window_start_us=None if matches.window_start_us is None else matches.window_start_us[kept],
        window_end_us=None if matches.window_end_us is None else matches.window_end_us[kept],
    )


def narrowed(batch: EventBatch, matches: Matches) -> tuple[EventBatch, Matches]:
    """The events of matches as a batch of their own, and the matches pointing into that.

    Args:
        batch: what the matches point into; its rows are its events.
        matches: n matches.
    """
    positions, of_entry = np.unique(matches.positions, return_inverse=True)
    if len(positions) == len(batch):
        return batch, matches
    own = Matches(
        offsets=matches.offsets,
        positions=of_entry.reshape(-1).astype(np.int64, copy=False),
        variables=matches.variables,
        decided_us=matches.decided_us,
        window_start_us=matches.window_start_us,
        window_end_us=matches.window_end_us,
    )
    return taken(batch, positions), own
