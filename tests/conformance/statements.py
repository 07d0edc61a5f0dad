"""Which example or test shows each statement of the definition of the language.

A statement has the number of its section in `docs/semantics.md`. What shows it is

- ``doc``: the query of an example there;
- ``case``: the name of a case in `tests.conformance.cases`;
- ``fault``: a query that must be refused, in ``tests/golden/bind_errors`` or ``syntax_errors``;
- ``test``: ``file::function``, where the statement is not about one query on a few events.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A statement, and what shows it."""

    section: str
    says: str
    doc: tuple[str, ...] = ()
    case: tuple[str, ...] = ()
    fault: tuple[str, ...] = ()
    test: tuple[str, ...] = ()


EVENTS = (
    Statement("1", "events are ordered by time, then order key, then source", ("SEQ(A a, B b)",), ("S16",)),
    Statement("1", "at equal time and order key the source decides", ("SEQ(A a, B b)",)),
    Statement("1", "events of equal values are two", ("SEQ(C c, A a, B b) POLICY any",), ("S2",)),
    Statement(
        "1",
        "the order key is the row, the offset, or the columns of order=",
        test=(
            "tests/unit/events/test_ingest.py::test_sorted_by_time_and_ties_by_row",
            "tests/unit/events/test_ingest.py::test_order_key_decides_ties_nulls_first_text_by_bytes",
            "tests/unit/connectors/test_files.py::test_a_folder_is_read_in_the_order_of_its_files",
            "tests/spark/test_ordering.py::test_keys_come_first_and_tell_which_ties_matter",
        ),
    ),
    Statement(
        "1",
        "who sees an event first does not matter",
        test=("tests/properties/test_same_matches.py::test_events_may_arrive_in_any_order",),
    ),
    Statement(
        "1",
        "time is in microseconds, from every kind of column; nanoseconds are floored and counted",
        test=(
            "tests/unit/events/test_event_time.py::test_columns_of_every_type",
            "tests/unit/events/test_ingest.py::test_nanoseconds_are_floored_and_counted",
        ),
    ),
    Statement("1", "types: one, several, any", ("SEQ((A | B) x, * y)",)),
    Statement(
        "1",
        "quoted types; no type column at all",
        test=(
            "tests/unit/language/test_parser.py::test_patterns",
            "tests/docs/test_readme_blocks.py::test_documents_hold_what_they_show",
        ),
    ),
    Statement("1", "SAME makes partitions, for negated elements too", ("SEQ(A a, NOT B b, C c) WHERE SAME[k]",)),
    Statement("1", "nothing but SAME does", ("SEQ(A a, NOT B b, C c) WHERE a.k = c.k",), ("S31 strict", "S17 a NOT")),
    Statement("1", "several parts and functions in SAME", ("SEQ(A a, B b) WHERE SAME[k, lower(s)]",)),
    Statement("1", "NULL in SAME: in no partition, and rejected", ("SEQ(A a, B b) WHERE SAME[k]",)),
    Statement(
        "1",
        "a partition is inferred only where it changes nothing",
        case=("S31 an optional", "S31 a run takes", "S31 a loop takes"),
        test=("tests/properties/test_inferred_partition.py::test_an_inferred_partition_changes_no_match",),
    ),
)

