"""What kernels and policies agree on where an event meets a partial match: see `hooks`.

A *pair* is an event and a partial match that waits for such an event: one of a type, and with the conditions on it
alone, that an element it waits for takes; in the same partition and with an equal key; inside the window. An event
that could begin a partial match makes a pair with none. The *cell* of a pair is told by three numbers, the type of
the event, the state of the partial match (the last one stands for none), and the bin of the event's place in the
window: (type * states + state) * bins + bin.
"""

from __future__ import annotations

# --- the table `hooks` of a plan, at `layout.P_HOOKS` --------------------------------------------------------
H_TYPE = 0  # the int column with the number of an event's type
H_PLACE = 1  # the int column with its place in the window, or in the partition where the next one says so
H_FIRST = 2  # the field of a row with the place of its first event, where its window begins; -1: windows slide
H_PAIR = 3  # the field with the cell of the pair that made the row, and marks: the same, where windows do not slide
# Its lowest bits are marks, those above them the cell, all others the place: a row has one word for all of them.
WENT_ON = 1  # it takes no further event, because it took one (next), or is complete
IN_MATCH = 2  # it is a beginning of a match, or one
CELL_SHIFT = 2
PLACE_SHIFT = 24  # columns of places are shifted already
BELOW_PLACE = (1 << PLACE_SHIFT) - 1
MOST_CELLS = 1 << (PLACE_SHIFT - CELL_SHIFT)
H_PLACE_SHIFT = 4  # that of a bin: it has two to the power of so many places, less PLACE_SHIFT
H_N_BINS = 5  # what lies beyond the last bin is in it, too
H_N_STATES = 6  # and one for none
H_N_PREFIX = 7  # where variables wait for the last event: so many of the first take events in order, as they arrive
H_LIST_STATES = 8  # for each list, those of starts too: the state of its rows
HOOKS_HEADER = 8

# --- what a kernel keeps for policies, in `pool` at pool[layout.M_HOOKS] --------------------------------------
A_WORK = 0  # events read and rows walked over
A_LIMIT = 1  # with so much work the kernel returns
A_THRESHOLD = 2  # a pair whose cell has no greater utility than this is dropped
A_LEAST = 3  # the least of all utilities
A_PAIR = 4  # the cell of the pair at hand
A_FIELD = 5  # the field of rows with the place of their first event; any where windows slide
A_GROUPS, A_STATES = 6, 7  # where their records begin, counted from here
A_OBSERVES = 8  # whether pairs are observed now
AREA_HEADER = 16
# Then a record for each cell, and one that nobody reads: that of rows which were there before pairs were observed.
# Behind them those of groups, which are told by type and state as cells are, and of states. What is to be counted of
# one thing lies in one cache line, and is found with one addition.
RECORD_SHIFT = 3
RECORD_WIDTH = 1 << RECORD_SHIFT
# of a cell:
C_UTILITY, C_DROPPED, C_PROCESSED, C_TAKEN, C_COMPLETED, C_MATCHED = 0, 1, 2, 3, 4, 5
C_LAST = 6  # matches that its pairs made without a row: taken, completed and matched, and not counted as such
# of a group:
G_ANSWER = 0  # which pairs are dropped: SOME, NONE, or ALL, whatever their bins
G_MET, G_DROPPED = 1, 2
# of a state:
S_CREATED, S_EXTENDED, S_EXPIRED, S_PAIRS, S_EVALUATED = 0, 1, 2, 3, 4

SOME, NONE, ALL = 0, 1, 2
