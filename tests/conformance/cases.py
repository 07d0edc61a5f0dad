"""Small inputs with the right output, for every rule of the language. Names S1 ... are those of the collection of
cases that the project started from; the rest come from the definition of the language.

The same data runs on the oracle, on the compiled engine, and (streams) through Spark.
"""

from __future__ import annotations

from cepheid.events.types import FLOAT, INT, TEXT, set_of
from cepheid.language.bound import Catalog, Store
from tests.conformance.notation import Case

PRICES = "20,17,18,11,14,9,15,14,24,1,19".split(",")
SERIES = " ".join(f"p{60 + 20 * n}:P@{(600 + 20 * n) * 60}(x={price})" for n, price in enumerate(PRICES))
"""One price each 20 minutes from 10:00; the event of 12:00 is p180."""

CHAIN = "A1 B1 C1 B2 A2 D1 E1 F1 D2 B3 G1 D3".split()
CHAINS = " ".join(f"{name}:{name[0]}@{n}" for n, name in enumerate(CHAIN))

MANY = " ".join(["A@0", *(f"B@{n}" for n in range(1, 11)), "C@11"])

KNOWN = Catalog(
    stores={
        "places": Store("places", (TEXT,), {"known": set_of(TEXT), "home": TEXT}),
        "limits": Store("limits", (INT, INT), {"": FLOAT}),
    }
)

ORDER_AND_WINDOWS = (
    Case("S1 b arrives first in a tie", "SEQ(A a, B b) POLICY any", "B@5 A@5"),
    Case("S1 a arrives first in a tie", "SEQ(A a, B b) POLICY any", "A@5 B@5", ("a=A@5 b=B@5",)),
    Case(
        "S2 equal events are two, only the second is followed directly",
        "SEQ(C c, any A a, strict B b)",
        "C@1 a1:A@3(x=1) a2:A@3(x=1) B@7",
        ("c=C@1 a=a2 b=B@7",),
    ),
    Case(
        "S2 equal events are two, under any throughout",
        "SEQ(C c, A a, B b) POLICY any",
        "C@1 a1:A@3(x=1) a2:A@3(x=1) B@7",
        ("c=C@1 a=a1 b=B@7", "c=C@1 a=a2 b=B@7"),
    ),
    Case("S3 the window is closed", "SEQ(Start s, Stop e) WITHIN 2", "Start@1 Stop@3", ("s=Start@1 e=Stop@3",)),
    Case("S3 EXCLUSIVE", "SEQ(Start s, Stop e) WITHIN 2 EXCLUSIVE", "Start@1 Stop@3"),
    Case("S4 the whole is too long", "SEQ(P a, P b, P c) WITHIN 5 POLICY strict", "P@0 P@4 P@8"),
    Case(
        "S4 every gap is short enough",
        "SEQ(P a, P b, P c) BETWEEN EACH 5",
        "P@0 P@4 P@8",
        ("a=P@0 b=P@4 c=P@8",),
    ),
    Case(
        "S5 one hour, closed",
        "SEQ(P a, P* b, P c) WHERE b.x > a.x - 10 AND c.x < a.x - 10 WITHIN 1 hour POLICY strict "
        "AFTER MATCH SKIP PAST LAST",
        SERIES,
        ("a=p180 b=[p200, p220] c=p240",),
    ),
    Case(
        "S5 one hour, exclusive",
        "SEQ(P a, P* b, P c) WHERE b.x > a.x - 10 AND c.x < a.x - 10 WITHIN 1 hour EXCLUSIVE POLICY strict "
        "AFTER MATCH SKIP PAST LAST",
        SERIES,
        ("a=p200 b=p220 c=p240",),
    ),
    Case(
        "S6 at the watermark is late, after it is not",
        "SEQ(A a, B b)",
        "A@9 ~10 B@10 B@11",
        ("a=A@9 b=B@11",),
        late=("B@10",),
    ),
)