PATTERNS = (
    Statement("2", "equal matches are reported once", ("OR(SEQ(A a, B b), SEQ(A a, (B | C) b)) POLICY any",)),
    Statement("2", "an event fills one variable at most", ("AND(A x, A y)",)),
    Statement("2", "an element without a name is in the match", ("SEQ(A, B b)",), ("semicolons",)),
    Statement("2", "SEQ: all of P before all of Q; AND: mixed", ("SEQ(A a, C c)", "AND(SEQ(A a, B b), SEQ(C c, D d))")),
    Statement("2", "OR: one of them, and the union of the alternatives", ("OR(A a, B b)",)),
    Statement("2", "OR under strict: per start the first that matches", ("OR(SEQ(A a, B b), A c) POLICY strict",)),
    Statement("2", "ANY: exactly k of them", ("ANY(2, A a, B b, D d) POLICY any",)),
    Statement(
        "2",
        "quantifiers, on variables and groups, nested",
        ("SEQ(A a, B{2} b, C c)", "(SEQ((A | B) p, (B | C) q)){2}", "((A a)+)+ POLICY any"),
    ),
    Statement(
        "2", "a name may recur in exclusive branches", ("OR(SEQ(A a, B b), SEQ(A a, C c)) WHERE b.x > 1 AND c.x > 1",)
    ),
    Statement("2", "NOT between its neighbours", ("SEQ(A a, NOT B b, C c, D d) POLICY any",), ("S9",)),
    Statement("2", "NOT at the end, up to first + W", ("SEQ(A a, B b, NOT C c) WITHIN 10",), ("S24 NOT at the end",)),
    Statement(
        "2", "NOT at the start, back to last - W", ("SEQ(NOT B b, A a, C c) WITHIN 10",), ("S24 NOT at the start",)
    ),
    Statement(
        "2",
        "NOT in a sliding window, to its bounds",
        ("SEQ(A a, NOT C c) WINDOW 10 SLIDE 10", "SEQ(NOT A a, C c) WINDOW 10 SLIDE 10"),
    ),
    Statement("2", "NOT of a group lies in the gap as a whole", ("SEQ(A a, NOT SEQ(B b, C c), D d)",)),
    Statement("2", "NOT of a group is matched under any", ("SEQ(A a, NOT AND((B | C) x, B y), D d)",)),
    Statement("2", "conditions of NOT name any variable", ("SEQ(A a, NOT B b, C c) WHERE b.x < c.x",), ("S12",)),
    Statement("2", "each element of a loop breaks it", ("SEQ(A a, B+ b, NOT X x, C c) WHERE x.x > b.x",)),
    Statement(
        "2",
        "a NOT in front of a loop that its condition names is tested when the loop closes",
        ("SEQ(A a, NOT X x, B+ b, C c) WHERE x.x > b.x",),
    ),
    Statement(
        "2",
        "refused: two negated variables in a condition; NOT in AND, in ANY, under a quantifier; at the end without a "
        "window",
        fault=(
            "53_two_negated_variables",
            "57_not_in_and",
            "58_not_in_any",
            "59_not_under_a_quantifier",
            "62_trailing_not_without_window",
        ),
    ),
    Statement(
        "2",
        "refused: what can be empty; too few parts of ANY; SLIDE above WINDOW; reluctant under any; a prefix on the "
        "first element; SKIP TO what may be first or absent",
        fault=(
            "64_pattern_can_be_empty",
            "66_empty_group_repeated",
            "67_any_of_too_few",
            "68_reluctant_under_any",
            "71_prefix_on_the_first_element",
            "74_skip_to_first_event",
            "75_skip_to_optional",
            "80_slide_longer_than_window",
        ),
    ),
)

