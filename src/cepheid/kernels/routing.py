"""Routes events to the queries of a set: the loops of `compiler.routes`, of which each sees an event once."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Floats, Halves, Ints
from cepheid.kernels.raw import load_int32, load_int64
from cepheid.kernels.records import (
    ENTRY_WIDTH,
    N_BITS,
    N_QUERY,
    Q_END,
    Q_KEY_ADDRESS,
    Q_KEY_BYTES,
    Q_LAST,
    QUERY_WIDTH,
    R_FIT,
    R_KEY,
    R_POSITION,
    R_TIME,
    RECORD_WIDTH,
)


@kernel(inline=True)
def _square(value: float, low: float, factor: float, last: int) -> int:
    """Where on a grid a number lies, from 0 to ``last``, where NaN lies: the greater the number, the further on."""
    place = (value - low) * factor + 1.0
    if place < 0.0:
        place = 0.0
    return int(place) if place < last else last


@kernel(entry=True)
def cells_of_ints(
    address: int,
    n_bytes: int,
    types: Halves,
    constants: Ints,
    grid: Halves,
    scale: Floats,
    first: int,
    cells: Halves,
    counts: Ints,
) -> None:
    """The cell of each event by an attribute of whole numbers: its type, and where the value lies among constants.

    Of ``m`` constants, a value that is equal to the one of number k lies at 2 k + 1, one below the first at 0, one
    above the last at 2 m. A grid says for most values at once between which constants they lie.

    Args:
        address, n_bytes: where the values lie, and the bytes of one: 4 or 8.
        types: int32, (n,): the type of each event.
        constants: int64, ascending, at least one.
        grid: int32: how many constants lie before each square, and in the end how many there are.
        scale: float64: the number at which the second square begins, and squares for a distance of one.
        first: the number of the first cell.
        cells: int32, (n,): gets the cells.
        counts: int64, for each cell: its events are added.
    """
    n_constants, last = len(constants), len(grid) - 2
    width = 2 * n_constants + 1
    low, factor = scale[0], scale[1]
    for i in range(len(types)):
        value = load_int32(address, i) if n_bytes == 4 else load_int64(address, i)
        square = _square(float(value), low, factor, last)
        constant, end = int(grid[square]), int(grid[square + 1])
        place = 2 * constant
        if constant < end:
            while constant < end:
                middle = (constant + end) >> 1
                if constants[middle] < value:
                    constant = middle + 1
                else:
                    end = middle
            place = 2 * constant
            if constant < n_constants and constants[constant] == value:
                place += 1
        place += types[i] * width
        cells[i] = first + place
        counts[place] += 1


@kernel(entry=True)
def cells_of_floats(
    values: Floats,
    types: Halves,
    constants: Floats,
    grid: Halves,
    scale: Floats,
    first: int,
    cells: Halves,
    counts: Ints,
) -> None:
    """The same for an attribute of floats, of which NaN is the greatest.

    Args:
        values: float64, (n,).
        constants: float64, ascending, at least one, none of them NaN.
        types, grid, scale, first, cells, counts: as for `cells_of_ints`.
    """
    n_constants, last = len(constants), len(grid) - 2
    width = 2 * n_constants + 1
    low, factor = scale[0], scale[1]
    for i in range(len(types)):
        value = values[i]
        square = _square(value, low, factor, last)
        constant, end = int(grid[square]), int(grid[square + 1])
        place = 2 * constant
        if constant < end:
            while constant < end:
                middle = (constant + end) >> 1
                if constants[middle] < value or value != value:
                    constant = middle + 1
                else:
                    end = middle
            place = 2 * constant
            if constant < n_constants and constants[constant] == value:
                place += 1
        place += types[i] * width
        cells[i] = first + place
        counts[place] += 1


@kernel(entry=True)
def route(cells: Halves, starts: Ints, entries: Ints, times: Ints, queries: Ints, records: Ints) -> None:
    """Write each event to the records of all queries that can take it.

    Args:
        cells: int32, (n_axes * n,): the cells of all events, axis after axis.
        starts: int64: where the entries of each cell begin, and the end of the last.
        entries: int64: the entries, as `records` says.
        times: int64, (n,).
        queries: int64: the queries, as `records` says; changed.
        records: int64: gets the records of each query, ascending by position, each position once.
    """
    n = len(times)
    n_axes = len(cells) // n if n > 0 else 0
    for i in range(n):
        for axis in range(n_axes):
            cell = cells[axis * n + i]
            entry, end = starts[cell], starts[cell + 1]
            while entry < end:
                bits = entries[entry * ENTRY_WIDTH + N_BITS]
                query = entries[entry * ENTRY_WIDTH + N_QUERY] * QUERY_WIDTH
                entry += 1
                place = queries[query + Q_END]
                if queries[query + Q_LAST] == i:
                    before = place - RECORD_WIDTH + R_FIT
                    records[before] = records[before] | bits
                    continue
                records[place + R_POSITION] = i
                records[place + R_FIT] = bits
                records[place + R_TIME] = times[i]
                key_bytes = queries[query + Q_KEY_BYTES]
                key = 0
                if key_bytes == 4:
                    key = load_int32(queries[query + Q_KEY_ADDRESS], i)
                elif key_bytes == 8:
                    key = load_int64(queries[query + Q_KEY_ADDRESS], i)
                records[place + R_KEY] = key
                queries[query + Q_END] = place + RECORD_WIDTH
                queries[query + Q_LAST] = i