SELECTION = (
    Case(
        "S7 any, increasing",
        "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x POLICY any",
        "A@1(x=1) B@2(x=2) A@3(x=3) B@4(x=4) C@6(x=6)",
        ("a=A@1 b=B@2 c=C@6", "a=A@1 b=B@4 c=C@6", "a=A@3 b=B@4 c=C@6"),
    ),
    Case(
        "S8 every subset of a loop: 2^3 - 1",
        "SEQ(A a, B+ b[], C c) POLICY any",
        "A@0 B@1 B@2 B@3 C@4",
        (
            "a=A@0 b=[B@1, B@2, B@3] c=C@4",
            "a=A@0 b=[B@1, B@2] c=C@4",
            "a=A@0 b=[B@1, B@3] c=C@4",
            "a=A@0 b=B@1 c=C@4",
            "a=A@0 b=[B@2, B@3] c=C@4",
            "a=A@0 b=B@2 c=C@4",
            "a=A@0 b=B@3 c=C@4",
        ),
    ),
    Case(
        "S9 NOT in the middle",
        "SEQ(A a, NOT B b, C c, D d) POLICY any",
        "A@1 C@2 B@3 C@4 D@5",
        ("a=A@1 c=C@2 d=D@5",),
    ),
    Case(
        "S10 each B with its next D",
        "SEQ(B b, D d) POLICY next",
        CHAINS,
        ("b=B1 d=D1", "b=B2 d=D1", "b=B3 d=D3"),
    ),
    Case(
        "S10 each B with each later D",
        "SEQ(B b, D d) POLICY any",
        CHAINS,
        ("b=B1 d=D1", "b=B2 d=D1", "b=B1 d=D2", "b=B2 d=D2", "b=B1 d=D3", "b=B2 d=D3", "b=B3 d=D3"),
    ),
)

NEGATION = (
    Case(
        "S11 NOT at the end",
        "SEQ(A a, NOT B b) WITHIN 3",
        "A@1 B@2 A@4 C@5 B@10 A@11 B@13",
        ("a=A@4 | at 7",),
    ),
    Case(
        "S11 the watermark has not come so far",
        "SEQ(A a, NOT B b) WITHIN 3",
        "A@1 B@2 A@4 C@5",
        watermark=6,
    ),
    *(
        Case(
            f"S12 a condition with the first event: {what}",
            "SEQ(S1 e1, NOT S2 e2) WHERE e1.x > 20 AND e2.x > e1.x WITHIN 1 s",
            f"S1@0(x=55.6) {event}",
            matches,
        )
        for what, event, matches in (
            ("nothing after", "", ("e1=S1@0 | at 1",)),
            ("greater, but too late", "S2@1.1(x=58.7)", ("e1=S1@0 | at 1",)),
            ("greater, in time", "S2@0.1(x=58.7)", ()),
            ("smaller", "S2@0.1(x=50.7)", ("e1=S1@0 | at 1",)),
        )
    ),
)

KLEENE_AND_STATE = (
    Case(
        "S13 an any element after a loop",
        "SEQ(C c, A+ a, any A e) WHERE a.x <> 5 AND e.x = 5 POLICY next",
        "C@1 A@3(x=2) A@4(x=3) A@6(x=5) A@7(x=6)",
        ("c=C@1 a=[A@3, A@4] e=A@6", "c=C@1 a=A@3 e=A@6"),
    ),
    Case(
        "S14 a comparison with NULL is not true: strict",
        "SEQ(* a, * b) WHERE a.x < 20 AND b.x > 20 POLICY strict",
        "A@1(x=10) A@2(x=null) A@3(x=30)",
    ),
    Case(
        "S14 a comparison with NULL is not true: next",
        "SEQ(* a, * b) WHERE a.x < 20 AND b.x > 20 POLICY next",
        "A@1(x=10) A@2(x=null) A@3(x=30)",
        ("a=A@1 b=A@3",),
    ),
    Case(
        "S15 partial matches time out",
        "SEQ(A a, B b) WHERE SAME[k] WITHIN 10",
        "A@0(k=1) a2:A@0(k=2) a3:A@0(k=3)",
        watermark=1000,
        timed_out=("a=A@0 | at 10", "a=a2 | at 10", "a=a3 | at 10"),
    ),
)

