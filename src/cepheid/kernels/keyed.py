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
G_HAS_GAPS = 4  # 1: some step has a gap
HEADER = 5

# --- steps: step e takes element e; step 0 starts partial matches, the last one makes matches ----------
S_FORKS = 0
# A condition that compares an int of the partial match with one of the arriving event:
S_PASSES = 1  # bit 0: the partial match passes whose value is smaller than that of the event; 1: equal; 2: greater
S_AGAINST = 2  # column of the event's value
S_VALUE_STEP = 3  # the value of the partial match that this step makes: of the event that this step took ...
S_VALUE = 4  # ... the column
S_GAP = 5  # the elements that may not come between the event of the step before and that of this one, as bits
STEP_WIDTH = 6

FIT_BITS = 8  # elements, at most

# --- the columns: time, that of the key, then those of the plan -------------------------------------------
A_ADDRESS = 0
A_BYTES = 1  # 4 or 8: how wide the integers are; 0 for no key
COLUMN_WIDTH = 2
TIME, KEY, FIRST_VALUE = 0, 1, 2

# --- what the kernel works on ------------------------------------------------------------------------------
W_EVENT = 0  # the first event of the block that comes next, or that is not done
W_STEP = 1  # the step with which to go on in that block ...
W_NOTE = 2  # ... from which of its events ...
W_N_NOTED = 3  # ... of how many; -1: it has to be noted yet which these are
W_LEAST = 4  # the least key
W_END = 5  # the end of all that lies here
W_MOST = 6  # words that the largest room may have
W_N_ENTRIES = 7  # entries in `out`
W_N_TRIED, W_N_CREATED = 8, 9
W_TAKEN = 10  # where the events of a block are noted that fit a step
W_NOTES = 11  # where it is noted which partial matches each of them meets
W_LISTS = 12  # where the lists begin: for each key and each step but the last ...
WORK_HEADER = 13

# --- ... a list ------------------------------------------------------------------------------------------
L_FIRST, L_LAST = 0, 1  # where its first partial match begins, and where the last one ends
L_LIMIT = 2  # how far it may reach before those are looked for that are of no use any more
L_PLACE = 3  # where its room begins; the word before tells how large that is
LIST_WIDTH = 4

# --- partial matches -----------------------------------------------------------------------------------------
E_START = 0  # the time of the first event, or DEAD
E_VALUE = 1  # what the condition of the next step compares
E_EVENTS = 2  # its events
DEAD = -(2**63)  # of a partial match that has been used up; no event has this time

# --- notes: an event that some partial match waits for -------------------------------------------------------
N_EVENT = 0
N_FIRST, N_LAST = 1, 2  # where the partial matches begin and end
N_OLDEST = 3  # the earliest time of a first event
N_AGAINST = 4  # the value that the condition compares
N_LIST = 5  # the list that gets what is made
N_VALUE = 6  # of what is made, unless another event has it
NOTE_WIDTH = 8

BLOCK = 128
"""Events that are done step by step."""

AT_ONCE = 4
"""Partial matches that are tried at a time; as many may be read behind the last one."""
