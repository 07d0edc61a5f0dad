"""NOT: whether an event that must not come lies in a gap."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ABSENCE_WIDTH,
    BUFFER_ELEMENT,
    BUFFER_FULL,
    BUFFER_KEYS_FROM,
    BUFFER_KEYS_TO,
    BUFFER_WIDTH,
    CHECK_EVENT,
    CHECK_HOLDS,
    CHECK_NUMBER,
    CHECK_SHARED,
    CHECK_SLOTS,
    CHECKS_FROM,
    CHECKS_TO,
    DONE,
    EVENT,
    FATAL,
    FIT_COLUMN,
    GAP_REOPENED,
    GROUP_CHECK_ROWS,
    GROUP_CHECKS,
    GROUP_ENDS,
    GROUP_HEADER,
    GROUP_MATCHES,
    GROUP_ROWS,
    GROUP_SLOT,
    GROUP_WIDTH,
    INNER,
    KEPT_BUFFER,
    KEPT_EVENT,
    KEPT_GROUP,
    KEPT_KEY,
    KEPT_NEXT,
    KEPT_TIME,
    KEPT_WIDTH,
    LEFT_ARG,
    LEFT_SOURCE,
    M_BASE,
    M_CURRENT,
    M_GROUPS,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEAD,
    M_KEPT_HEADS,
    M_KEPT_TAIL,
    M_N_EVENTS,
    M_SLOTS,
    M_TOP,
    M_TRIED,
    MUST_BREAK,
    NEGATED,
    P_ABSENCES,
    P_BUFFERS,
    P_EACH,
    P_EACH_COLUMN,
    P_N_BUFFERS,
    P_WITHIN,
    PROBE_FROM,
    PROBE_TO,
    READS,
    READS_CURRENT,
    RIGHT_ARG,
    RIGHT_SOURCE,
    START,
    TIME_COLUMN,
    TRIED_FROM,
    TRIED_TO,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.predicates import holds, key_of, locate
from cepheid.kernels.rows import INT_MAX, bucket_of, row_of
from cepheid.kernels.signatures import Helper


@kernel()
def _in_window(
    left: int, right: int, trailing: bool, time: int, since: int, row: int, plan: Ints, pool: Ints, ints: Ints
) -> bool:
    """Whether the windows let an event of this time stand in a gap that they bound on one side (SEMANTICS 2.2).

    Of a group, ``since`` is the first event; else it is the event.

    A gap at the start of the match goes back to its last event less the window, one at its end to its first event
    and the window; BETWEEN EACH holds for its distance from its neighbour.
    """
    within, each = plan[P_WITHIN], plan[P_EACH]
    times = TIME_COLUMN * pool[M_N_EVENTS] - pool[M_BASE]
    clock, moment = times, time  # those of BETWEEN EACH
    if plan[P_EACH_COLUMN] != TIME_COLUMN:
        clock = plan[P_EACH_COLUMN] * pool[M_N_EVENTS] - pool[M_BASE]
        moment = ints[clock + pool[M_TRIED]]
    if trailing:
        if each >= 0 and ints[clock + since] - ints[clock + left] > each:
            return False
        return within < 0 or time - pool[row + START] <= within
    if left < 0:
        last = ints[times + pool[row + EVENT]]
        before = last - ints[times + since]
        return (within < 0 or before <= within) and (each < 0 or ints[clock + right] - moment <= each)
    return True


@kernel()
def _bind_group(header: int, row: int, pool: Ints, ints: Ints) -> int:
    """Bind what a row of a match of a group under NOT says; where the row lies."""
    width = ints[header + GROUP_WIDTH]
    at = ints[header + GROUP_MATCHES] + row * width
    for i in range(width - 2):
        pool[M_SLOTS + ints[header + GROUP_SLOT] + i] = ints[at + 2 + i]
    return at


@kernel()
def _rows_of(header: int, group: int, ints: Ints) -> tuple[int, int]:
    """The rows of a match of the group under NOT that is told at ``header``: the first, and that after the last."""
    rows = ints[header + GROUP_ROWS]
    if rows < 0:
        return group, group + 1
    return ints[rows + group], ints[rows + group + 1]


@kernel()
def _bind_check(header: int, check: int, pool: Ints, ints: Ints) -> int:
    """Bind what a row of checks says; where it lies."""
    n_slots = ints[header + GROUP_WIDTH] - 2
    at = ints[header + GROUP_CHECK_ROWS] + check * (CHECK_SLOTS + n_slots)
    pool[M_TRIED] = ints[at + CHECK_EVENT]
    for i in range(n_slots):
        pool[M_SLOTS + ints[header + GROUP_SLOT] + i] = ints[at + CHECK_SLOTS + i]
    return at


@kernel()
def _passes(
    header: int,
    group: int,
    left: int,
    absence: int,
    row_id: int,
    row: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
) -> bool:
    """Whether a match of a group under NOT passes its checks in a gap that begins after the event ``left``."""
    width = CHECK_SLOTS + ints[header + GROUP_WIDTH] - 2
    of_match = ints[header + GROUP_CHECKS] + group
    for i in range(ints[of_match], ints[of_match + 1]):
        at = ints[header + GROUP_CHECK_ROWS] + i * width
        first, last = i, i
        if ints[at + CHECK_EVENT] == CHECK_SHARED:  # those that lie in the gap
            first, last = ints[at + 1], ints[at + 2] - 1
            if left < 0:
                continue
        for one in range(last, first - 1, -1):
            at = _bind_check(header, one, pool, ints)
            if ints[at + CHECK_EVENT] <= left and last > i:
                break
            c = plan[absence + CHECKS_FROM] + ints[at + CHECK_NUMBER]
            if holds(c, row_id, row, plan, pool, reals, ints, floats, nulls, large) != (
                ints[at + CHECK_EVENT] == CHECK_HOLDS
            ):
                return False
    return True


@kernel()
def _closes(
    at: int,
    row_id: int,
    row: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
) -> bool:
    """Whether the event that is being taken breaks the absence at ``plan[at:]``."""
    current = pool[M_CURRENT]
    fit = ints[FIT_COLUMN * pool[M_N_EVENTS] + current - pool[M_BASE]]
    if not (fit >> plan[plan[P_BUFFERS] + plan[at + NEGATED] * BUFFER_WIDTH + BUFFER_ELEMENT]) & 1:
        return False
    pool[M_TRIED] = current
    for c in range(plan[at + TRIED_FROM], plan[at + TRIED_TO]):
        if not holds(c, row_id, row, plan, pool, reals, ints, floats, nulls, large):
            return False
    return True


@kernel(entry=True)
def free_of(
    first: int,
    last: int,
    row_id: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
) -> int:
    """Whether the absences ``first`` to before ``last`` hold: 1 yes, 0 no, -1 no and never again.

    Where one at the end of a match does not, `M_TRIED` is the first event that breaks it.
    """
    capacity = pool[M_KEPT_CAPACITY]
    row = row_of(row_id, plan, pool)
    for k in range(first, last):
        at = plan[P_ABSENCES] + k * ABSENCE_WIDTH
        if plan[at + READS]:
            if _closes(at, row_id, row, plan, pool, reals, ints, floats, nulls, large):
                if plan[at + MUST_BREAK]:
                    continue
                return -plan[at + FATAL]
            if plan[at + READS] == READS_CURRENT:
                if plan[at + MUST_BREAK]:
                    return 0
                continue
        left = locate(plan[at + LEFT_SOURCE], plan[at + LEFT_ARG], row, pool)
        trailing = plan[at + RIGHT_SOURCE] < 0
        right = INT_MAX
        if plan[at + RIGHT_SOURCE] == GAP_REOPENED:
            field = plan[at + RIGHT_ARG]
            if pool[row + field] >= 0 or pool[pool[M_TOP] + field] < 0:
                continue
        elif not trailing:
            right = locate(plan[at + RIGHT_SOURCE], plan[at + RIGHT_ARG], row, pool)
            if right < 0 or (left < 0 and plan[at + INNER]):
                continue  # another branch was taken, or it is tested at the end of the match
        key, known = key_of(plan[at + PROBE_FROM], plan[at + PROBE_TO], row, plan, pool, ints, nulls)
        if not known:
            continue  # an equality with NULL: no negated event satisfies it
        head = pool[M_KEPT_HEADS] + plan[at + NEGATED] * capacity + bucket_of(key, capacity)
        cursor = pool[head]
        earliest = -1
        while cursor >= pool[M_KEPT_TAIL]:
            place = pool[M_KEPT] + (cursor & (capacity - 1)) * KEPT_WIDTH
            tried = pool[place + KEPT_EVENT]
            if tried <= left:
                break
            if tried < right and pool[place + KEPT_KEY] == key:
                pool[M_TRIED] = since = tried
                group = pool[place + KEPT_GROUP]
                header, one, end = 0, 0, 1
                opens = 0
                if group >= 0:
                    header = pool[M_GROUPS] + plan[at + NEGATED] * GROUP_HEADER
                    one, end = _rows_of(header, group, ints)
                    bound = _bind_group(header, one, pool, ints)
                    since, opens = ints[bound], ints[bound + 1]
                found = since > left and (left < 0 or left >= opens)
                if found:
                    time = pool[place + KEPT_TIME]
                    found = _in_window(left, right, trailing, time, since, row, plan, pool, ints)
                n_checks = plan[at + CHECKS_TO] - plan[at + CHECKS_FROM]
                while found:
                    for c in range(plan[at + TRIED_FROM], plan[at + TRIED_TO]):
                        if found and not holds(c, row_id, row, plan, pool, reals, ints, floats, nulls, large):
                            found = False
                    one += 1
                    if one >= end:
                        break
                    _bind_group(header, one, pool, ints)
                if found and n_checks:
                    found = _passes(header, group, left, at, row_id, row, plan, pool, reals, ints, floats, nulls, large)
                if found and not trailing and not plan[at + MUST_BREAK]:
                    return -1 if plan[at + FATAL] else 0
                if found:
                    earliest = tried
            cursor = pool[place + KEPT_NEXT]
        if plan[at + MUST_BREAK]:
            if earliest < 0:
                return 0
        elif earliest >= 0:
            pool[M_TRIED] = earliest
            return 0
    return 1


@kernel()
def _groups_ending(buffer: int, number: int, pool: Ints, ints: Ints) -> tuple[int, int]:
    """The numbers of the matches of a group that end with an event; -1 to before 0 where single events are kept."""
    if pool[M_GROUPS] < 0:
        return -1, 0
    ends = ints[pool[M_GROUPS] + buffer * GROUP_HEADER + GROUP_ENDS]
    if ends < 0:
        return -1, 0
    return ints[ends + number - pool[M_BASE]], ints[ends + number - pool[M_BASE] + 1]


@kernel(entry=True)
def keep_event(
    fit: int,
    number: int,
    time: int,
    unused: int,
    unused_too: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
) -> int:
    """Keep an event for the NOTs that it may break.

    Returns:
        DONE, or BUFFER_FULL: nothing was kept.
    """
    capacity = pool[M_KEPT_CAPACITY]
    n = 0
    for b in range(plan[P_N_BUFFERS]):
        first, last = _groups_ending(b, number, pool, ints)
        n += last - first
    if pool[M_KEPT_HEAD] - pool[M_KEPT_TAIL] + n > capacity:
        return BUFFER_FULL
    for b in range(plan[P_N_BUFFERS]):
        at = plan[P_BUFFERS] + b * BUFFER_WIDTH
        if not (fit >> plan[at + BUFFER_ELEMENT]) & 1:
            continue
        key, known = key_of(plan[at + BUFFER_KEYS_FROM], plan[at + BUFFER_KEYS_TO], 0, plan, pool, ints, nulls)
        if not known:
            continue
        first, last = _groups_ending(b, number, pool, ints)
        for group in range(first, last):
            kept = pool[M_KEPT_HEAD]
            pool[M_KEPT_HEAD] = kept + 1
            place = pool[M_KEPT] + (kept & (capacity - 1)) * KEPT_WIDTH
            head = pool[M_KEPT_HEADS] + b * capacity + bucket_of(key, capacity)
            pool[place + KEPT_EVENT] = number
            pool[place + KEPT_NEXT] = pool[head]
            pool[place + KEPT_KEY] = key
            pool[place + KEPT_TIME] = time
            pool[place + KEPT_BUFFER] = b
            pool[place + KEPT_GROUP] = group
            pool[head] = kept
    return DONE