SELECTION = (
    Statement("3", "any: every choice", ("SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x POLICY any",), ("S7",)),
    Statement(
        "3",
        "any: every subset of a loop, the empty one of * and ?",
        ("SEQ(A a, B* b, C c) POLICY any", "SEQ(A a, B? b, C c) POLICY any"),
        ("S8",),
    ),
    Statement(
        "3", "next is the default: a run for each start", ("SEQ(A a, B b)", "SEQ(B b, D d) POLICY next"), ("S10",)
    ),
    Statement("3", "next: the earliest element that the first event fits", ("SEQ(A? x, A y)", "SEQ(A? a, B b)")),
    Statement(
        "3", "next: what qualifies is tested as far as it can be", ("SEQ(A a, B b, C c) WHERE b.x > 1 AND c.x > 1",)
    ),
    Statement(
        "3", "next: conditions of what closes are tested", ("SEQ(A a, B+ b, C c) WHERE avg(b.x) < 10",), ("S36",)
    ),
    Statement(
        "3", "next: NOT is tested when its right neighbour is taken", ("SEQ(A a, B+ b, NOT X x, C c)",), ("S37",)
    ),
    Statement(
        "3",
        "next: to the loop if greedy, else to what follows",
        ("SEQ(A a, B+ b, (B | C) c)", "SEQ(A a, B+? b, (B | C) c)"),
    ),
    Statement(
        "3",
        "next: to the first part of AND or ANY",
        ("SEQ(A a, AND((B | C) x, B y), C c)", "SEQ(A a, ANY(2, (B | C) x, B y, C z), D d)"),
    ),
    Statement("3", "next: OR outside loops has a run for each", ("SEQ(A a, OR(B b, C c), D d)",), ("S35 next",)),
    Statement(
        "3",
        "next: OR in a loop waits for all; the first on a tie",
        ("SEQ(A a, (OR(B b, C c))+, D d)", "SEQ(A a, (OR((B | C) x, C y))+, D d)"),
    ),
    Statement("3", "next: no backtracking", ("SEQ(A a, B b, C c) WHERE a.k = c.k AND b.k = c.k",)),
    Statement(
        "3",
        "a greedy loop at the end: its longest form, when the window has passed, the bound or the end is reached",
        ("SEQ(A a, B+ b) WITHIN 10", "SEQ(A a, B{1,2} b)", "SEQ(A a, B+ b)"),
        ("S21",),
    ),
    Statement("3", "an unfinished iteration is dropped", ("(SEQ(A a, B b))+ WITHIN 9",), ("S34",)),
    Statement("3", "a reluctant loop at the end: the shortest form", ("SEQ(A a, B+? b) WHERE count(b) >= 2",)),
    Statement("3", "a greedy end that fails gives nothing", ("SEQ(A a, B+ b) WHERE count(b) < 2 WITHIN 10",)),
    Statement("3", "strict: neighbours among all events", ("SEQ(A a, * x, B b) POLICY strict",), ("S18",)),
    Statement(
        "3",
        "strict: longer first, shorter first, earlier first, in the order of the text",
        (
            "SEQ(A a, B+ b, B c) POLICY strict",
            "SEQ(A a, B+? b, B c) POLICY strict",
            "OR(SEQ(A a, B b), A c) POLICY strict",
            "AND((A | B) x, (A | B) y) POLICY strict",
            "ANY(1, (A | B) x, B y) POLICY strict",
        ),
        ("S26 strict",),
    ),
    Statement("3", "prefixes: strict, any", ("SEQ(A a, any B b, strict C c)",), ("S2 equal",)),
    Statement("3", "prefixes: next in a strict query makes runs", ("SEQ(A a, next C c) POLICY strict",)),
    Statement(
        "3", "a loop in front of an any element", ("SEQ(C c, A+ a, any A e) WHERE a.x <> 5 AND e.x = 5",), ("S13",)
    ),
    Statement(
        "3",
        "UNTIL: events of any type, not an element, may serve the next; below the bound ends the run",
        (
            "SEQ(A a, B+ b UNTIL b.x = 5)",
            "SEQ(A a, B+ b UNTIL b.x = 5, B c)",
            "SEQ(A a, B* b UNTIL b.x = 5, B c)",
        ),
        ("S40",),
    ),
)

