"""The numbers that the kernel which closes windows and its callers agree on: fields of its arrays, codes, kinds.

Times are whole *ticks*. Window k ends at ``end(k) = k * SLIDE + PHASE`` and holds the events generated from
``end(k) - SIZE`` to ``end(k)``, both included.
"""

from __future__ import annotations

NEVER = 1 << 61
"""A time after all others, and a wait without an end."""
UNKNOWN = -(1 << 60)
"""A wait that was not looked up yet."""
BEFORE = -(1 << 61)
"""A time before all others."""
RATIO = 1_000_000_000
"""Ratios are integers in units of one over this."""
STEP = 1_000_000
"""One miss, in the unit of `DRIFT`, `ALARM` and `SURPLUS`."""
RESERVE = 32
"""Misses that are not given away, so that the guard need not keep windows open that miss nothing. Chosen."""

# --- fields of `state` -------------------------------------------------------------------------------
(
    SLIDE,  # ticks from one window's end to the next (f of the paper)
    SIZE,  # ticks (l)
    PHASE,
    NOMINAL,  # slack is counted from `window * SLIDE + NOMINAL`
    KIND,  # how windows are closed: one of the kinds below
    OFFSET,  # AFTER_DELAY: the slack
    LATEST,  # the greatest slack, ticks, or NEVER (mal)
    ALLOWANCE,  # ticks of slack per window that may be spent on average, or NEVER (Δ)
    GUARD,  # one of the guards below
    BUDGET,  # ratio of windows that may miss an event (δ), in units of 1 / RATIO
    DRIFT,  # by how much a window lowers the surplus of misses
    ALARM,  # at which surplus what was learned no longer holds
    SPENDS,  # 1: while the budget allows it, windows are given up as soon as they may be closed
    DROPS,  # 1: an event that is late for one window is in none
    FIRST,  # the first window
    WINDOW,  # the next one to be closed
    NOW,  # up to here all has been done
    N_CLOSED,
    N_MISSED,  # windows that are known to miss an event
    SLACK_SUM,
    SURPLUS,  # of misses over what is allowed, lately (CUSUM)
    N_LATE,  # events
    N_LOOKUPS,  # of waits
    N_SUMMED,  # products that these would have cost without the waits
    N_SOURCES,
    WIDTH,  # room for edges of each source
    N_EVENTS,  # in `events`
    AT,  # the event to go on with
    STAGE,  # 0: windows before it, 1: the event itself, 2: windows at its time
    N_DONE,  # events that were taken
    LIMIT,  # when all events are done, windows are closed up to here
    ASKED,  # the source that is asked about
    ASKED_EDGE,
    N_OUT,
    RECORDS,  # 1: `lasts` is filled
    STALE,  # 1: the three below are of another window
    RULE_AT,  # when the policy's rule closes the window, if nothing comes
    CERTAIN_AT,  # the same without a rule: what was seen says that nothing is missing, or a source has given up
    GIVEN_UP_AT,  # when the last source gives up; BEFORE for none that would
    HEARD,  # all sources that still speak have sent events up to here
    SILENT_AT,  # from here on all sources are silent by what was learned
    DECIDING,  # the source that keeps the window open longest
    STATE_FIELDS,
) = range(43)

# --- fields of each source ----------------------------------------------------------------------------
(
    LAST,  # generation time of its newest event, ticks; BEFORE for none
    COUNT,  # events since the policy was last asked to learn from it
    ASK_AFTER,  # so many of them: it is asked
    N_EDGES,  # 0 where nothing was learned yet
    HORIZON,  # after its newest event, nothing is expected any more
    GIVE_UP,  # after its newest event, it is no longer waited for, whatever was learned
    AFTER_END,  # its events overtake each other: it keeps a window open so long after its end; NEVER where they do not
    SURE_END,  # then none is expected so long after
    DELAYS,  # sum, ticks
    N_DELAYS,
    SOURCE_FIELDS,
) = range(11)

# --- kinds ----------------------------------------------------------------------------------------------
BY_RULE, BY_EVENT, AFTER_DELAY, AFTER_MEAN_DELAY = range(4)

# --- guards ---------------------------------------------------------------------------------------------
UNGUARDED = 0
GUARD_BUDGET = 1  # no window is closed early that could bring the ratio of misses above the budget
GUARD_PAPER = 2  # none is while the ratio of misses that are known is at the budget

# --- fields of each row of `out` ----------------------------------------------------------------------------
O_WINDOW, O_COUNT, O_AT, O_EVERY, O_REASON, O_SOURCE, O_LAST, OUT_FIELDS = range(8)

# --- reasons ------------------------------------------------------------------------------------------------
BY_EVENTS = 0  # events after its end have come from all sources
LEARNED = 1  # the rule of the policy
TOO_LATE = 2  # the greatest slack, or the allowance
GAVE_UP = 3  # a source was silent for too long
ELAPSED = 4  # the delay has passed
SPENT = 5  # the budget allows a miss
SILENT = 6  # no source speaks any more

# --- return codes -------------------------------------------------------------------------------------------
DONE = 0
OUT_FULL = 1
ASK_WAIT = 2  # ASKED, ASKED_EDGE
ASK_LEARN = 3  # ASKED
ASK_RESET = 4
