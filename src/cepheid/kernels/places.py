"""The places of events in their partitions, where the codes of partitions are small numbers."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel(entry=True)
def count_places(codes: Ints, least: int, counted: Ints, places: Ints) -> int:
    """Count, for each event, the events of its partition that came before.

    Args:
        codes: of the partition of each event.
        least: the least of them.
        counted: zeros, one for each number from the least to the greatest.
        places: filled with the counts.
    """
    for i in range(len(codes)):
        code = codes[i] - least
        places[i] = counted[code]
        counted[code] += 1
    return 0