CONDITIONS = (
    Statement(
        "4",
        "conjuncts are what AND joins after NOT is pushed inward",
        (
            "SEQ(A a, B b, C c) WHERE (b.x > 1 AND c.x > 1)",
            "SEQ(A a, B b, C c) WHERE NOT (b.x <= 1 OR c.x <= 1)",
        ),
        ("S39",),
        test=("tests/unit/language/test_conjuncts.py::test_pushing_not_inward_keeps_the_value",),
    ),
    Statement("4", "a comparison with NULL is not true", ("SEQ(* a, * b) WHERE a.x < 20 AND b.x > 20",), ("S14",)),
    Statement(
        "4",
        "absent: another branch, an optional; neutral in AND, OR, NOT",
        (
            "OR(SEQ(A a, B b), SEQ(A a, C c)) WHERE b.x > 1 AND c.x > 1",
            "SEQ(A a, B? b, C c) WHERE b.x > a.x",
            "SEQ(A a, B? b, C c) WHERE b.x > a.x OR c.x < 5",
            "SEQ(A a, B? b, C c) WHERE NOT (b.x > a.x)",
        ),
        ("S19", "S20 an absent"),
    ),
    Statement("4", "absent: prev of a first element", ("B+ b WHERE b.x > prev(b).x POLICY strict",)),
    Statement(
        "4", "absent in RETURN is NULL", ("SEQ(A a, B? b, C c) WHERE b.x > a.x OR c.x < 9 RETURN b.x AS x, c.x AS y",)
    ),
    Statement(
        "4",
        "b.x is each element; first, last, prev",
        (
            "SEQ(A a, B+ b, C c) WHERE first(b).x < 20",
            "SEQ(A a, B+ b, C c) WHERE last(b).x > 2",
            "SEQ(A a, B+ b, C c) WHERE b.x > prev(b).x",
        ),
    ),
    Statement(
        "4",
        "aggregates of the finished variable; beside a single element, of those before it",
        ("SEQ(A a, B+ b, C c) WHERE avg(b.x) < 10", "SEQ(A a, B+ b, C c) WHERE b.x < 2 * avg(b.x)"),
        ("S23",),
    ),
    Statement("4", "a single element is one of the same variable", ("SEQ(A+ a, B+ b, C c) WHERE a.x < sum(b.x)",)),
    Statement(
        "4",
        "empty: count 0, the others NULL; another branch: absent",
        (
            "SEQ(A a, B* b, C c) WHERE count(b) = 0",
            "SEQ(A a, B* b, C c) WHERE sum(b.x) < 10",
            "OR(SEQ(A a, B+ b), SEQ(A a, C c)) WHERE count(b.x) >= 2 AND c.x > 1",
        ),
        ("S32",),
    ),
    Statement("4", "within an iteration of a group", ("(SEQ(A a, B b)){2} WHERE a.k = b.k",), ("S38",)),
    Statement("4", "two loops: all pairs", ("SEQ(A+ a, B{2} b) WHERE a.k <= b.k", "SEQ(A{2} a, B b) WHERE a.k = b.k")),
    Statement("4", "prev runs across iterations", ("(SEQ(A a, B b)){2} WHERE a.k > prev(a).k",)),
    Statement(
        "4",
        "expressions mean the same on every road",
        case=("S29",),
        test=(
            "tests/unit/engine/test_expressions_page.py::test_example",
            "tests/spark/test_pushdown.py::test_pushed_is_not_pushed",
        ),
    ),
    Statement(
        "4",
        "REMOTE: a missing key is NULL, or the empty set",
        (
            "A a WHERE a.place NOT IN REMOTE places[a.customer].known",
            "A a WHERE a.place <> REMOTE places[a.customer].home",
        ),
        ("S30",),
    ),
    Statement(
        "4",
        "parameters are values, not text",
        test=("tests/unit/language/test_parameters.py::test_it_is_the_query_that_constants_would_have_given",),
    ),
)

WINDOWS = (
    Statement(
        "5",
        "WITHIN is closed, EXCLUSIVE is not",
        ("SEQ(A a, B b) WITHIN 2", "SEQ(A a, B b) WITHIN 2 EXCLUSIVE"),
        ("S3",),
    ),
    Statement("5", "WITHIN events, counted before any filter", ("SEQ(A a, B b) WITHIN 2 EVENTS",), ("S27",)),
    Statement("5", "a bare number is in the unit of the time column", case=("50K",)),
    Statement(
        "5",
        "BETWEEN EACH: every gap; beside WITHIN; a loop needs both",
        ("SEQ(A a, B b, C c) BETWEEN EACH 5", "SEQ(A a, B+ b) WITHIN 10 BETWEEN EACH 3"),
        fault=("77_between_each_with_a_loop",),
    ),
    Statement("5", "sliding windows: each for itself, with its bounds", ("SEQ(A a, B b) WINDOW 10 SLIDE 5",), ("S28",)),
    Statement("5", "CLOSED", ("SEQ(A a, B b) WINDOW 10 SLIDE 5 CLOSED",)),
    Statement("5", "windows of events", ("SEQ(A a, B b) POLICY any WINDOW 2 EVENTS SLIDE 1 EVENTS",)),
    Statement("5", "ONE MATCH PER WINDOW", ("SEQ(A a, B b) POLICY any WINDOW 10 SLIDE 10 ONE MATCH PER WINDOW",)),
    Statement(
        "5",
        "without a window, check warns or refuses",
        test=(
            "tests/unit/language/test_check.py::test_without_a_window_partial_matches_stay",
            "tests/unit/language/test_check.py::test_a_stream_refuses_what_grows_without_bound",
        ),
    ),
)

