"""The places of events in their partitions, where the codes of partitions are small numbers."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel(entry=True)
def count_places(codes: Ints, least: int, counted: Ints, selected: Ints, shift: int, places: Ints) -> int:
    """Count, for each event, the events of its partition that came before.

    Args:
        codes: of the partition of each event.
        least: the least of them.
        counted: zeros, one for each number from the least to the greatest.
        selected: the positions of the events whose counts are asked for, ascending; all where there are none.
        shift: by how much the counts are shifted.
        places: filled with the counts; there is room for one more.
    """
    n = len(selected)
    if n == 0:
        for i in range(len(codes)):
            code = codes[i] - least
            places[i] = counted[code] << shift
            counted[code] += 1
        return 0
    at = 0
    for i in range(len(codes)):
        code = codes[i] - least
        place = counted[code]
        counted[code] = place + 1
        places[at] = place << shift  # it stays where the event is selected, which cannot be foreseen
        at += selected[min(at, n - 1)] == i
    return 0
