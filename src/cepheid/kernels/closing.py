"""When windows may be closed: events in the order in which they were received, against waits that a policy gives.

From one event to the next nothing is learned, so the time at which a window may be closed is known: it is looked up,
and no clock ticks. Each event and each window costs a look-up for every source, and no more.
"""

from __future__ import annotations

from cepheid.kernels.closing_layout import (
    AFTER_DELAY,
    AFTER_END,
    AFTER_MEAN_DELAY,
    ALARM,
    ALLOWANCE,
    ASK_AFTER,
    ASK_LEARN,
    ASK_RESET,
    ASK_WAIT,
    ASKED,
    ASKED_EDGE,
    AT,
    BEFORE,
    BUDGET,
    BY_EVENT,
    BY_EVENTS,
    CERTAIN_AT,
    COUNT,
    DECIDING,
    DELAYS,
    DONE,
    DRIFT,
    DROPS,
    ELAPSED,
    FIRST,
    GAVE_UP,
    GIVE_UP,
    GIVEN_UP_AT,
    GUARD,
    GUARD_BUDGET,
    GUARD_PAPER,
    HEARD,
    HORIZON,
    KIND,
    LAST,
    LATEST,
    LEARNED,
    LIMIT,
    N_CLOSED,
    N_DELAYS,
    N_DONE,
    N_EDGES,
    N_EVENTS,
    N_LATE,
    N_LOOKUPS,
    N_MISSED,
    N_OUT,
    N_SOURCES,
    N_SUMMED,
    NEVER,
    NOMINAL,
    NOW,
    O_AT,
    O_COUNT,
    O_EVERY,
    O_LAST,
    O_REASON,
    O_SOURCE,
    O_WINDOW,
    OFFSET,
    OUT_FIELDS,
    OUT_FULL,
    PHASE,
    RATIO,
    RECORDS,
    RESERVE,
    RULE_AT,
    SILENT,
    SILENT_AT,
    SIZE,
    SLACK_SUM,
    SLIDE,
    SOURCE_FIELDS,
    SPENDS,
    SPENT,
    STAGE,
    STALE,
    STEP,
    SURE_END,
    SURPLUS,
    TOO_LATE,
    UNKNOWN,
    WIDTH,
    WINDOW,
)
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel()
def _rule_at(source: int, end: int, state: Ints, sources: Ints, edges: Ints, waits: Ints) -> int:
    """When a window may be closed by what was learned of one source, if nothing comes from it; UNKNOWN to ask."""
    fields = source * SOURCE_FIELDS
    last = sources[fields + LAST]
    if sources[fields + AFTER_END] != NEVER:
        return end + sources[fields + AFTER_END]
    ahead = end - last  # α of the paper
    if ahead < 0:
        return BEFORE
    n_edges = sources[fields + N_EDGES]
    if n_edges == 0 or state[KIND] == BY_EVENT:
        return last + sources[fields + GIVE_UP]
    begin = source * state[WIDTH]
    low, high = 0, n_edges  # the edges before `low` are not after α
    while low < high:
        middle = (low + high) // 2
        if edges[begin + middle] <= ahead:
            low = middle + 1
        else:
            high = middle
    state[N_LOOKUPS] += 1
    state[N_SUMMED] += low
    if low == 0:
        return BEFORE
    wait = waits[begin + low - 1]
    if wait == UNKNOWN:
        state[ASKED], state[ASKED_EDGE] = source, low - 1
        return UNKNOWN
    return last + wait


@kernel()
def _look(end: int, state: Ints, sources: Ints, edges: Ints, waits: Ints) -> int:
    """Find when the next window may be closed if no event comes."""
    rule, certain, given_up, heard, silent, deciding = BEFORE, BEFORE, BEFORE, NEVER, BEFORE, -1
    for source in range(state[N_SOURCES]):
        fields = source * SOURCE_FIELDS
        last = sources[fields + LAST]
        if last == BEFORE or last + sources[fields + GIVE_UP] < end - state[SLIDE] + 1:
            continue  # it was given up before the window began
        own = _rule_at(source, end, state, sources, edges, waits)
        if own == UNKNOWN:
            return ASK_WAIT
        if own > rule or deciding < 0:
            deciding = source
        rule = max(rule, own)
        quiet = last + sources[fields + HORIZON]
        silent = max(silent, quiet)
        if sources[fields + AFTER_END] != NEVER:
            certain = max(certain, end + sources[fields + SURE_END])
            heard = min(heard, state[NOW] - sources[fields + SURE_END])
            continue
        if end >= last:
            given_up = max(given_up, last + sources[fields + GIVE_UP])
        if state[NOW] <= quiet:
            heard = min(heard, last)
    state[RULE_AT], state[CERTAIN_AT], state[GIVEN_UP_AT] = rule, max(certain, given_up), given_up
    state[HEARD], state[SILENT_AT] = heard, silent
    state[DECIDING] = deciding
    state[STALE] = 0
    return DONE