AFTER = (
    Statement("6", "NO SKIP is the default", ("SEQ(A a, B b) WHERE a.k = b.k",)),
    Statement("6", "PAST LAST", ("SEQ(A a, B b) WHERE a.k = b.k AFTER MATCH SKIP PAST LAST",), ("S25",)),
    Statement(
        "6", "TO NEXT: one match for each start", ("SEQ((A | B) a, B b, C c) POLICY any AFTER MATCH SKIP TO NEXT",)
    ),
    Statement(
        "6",
        "TO FIRST, TO LAST",
        (
            "SEQ((A | B) a, B b, C c) POLICY any AFTER MATCH SKIP TO FIRST b",
            "SEQ((A | B) a, B b, C c) POLICY any AFTER MATCH SKIP TO LAST c",
        ),
    ),
    Statement("6", "by their own decision", case=("S41",)),
    Statement("6", "in each partition", ("SEQ(A a, B b) WHERE SAME[k] AFTER MATCH SKIP PAST LAST",)),
    Statement("6", "in each window", ("SEQ(A a, B b) WINDOW 10 SLIDE 5 AFTER MATCH SKIP PAST LAST",)),
    Statement(
        "6", "reported when no earlier start is open", ("SEQ(A a, B b) WHERE a.k = b.k AFTER MATCH SKIP TO NEXT",)
    ),
)

TIME = (
    Statement("7", "at the watermark is late", ("SEQ(A a, B b)",), ("S6",)),
    Statement(
        "7", "decided by the last event, by time, or by an earlier start", ("SEQ(A a, NOT B b) WITHIN 3",), ("S11",)
    ),
    Statement(
        "7",
        "in order of decision, events, variables, window",
        ("AND(A x, A y) POLICY any", "SEQ(A a, B b) WINDOW 10 SLIDE 5"),
        test=("tests/unit/engine/test_order.py::test_what_one_moment_decides_is_in_the_order_of_its_events",),
    ),
    Statement(
        "7", "what timed out", ("SEQ(A a, B b, C c) WITHIN 10", "SEQ(A a, B b, C c) WITHIN 10 POLICY any"), ("S15",)
    ),
    Statement(
        "7",
        "what is rejected, with its place and reason",
        test=("tests/unit/events/test_ingest.py::test_rows_without_time_or_type_are_rejected_and_counted",),
    ),
    Statement("7", "the end of a table moves the watermark to infinity", ("SEQ(A a, NOT C c) WITHIN 10",)),
    Statement(
        "7",
        "exact: plans, partitions and cuts change nothing",
        test=(
            "tests/properties/test_engine.py::test_engine_equals_oracle_on_patterns_of_any_form",
            "tests/spark/test_exactness.py::test_pieces_of_time_find_all_matches_once",
            "tests/properties/test_partitions.py::test_any_way_to_deal_out_the_keys_gives_the_same_matches",
        ),
    ),
)

OUTPUT = (
    Statement(
        "8",
        "RETURN names the columns; b.x is an array",
        (
            "SEQ(A a, B+ b, X? x, C c) RETURN a.k AS k, b.x AS xs, count(b) AS n, sum(b.x) AS total, "
            "last(b).x AS last, x.k AS none",
        ),
    ),
    Statement(
        "8",
        "the default columns",
        test=("tests/docs/test_readme_blocks.py::test_documents_hold_what_they_show",),
    ),
)

STATEMENTS = (*EVENTS, *PATTERNS, *SELECTION, *CONDITIONS, *WINDOWS, *AFTER, *TIME, *OUTPUT)
