"""Runs chains whose events all have one key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.keyed_events import KeyedEvents
from cepheid.compiler.load import keyed_kernel
from cepheid.engine.pool import Pool
from cepheid.kernels import keyed as g
from cepheid.kernels import layout as k

FIRST_ROOM, LEAST_ROOM = 16, 2
"""Partial matches of a key and a step: for few keys, and for many."""

FEW_KEYS = 1 << 10

Ints = NDArray[np.int64]


def step_keyed(events: KeyedEvents, pool: Pool, most: int) -> int | None:
    """Step a plan over all events; the pool gets the matches, by positions in the batch, and what was done.

    Args:
        events: the events, and the plan.
        pool: for its output.
        most: partial matches for which room may be made.

    Returns:
        Bytes held for partial matches; None where that would be too many, or the kernel has no machine code yet, and
        nothing is known of the matches.
    """
    table = events.table
    n_steps = int(table[g.G_N_STEPS])
    advance, n_kept = keyed_kernel(n_steps, gaps=events.has_gaps), n_steps - 1
    if advance is None:
        return None
    work = _room(n_kept, events)
    most_words = len(work) + most * (g.E_EVENTS + n_kept)
    while (code := advance(table, events.fits, events.columns, work, pool.out)) != k.DONE:
        if code == k.OUTPUT_FULL:
            pool.pool[k.M_N_ENTRIES] = work[g.W_N_ENTRIES]
            pool.make_room(code)
        elif len(work) > most_words:
            return None
        else:
            work = _grown(work)
    header = pool.pool
    header[k.M_N_ENTRIES] = work[g.W_N_ENTRIES]
    header[k.M_N_MATCHES] = work[g.W_N_ENTRIES] // table[g.G_N_STEPS]
    header[k.M_N_TRIED], header[k.M_HEAD] = work[g.W_N_TRIED], work[g.W_N_CREATED]
    return work.nbytes


def _room(n_kept: int, events: KeyedEvents) -> Ints:
    """What the kernel works on: for each key, ``n_kept`` lists with room for a few partial matches."""
    n_lists, width = events.n_keys * n_kept, g.E_EVENTS + n_kept
    words = (FIRST_ROOM if events.n_keys <= FEW_KEYS else LEAST_ROOM) * width
    most = 4 * words
    taken = g.WORK_HEADER
    notes = taken + g.BLOCK
    lists = notes + (g.BLOCK + 1) * g.NOTE_WIDTH
    rooms = lists + n_lists * g.LIST_WIDTH
    end = rooms + n_lists * (1 + words)
    work = np.zeros(end + 4 * most + g.AT_ONCE * width, np.int64)
    work[g.W_N_NOTED] = -1
    work[g.W_LEAST], work[g.W_END], work[g.W_MOST] = events.least, end, most
    work[g.W_TAKEN], work[g.W_NOTES], work[g.W_LISTS] = taken, notes, lists
    work[rooms : end : 1 + words] = words
    table = work[lists:rooms].reshape(n_lists, g.LIST_WIDTH)
    table[:, g.L_PLACE] = table[:, g.L_FIRST] = table[:, g.L_LAST] = rooms + 1 + np.arange(n_lists) * (1 + words)
    table[:, g.L_LIMIT] = table[:, g.L_PLACE] + words
    return work


def _grown(before: Ints) -> Ints:
    """The same with twice the room, also for the largest list."""
    most = 2 * int(before[g.W_MOST])
    work = np.zeros(2 * len(before) + 2 * most, np.int64)
    work[: len(before)] = before
    work[g.W_MOST] = most
    return work