@kernel()
def _is_held_back(reserve: int, state: Ints) -> bool:
    """Whether the guard keeps windows from being closed by what was learned.

    Args:
        reserve: of misses, that are not to be spent.
    """
    if state[GUARD] == GUARD_PAPER:
        return state[N_CLOSED] > 0 and state[N_MISSED] * RATIO >= state[BUDGET] * state[N_CLOSED]
    if state[GUARD] == GUARD_BUDGET:
        first_open = state[FIRST]
        if state[HEARD] > BEFORE:
            first_open = max(first_open, -((state[PHASE] - state[HEARD]) // state[SLIDE]))
        n_pending = max(0, state[WINDOW] - first_open)  # closed, and it is not known yet whether rightly
        return (state[N_MISSED] + n_pending + 1 + reserve) * RATIO > state[BUDGET] * (state[N_CLOSED] + 1)
    return False


@kernel()
def _mean_delay(state: Ints, sources: Ints) -> int:
    """The greatest mean delay of a source, to the nearest tick."""
    greatest = 0
    for source in range(state[N_SOURCES]):
        fields = source * SOURCE_FIELDS
        n = sources[fields + N_DELAYS]
        if n > 0:
            greatest = max(greatest, (2 * sources[fields + DELAYS] + n) // (2 * n))
    return greatest


@kernel()
def _write(n: int, when: int, every: int, reason: int, state: Ints, sources: Ints, out: Ints, lasts: Ints) -> int:
    """Close the next ``n`` windows: the first at a time, each further one ``every`` ticks later."""
    slide = state[SLIDE]
    window = state[WINDOW]
    nominal = window * slide + state[NOMINAL]
    row = (state[N_OUT] - 1) * OUT_FIELDS
    joins = (
        reason == BY_EVENTS
        and state[N_OUT] > 0
        and state[RECORDS] == 0
        and out[row + O_REASON] == BY_EVENTS
        and out[row + O_AT] == when
        and out[row + O_EVERY] == 0
        and out[row + O_WINDOW] + out[row + O_COUNT] == window
    )
    if joins:
        out[row + O_COUNT] += n
    else:
        if (state[N_OUT] + 1) * OUT_FIELDS > len(out):
            return OUT_FULL
        row += OUT_FIELDS
        source = state[DECIDING]
        out[row + O_WINDOW] = window
        out[row + O_COUNT] = n
        out[row + O_AT] = when
        out[row + O_EVERY] = every
        out[row + O_REASON] = reason
        out[row + O_SOURCE] = source
        out[row + O_LAST] = BEFORE if source < 0 else sources[source * SOURCE_FIELDS + LAST]
        if state[RECORDS] == 1:
            begin = state[N_OUT] * state[N_SOURCES]
            for number in range(state[N_SOURCES]):
                lasts[begin + number] = sources[number * SOURCE_FIELDS + LAST]
        state[N_OUT] += 1
    state[WINDOW] = window + n
    state[N_CLOSED] += n
    state[SLACK_SUM] += n * (when - nominal) if every == slide else n * (when - nominal) - slide * (n * (n - 1) // 2)
    state[SURPLUS] = max(0, state[SURPLUS] - n * state[DRIFT])
    state[STALE] = 1
    return DONE


@kernel()
def _close_until(
    limit: int, state: Ints, sources: Ints, edges: Ints, waits: Ints, missed: Ints, out: Ints, lasts: Ints
) -> int:
    """Close the windows that may be closed up to a time, if no event comes before it."""
    slide = state[SLIDE]
    if state[WINDOW] == BEFORE:  # no event has come
        return DONE
    while True:
        window = state[WINDOW]
        end = window * slide + state[PHASE]
        nominal = window * slide + state[NOMINAL]
        now = state[NOW]
        n, every, reason = 1, 0, ELAPSED
        if state[KIND] == AFTER_DELAY or state[KIND] == AFTER_MEAN_DELAY:
            offset = state[OFFSET] if state[KIND] == AFTER_DELAY else _mean_delay(state, sources)
            when = max(now, nominal + offset)
            if when <= limit and nominal + offset >= now:
                n, every = (limit - when) // slide + 1, slide
        else:
            earliest = end - slide + 1
            if earliest > limit or now == BEFORE:
                return DONE
            if state[STALE] == 1:
                code = _look(end, state, sources, edges, waits)
                if code != DONE:
                    return code
            due = state[CERTAIN_AT]
            reason = GAVE_UP if due == state[GIVEN_UP_AT] else LEARNED
            if due == BEFORE:
                reason = BY_EVENTS if state[DECIDING] >= 0 else SILENT
            elif state[KIND] != BY_EVENT and state[RULE_AT] < due and not _is_held_back(0, state):
                due, reason = state[RULE_AT], LEARNED
                if state[SPENDS] == 1 and due > max(now, earliest) and not _is_held_back(RESERVE, state):
                    due, reason = BEFORE, SPENT
            latest = NEVER
            if state[LATEST] < NEVER:
                latest = nominal + state[LATEST]
            if state[ALLOWANCE] < NEVER:
                latest = min(latest, nominal + state[ALLOWANCE] * (state[N_CLOSED] + 1) - state[SLACK_SUM])
            if latest < due and max(latest, earliest) < max(due, now):
                due, reason = latest, TOO_LATE
            when = max(due, now, earliest)
            # With every source silent for long, nothing keeps the windows that follow open either.
            alone = reason == SILENT or (reason == LEARNED and state[SILENT_AT] < earliest)
            if alone and earliest >= now and when <= limit:
                n, every = (limit - when) // slide + 1, slide
        if when > limit:
            return DONE
        code = _write(n, when, every, reason, state, sources, out, lasts)
        if code != DONE:
            return code
        if reason == SPENT:
            size = len(missed) // 2
            missed[size + (window & (size - 1))] = window


@kernel()
def _count_missed(generated: int, state: Ints, missed: Ints) -> int:
    """Count the windows that an event is missing from because it came when they were closed."""
    slide, phase = state[SLIDE], state[PHASE]
    first = max(state[FIRST], -((phase - generated) // slide))
    if first >= state[WINDOW]:
        return 0
    state[N_LATE] += 1
    last = (generated + state[SIZE] - phase) // slide
    if state[DROPS] == 0:
        last = min(last, state[WINDOW] - 1)
    size = len(missed) // 2
    first = max(first, last - size + 1)
    n = 0
    for window in range(first, last + 1):
        slot = window & (size - 1)
        if missed[slot] != window:
            missed[slot] = window
            n += 1
            if missed[size + slot] != window:
                state[SURPLUS] += STEP
    state[N_MISSED] += n
    return n


@kernel()
def _take(source: int, generated: int, received: int, state: Ints, sources: Ints, missed: Ints) -> int:
    """Take one event."""
    fields = source * SOURCE_FIELDS
    if state[WINDOW] == BEFORE:
        state[FIRST] = state[WINDOW] = -((state[PHASE] - generated) // state[SLIDE])
    n_missed = _count_missed(generated, state, missed)
    if generated > sources[fields + LAST]:
        sources[fields + LAST] = generated
        state[STALE] = 1
    sources[fields + DELAYS] += received - generated
    sources[fields + N_DELAYS] += 1
    sources[fields + COUNT] += 1
    if n_missed > 0 and (sources[fields + N_EDGES] > 0 or sources[fields + AFTER_END] != NEVER):
        if state[GUARD] == GUARD_BUDGET and state[SURPLUS] > state[ALARM]:
            return ASK_RESET
        if state[GUARD] == GUARD_PAPER and _is_held_back(0, state):
            return ASK_RESET
    if sources[fields + COUNT] >= sources[fields + ASK_AFTER]:
        state[ASKED] = source
        return ASK_LEARN
    return DONE


@kernel(entry=True)
def close_windows(
    state: Ints,
    sources: Ints,
    edges: Ints,
    waits: Ints,
    events: Ints,
    missed: Ints,
    out: Ints,
    lasts: Ints,
) -> int:
    """Go through events in the order in which they were received, and close windows before and after each.

    Args:
        state: int64, (STATE_FIELDS,).
        sources: int64, (N_SOURCES * SOURCE_FIELDS,).
        edges: int64, (N_SOURCES * WIDTH,): for each source the values of α, ascending, from which on another wait
            holds. Below the first one, nothing is to be waited for.
        waits: int64, like ``edges``: how long after the newest event of the source a window stays open (β); UNKNOWN
            where nobody has asked yet.
        events: int64, (3 * N_EVENTS,): the sources of all events, then when each was generated and received, ticks.
        missed: int64, twice a power of two: the windows that are known to miss an event, each at its number modulo that
            power; behind them those that were given up on purpose.
        out: int64, room for rows of OUT_FIELDS: windows that were closed.
        lasts: int64, with RECORDS: for each row of ``out`` the LAST of all sources.

    Returns:
        DONE, or what is to be done before the kernel is called again to go on.
    """
    n = state[N_EVENTS]
    while state[AT] < n:
        i = state[AT]
        received = max(events[2 * n + i], state[NOW])
        if state[STAGE] == 0:
            code = _close_until(received - 1, state, sources, edges, waits, missed, out, lasts)
            if code != DONE:
                return code
            state[STAGE] = 1
        if state[STAGE] == 1:
            if received > state[NOW]:
                state[NOW] = received
            state[STAGE] = 2
            state[N_DONE] += 1
            code = _take(events[i], events[n + i], events[2 * n + i], state, sources, missed)
            if code != DONE:
                return code
        if i + 1 < n and max(events[2 * n + i + 1], received) == received:
            state[AT], state[STAGE] = i + 1, 1  # windows are closed when all events of this time are there
            continue
        code = _close_until(received, state, sources, edges, waits, missed, out, lasts)
        if code != DONE:
            return code
        state[AT], state[STAGE] = i + 1, 0
    if state[LIMIT] > state[NOW] and state[WINDOW] != BEFORE:
        code = _close_until(state[LIMIT], state, sources, edges, waits, missed, out, lasts)
        if code != DONE:
            return code
        state[NOW] = state[LIMIT]
    return DONE
