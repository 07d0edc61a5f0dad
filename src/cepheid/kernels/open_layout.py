"""What kernels and the host agree on where conditions wait for an answer: see `open_predicates`.

A *predicate* is a condition on certain values whose truth is not known yet. A *literal* says that one is true or that
it is false. A partial match rests on the literals that were assumed where it was made: they are a list of *cells*,
each with a literal and the next cell, so that what grows from a partial match shares its cells.
"""

from __future__ import annotations

# --- the area, in `pool` at pool[layout.M_OPEN] ---------------------------------------------------------------
O_DEPTH = 0  # literals that were assumed in the step at hand, so far
O_AGAIN = 1  # 1: the kernel has returned in the middle of a step, and is to go on with what is assumed
O_EDGE = 2  # the entry of `list_edges` at which it is to go on
O_BASE = 3  # what the partial match at hand rests on: a cell, or NO_CELL
O_N_CELLS, O_CELLS_ROOM = 4, 5
O_HEAD, O_N_MATCHES = 6, 7  # as they were when the step began under what is assumed now
O_N_OPEN = 8  # predicates that are not settled
O_UNTIL_POLL = 9  # events after which the kernel returns, so that answers are looked for, while there are such
# where tables begin, counted from here:
O_PATH = 10  # the assumed literals
O_STATUS = 11  # by predicate: 0 false, 1 true, or OPEN
O_CELLS = 12
OPEN_HEADER = 13

OPEN = 2
"""Not settled yet."""

MOST_ASSUMED = 64
"""Literals that one step assumes: where one more is to be assumed, the host waits for its answer."""

# --- a literal: twice the number of the predicate, and 1 where it is to be true -------------------------------
# --- a cell ---------------------------------------------------------------------------------------------------
LITERAL, NEXT_CELL = 0, 1
CELL_WIDTH = 2
NO_CELL = -1
REFUTED = -2  # in place of a cell: one of the literals is not so