READINGS = (
    Case("S16 two sources, order key a before b", "SEQ(A a, B b)", "B@5~right:2 A@5~left:1", ("a=A@5 b=B@5",)),
    Case("S16 two sources, order key b before a", "SEQ(A a, B b)", "A@5~left:2 B@5~right:1"),
    Case("S17 a NOT sees every event", "SEQ(A a, NOT B b, C c) WHERE a.k = c.k", "A@1(k=1) B@2(k=2) C@3(k=1)"),
    Case(
        "S17 a NOT sees its partition",
        "SEQ(A a, NOT B b, C c) WHERE SAME[k]",
        "A@1(k=1) B@2(k=2) C@3(k=1)",
        ("a=A@1 c=C@3",),
    ),
    Case("S18 strict: any event is a neighbour", "SEQ(A a, B b) POLICY strict", "A@1 X@2 B@3"),
    Case(
        "S18 strict: of another key too",
        "SEQ(A a, B b) WHERE a.k = b.k POLICY strict",
        "A@1(k=1) X@2(k=2) B@3(k=1)",
    ),
    Case(
        "S18 strict: not of another partition",
        "SEQ(A a, B b) WHERE SAME[k] POLICY strict",
        "A@1(k=1) X@2(k=2) B@3(k=1)",
        ("a=A@1 b=B@3",),
    ),
    Case(
        "S19 both branches' conditions stand in one WHERE",
        "OR(SEQ(A a, B b), SEQ(A a, C c)) WHERE b.x > 1 AND c.x > 1",
        "A@1 C@2(x=5)",
        ("a=A@1 c=C@2",),
    ),
    Case(
        "S20 an absent optional",
        "SEQ(A a, B? b, C c) WHERE b.x > a.x POLICY any",
        "A@1(x=1) C@2",
        ("a=A@1 c=C@2",),
    ),
    Case(
        "S20 prev of the first element",
        "B+ b WHERE b.x > prev(b).x POLICY strict",
        "B@1(x=1) B@2(x=2) B@3(x=3)",
        ("b=[B@1, B@2, B@3] | at end", "b=[B@2, B@3] | at end", "b=B@3 | at end"),
    ),
    Case(
        "S21 a greedy loop at the end",
        "SEQ(A a, B+ b) WITHIN 10 POLICY next",
        "A@1 B@2 B@3",
        ("a=A@1 b=[B@2, B@3] | at 11",),
    ),
    Case("S21 a greedy loop waits for the watermark", "SEQ(A a, B+ b) WITHIN 10", "A@1 B@2 B@3", watermark=10),
    Case(
        "S21 a reluctant loop at the end",
        "SEQ(A a, B+? b) WITHIN 10 POLICY next",
        "A@1 B@2 B@3",
        ("a=A@1 b=B@2",),
        watermark=2,
    ),
    Case(
        "S21 a loop at the end under any",
        "SEQ(A a, B+ b) WITHIN 10 POLICY any",
        "A@1 B@2 B@3",
        ("a=A@1 b=B@2", "a=A@1 b=[B@2, B@3]", "a=A@1 b=B@3"),
    ),
    Case("S22 an optional first element", "SEQ(A? a, B b)", "A@1 B@2", ("a=A@1 b=B@2", "b=B@2")),
    Case(
        "S23 the average of a finished loop",
        "SEQ(A a, B+ b, C c) WHERE avg(b.x) < 10",
        "A@1 B@2(x=20) B@3(x=2) B@4(x=3) C@5",
        ("a=A@1 b=[B@2, B@3, B@4] c=C@5",),
    ),
    Case(
        "S23 the average of the elements before",
        "SEQ(A a, B+ b, C c) WHERE b.x < 2 * avg(b.x)",
        "A@1 B@2(x=20) B@3(x=39) B@4(x=59) B@5(x=50) C@6",
        ("a=A@1 b=[B@2, B@3, B@5] c=C@6",),
    ),
    Case("S24 NOT at the end, at the bound", "SEQ(A a, B b, NOT C c) WITHIN 10", "A@0 B@8 C@10"),
    Case(
        "S24 NOT at the end, beyond",
        "SEQ(A a, B b, NOT C c) WITHIN 10",
        "A@0 B@8 C@11",
        ("a=A@0 b=B@8 | at 10",),
    ),
    Case("S24 NOT at the start, at the bound", "SEQ(NOT B b, A a, C c) WITHIN 10", "B@5 A@12 C@15"),
    Case(
        "S24 NOT at the start, beyond",
        "SEQ(NOT B b, A a, C c) WITHIN 10",
        "B@4 A@12 C@15",
        ("a=A@12 c=C@15",),
    ),
    Case(
        "S25 skipping takes the earlier start first",
        "SEQ(A a, B b) WHERE a.k = b.k POLICY next AFTER MATCH SKIP PAST LAST",
        "A@1(k=1) A@2(k=2) B@3(k=2) B@4(k=1)",
        ("a=A@1 b=B@4",),
    ),
    Case(
        "S26 strict backtracks",
        "SEQ(A a, B+ b, B c) POLICY strict",
        "A@1 B@2 B@3",
        ("a=A@1 b=B@2 c=B@3 | at end",),
    ),
    Case(
        "S26 two ways to fill AND",
        "AND(A x, A y) POLICY any",
        "A@1 A@2",
        ("x=A@1 y=A@2", "x=A@2 y=A@1"),
    ),
    Case("S26 a loop of a loop", "((A a)+)+ POLICY any", "A@1 A@2", ("a=A@1", "a=[A@1, A@2]", "a=A@2")),
    Case("S27 WITHIN a number of events", "SEQ(A a, B b) WITHIN 2 EVENTS", "A@1 X@2 B@3"),
    Case(
        "S27 BETWEEN EACH without WITHIN",
        "SEQ(P a, P b, P c) BETWEEN EACH 5",
        "P@0 P@4 P@8",
        ("a=P@0 b=P@4 c=P@8",),
    ),
    Case(
        "S28 in one window",
        "SEQ(A a, B b) WINDOW 10 SLIDE 5",
        "A@4 B@9",
        ("a=A@4 b=B@9 | in 0 10",),
    ),
    Case(
        "S28 in two windows",
        "SEQ(A a, B b) WINDOW 10 SLIDE 5",
        "A@6 B@9",
        ("a=A@6 b=B@9 | in 0 10", "a=A@6 b=B@9 | in 5 15"),
    ),
    Case("S28 the end is not in the window", "SEQ(A a, B b) WINDOW 10 SLIDE 5", "A@4 B@10"),
    Case(
        "S28 CLOSED",
        "SEQ(A a, B b) WINDOW 10 SLIDE 5 CLOSED",
        "A@4 B@10",
        ("a=A@4 b=B@10 | in 0 10",),
    ),
    Case("S29 NaN is greater", "A a WHERE a.x > 100", "A@1(x=nan)", ("a=A@1",)),
    Case("S29 NaN equals itself", "A a WHERE a.x = a.x", "A@1(x=nan)", ("a=A@1",)),
    Case("S29 division by zero is NULL", "A a WHERE a.x / 0 > 1", "A@1(x=5.0)"),
    Case(
        "S30 a set of a missing customer is empty",
        "A a WHERE a.place NOT IN REMOTE places[a.customer].known",
        "A@1(customer='nobody', place='here')",
        ("a=A@1",),
        catalog=KNOWN,
        stores={"places": {}},
    ),
    Case(
        "S30 a scalar of a missing customer is NULL",
        "A a WHERE a.place <> REMOTE places[a.customer].home",
        "A@1(customer='nobody', place='here')",
        catalog=KNOWN,
        stores={"places": {}},
    ),
)

