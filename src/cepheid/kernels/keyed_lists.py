"""The room of the lists of `keyed`: each key and step has its own, which grows."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.keyed import AT_ONCE, E_START, L_FIRST, L_LAST, L_LIMIT, L_PLACE, W_END, W_MOST
from cepheid.kernels.layout import Ints

FEW = 16
"""So many partial matches that are used up or too old may lie among the others, and as many as these."""


@kernel()
def made_room(work: Ints, waiting: int, words: int, width: int, oldest: int) -> bool:
    """Make room in a list for more words; false where all that lies in ``work`` has to grow first.

    What is of no use any more goes, and what is left moves to the front.

    Args:
        waiting: the list.
        words: how many.
        width: words of a partial match.
        oldest: the earliest time that the first event of one may have which is still of use.
    """
    place = work[waiting + L_PLACE]
    room = work[place - 1]
    first, last = work[waiting + L_FIRST], work[waiting + L_LAST]
    end = place
    while first < last:
        if work[first + E_START] >= oldest:
            for word in range(width):
                work[end + word] = work[first + word]
            end += width
        first += width
    work[waiting + L_FIRST], work[waiting + L_LAST] = place, end
    kept = end - place
    if 2 * (kept + words) > room:
        while room < 2 * (kept + words):
            room *= 2
        place = work[W_END] + 1
        if room > work[W_MOST] or place + room + AT_ONCE * width > len(work):
            return False
        work[place - 1] = room
        for word in range(kept):
            work[place + word] = work[end - kept + word]
        work[W_END] = place + room
        work[waiting + L_PLACE] = place
        work[waiting + L_FIRST], work[waiting + L_LAST] = place, place + kept
    work[waiting + L_LIMIT] = place + min(room, max(kept + words, 2 * kept + FEW * width))
    return True
