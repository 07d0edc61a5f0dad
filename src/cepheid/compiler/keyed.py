"""Tells whether all events of a chain have the same key, and makes the table that the kernel for that reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.kernels import chain as c
from cepheid.kernels import keyed as g
from cepheid.kernels import layout as k

MOST_STEPS = g.FIT_BITS
"""A partial match holds its events one by one."""


@dataclass(frozen=True)
class Keyed:
    """A plan for the kernel.

    Attributes:
        table: as `kernels.keyed` says.
        key: the number of the request for the key, among those of ints; None where there is none.
        values: the same for the columns that conditions compare.
    """

    table: NDArray[np.int64]
    key: int | None
    values: tuple[int, ...]


def keyed_of(plan: NDArray[np.int64], chain: NDArray[np.int64], gaps: Sequence[int] = ()) -> Keyed | None:
    """The table of `kernels.keyed` for a chain; None where its events do not all have the same key.

    Nor may a step have more conditions than the key and one that compares an int of the partial match with one of the
    arriving event.

    Args:
        plan: the tables of `kernels.layout`.
        chain: the table of `kernels.chain`.
        gaps: of each step, the elements that may not come right before it, as bits; none: of no step any.
    """
    n_steps = int(chain[c.C_N_STEPS])
    if n_steps > MOST_STEPS:
        return None
    steps = [chain[c.CHAIN_HEADER + n * c.STEP_WIDTH :][: c.STEP_WIDTH] for n in range(n_steps)]
    if any(step[c.S_TEST_FROM] != step[c.S_TEST_TO] for step in steps):
        return None
    keys = {int(step[c.S_EVENT_KEY]) for step in steps[1:]} | {int(step[c.S_ROW_KEY]) for step in steps[:-1]}
    if len(keys) > 1 or any(step[c.S_ROW_KEY_EVENT] != k.EVENT for step in steps[:-1] if step[c.S_ROW_KEY] >= 0):
        return None
    columns: list[int] = []

    def field(column: int) -> int:
        if column == k.TIME_COLUMN:
            return g.TIME
        if column not in columns:
            columns.append(column)
        return g.FIRST_VALUE + columns.index(column)

    rows = []
    for number, step in enumerate(steps):
        row = [0] * g.STEP_WIDTH
        row[g.S_FORKS], row[g.S_PASSES] = int(step[c.S_FORKS]), int(step[c.S_PASSES])
        row[g.S_GAP] = gaps[number] if gaps else 0
        row[g.S_AGAINST] = field(int(step[c.S_FILTER_COLUMN]))
        row[g.S_VALUE_STEP], row[g.S_VALUE] = number, g.TIME
        if number < n_steps - 1:
            compared = int(steps[number + 1][c.S_FILTER_FIELD])
            if compared != k.EVENT:
                held = _held(chain, steps[: number + 1], compared)
                if held is None:
                    return None
                row[g.S_VALUE_STEP], row[g.S_VALUE] = held[0], field(held[1])
        rows.append(row)
    header = np.zeros(g.HEADER, np.int64)
    numbers = chain[chain[c.C_NUMBERS] :]
    header[g.G_N_STEPS], header[g.G_WITHIN] = n_steps, plan[k.P_WITHIN]
    header[g.G_HAS_GAPS] = any(gaps)
    header[g.G_STEPS] = len(header)
    header[g.G_NUMBERS] = len(header) + n_steps * g.STEP_WIDTH
    key = keys.pop()
    return Keyed(
        table=np.concatenate([header, np.array(rows, np.int64).reshape(-1), numbers]),
        key=None if key < 0 else key - k.FIRST_COLUMN,
        values=tuple(column - k.FIRST_COLUMN for column in columns),
    )


def _held(chain: NDArray[np.int64], steps: list[NDArray[np.int64]], field: int) -> tuple[int, int] | None:
    """The last of some steps that sets a field of a row, and the column that it sets it to; None: to no column."""
    for number in range(len(steps) - 1, -1, -1):
        for update in range(int(steps[number][c.S_UPDATE_FROM]), int(steps[number][c.S_UPDATE_TO])):
            place = int(chain[c.C_UPDATES]) + update * c.UPDATE_WIDTH
            if chain[place + c.U_FIELD] == field:
                column = int(chain[place + c.U_COLUMN])
                return None if column < 0 else (number, column)
    return None