SETTLED = (
    Case("S31 strict sees other keys", "SEQ(A a, strict B b) WHERE a.k = b.k", "A@1(k=1) X@2(k=2) B@3(k=1)"),
    Case(
        "S31 an optional ties nothing",
        "SEQ(A a, B? b, C c) WHERE a.k = b.k AND b.k = c.k",
        "A@1(k=1) C@2(k=2)",
        ("a=A@1 c=C@2",),
    ),
    Case(
        "S31 a run takes what it meets",
        "SEQ(A a, B b, C c) WHERE a.k = c.k AND b.k = c.k",
        "A@1(k=1) B@2(k=2) B@3(k=1) C@4(k=1)",
    ),
    Case("S31 a loop takes what it meets", "SEQ(A+ a, C c) WHERE a.k = c.k", "A@1(k=1) A@2(k=2) C@3(k=1)"),
    Case("S32 an empty loop counts 0", "SEQ(A a, B* b, C c) WHERE count(b.x) >= 1", "A@1 C@2"),
    Case(
        "S32 a branch not taken is absent in aggregates",
        "OR(SEQ(A a, B+ b), SEQ(A a, C c)) WHERE count(b.x) >= 2 AND c.x > 1",
        "A@1 C@2(x=5)",
        ("a=A@1 c=C@2",),
    ),
    Case("S33 the earliest element that an event fits", "SEQ(A? x, A y)", "A@1 A@2", ("x=A@1 y=A@2",)),
    Case(
        "S34 an unfinished iteration is dropped",
        "(SEQ(A a, B b))+ WITHIN 9",
        "A@1 B@2 A@3",
        ("a=A@1 b=B@2 | at 10",),
    ),
    Case("S34 an unfinished optional is dropped", "SEQ(A a, (SEQ(B b, C c))?)", "A@1 B@2", ("a=A@1 | at end",)),
    Case(
        "S35 strict: the first alternative that matches",
        "OR(SEQ(A a, B b), A c) POLICY strict",
        "A@1 B@2",
        ("a=A@1 b=B@2",),
    ),
    Case(
        "S35 next: a run for each alternative",
        "SEQ(A a, OR(B b, C c), D d) POLICY next",
        "A@1 B@2 C@3 D@4",
        ("a=A@1 b=B@2 d=D@4", "a=A@1 c=C@3 d=D@4"),
    ),
    Case(
        "S36 what closes the loop must satisfy its conditions",
        "SEQ(A a, B+ b, C c) WHERE avg(b.x) < 10",
        "A@1 B@2(x=20) C@3 B@4(x=2) B@5(x=2) C@6",
        ("a=A@1 b=[B@2, B@4, B@5] c=C@6",),
    ),
    Case(
        "S36 a reluctant loop goes on until it passes",
        "SEQ(A a, B+? b) WHERE count(b.x) >= 2",
        "A@1 B@2(x=1) B@3(x=1)",
        ("a=A@1 b=[B@2, B@3]",),
    ),
    Case(
        "S37 a loop before a NOT may go on",
        "SEQ(A a, B+ b, NOT X x, C c)",
        "A@1 B@2 X@3 B@4 C@5",
        ("a=A@1 b=[B@2, B@4] c=C@5",),
    ),
    Case(
        "S37 a NOT that fails keeps the event from being taken",
        "SEQ(A a, B+ b, NOT X x, C c)",
        "A@1 B@2 X@3 C@4 B@5 C@6",
        ("a=A@1 b=[B@2, B@5] c=C@6",),
    ),
    Case(
        "S37 a NOT at the start waits for the last event",
        "SEQ(NOT B b, A a, C c) WITHIN 10",
        "B@5 A@12 C@15 C@16",
        ("a=A@12 c=C@16",),
    ),
    Case(
        "S38 compared within an iteration",
        "(SEQ(A a, B b))+ WHERE a.k = b.k POLICY any",
        "A@1(k=1) B@2(k=1) A@3(k=2) B@4(k=2)",
        ("a=A@1 b=B@2", "a=[A@1, A@3] b=[B@2, B@4]", "a=A@3 b=B@4"),
    ),
    Case(
        "S39 each condition as soon as it can be tested",
        "SEQ(A a, B b, C c) WHERE b.x > 1 AND c.x > 1",
        "A@1 B@2(x=1) B@3(x=2) C@4(x=2)",
        ("a=A@1 b=B@3 c=C@4",),
    ),
    Case(
        "S39 brackets change nothing",
        "SEQ(A a, B b, C c) WHERE (b.x > 1 AND c.x > 1)",
        "A@1 B@2(x=1) B@3(x=2) C@4(x=2)",
        ("a=A@1 b=B@3 c=C@4",),
    ),
    Case("S40 closed below the lower bound", "SEQ(A a, B+ b UNTIL b.x = 5)", "A@1 B@2(x=5) B@3(x=1)"),
    Case(
        "S41 candidates of one start by their own decision",
        "SEQ(A a, OR(C c, SEQ(B b, D d))) WHERE c.k = a.k AND b.k = a.k WITHIN 10 POLICY any "
        "AFTER MATCH SKIP PAST LAST",
        "A@1(k=1) C@2(k=1) B@3(k=1) D@4",
        ("a=A@1 c=C@2",),
    ),
)

