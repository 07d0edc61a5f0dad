"""Where things lie in the tables by which `routing` brings events to the queries of a set."""

from __future__ import annotations

# --- queries: where their records go -----------------------------------------------------------------
Q_END = 0  # where the next record goes, in words
Q_LAST = 1  # the position of the last one, or -1
Q_KEY_ADDRESS, Q_KEY_BYTES = 2, 3  # where the codes of partitions lie, and the bytes of one: 4, 8; 0 for no partition
QUERY_WIDTH = 4

# --- records: an event that a query can take ---------------------------------------------------------
R_POSITION = 0
R_FIT = 1  # the elements that it fits, as bits
R_TIME = 2
R_KEY = 3  # the code of its partition
RECORD_WIDTH = 4

# --- entries: a query that takes the events of a cell --------------------------------------------------
N_QUERY = 0
N_BITS = 1  # the elements that do
ENTRY_WIDTH = 2
