"""The kernel for chains whose events all have one key: the partial matches of each key lie side by side.

It finds what `advance_chain` finds, in the same order of events. Few partial matches of a key wait for an event, and
which events and partial matches pass is as good as random, so that most of the time would go into branches foreseen
wrongly. So events that fit nothing are passed over in blocks, and each step first notes, without a branch, the partial
matches that an event can extend, and then extends them.
"""

from __future__ import annotations

from cepheid.kernels.index import at
from cepheid.kernels.jit import kernel
from cepheid.kernels.keyed import (
    A_ADDRESS,
    A_BYTES,
    BLOCK,
    COLUMN_WIDTH,
    DEAD,
    E_EVENTS,
    E_START,
    E_VALUE,
    G_N_STEPS,
    G_NUMBERS,
    G_STEPS,
    G_WITHIN,
    KEY,
    L_FIRST,
    L_LAST,
    L_PLACE,
    L_WORDS,
    LIST_WIDTH,
    S_AGAINST,
    S_FORKS,
    S_PASSES,
    S_VALUE,
    S_VALUE_STEP,
    STEP_WIDTH,
    TIME,
    W_END,
    W_EVENT,
    W_LEAST,
    W_LISTS,
    W_MOST,
    W_N_CREATED,
    W_N_ENTRIES,
    W_N_TRIED,
    W_PASSED,
    W_STEP,
    W_TAKEN,
)
from cepheid.kernels.layout import DONE, OUTPUT_FULL, POOL_FULL, Bytes, Ints
from cepheid.kernels.raw import load_int32, load_int64
from cepheid.kernels.rows import INT_MIN

OF_TWO = OF_THREE = OF_FOUR = 0
"""Flags: one is set where the plan has as many steps, so that loops over the events of a partial match are unrolled."""

FEW = 16
"""So many partial matches that are used up or too old may lie among the others."""


@kernel(inline=True)
def _value(columns: Ints, column: int, i: int) -> int:
    """The value of a column for the event at ``i``."""
    return _loaded(columns[at(column * COLUMN_WIDTH + A_ADDRESS)], columns[at(column * COLUMN_WIDTH + A_BYTES)], i)


@kernel(inline=True)
def _loaded(address: int, n_bytes: int, i: int) -> int:
    """The integer at ``i``."""
    if n_bytes == 4:
        return load_int32(address, i)
    return load_int64(address, i)


@kernel()
def _kept(work: Ints, first: int, last: int, to: int, width: int, oldest: int) -> int:
    """Move the partial matches that can still be extended to ``work[to:]``, which does not begin behind them.

    Args:
        first, last: where the first of them begins, and where the last one ends.
        oldest: the earliest time of a first event.

    Returns:
        The end of the last one.
    """
    while first < last:
        if work[at(first + E_START)] >= oldest:
            for field in range(width):
                work[at(to + field)] = work[at(first + field)]
            to += width
        first += width
    return to


@kernel()
def _made_room(work: Ints, waiting: int, words: int, width: int, oldest: int) -> bool:
    """Make room in a list for more words; false where all that lies in ``work`` has to grow first.

    Args:
        waiting: the list.
        words: how many.
        width, oldest: as for `_kept`.
    """
    place, room = work[at(waiting + L_PLACE)], work[at(waiting + L_WORDS)]
    last = _kept(work, work[at(waiting + L_FIRST)], work[at(waiting + L_LAST)], place, width, oldest)
    work[at(waiting + L_FIRST)], work[at(waiting + L_LAST)] = place, last
    needed = last - place + words
    if 2 * needed <= room:
        return True
    while room < 2 * needed:
        room *= 2
    end = work[W_END]
    if room > work[W_MOST] or end + room > len(work):
        return False
    for word in range(last - place):
        work[at(end + word)] = work[at(place + word)]
    work[W_END] = end + room
    work[at(waiting + L_PLACE)], work[at(waiting + L_WORDS)] = end, room
    work[at(waiting + L_FIRST)], work[at(waiting + L_LAST)] = end, end + last - place
    return True