REST = (
    Case("NOT of a group lies in its gap", "SEQ(A a, NOT SEQ(B b, C c), D d)", "A@1 B@2 C@3 D@4"),
    Case(
        "UNTIL closes a part of ANY",
        "SEQ(A a, ANY(1, B+ b UNTIL b.x = 5, C c))",
        "A@1 B@2(x=5) B@3(x=1) C@4",
        ("a=A@1 c=C@4",),
    ),
    Case(
        "UNTIL under NOT reads what stands before the NOT",
        "SEQ(A a, NOT SEQ(B b, C+ c UNTIL c.x > a.x), D d)",
        "A@1(x=3) A@2(x=1) B@3 C@4(x=2) D@5",
        ("a=A@2 d=D@5",),
    ),
    Case(
        "what is empty under NOT is so for all conditions",
        "SEQ(A a, NOT OR(SEQ(C* c, B b), B b), D d) WHERE count(c) >= a.x AND count(c) < 2",
        "A@1(x=1) A@2(x=0) B@3 D@4",
    ),
    Case("a prefix next in a strict query", "SEQ(A a, next C c) POLICY strict", "A@1 B@2 C@3", ("a=A@1 c=C@3",)),
    Case(
        "SKIP TO NEXT: one match for each start",
        "SEQ(A a, B b) POLICY any AFTER MATCH SKIP TO NEXT",
        "A@1 A@2 B@3 B@4",
        ("a=A@1 b=B@3", "a=A@2 b=B@3"),
    ),
    Case(
        "SKIP TO FIRST of a loop",
        "SEQ((A | B) a, B+ b, C c) AFTER MATCH SKIP TO FIRST b",
        "A@1 B@2 B@3 C@4",
        ("a=A@1 b=[B@2, B@3] c=C@4", "a=B@2 b=B@3 c=C@4"),
    ),
    Case(
        "SKIP TO LAST of a loop",
        "SEQ((A | B) a, B+ b, C c) AFTER MATCH SKIP TO LAST b",
        "A@1 B@2 B@3 C@4",
        ("a=A@1 b=[B@2, B@3] c=C@4",),
    ),
    Case(
        "S34 in AND",
        "AND((SEQ(A a, B b))+, C c)",
        "A@1 B@2 A@3 C@4",
        ("a=A@1 b=B@2 c=C@4 | at end",),
    ),
    Case(
        "two kinds of window",
        "SEQ(A a, B b) WITHIN 3 EVENTS BETWEEN EACH 5 s",
        "A@1 X@2 B@4 A@5 B@11",
        ("a=A@1 b=B@4",),
    ),
)
"""Operators that no other case above is for."""

