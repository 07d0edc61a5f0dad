"""Steps where conditions wait for an answer: each is taken once for every way in which the answers may fall.

Where a step asks for the truth of an open predicate, the host assumes that it is true. When the step is done, all that
it made rests on what was assumed, and it is taken again with the last assumption turned round, until all ways have
been gone. They exclude each other and leave nothing out: whatever the answers are, what was made under one of them is
what would have been made had they been known, and the rest is refuted.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    COPY_REALS,
    LINKS,
    M_HEAD,
    M_N_MATCHES,
    M_OPEN,
    M_OUT_CHAINS,
    M_RUN_CAPACITY,
    M_RUNS,
    P_CHAIN,
    P_MIXED,
    P_N_REALS,
    P_ONE_START,
    P_REGISTERS,
    P_ROW_WIDTH,
    P_RUN_FIELD,
    RUN_ROW,
    RUN_WIDTH,
    STATE,
    STATE_MASK,
    UNLINKED,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import link
from cepheid.kernels.open_layout import (
    CELL_WIDTH,
    LITERAL,
    MOST_ASSUMED,
    NEXT_CELL,
    NO_CELL,
    O_AGAIN,
    O_BASE,
    O_CELLS,
    O_CELLS_ROOM,
    O_DEPTH,
    O_EDGE,
    O_HEAD,
    O_N_CELLS,
    O_N_MATCHES,
    O_N_OPEN,
    O_PATH,
    O_STATUS,
    O_UNTIL_POLL,
    OPEN,
    REFUTED,
)
from cepheid.kernels.output import hang
from cepheid.kernels.rows import row_of
from cepheid.kernels.signatures import Helper

POSTPONES = 0
"""Conditions may wait for an answer."""


@kernel()
def is_refuted(row: int, plan: Ints, pool: Ints) -> bool:
    """Whether something that a row rests on is not so. What is settled at the front of its list is taken off."""
    area, field = pool[M_OPEN], row + plan[P_CHAIN]
    status, cells = area + pool[area + O_STATUS], area + pool[area + O_CELLS]
    cell = pool[field]
    front = True
    while cell >= 0:
        literal = pool[cells + cell * CELL_WIDTH + LITERAL]
        truth = pool[status + (literal >> 1)]
        if truth != OPEN and truth != literal & 1:
            pool[field] = REFUTED
            pool[area + O_AGAIN] = 0  # there is nothing to go on with
            return True
        cell = pool[cells + cell * CELL_WIDTH + NEXT_CELL]
        front = front and truth != OPEN
        if front:
            pool[field] = cell
    return pool[field] == REFUTED


@kernel()
def begin_step(row_id: int, row: int, edge: int, plan: Ints, pool: Ints) -> int:
    """A step of a row (-1: of none) begins, or goes on where the kernel has returned in the middle of it.

    Args:
        edge: the first entry of `list_edges`.

    Returns:
        the entry at which to go on.
    """
    area = pool[M_OPEN]
    if pool[area + O_AGAIN]:
        pool[area + O_AGAIN] = 0
        edge = pool[area + O_EDGE]
    else:
        pool[area + O_DEPTH] = 0
        pool[area + O_BASE] = NO_CELL
        if row_id >= 0:
            pool[area + O_BASE] = pool[row + plan[P_CHAIN]]
    begin_way(pool)
    return edge


@kernel(macro=True)
def assumes(pool: Ints) -> bool:
    """Whether something is assumed in the step at hand."""
    return pool[pool[M_OPEN] + O_DEPTH] > 0


@kernel(inline=True)
def begin_way(pool: Ints) -> None:
    """The step begins under what is assumed now."""
    area = pool[M_OPEN]
    pool[area + O_HEAD] = pool[M_HEAD]
    pool[area + O_N_MATCHES] = pool[M_N_MATCHES]


@kernel(inline=True)
def has_cells(pool: Ints) -> bool:
    """Whether there is room for what one step may assume."""
    area = pool[M_OPEN]
    return pool[area + O_N_CELLS] + MOST_ASSUMED <= pool[area + O_CELLS_ROOM]


@kernel(inline=True)
def leave_step(edge: int, pool: Ints) -> None:
    """The kernel returns in the middle of a step, to go on at this entry of `list_edges`."""
    area = pool[M_OPEN]
    pool[area + O_AGAIN] = 1
    pool[area + O_EDGE] = edge


@kernel()
def end_way(plan: Ints, pool: Ints, out: Ints) -> int:
    """Let all that the step made rest on what was assumed; gives the cell."""
    area = pool[M_OPEN]
    cells, path = area + pool[area + O_CELLS], area + pool[area + O_PATH]
    cell = pool[area + O_BASE]
    for i in range(pool[area + O_DEPTH]):
        new = pool[area + O_N_CELLS]
        pool[area + O_N_CELLS] = new + 1
        pool[cells + new * CELL_WIDTH + LITERAL] = pool[path + i]
        pool[cells + new * CELL_WIDTH + NEXT_CELL] = cell
        cell = new
    for row_id in range(pool[area + O_HEAD], pool[M_HEAD]):
        pool[row_of(row_id, plan, pool) + plan[P_CHAIN]] = cell
    for n in range(pool[area + O_N_MATCHES], pool[M_N_MATCHES]):
        out[pool[M_OUT_CHAINS] + n] = cell
    return cell


@kernel(inline=True)
def turn_round(pool: Ints) -> bool:
    """Turn the last assumption round that was not; False where there is none, so that all ways have been gone."""
    area = pool[M_OPEN]
    path = area + pool[area + O_PATH]
    depth = pool[area + O_DEPTH]
    while depth > 0 and pool[path + depth - 1] & 1 == 0:
        depth -= 1
    pool[area + O_DEPTH] = depth
    if depth == 0:
        return False
    pool[path + depth - 1] -= 1
    begin_way(pool)
    return True


@kernel()
def is_hung(row_id: int, row: int, plan: Ints, pool: Ints) -> bool:
    """Whether a row waits for the deadline of its run."""
    field = plan[P_RUN_FIELD]
    if field < 0:
        return False
    other = pool[pool[M_RUNS] + (pool[row + field] & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH + RUN_ROW]
    while other >= 0 and other != row_id:
        other = pool[row_of(other, plan, pool) + field + 1]
    return other == row_id


@kernel()
def add_copy(
    row_id: int,
    cell: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    tally: Helper,
) -> None:
    """Copy a row that waits on, to rest on what was assumed. The caller has made sure of room."""
    copy_id = pool[M_HEAD]
    pool[M_HEAD] = copy_id + 1
    row, copy = row_of(row_id, plan, pool), row_of(copy_id, plan, pool)
    run_field = plan[P_RUN_FIELD]
    for field in range(plan[P_ROW_WIDTH]):
        pool[copy + field] = pool[row + field]
    end = run_field if run_field >= 0 else plan[P_REGISTERS]
    for field in range(LINKS, end):
        pool[copy + field] = UNLINKED
    pool[copy + plan[P_CHAIN]] = cell
    if plan[P_N_REALS]:
        tally(COPY_REALS, copy, row, 0, 0, plan, pool, reals, ints, floats, nulls)
    if is_hung(row_id, row, plan, pool):
        hang(copy_id, copy, plan, pool)
    link(copy_id, copy, pool[copy + STATE] & STATE_MASK, plan, pool, ints, nulls)


@kernel()
def end_way_of(
    row_id: int,
    row: int,
    stays: bool,
    mark: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    tally: Helper,
) -> bool:
    """End a way of a step after which the row itself may be gone.

    Args:
        row_id, row: the row, -1 for none.
        stays: it waits on.
        mark: what its run says of it (`GROWN` and its like) before the step.

    Returns:
        Whether there is another way. What becomes of the row in the last one becomes of the row itself; in the ones
        before, of a copy.
    """
    area = pool[M_OPEN]
    assumed = pool[area + O_DEPTH] > 0
    cell = end_way(plan, pool, out)
    if not assumed:
        return False
    more = turn_round(pool)
    if row_id < 0:
        return more
    if more:
        if plan[P_RUN_FIELD] >= 0:
            pool[row + plan[P_RUN_FIELD] + 2] = mark
        if stays:
            add_copy(row_id, cell, plan, pool, reals, ints, floats, nulls, tally)
            begin_way(pool)
    else:
        pool[row + plan[P_CHAIN]] = cell
    return more


@kernel(inline=True)
def all_fork(plan: Ints) -> bool:
    """Whether every edge leaves the row as it is, so that each is a step of its own."""
    return plan[P_ONE_START] == 0 and plan[P_MIXED] == 0


@kernel(inline=True)
def steps_begin(edge: int, following: int, plan: Ints) -> bool:
    """Whether a step begins, or another way of it, where ``following`` comes after ``edge``: room is needed again."""
    return following <= edge or all_fork(plan)


@kernel()
def next_edge(
    edge: int,
    following: int,
    first: int,
    last: int,
    row_id: int,
    row: int,
    gone: bool,
    mark: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    tally: Helper,
) -> int:
    """The entry of `list_edges` to go on with: an edge, or all of them, are tried again in another way.

    Args:
        edge, following: the entry that was tried, and that which comes next.
        first, last: those of the list; ``last`` is behind it.
        row_id, row: the row, -1 for none.
        gone: it waits no longer.
        mark: what its run says of it (`GROWN` and its like) before the step.
    """
    if all_fork(plan):
        end_way(plan, pool, out)
        if turn_round(pool):
            return edge
        begin_way(pool)
        return following
    if following < last:
        return following
    if end_way_of(row_id, row, not gone, mark, plan, pool, reals, ints, floats, nulls, out, tally):
        return first
    return last


@kernel(macro=True)
def is_time_to_poll(pool: Ints) -> bool:
    """Count an event; whether answers are to be looked for."""
    area = pool[M_OPEN]
    if pool[area + O_N_OPEN] > 0:
        pool[area + O_UNTIL_POLL] -= 1
    return pool[area + O_UNTIL_POLL] < 0
