"""The kernel for chains whose events all have one key: the partial matches of each key lie side by side.

It finds what `advance_chain` finds, in the same order of events. Few partial matches of a key wait for an event, and
which step an event takes, how many wait for it, and which of them pass is as good as random: most of the time would go
into branches foreseen wrongly, and into waiting for one word after the other that tells where the next one lies. So
events are done in blocks, in each of them step by step, and each step in passes over all of its events that do not
branch: which of them fit; where the partial matches lie that wait for each; which of these pass. A partial match that
a later event of the block has made is told by that event.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.keyed import (
    A_ADDRESS,
    A_BYTES,
    AT_ONCE,
    BLOCK,
    COLUMN_WIDTH,
    DEAD,
    E_EVENTS,
    E_START,
    E_VALUE,
    G_N_STEPS,
    G_STEPS,
    G_WITHIN,
    KEY,
    L_FIRST,
    L_LAST,
    L_LIMIT,
    LIST_WIDTH,
    N_AGAINST,
    N_EVENT,
    N_FIRST,
    N_LAST,
    N_LIST,
    N_OLDEST,
    N_VALUE,
    NOTE_WIDTH,
    S_AGAINST,
    S_FORKS,
    S_GAP,
    S_PASSES,
    S_VALUE,
    S_VALUE_STEP,
    STEP_WIDTH,
    TIME,
    W_EVENT,
    W_LEAST,
    W_LISTS,
    W_N_CREATED,
    W_N_ENTRIES,
    W_N_NOTED,
    W_N_TRIED,
    W_NOTE,
    W_NOTES,
    W_STEP,
    W_TAKEN,
)
from cepheid.kernels.keyed_lists import FEW, made_room
from cepheid.kernels.layout import DONE, OUTPUT_FULL, POOL_FULL, Bytes, Ints
from cepheid.kernels.raw import copy_words, load_int32, load_int64
from cepheid.kernels.rows import INT_MAX, INT_MIN

OF_TWO = OF_THREE = OF_FOUR = 0
"""Flags: one is set where the plan has as many steps, so that partial matches are copied in one piece."""

GAPS = 0
"""Flag: the plan has events that may not come between two steps."""


@kernel(macro=True)
def _n_steps(keyed: Ints) -> int:
    """How many steps the plan has."""
    return 2 if OF_TWO else 3 if OF_THREE else 4 if OF_FOUR else keyed[G_N_STEPS]


@kernel(inline=True)
def _loaded(address: int, n_bytes: int, i: int) -> int:
    """The integer at ``i``."""
    if n_bytes == 4:
        return load_int32(address, i)
    return load_int64(address, i)


@kernel(inline=True)
def _passes(work: Ints, candidate: int, made_by: int, event: int, oldest: int, against: int, passes: int) -> int:
    """1 where an event can extend a partial match, else 0, without a branch.

    Args:
        candidate: the partial match.
        made_by: where in a partial match its last event lies.
        event: the event.
        oldest: the earliest time of a first event.
        against, passes: the value of the event, and how that of the partial match may compare with it.
    """
    value = work[candidate + E_VALUE]
    order = 1 + int(value > against) - int(value < against)
    alive = int(work[candidate + E_START] >= oldest) & int(work[candidate + made_by] < event)
    return alive & (passes >> order)


@kernel(inline=True)
def _use_up(work: Ints, candidate: int, passed: int) -> None:
    """Nothing extends a partial match any more, if ``passed`` is 1."""
    work[candidate + E_START] = (work[candidate + E_START] & (passed - 1)) | (DEAD & -passed)


@kernel()
def _fitting(fits: Bytes, work: Ints, elements: int, begin: int, end: int) -> int:
    """Note which events of a block fit one of some elements; returns how many."""
    taken, n = work[W_TAKEN], 0
    for event in range(begin, end):
        work[taken + n] = event
        n += int(int(fits[event]) & elements != 0)
    return n


@kernel()
def _begun(keyed: Ints, columns: Ints, work: Ints, number: int, n: int, useless: int) -> int:
    """Begin a partial match with each of the noted events from ``number`` on; returns where it stops for room."""
    n_steps = _n_steps(keyed)
    width, stride = E_EVENTS + n_steps - 1, (n_steps - 1) * LIST_WIDTH
    key_bytes, keys = columns[KEY * COLUMN_WIDTH + A_BYTES], columns[KEY * COLUMN_WIDTH + A_ADDRESS]
    times = columns[TIME * COLUMN_WIDTH + A_ADDRESS]
    of = keyed[keyed[G_STEPS] + S_VALUE] * COLUMN_WIDTH
    values, value_bytes = columns[of + A_ADDRESS], columns[of + A_BYTES]
    taken, lists, least = work[W_TAKEN], work[W_LISTS], work[W_LEAST]
    while number < n:
        i = work[taken + number]
        waiting = lists
        if key_bytes:
            waiting += (_loaded(keys, key_bytes, i) - least) * stride
        if work[waiting + L_LAST] + width > work[waiting + L_LIMIT] and not made_room(
            work, waiting, width, width, useless
        ):
            return number
        target = work[waiting + L_LAST]
        work[target + E_START] = load_int64(times, i)
        work[target + E_VALUE] = _loaded(values, value_bytes, i)
        work[target + E_EVENTS] = i
        work[waiting + L_LAST] = target + width
        number += 1
    return number


@kernel()
def _awaited(keyed: Ints, fits: Bytes, columns: Ints, work: Ints, step: int, n: int) -> int:
    """Note for each event that fits a step where the partial matches lie that wait for it; returns how many have some.

    Those that are too old at the front are passed over for good: two at most where there are few, so as not to branch.
    So are those that waited when an event came that may not come before this step: they are the first ones, as partial
    matches lie in the order of their last events.
    """
    n_steps = _n_steps(keyed)
    width, stride = E_EVENTS + n_steps - 1, (n_steps - 1) * LIST_WIDTH
    within = keyed[G_WITHIN]
    first_time = INT_MIN + 1 + within if within >= 0 else INT_MAX
    key_bytes, keys = columns[KEY * COLUMN_WIDTH + A_BYTES], columns[KEY * COLUMN_WIDTH + A_ADDRESS]
    times = columns[TIME * COLUMN_WIDTH + A_ADDRESS]
    place = keyed[G_STEPS] + step * STEP_WIDTH
    of = keyed[place + S_AGAINST] * COLUMN_WIDTH
    against, against_bytes = columns[of + A_ADDRESS], columns[of + A_BYTES]
    of = keyed[place + S_VALUE] * COLUMN_WIDTH
    values, value_bytes = columns[of + A_ADDRESS], columns[of + A_BYTES]
    taken, note, least = work[W_TAKEN], work[W_NOTES], work[W_LEAST]
    lists = work[W_LISTS] + (step - 1) * LIST_WIDTH
    gap, made_by = keyed[place + S_GAP], E_EVENTS + step - 1
    for number in range(n):
        i = work[taken + number]
        time = load_int64(times, i)
        oldest = time - within if time > first_time else INT_MIN + 1
        waiting = lists
        if key_bytes:
            waiting += (_loaded(keys, key_bytes, i) - least) * stride
        first, last = work[waiting + L_FIRST], work[waiting + L_LAST]
        first += width * (int(first < last) & int(work[first + E_START] < oldest))
        first += width * (int(first < last) & int(work[first + E_START] < oldest))
        n_words = last - first
        while n_words > FEW * width and work[first + E_START] < oldest:
            first += width
            n_words -= width
        work[waiting + L_FIRST] = first
        work[note + N_EVENT] = i
        work[note + N_FIRST] = first
        work[note + N_LAST] = last
        work[note + N_OLDEST] = oldest
        work[note + N_AGAINST] = _loaded(against, against_bytes, i)
        work[note + N_LIST] = waiting + LIST_WIDTH
        work[note + N_VALUE] = _loaded(values, value_bytes, i)
        awaited = int(first < last)
        if GAPS:
            fit = int(fits[i])
            awaited &= fit >> step
            if fit & gap != 0:
                if first < last and work[last - width + made_by] < i:
                    first = last
                while first < last and work[first + made_by] < i:
                    first += width
                work[waiting + L_FIRST] = first
        note += NOTE_WIDTH * awaited
    return (note - work[W_NOTES]) // NOTE_WIDTH


@kernel()
def _extended(keyed: Ints, columns: Ints, work: Ints, step: int, number: int, n: int, useless: int) -> int:
    """Extend what waits for the noted events from ``number`` on; returns where it stops for want of room."""
    n_steps = _n_steps(keyed)
    width = E_EVENTS + n_steps - 1
    place = keyed[G_STEPS] + step * STEP_WIDTH
    passes, forks = keyed[place + S_PASSES], keyed[place + S_FORKS]
    own = keyed[place + S_VALUE_STEP] == step
    source = E_EVENTS + keyed[place + S_VALUE_STEP]
    of = keyed[place + S_VALUE] * COLUMN_WIDTH
    values, value_bytes = columns[of + A_ADDRESS], columns[of + A_BYTES]
    notes, made_by, n_words = work[W_NOTES], E_EVENTS + step - 1, 0
    while number < n:
        note = notes + number * NOTE_WIDTH
        candidate, last, waiting = work[note + N_FIRST], work[note + N_LAST], work[note + N_LIST]
        event, oldest = work[note + N_EVENT], work[note + N_OLDEST]
        against, value = work[note + N_AGAINST], work[note + N_VALUE]
        needed = last - candidate + width
        if work[waiting + L_LAST] + needed > work[waiting + L_LIMIT] and not made_room(
            work, waiting, needed, width, useless
        ):
            break
        target = work[waiting + L_LAST]
        n_words -= target
        while candidate < last:
            for _ in range(AT_ONCE):
                passed = int(candidate < last) & _passes(work, candidate, made_by, event, oldest, against, passes)
                # All words: how many events a partial match has differs from step to step.
                if OF_TWO or OF_THREE or OF_FOUR:
                    copy_words(work, target, work, candidate, width)
                else:
                    for word in range(width):
                        work[target + word] = work[candidate + word]
                work[target + made_by + 1] = event
                if not own and passed:
                    value = _loaded(values, value_bytes, work[target + source])
                work[target + E_VALUE] = value
                target += passed * width
                if not forks:
                    _use_up(work, candidate, passed)
                candidate += width
        work[waiting + L_LAST] = target
        n_words += target
        number += 1
    work[W_N_CREATED] += n_words // width
    work[W_N_TRIED] += n_words // width
    return number


@kernel()
def _matched(keyed: Ints, work: Ints, out: Ints, number: int, n: int) -> int:
    """Write the matches that end with the noted events from ``number`` on; returns where it stops for want of room."""
    n_steps = _n_steps(keyed)
    width = E_EVENTS + n_steps - 1
    place = keyed[G_STEPS] + (n_steps - 1) * STEP_WIDTH
    passes, forks = keyed[place + S_PASSES], keyed[place + S_FORKS]
    notes, made_by, entries = work[W_NOTES], E_EVENTS + n_steps - 2, work[W_N_ENTRIES]
    while number < n:
        note = notes + number * NOTE_WIDTH
        candidate, last = work[note + N_FIRST], work[note + N_LAST]
        event, oldest, against = work[note + N_EVENT], work[note + N_OLDEST], work[note + N_AGAINST]
        # A match is no longer than a partial match.
        if entries + last - candidate + width > len(out):
            break
        while candidate < last:
            for _ in range(AT_ONCE):
                passed = int(candidate < last) & _passes(work, candidate, made_by, event, oldest, against, passes)
                if OF_TWO or OF_THREE or OF_FOUR:
                    copy_words(out, entries, work, candidate + E_EVENTS, n_steps - 1)
                else:
                    for word in range(n_steps - 1):
                        out[entries + word] = work[candidate + E_EVENTS + word]
                out[entries + n_steps - 1] = event
                entries += passed * n_steps
                if not forks:
                    _use_up(work, candidate, passed)
                candidate += width
        number += 1
    work[W_N_TRIED] += (entries - work[W_N_ENTRIES]) // n_steps
    work[W_N_ENTRIES] = entries
    return number


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
    n_steps, within = _n_steps(keyed), keyed[G_WITHIN]
    times = columns[TIME * COLUMN_WIDTH + A_ADDRESS]
    step, number, n_noted = work[W_STEP], work[W_NOTE], work[W_N_NOTED]
    for begin in range(work[W_EVENT], len(fits), BLOCK):
        # What is older than that is of no use to any event of the block.
        time, useless = load_int64(times, begin), INT_MIN + 1
        if within >= 0 and time > useless + within:
            useless = time - within
        while step < n_steps:
            if n_noted < 0:
                elements = 1 << step
                if GAPS:
                    elements |= keyed[keyed[G_STEPS] + step * STEP_WIDTH + S_GAP]
                n_noted = _fitting(fits, work, elements, begin, min(len(fits), begin + BLOCK))
                if step > 0:
                    n_noted = _awaited(keyed, fits, columns, work, step, n_noted)
            reached, code = number, POOL_FULL
            if step == 0:
                reached = _begun(keyed, columns, work, number, n_noted, useless)
                work[W_N_CREATED] += reached - number
                work[W_N_TRIED] += reached - number
            elif step < n_steps - 1:
                reached = _extended(keyed, columns, work, step, number, n_noted, useless)
            else:
                reached, code = _matched(keyed, work, out, number, n_noted), OUTPUT_FULL
            if reached < n_noted:
                work[W_EVENT], work[W_STEP], work[W_NOTE], work[W_N_NOTED] = begin, step, reached, n_noted
                return code
            number, n_noted = 0, -1
            step += 1
        step = 0
    work[W_EVENT] = len(fits)
    return DONE