@kernel(entry=True)
def advance_keyed(keyed: Ints, fits: Bytes, columns: Ints, work: Ints, out: Ints) -> int:
    """Step over the rest of the events.

    Args:
        keyed: the plan, as `keyed` says.
        fits: uint8, (n,): the elements that each event fits.
        columns: where the columns of the events lie, as `keyed` says.
        work: partial matches, and what the kernel keeps.
        out: gets the matches: the numbers of their events.

    Returns:
        DONE, or POOL_FULL, OUTPUT_FULL: make room and call again.
    """
    n_steps, within = 2 if OF_TWO else 3 if OF_THREE else 4 if OF_FOUR else keyed[G_N_STEPS], keyed[G_WITHIN]
    steps, numbers = keyed[G_STEPS], keyed[G_NUMBERS]
    width = E_EVENTS + n_steps - 1
    has_key = columns[KEY * COLUMN_WIDTH + A_BYTES] != 0
    times = columns[TIME * COLUMN_WIDTH + A_ADDRESS]
    lists, taken, passed, least = work[W_LISTS], work[W_TAKEN], work[W_PASSED], work[W_LEAST]
    n, i, entries = len(fits), work[W_EVENT], work[W_N_ENTRIES]
    n_tried, n_created = 0, 0
    resumed = work[W_STEP]
    code = DONE
    n_taken, number, ahead = 0, 0, i
    while True:
        if number == n_taken:
            # Which of the next events fit, without a branch for each.
            n_taken, number = 0, 0
            end = min(n, ahead + BLOCK)
            while ahead < end:
                work[at(taken + n_taken)] = ahead
                n_taken += int(fits[at(ahead)] != 0)
                ahead += 1
            if n_taken == 0:
                i = ahead
                if ahead < n:
                    continue
                break
        i = work[at(taken + number)]
        number += 1
        fit = int(fits[at(i)])
        time = load_int64(times, i)
        oldest = INT_MIN + 1
        if within >= 0 and time > oldest + within:
            oldest = time - within
        own = lists
        if has_key:
            own += (_value(columns, KEY, i) - least) * ((n_steps - 1) * LIST_WIDTH)
        # Later steps first: so nothing that this event makes is extended by it.
        step = n_steps - 1
        lowest = 0
        if fit & (fit - 1) == 0:
            step = keyed[at(numbers + fit)]
            lowest = step
        if resumed >= 0:
            step = resumed
            resumed = -1
        while step >= lowest:
            if not (fit >> step) & 1:
                step -= 1
                continue
            place = steps + step * STEP_WIDTH
            waiting = own + step * LIST_WIDTH
            if step == 0:
                if work[at(waiting + L_LAST)] + width > work[at(waiting + L_PLACE)] + work[
                    at(waiting + L_WORDS)
                ] and not _made_room(work, waiting, width, width, oldest):
                    code = POOL_FULL
                    break
                target = work[at(waiting + L_LAST)]
                work[at(target + E_START)] = time
                work[at(target + E_VALUE)] = _value(columns, keyed[at(place + S_VALUE)], i)
                work[at(target + E_EVENTS)] = i
                work[at(waiting + L_LAST)] = target + width
                n_created += 1
                n_tried += 1
                step -= 1
                continue
            before = waiting - LIST_WIDTH
            first, last = work[at(before + L_FIRST)], work[at(before + L_LAST)]
            while first < last and work[at(first + E_START)] < oldest:
                first += width
            work[at(before + L_FIRST)] = first
            if first == last:
                step -= 1
                continue
            # Room for all that may be made, before anything is; a match is no longer than a partial match.
            is_last = step == n_steps - 1
            if is_last:
                if entries + last - first > len(out):
                    code = OUTPUT_FULL
                    break
            elif work[at(waiting + L_LAST)] + last - first > work[at(waiting + L_PLACE)] + work[
                at(waiting + L_WORDS)
            ] and not _made_room(work, waiting, last - first, width, oldest):
                code = POOL_FULL
                break
            against, passes = _value(columns, keyed[at(place + S_AGAINST)], i), keyed[at(place + S_PASSES)]
            n_passed, n_alive = 0, 0
            for candidate in range(first, last, width):
                value = work[at(candidate + E_VALUE)]
                alive = int(work[at(candidate + E_START)] >= oldest)
                order = 1 + int(value > against) - int(value < against)
                work[at(passed + n_passed)] = candidate
                n_passed += alive & (passes >> order)
                n_alive += alive
            n_tried += n_passed
            if is_last:
                for note in range(passed, passed + n_passed):
                    candidate = work[at(note)]
                    for event in range(n_steps - 1):
                        out[at(entries + event)] = work[at(candidate + E_EVENTS + event)]
                    out[at(entries + n_steps - 1)] = i
                    entries += n_steps
            else:
                of = keyed[at(place + S_VALUE)] * COLUMN_WIDTH
                address, n_bytes = columns[at(of + A_ADDRESS)], columns[at(of + A_BYTES)]
                source = E_EVENTS + keyed[at(place + S_VALUE_STEP)]
                target = work[at(waiting + L_LAST)]
                for note in range(passed, passed + n_passed):
                    candidate = work[at(note)]
                    # All words: how many events a partial match has differs from step to step.
                    for word in range(width):
                        work[at(target + word)] = work[at(candidate + word)]
                    work[at(target + E_EVENTS + step)] = i
                    work[at(target + E_VALUE)] = _loaded(address, n_bytes, work[at(target + source)])
                    target += width
                work[at(waiting + L_LAST)] = target
                n_created += n_passed
            if not keyed[at(place + S_FORKS)]:
                for note in range(passed, passed + n_passed):
                    work[at(work[at(note)] + E_START)] = DEAD
                n_alive -= n_passed
            if last - first > (FEW + 2 * n_alive) * width:
                work[at(before + L_LAST)] = _kept(work, first, last, first, width, oldest)
            step -= 1
        if code != DONE:
            work[W_STEP] = step
            break
    if code == DONE:
        work[W_STEP] = -1
    work[W_EVENT], work[W_N_ENTRIES] = i, entries
    work[W_N_TRIED] += n_tried
    work[W_N_CREATED] += n_created
    return code
