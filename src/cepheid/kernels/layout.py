"""The numbers that plans and kernels agree on: where things lie in their arrays, op codes, return codes.

Everything a kernel works on lies in seven flat arrays, because each array that is handed to a compiled function
costs time at every call, and tuples of arrays make Numba compile for a minute:

- ``plan`` (int64): the tables of the plan, one after the other; it starts with a header of ``P_*`` entries.
- ``pool`` (int64): partial matches, the lists they wait in, events kept for NOT, and a header of ``M_*`` entries
  that holds all that a kernel keeps between calls.
- ``reals`` (float64): constants of the plan, a stack, and the float registers of partial matches.
- ``ints`` (int64): columns of the events, one after the other: time (us), fit (bit e: the event fits element e),
  then those of the plan; after them, for each int and then each float column its place in ``nulls``, or -1.
- ``floats`` (float64): float columns.
- ``nulls`` (uint8): for each column that has NULLs, 1 where it is NULL.
- ``out`` (int64): matches, as they are found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Halves = NDArray[np.int32]
Words = NDArray[np.uint64]

# --- header of `plan` ------------------------------------------------------------------------------
# where each table begins ...
P_CODE, P_CONDITIONS, P_UPDATES, P_EDGES, P_ABSENCES, P_KEYS, P_LISTS, P_LIST_EDGES, P_BUFFERS, P_STATES = range(10)
P_N_LISTS = 10  # one more list stands behind them: its edges are the starts
P_N_BUFFERS = 11
P_WITHIN = 12  # longest distance from the first event, us; -1 for none
P_KEEP = 13  # what is older than this can be forgotten, us; -1 for never
P_ROW_WIDTH = 14
P_REGISTERS = 15  # field of the first register in a row
P_FIXED_LENGTH = 16  # number of events of every match, or 0 where it varies
P_RUN_FIELD = 17  # field of the run's number in a row, or -1 where no match waits for its deadline
P_ONE_START = 18  # 1: an event starts at most one run (next)
P_N_REALS = 19  # float registers of a row
P_FANOUT = 20  # rows that one row can give on one event, at most
P_STACK_REALS = 21  # where the stack begins in `reals`; it is as deep there as in the pool
P_REGISTER_REALS = 22  # where the float registers begin in `reals`: after the stack
P_ITERATED, P_COMBINATIONS, P_ENDS = 23, 24, 25  # more tables
P_N_STARTS = 26  # how many lists of starts stand behind the others
P_KEEP_NEGATED = 27  # as P_KEEP, for the events kept for NOT
P_HORIZON = 28  # runs whose first event is older than this are decided, us; -1 for never
P_EACH = 29  # longest gap between neighbours, us or by the other clock; -1 for none
P_TELLS = 30  # whether the partial matches that are left when their window closes are told: 0, or one of the following
TELLS_TIMED_OUT = 1
TELLS_ALL = 2  # and those that are no longer left, so that equal ones can be told apart from them (any)
P_HISTORY = 31  # 1: conditions look at more of a match than its registers (strict)
P_LOGS = 32  # whether, beside the matches, the ends of runs are written, with NO_ELEMENT: 0, or one of the following
LOGS_RUNS = 1
LOGS_ROWS = 2  # each row that could go on tells of itself; the end of the run is the last of these
P_EACH_COLUMN = 33  # the column of the clock of BETWEEN EACH: TIME_COLUMN, or another
P_MIXED = 34  # 1: prefixes give edges policies of their own
# Where some variables wait for the last event:
P_JOINS, P_N_JOINS = 35, 36  # the steps that take events which were kept, a table
P_TRIGGER = 37  # the number of the edge that an event takes which may be the last of a match
P_CLOSES_LOOP = 38  # 1: the last of these steps is a loop, and ends with that event: the edge itself takes none
P_JOIN_FIELD = 39  # where in a row the fields J_STEP and those after it begin
P_HOOKS = 40  # a table for policies: see `hook_layout`
P_N_SORTED = 41  # how many steps find events in the order of a value
P_CHAIN = 42  # the field of what a row rests on, where conditions may wait for answers: see `open_layout`; or -1
P_EACH_IS_TIME = 43  # 1: BETWEEN EACH is measured in time, whatever WITHIN is
PLAN_HEADER = 44

# --- header of `pool`: what a kernel keeps between calls -------------------------------------------
M_EVENT = 0  # next event, as an index into the batch
M_LIST = 1  # the list in which to go on ...
M_ROW = 2  # ... at this row (NO_ROW: from its head)
M_STAGE = 3  # 0 deadlines, 1 lists, 2 the event is kept for NOT
M_HEAD, M_TAIL = 4, 5  # ids of rows: next to be made, oldest that is kept
M_RUN_HEAD, M_RUN_TAIL = 6, 7
M_KEPT_HEAD, M_KEPT_TAIL = 8, 9
M_BASE = 10  # number in the stream of the event at index 0 of the batch
M_N_EVENTS = 11  # events in the batch, or for how many there is room in its columns: the length of each
M_N_MATCHES, M_N_ENTRIES = 12, 13
M_N_TRIED = 14  # (event, partial match) pairs looked at
# where things begin in `pool`, and their room (powers of two)
M_ROWS, M_CAPACITY = 15, 16
M_HEADS, M_BUCKETS = 17, 18
M_RUNS, M_RUN_CAPACITY = 19, 20
M_KEPT, M_KEPT_CAPACITY = 21, 22
M_KEPT_HEADS = 23  # M_KEPT_CAPACITY buckets for each buffer
M_STACK, M_TAGS, M_ITERATED = 24, 25, 26
M_INT_NULLS, M_FLOAT_NULLS = 27, 28  # where the places in `nulls` begin in `ints`
# where things begin in `out`; positions of events come first
M_OUT_ENTRIES = 29  # room for events
M_OUT_MATCHES = 30  # room for matches, where their length varies
M_OUT_ELEMENTS, M_OUT_OFFSETS, M_OUT_DECIDED, M_OUT_DECIDERS = 31, 32, 33, 34
# events that operands name by their place here: -1 where there is none
M_CURRENT = 35  # the event that is being taken
M_TRIED = 36  # the event that a NOT is tried on
M_NOTHING = 37  # always -1: a variable that this match does not bind
MAX_ITERATED = 62  # as many as a pattern has elements
M_ELEMENTS = 38  # for each iterated variable: the element that is being tried ...
M_BEFORES = M_ELEMENTS + MAX_ITERATED  # ... the element before it ...
M_FIRSTS = M_BEFORES + MAX_ITERATED  # ... and the loop's first element, where that is not the one that is being tried
M_HOST = M_FIRSTS + MAX_ITERATED  # the address of the function that computes what no table can: see `host`
M_FAILED = M_HOST + 1  # 1: that function failed, and the run is to stop
M_TOP = M_HOST + 2  # where the row lies that gives back the events of an iteration
MAX_SLOTS = 62
M_SLOTS = M_HOST + 3  # what a match of a group under NOT binds, as operands name it
M_GROUPS = M_SLOTS + MAX_SLOTS  # where the matches of groups under NOT are told in `ints`, or -1: see below
M_TRIGGER = M_GROUPS + 1  # the event for which events that were kept are joined
M_STOP = M_TRIGGER + 1  # kernels stop before the event at this index
M_QUIET = M_TRIGGER + 2  # the event at this index is the first for which it joins
M_ROOT = M_TRIGGER + 3  # J_STEP and those after it, of the partial match that has no event
M_HOOKS = M_ROOT + 4  # where what is kept for policies begins: see `hook_layout`
M_SORTED = M_ROOT + 5  # where the entries of steps begin that find events in the order of a value
N_SORTED, N_LATE = 0, 1  # before them: how many there are, or UNSORTED; how many came since they were last put in order
UNSORTED = -1
LATE_FROM, MOST_LATE = 2, 16  # then the entries that did, as they came
SORTED_FROM = LATE_FROM + 2 * MOST_LATE
M_OPEN = M_ROOT + 6  # where what is known of open predicates begins: see `open_layout`
M_OUT_CHAINS = M_ROOT + 7  # where in `out` it stands what each match rests on
POOL_HEADER = M_OUT_CHAINS + 1

# --- columns of the events, in `ints` --------------------------------------------------------------
TIME_COLUMN, FIT_COLUMN, FIRST_COLUMN = 0, 1, 2

# --- a partial match: a row ------------------------------------------------------------------------
# Rows lie in a ring: row `id` at `id & (capacity - 1)`. Ids only grow, so a link to an id below the tail leads
# to a row that is gone, and a list whose rows are pushed at the front has falling ids.
EVENT = 0  # the event it took last: its number in the stream
PARENT = 1  # the row it extends, or -1
START = 2  # the time of its first event, us
STATE = 3  # its state, and the number of its events in the bits from LENGTH_SHIFT on
LINKS = 4  # then NEXT and KEY for each list it may be in, the run's number if any, then registers
LENGTH_SHIFT = 20
STATE_MASK = (1 << LENGTH_SHIFT) - 1
NO_ROW = -1
UNLINKED = -2  # in NEXT: in no list
# Where a row has a run's number, the next field holds the next row that waits for the deadline of that run, and where
# the plan tells what timed out, or a run forks and its rows end at moments of their own, the one after it is:
GROWN = 1  # once the row has taken one more event, and also stays as it is
MOVED_ON = 2  # once it takes no more: only others of its run are left
# --- under `strict`, a row stands for a run, or for an item of one --------------------------------------------
# An item is a partial match with some of its ways on, or a complete one. A run holds its items in the order of
# preference, and is itself in list 0, under its partition.
ITEM_NEXT = LINKS + 2  # the next item; of a run: its first item
ITEM_FROM = LINKS + 3  # its ways, in the table `list_edges`; complete: -1 - the row of `ends`; of a run: its last item
ITEM_TO = LINKS + 4  # of a run: its number
# Of a complete one: since when nothing preferred to it can be a match any more, but for what stands before it.
LATEST_TIME = LINKS + 5  # the time ...
LATEST_EVENT = LINKS + 6  # ... and the event, or -1 where the time decided
STRICT_LINKS = 7
# --- a run: a start whose deadline is waited for ---------------------------------------------------
RUN_ROW = 0  # the row to decide, the first of several, or NO_ROW
RUN_START = 1  # the time of its first event, us
RUN_FIRST = 2  # that event
RUN_LAST, RUN_LAST_US = 3, 4  # the event that ended it, or the last that a row of its which waits took; -1: none
RUN_EDGE = 5  # where the edge by which it began lies in the plan
RUN_WIDTH = 6
# Where P_LOGS: the end of a run is written as a match is, with its first event alone, bound to:
NO_ELEMENT = -1
# What a register that holds the number of an event says where there is none:
NOT_BOUND = -1  # absent
EMPTY = -2  # the variable of an optional part that took nothing
NOT_BEGUN = -2  # in the count of a loop or of an aggregate: absent (0: empty)

# --- an event kept for NOT -------------------------------------------------------------------------
KEPT_EVENT, KEPT_NEXT, KEPT_KEY, KEPT_TIME, KEPT_BUFFER = range(5)
KEPT_GROUP = 5  # of a NOT of a group: which match of it ends with the event; else -1
KEPT_WIDTH = 6
# Of each buffer, from M_GROUPS on in `ints`: where the numbers of the first match that ends with each event begin (and,
# at the end, how many there are), or -1 where it keeps single events; where its matches begin; their width; the first
# of their slots; where the number of the first row of each match stands (and, at the end, how many there are), or -1
# where a match is one row. A row: the first event of its match, the event before which the left neighbour may not lie,
# then what each slot holds: an event, or one of the above. Conditions must hold on all rows of a match; each row
# tries them on another element of loops. Then where it stands which of the rows of checks are for each match (and, at
# the end, how many there are), and where these rows begin; see below.
GROUP_ENDS, GROUP_MATCHES, GROUP_WIDTH, GROUP_SLOT, GROUP_ROWS, GROUP_CHECKS, GROUP_CHECK_ROWS = range(7)
GROUP_HEADER = 7
# A row of checks (`plan.absent_checks`): the event that may close a loop, or one of the following; the check; then one
# field for `CHECK_SHARED`; then what each slot holds.
CHECK_EVENT, CHECK_NUMBER, CHECK_SLOTS = 0, 1, 3
CHECK_HOLDS = -1  # as the event: the condition must hold
CHECK_SHARED = -2  # rows that many matches share: the next fields are the first of them and that after the last

# --- a row from which events that were kept are joined ----------------------------------------------
J_STEP = 0  # the step that is being tried; after the last: none is left
J_AGAIN = 1  # 1: the loop of that step goes on
J_CURSOR = 2  # the event, by its place among those kept, that is tried next; or one of the following
NO_MORE = -1
THE_TRIGGER = -2  # the arriving event itself
J_KEY = 3  # the key of what is tried; of a step that finds events in the order of a value, where its entries end
JOIN_FIELDS = 4

# --- where an operand's event comes from -----------------------------------------------------------
# The number of the event is pool[argument + source * row]: a field of the partial match's row, or a cell of the
# pool's header (M_CURRENT and those after it).
FROM_HEADER = 0
FROM_ROW = 1

# --- instructions: rows of the table `code` ---------------------------------------------------------------
# [op, comparator or argument, source a, argument a, column a, source b, argument b, column b]
OP, ARG, A_SOURCE, A_ARG, A_COLUMN, B_SOURCE, B_ARG, B_COLUMN = range(8)
CODE_WIDTH = 8

COMPARE = 0  # fused: int column a of event a against int column b of event b (floats: as ints of the same order)
PUSH_INT = 10
PUSH_FLOAT = 11
PUSH_INT_CONST = 12  # ARG: the value
PUSH_FLOAT_CONST = 13  # ARG: index into `reals`
PUSH_NULL = 14
PUSH_ABSENT = 15
PUSH_COUNT = 16  # ARG: register of the count; A_SOURCE, here and below: when NOT_BEGUN means that it is empty
NOT_EMPTY, EMPTY_HERE = 0, 1
EMPTY_IF = 2  # and a register: where it is not 0 in the row that gives events back
# The register instructions read the row of the partial match; where the lowest bit of B_SOURCE is set, the row before
# the element of the iterated variable B_ARG that is being tried (what was known when it was taken), absent where it is
# the loop's first. Where none is tried, as in an iteration without any, it is absent if there were some before: that
# says B_COLUMN, the register of their number, in the row of another iterated variable in that iteration (the further
# bits, from variable 0 on).
PUSH_INT_REGISTER = 17  # ARG: register of n, A_ARG: register of the value; NULL where n <= 0
PUSH_FLOAT_REGISTER = 18  # ARG: register of n, A_ARG: float register
PUSH_MEAN_INT = 19  # as PUSH_SUM_INT, but of any size; A_COLUMN: the divisor's place in `reals`
PUSH_MEAN_FLOAT = 20
PUSH_BOUND = 21  # 1 where source a names an event, 0 where it is EMPTY, else absent
PUSH_SUM_INT = 23  # ARG: register of n, A_ARG: register of the sum, its carry after it; NULL where it is not an int64
PUSH_EVENT = 22  # the event that source a names, as an index into the batch; -1 where there is none
TO_FLOAT = 30  # ARG: index into `reals` of the divisor (decimals), or -1
AND, OR, NOT, IS_NULL, IS_NOT_NULL, EMPTY_AS_NULL, DISTANCE = 31, 32, 33, 34, 35, 36, 37
OR_OF_IN = 38  # as OR, but absent where an operand is: IN is one comparison
HOST = 39  # ARG: number of the sub-expression that the host computes, A_SOURCE: how many operands it takes
# EMPTY_AS_NULL: what is absent because source a is EMPTY is NULL
# two operands, NULL or absent where one is ...
ADD_INT, SUB_INT, MUL_INT, MOD_INT = 40, 41, 42, 43
ADD_FLOAT, SUB_FLOAT, MUL_FLOAT, DIV_FLOAT, MOD_FLOAT, POWER = 44, 45, 46, 47, 48, 49
STACK_COMPARE_INTS, STACK_COMPARE_FLOATS = 50, 51  # ARG: comparator
# ... two operands, of which NULLs are passed over ...
LEAST_INT, LEAST_FLOAT, GREATEST_INT, GREATEST_FLOAT, COALESCE_INT, COALESCE_FLOAT = 60, 61, 62, 63, 64, 65
# ... one operand
FIRST_UNARY = 70
SCALE_INT = 70  # ARG: factor; NULL on overflow
NEG_INT, ABS_INT, SIGN_INT, NEG_FLOAT, ABS_FLOAT, SIGN_FLOAT = 71, 72, 73, 74, 75, 76
SQRT, FLOOR, CEIL = 77, 78, 79
ROUND = 80  # ARG: digits
SCALE_BOUNDED = 81  # ARG: factor; for comparisons: see `requests.Shape`

EQ, NE, LT, LE, GT, GE = range(6)  # comparators

# what an operand is, beside its value
VALUE, NULL, ABSENT = 0, 1, 2

# --- conditions: rows of the table `conditions` -----------------------------------------------------------
# [first instruction, after the last, 1 where that is one fused comparison and nothing is iterated,
#  number of iterated variables, the first of their rows in the table `iterated`,
#  where in the table `combinations` it is told which combinations of elements count, or -1: all]
CODE_FROM, CODE_TO, IS_FUSED, N_ITERATED, ITERATED_FROM, COMBINATION = range(6)
CONDITION_WIDTH = 6

# --- combinations of elements: numbers, one after the other -----------------------------------------------
# [the iterated variable that is fixed to the row's own event, or -1;
#  n, registers that must name an event, else the condition waits;
#  n, pairs (iterated variable, iterated variable, register of the iteration): both must lie in the same iteration; for
#   the second there may be SAME_AS_ROW: then it is the row's own iteration, or, with -1 for the register, a later one;
#  n, places (iterated variable, m, checks (iterated variable, register of the iteration, or -1 for a later one))]
SAME_AS_ROW = -2
# A variable may be left out of a combination where no element of it is in the iterations of the others, and none
# can come any more: each place tells where one can, if all its checks hold.

# --- iterated variables: rows of the table `iterated` -----------------------------------------------------
WHEEL_ELEMENT = 0  # its element
WHEEL_FIRST = 1  # the field of the register of its first event, or -1 where that is not read
WHEEL_GROUPED = 2  # 1: it stands in a quantified group, so that some iterations may lack it
WHEEL_WIDTH = 3

# --- updates of registers: rows of the table `updates` ----------------------------------------------------
# [op, register, argument (value, column, or second register), column, float register]
SET_SLOT = 0  # register := number of the current event
SET_INT = 1  # register := argument
INCREMENT = 2  # register += 1
COUNT_VALUE_INT, COUNT_VALUE_FLOAT = 3, 4  # register += column is not NULL
SUM_INT = 5  # register n, argument register of the sum (its carry, in units of 2**64, is the next one), column
SUM_FLOAT = 6  # register n, column, float register
MIN_INT, MAX_INT = 7, 8
MIN_FLOAT, MAX_FLOAT = 9, 10
SET_FLOAT = 11  # float register := 0.0
COPY_REALS = -1  # for the tally kernel: not a row of updates; the float registers of a new row := those of the old
SET_VALUE = 13  # register := column of the current event
SET_ROW = 14  # register := the id of the row
SET_FIRST_SLOT = 15  # register := number of the current event, if it names none
COUNT_ON = 16  # register := 1 where it is NOT_BEGUN, else one more
SET_IF = 17  # register := argument where it is what the next field says
SET_PARENT_SLOT = 12  # register := number of the event before the current one in the match
TALLIES = (
    SET_ROW,
    SET_FIRST_SLOT,
    COUNT_ON,
    SET_IF,
    SET_FLOAT,
    COUNT_VALUE_INT,
    COUNT_VALUE_FLOAT,
    SUM_INT,
    SUM_FLOAT,
    MIN_INT,
    MAX_INT,
    MIN_FLOAT,
    MAX_FLOAT,
)
UPDATE_WIDTH = 5

# --- edges: rows of the table `edges` ---------------------------------------------------------------------
SOURCE = 0  # state, or -1 for a start
TARGET = 1
ELEMENT = 2  # the element it takes, a bit of `fit`
FORKS = 3  # 1: the partial match also stays as it is (any)
GUARD_FROM, GUARD_TO = 4, 5  # conditions
ABSENCE_FROM, ABSENCE_TO = 6, 7  # rows of the table `absences`
UPDATE_FROM, UPDATE_TO = 8, 9
MADE_FROM = 10  # what must hold for the row that it makes: conditions (from, to) and absences (from, to)
EDGE_WIDTH = 14

# --- absences (NOT): rows of the table `absences` ---------------------------------------------------------
# No event of buffer NEGATED lies between the events LEFT and RIGHT and satisfies the conditions.
NEGATED = 0
LEFT_SOURCE, LEFT_ARG = 1, 2
RIGHT_SOURCE, RIGHT_ARG = 3, 4
TRIED_FROM, TRIED_TO = 5, 6
PROBE_FROM, PROBE_TO = 7, 8  # keys with which the buffer is probed
FATAL = 9  # 1: once it fails it fails for every later event, so the partial match can be forgotten
INNER = 10  # 1: not where the gap has no left neighbour
READS = 11  # one of the following
READS_TO_CURRENT = 1  # the event that is being taken is tried too (UNTIL)
READS_CURRENT = 2  # it alone is tried
MUST_BREAK = 12  # 1: it must not hold
LAST_CLOSER = 13  # 1: of the closers of a state: the last of some that, once all are broken, end it
CHECKS_FROM, CHECKS_TO = 14, 15  # of a group: the conditions that are checked
ABSENCE_WIDTH = 16
GAP_OPEN = -1  # as RIGHT_SOURCE: the gap ends with the window
GAP_REOPENED = -2  # the same, if the events that were given back closed it; RIGHT_ARG: the register of its right end

# --- keys: rows of the table `keys`: [source, argument, int column] ---------------------------------------
KEY_SOURCE, KEY_ARG, KEY_COLUMN = 0, 1, 2
KEY_WIDTH = 3

# --- lists in which partial matches wait: rows of the table `lists` ---------------------------------------
LIST_FIELD = 0  # index of NEXT in the row; KEY follows
LIST_ELEMENTS = 1  # the elements its edges take, as bits
LIST_EDGES_FROM, LIST_EDGES_TO = 2, 3  # into the table `list_edges`, in order of preference
ROW_KEYS_FROM, ROW_KEYS_TO = 4, 5  # the key of a row that joins the list
RUN_STATE = 4  # of a list of starts, whose rows join nothing: under `strict`, the state of what is a run itself
EVENT_KEYS_FROM, EVENT_KEYS_TO = 6, 7  # the key of an event that looks for rows
# Where the first condition of a list's only edge compares an int of the row with one of the arriving event:
FILTER_FIELD = 8  # the register of the row's value, or -1 where there is no such condition
FILTER_COMPARATOR = 9  # value of the row, comparator, value of the event
FILTER_ROW_COLUMN, FILTER_EVENT_COLUMN = 10, 11
LIST_WIDTH = 12

# --- negated buffers: rows of the table `buffers` ---------------------------------------------------------
BUFFER_ELEMENT = 0
BUFFER_KEYS_FROM, BUFFER_KEYS_TO = 1, 2
BUFFER_WIDTH = 3

# --- states: rows of the table `states` -------------------------------------------------------------------
STATE_ELEMENT = 0  # the element taken last
ACCEPTS = 1  # one of the following
REJECTS = 0
ACCEPTS_AT_ONCE = 1  # a match, at the event
ACCEPTS_LATE = 2  # a match when nothing more can be taken
ACCEPTS_ALSO = 3  # a match at the event, and the partial match goes on (any)
ENDS_FROM, ENDS_TO = 2, 3  # rows of the table `ends`: the first that holds will do
FULL_REGISTER, FULL_COUNT = 4, 5  # the loop is full when this register is at this count (-1: never)
STATE_LISTS_FROM, STATE_LISTS_TO = 6, 7
IS_FINAL = 8  # nothing more can be taken in this state: 1, or BARE_FINAL where nothing is left to be tested either
BARE_FINAL = 2
OVER_WHEN_FULL = 9  # one of the following
ENDS_IF_ACCEPTED = 1  # when the loop is full the match ends at once, if it is one
ENDS_ANYWAY = 2  # ... and if it is none, nothing more can be taken
CLOSE_FROM = 10  # what must hold when the loop is full: conditions (from, to) and absences (from, to)
WAYS_FROM, WAYS_TO = 14, 15  # under `strict`: into the table `list_edges`: edges, and ends as -1 - their row
# Under prefixes:
TWIN = 16  # the state of a copy that leaves a loop in which this one goes on, or -1
NEIGHBOURS = 17  # 1: what is not extended by the next event ends there
# Absences: once all of some, up to a LAST_CLOSER, are broken, nothing more can be taken.
CLOSERS_FROM, CLOSERS_TO = 18, 19
STATE_WIDTH = 20

# --- steps that take events which were kept: rows of the table `joins` ------------------------------------
JOIN_BUFFER = 0  # what it tries; of a loop, what fits is linked by KEPT_GROUP from the earliest on
JOIN_EDGE, JOIN_AGAIN = 1, 2  # numbers of the edges that take a first event, and more of a loop (-1: it is none)
JOIN_AFTER, JOIN_BEFORE = 3, 4  # fields of the events between which it must lie, or -1
JOIN_KEYS_FROM, JOIN_KEYS_TO = 5, 6  # the key of the row
# Where the first condition of its edges compares an int of the row with one of the event: as FILTER_FIELD and its like.
JOIN_FILTER = 7
JOIN_COMPARATOR = 8
JOIN_ROW_COLUMN, JOIN_EVENT_COLUMN = 9, 10
JOIN_SORTED = 11  # the number of its entries in the order of that column (see `sorting`), or -1
JOIN_WIDTH = 12

# --- ends of matches: rows of the table `ends` ------------------------------------------------------------
# 0 to 3: what must hold: conditions (from, to) and absences (from, to)
TRAILING_FROM, TRAILING_TO = 4, 5  # the absences that are tested when the window has passed
DROPPED = 6  # the register of the iteration that gives its events back, or -1
# Where the table `combinations` says which groups do so, though other events lie among these; or -1. There stand n,
# pairs (register of the iteration, variables in the group), and then the same of all groups whose iterations must stay
# as they are, where a variable may be bound in several ways.
SCATTERED = 7
GAPS = 8  # the windows let so many events follow that may break these absences (BETWEEN EACH); 0: no bound
END_WIDTH = 9


# --- deciders of what is written beside matches, in place of an event (-1: time has decided a match) ---------
TIMED_OUT = -2  # a partial match that is left
NOT_LEFT = -3  # one that is not: it went on, or was complete
ALONE = -(1 << 62) - 1  # TIMED_OUT, unless that event comes while the window is open
NEIGHBOUR = -(1 << 62)  # a match, decided by the event after that which stands for its time, or by time before it
# Where BETWEEN EACH has another clock, time has decided after the event LATE_AFTER less the decider, and so many gaps
# after it, less one, as the bits from GAPS_SHIFT on say:
LATE_AFTER = -4
GAPS_SHIFT = 32
MANY_GAPS = 1 << 22  # without a bound

# --- return codes ----------------------------------------------------------------------------------
DONE = 0
POOL_FULL = 1
OUTPUT_FULL = 2
BUFFER_FULL = 3
RUNS_FULL = 4
HOST_FAILED = 5
WORK_DONE = 6  # as much as was asked for: call again to go on
CELLS_FULL = 7  # no room for what partial matches rest on
POLL = 8  # look for answers of remote stores, and call again
