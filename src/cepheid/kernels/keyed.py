"""Where things lie in the tables of chains whose events all have the same key.

Every key has room of its own for the partial matches of each step, which lie side by side in the order in which they
were made: there are no links to follow, and no other keys to pass over. Columns of the events are read where they lie.
"""

from __future__ import annotations

# --- the plan: header ------------------------------------------------------------------------------
G_N_STEPS = 0
G_WITHIN = 1  # longest distance from the first event, us; -1 for none
G_STEPS = 2  # where the steps begin
G_NUMBERS = 3  # where the numbers of steps begin: at (1 << e), that of the step which takes element e
HEADER = 4

# --- steps: step e takes element e; step 0 starts partial matches, the last one makes matches ----------
S_FORKS = 0
# A condition that compares an int of the partial match with one of the arriving event:
S_PASSES = 1  # bit 0: the partial match passes whose value is smaller than that of the event; 1: equal; 2: greater
S_AGAINST = 2  # column of the event's value
S_VALUE_STEP = 3  # the value of the partial match that this step makes: of the event that this step took ...
S_VALUE = 4  # ... the column
STEP_WIDTH = 5

FIT_BITS = 8  # elements, at most

# --- the columns: time, that of the key, then those of the plan -------------------------------------------
A_ADDRESS = 0
A_BYTES = 1  # 4 or 8: how wide the integers are; 0 for no key
COLUMN_WIDTH = 2
TIME, KEY, FIRST_VALUE = 0, 1, 2

# --- what the kernel works on ------------------------------------------------------------------------------
W_EVENT = 0  # next event
W_STEP = 1  # the step with which to go on, or -1
W_LEAST = 2  # the least key
W_END = 3  # the end of all that lies here
W_MOST = 4  # words that the largest room may have
W_N_ENTRIES = 5  # entries in `out`
W_N_TRIED, W_N_CREATED = 6, 7
W_TAKEN = 8  # where those of the next events are noted that fit
W_PASSED = 9  # where those partial matches are noted that an event can extend
W_LISTS = 10  # where the lists begin: for each key and each step but the last ...
WORK_HEADER = 11

# --- ... a list ------------------------------------------------------------------------------------------
L_PLACE = 0  # where its room begins
L_WORDS = 1  # how large that is
L_FIRST, L_LAST = 2, 3  # where its first partial match begins, and where the last one ends
LIST_WIDTH = 4

# --- partial matches -----------------------------------------------------------------------------------------
E_START = 0  # the time of the first event, or DEAD
E_VALUE = 1  # what the condition of the next step compares
E_EVENTS = 2  # its events
DEAD = -(2**63)  # of a partial match that has been used up; no event has this time

BLOCK = 512
"""Events of which the kernel notes at a time which fit."""
