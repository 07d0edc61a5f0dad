"""Where things lie in the table of a chain: a plan whose every partial match waits for one thing only.

The table repeats what `layout` spreads over lists, edges, states, keys and conditions, step by step, as
`advance_chain` reads it. Step ``e`` takes element ``e``; step 0 starts partial matches, the last one makes matches.
"""

from __future__ import annotations

from cepheid.kernels.layout import LINKS

# --- header ----------------------------------------------------------------------------------------
C_N_STEPS = 0
C_TESTS = 1  # where the tests begin
C_UPDATES = 2  # where the updates begin
C_NUMBERS = 3  # where the numbers of steps begin: at (1 << e), that of the step which takes element e
CHAIN_HEADER = 4

# --- a row of a chain: all of them wait in one list --------------------------------------------------
NEXT, KEY = LINKS, LINKS + 1

# --- steps -------------------------------------------------------------------------------------------
S_STATE = 0  # what a row that this step makes has in STATE
S_FORKS = 1
S_EVENT_KEY = 2  # column in `ints` of the key that the arriving event looks for, or -1 where rows have none
S_ROW_KEY = 3  # column in `ints` of the key under which a row that this step makes waits, or -1 ...
S_ROW_KEY_EVENT = 4  # ... and the field of the row with the number of the event that has it
# The first condition, where it compares an int of the row with one of the arriving event (else any row passes):
S_FILTER_FIELD = 5  # the field with the value of the row
S_FILTER_COLUMN = 6  # column in `ints`
S_PASSES = 7  # bit 0: a row passes whose value is smaller than that of the event; bit 1: equal; bit 2: greater
S_TEST_FROM, S_TEST_TO = 8, 9  # all other conditions
S_UPDATE_FROM, S_UPDATE_TO = 10, 11
STEP_WIDTH = 12

# --- tests: column a of event a, comparator, column b of event b -----------------------------------
T_COMPARATOR = 0
T_A, T_A_COLUMN = 1, 2  # the field of the row that has the number of the event (-1: the arriving one); column in `ints`
T_B, T_B_COLUMN = 3, 4
TEST_WIDTH = 5

# --- updates: field := value of the arriving event ---------------------------------------------------
U_FIELD = 0
U_COLUMN = 1  # column in `ints`, or -1 for the number of the event
UPDATE_WIDTH = 2
