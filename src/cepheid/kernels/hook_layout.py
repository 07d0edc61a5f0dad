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
A_PAIR = 3  # the cell of the pair at hand
# where tables begin, counted from here; by cell:
A_UTILITIES, A_DROPPED, A_PROCESSED, A_TAKEN, A_COMPLETED, A_MATCHED = 4, 5, 6, 7, 8, 9
# by type and state:
A_ANSWERS = 10  # which pairs are dropped: SOME, NONE, or ALL, whatever their bins
A_GROUPS, A_GROUPS_DROPPED = 11, 12
# by state:
A_CREATED, A_EXTENDED, A_EXPIRED, A_PAIRS, A_EVALUATED = 13, 14, 15, 16, 17
A_LEAST = 18  # the least of all utilities
# of the list that is walked; see `hooks.meet_list`:
A_GROUP = 19  # the number of the type and state
A_PLACE = 20  # the place of the event, from which that of a row's first event is to be taken off
# of the run of its rows that lie in one bin:
A_EDGE, A_WIDTH = 21, 22  # a row is in it that lies no further below the edge, as a number without sign (-1: all are)
A_APART = 23  # 1: its pairs are dropped
A_COUNTER = 24  # where its pairs are counted, from here
A_FIELD = 25  # the field of rows that tells where they lie
AREA_HEADER = 26

SOME, NONE, ALL = 0, 1, 2
