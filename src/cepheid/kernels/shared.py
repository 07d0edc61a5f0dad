"""Where things lie in the tables of queries whose matches share their structure (`plan.shared`).

Events that fit the same elements are of one *class*. What an event does to the numbers of ways between states is a
matrix for its class: the unit matrix but for some rows. It is kept as *operations* on columns, which add one more event
behind those that were multiplied, and as operations on rows, which add one before them.
"""

from __future__ import annotations

# --- the plan: header ------------------------------------------------------------------------------
P_N_STATES = 0  # states that can take an event; the first one is that of no event
P_N_SLOTS = 1  # the same, and places for copies
PLAN_HEADER = 2

# --- classes stand behind the header: where their tables begin and end -------------------------------
C_COLUMNS_FROM, C_COLUMNS_TO = 0, 1  # operations on columns
C_ROWS_FROM, C_ROWS_TO = 2, 3  # operations on rows
C_ENDS_FROM, C_ENDS_TO = 4, 5  # states from which an event of the class completes a match, once for each way
C_MOVES_FROM, C_MOVES_TO = 6, 7  # moves
CLASS_WIDTH = 8

# --- operations ----------------------------------------------------------------------------------------
O_KIND = 0
ADD, SET, CLEAR = 0, 1, 2
O_TARGET, O_SOURCE = 1, 2
O_FROM, O_TO = 3, 4  # the entries of the column or row that can be other than 0
OPERATION_WIDTH = 5

# --- moves: what an event of the class does to a state, where it does something ------------------------------
M_STATE = 0
M_PASSED = 1  # the state when the event has gone by; -1: none
M_STEPS_FROM, M_STEPS_TO = 2, 3
MOVE_WIDTH = 4

# --- steps of a move, in the order of the variables in the text ------------------------------------------------
S_TARGET = 0  # the state after the event; -1: none that can take another one
S_COMPLETE = 1  # 1: it completes a match
S_VARIABLE = 2
STEP_WIDTH = 3

# --- what `shared_count` keeps ----------------------------------------------------------------------------------
W_EVENT = 0  # next event
W_PARTITION = 1  # that of the event; -1 before the first one
W_FIRST, W_MIDDLE = 2, 3  # events before the middle have their products in `front`, later ones in the matrix
W_BASE = 4  # the event whose product is the first one in `front`
W_ROWS = 5  # rows of the matrix that are needed: one where no event leaves the window
W_MOST = 6  # the greatest number of events in a window
W_TOO_LARGE = 7  # 1: a number has not fit
W_COUNT = 8  # of all matches
W_N_ENDS = 9  # events that completed matches
WORK_HEADER = 10  # then the matrix, column after column, and room for another one

LARGEST = 1 << 62
"""Numbers stay below it, so that two of them can be added."""

# --- what `shared_first` keeps --------------------------------------------------------------------------------------
F_EVENT = 0  # next event, in the order of the events
F_DEPTH = 1  # the event of the match at which to go on; -1: none is being made
F_MATCHES, F_ENTRIES = 2, 3  # matches that are written, and their events
FIRST_HEADER = 4  # then the list of each state, room for a copy of these, and the path to the match

# --- its lists: events with which a match can go on, the earliest first -----------------------------------------------
L_EVENT = 0
L_VARIABLE = 1
L_NEXT = 2  # the next event of the list, or NO_LINK
L_DOWN = 3  # the list of the state after the event, or THE_END of the match
LINK_WIDTH = 4
NO_LINK, THE_END = -1, -2