CARDS = (
    "Txn@0(card=1, amount=10, place='home', customer='ann') Denied@10(card=1) Other@11(card=1) Denied@20(card=1) "
    "Denied@21(card=2) Reversed@30(card=1) small:Txn@40(card=1, amount=15, place='bar', customer='ann') "
    "known:Txn@50(card=1, amount=30, place='work', customer='ann') "
    "bar:Txn@60(card=1, amount=30, place='bar', customer='ann')"
)
CARD_QUERY = """
    PATTERN  SEQ(Txn a, NOT Refund r, (Denied | Reversed)+ d, any Txn b)
    WHERE    SAME[card] AND b.amount > 2 * a.amount AND count(d.ts) >= 3
      AND    b.place NOT IN REMOTE places[a.customer].known
    WITHIN   5 minutes
    POLICY   next
    AFTER MATCH SKIP PAST LAST
    RETURN   a.card AS card, a.ts AS first_seen, count(d.ts) AS n_denied, d.ts AS denied, b.place AS place
"""
ANN = {"places": {"ann": {"known": frozenset({"home", "work"})}}}

WHOLE = (
    Case(
        "a rule for cards, with everything in it",
        CARD_QUERY,
        CARDS,
        ("a=Txn@0 d=[Denied@10, Denied@20, Reversed@30] b=bar",),
        catalog=KNOWN,
        stores=ANN,
        returned=({"card": 1, "first_seen": 0, "n_denied": 3, "denied": [10, 20, 30], "place": "bar"},),
    ),
    Case(
        "a rule for cards, with a refund between",
        CARD_QUERY,
        "Txn@0(card=1, amount=10, place='home', customer='ann') Refund@5(card=1) Denied@10(card=1) Denied@20(card=1) "
        "Reversed@30(card=1) bar:Txn@60(card=1, amount=30, place='bar', customer='ann')",
        catalog=KNOWN,
        stores=ANN,
    ),
    Case(
        "a key of several parts, and an element without fields",
        "A a WHERE a.f > REMOTE limits[a.k, a.x]",
        "A@1(k=1, x=1, f=2.5) A@2(k=1, x=1, f=1.0) A@3(k=2, x=1, f=9.0)",
        ("a=A@1",),
        catalog=KNOWN,
        stores={"limits": {(1, 1): 2.0}},
    ),
)

SPELLINGS = (
    Case("semicolons, no names", "A;B;C", "A@1 B@2 C@3", ("#0=A@1 #1=B@2 #2=C@3",)),
    Case("NOT as an exclamation mark", "seq(A a; !B b; C c)", "A@1 C@2", ("a=A@1 c=C@2",)),
    Case("NSEQ", "NSEQ(A a, B b, C c)", "A@1 C@3", ("a=A@1 c=C@3",)),
    Case("NSEQ, with the middle one there", "NSEQ(A a, B b, C c)", "A@1 B@2 C@3"),
    Case(
        "any(3, ...) in a sequence",
        "seq(A a; !B b; any(3, D1 x, D2 y, D3 z))",
        "A@1 D2@2 D3@3 D1@4",
        ("a=A@1 x=D1@4 y=D2@2 z=D3@3",),
    ),
    Case("KL and a+", "SEQ(A a, KL(B b), C c)", "A@1 B@2 B@3 C@4", ("a=A@1 b=[B@2, B@3] c=C@4",)),
    Case("a+ behind the type", "SEQ(A a, B b+, C c)", "A@1 B@2 B@3 C@4", ("a=A@1 b=[B@2, B@3] c=C@4",)),
    Case("SAME in brackets", "SEQ(A a, B b) WHERE [k]", "A@1(k=1) B@2(k=2) B@3(k=1)", ("a=A@1 b=B@3",)),
    Case("50K in the unit of the time column", "SEQ(A a, B b) WITHIN 50K", "A@0 B@50000", ("a=A@0 b=B@50000",)),
)

CASES: tuple[Case, ...] = (
    *WHOLE,
    *SPELLINGS,
    *ORDER_AND_WINDOWS,
    *SELECTION,
    *NEGATION,
    *KLEENE_AND_STATE,
    *READINGS,
    *SETTLED,
    *REST,
)
