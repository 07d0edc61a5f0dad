"""All evaluation plans of a query give the same matches."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from cepheid.errors import NotSupportedError, QueryError
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.plan.evaluation import EAGER, LAZY, evaluation_of, only_eager_because, parse_evaluation
from cepheid.plan.sequence import positive_variables
from cepheid.testing.fuzz import same
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent, Watermark
from cepheid.testing.steps import batch_steps, engine_steps
from cepheid.testing.strategies import CATALOG, SCHEMA

QUERIES = {
    "ranges": "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 9 seconds",
    "ranges of texts and times": "SEQ(A a, B b, C c) WHERE a.s <= b.s AND c.ts > a.ts AND c.f >= a.f WITHIN 9 seconds",
    "equalities that chain": "SEQ(A a, B b, C c) WHERE a.x = b.x AND b.k = c.k WITHIN 9 seconds",
    "several equalities": "SEQ(A a, B b, C c) WHERE SAME[k] AND a.x = c.x WITHIN 9 seconds EXCLUSIVE",
    "a loop first": "SEQ(A{1,2} a, B b, C c) WHERE a.x <= b.x AND last(a).x <> c.x WITHIN 8 seconds",
    "a loop in the middle": "SEQ(A a, B+ b, C c) WHERE a.x = b.x AND avg(b.x) <= c.x AND prev(b).x <= b.x WITHIN 9 s",
    "a loop at the end": "SEQ(A a, B b, C{2,} c) WHERE a.x <= c.x AND b.x <> first(c).x WITHIN 9 seconds",
    "a NOT": "SEQ(A a, NOT C n, B b, C c) WHERE n.x = c.x WITHIN 9 seconds",
    "a NOT beside loops": "SEQ(A+ a, NOT B n, C+ c) WHERE n.x >= a.x WITHIN 6 seconds",
    "one type for all": "SEQ(A a, A b, A c) WHERE a.x < c.x WITHIN 5 EVENTS",
    "no window": "SEQ(A a, B b, C c) WHERE a.x = c.x",
    "text between events": "SEQ(A a, B b, C c) WHERE concat(a.s, b.s) <> c.s WITHIN 6 seconds",
}

IN_WINDOWS = {name: pattern for name, pattern in QUERIES.items() if "WITHIN" in pattern}


def bound_of(pattern: str) -> BoundQuery:
    return bind(parse(f"PATTERN {pattern} POLICY any"), SCHEMA, catalog=CATALOG)


def events_of(random: Random, n: int) -> list[OracleEvent]:
    events = []
    for i in range(n):
        time, kind = (i + random.randint(0, 1)) * 1_000_000, random.choice("ABC")
        values = {
            "kind": kind,
            "ts": time,
            "k": random.choice((1, 1, 2, None)),
            "x": random.choice((1, 2, 2, 3, 4, None)),
        }
        values |= {"f": 0.5, "d": None, "s": random.choice("ab"), "l": (1,)}
        events.append(OracleEvent(time, (i,), "left", kind, values))
    return sorted(events, key=lambda event: event.sort_key)


@pytest.mark.parametrize("pattern", QUERIES.values(), ids=QUERIES)
def test_every_plan_gives_the_matches_of_the_oracle(pattern: str):
    bound, random = bound_of(pattern), Random(pattern)
    streams = [events_of(random, 11) for _ in range(4)]
    wanted = [oracle_answers(bound, events) for events in streams]
    names = positive_variables(bound)[:-1]
    plans = {f"{' '.join(o[:n])}/{' '.join(o[n:])}" for o in permutations(names) for n in range(len(names) + 1)}
    for plan in plans:
        for room in (None, 1):
            road = EngineRoad(bound, room, evaluation=plan)
            for events, answers in zip(streams, wanted, strict=True):
                assert same(road.answers(events), answers), (plan, events)
    assert any(wanted)


def require_same_while_switching(pattern: str, n_streams: int) -> None:
    """Streams that switch between plans, by themselves and from snapshots, give the matches of one batch."""
    bound, random = bound_of(pattern), Random(pattern)
    names, n_found = positive_variables(bound)[:-1], 0
    for _ in range(n_streams):
        items: list[OracleEvent | Watermark] = []
        for event in events_of(random, 14):
            items.append(event)
            if random.random() < 0.4:
                items.append(Watermark(event.time - 1))
        plans = [EAGER, LAZY]
        for _ in range(3):
            order = random.sample(names, len(names))
            n_eager = random.randint(0, len(order))
            plans.append(f"{' '.join(order[:n_eager])}/{' '.join(order[n_eager:])}")
        random.shuffle(plans)
        pushes, restored = [random.randint(1, 3) for _ in range(3)], [random.random() < 0.3 for _ in range(5)]
        found = engine_steps(bound, items, pushes, restored, plans)
        assert same(found, batch_steps(bound, items)), (plans, pushes, restored, items)
        n_found += sum(len(step.answers) for step in found[0])
    assert n_found


@pytest.mark.parametrize("pattern", IN_WINDOWS.values(), ids=IN_WINDOWS)
def test_a_stream_switches_between_plans_without_losing_or_repeating_a_match(pattern: str):
    require_same_while_switching(pattern, 7)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", IN_WINDOWS.values(), ids=IN_WINDOWS)
def test_many_streams_switch_between_plans(pattern: str):
    require_same_while_switching(pattern, 40)


def test_a_plan_is_read_from_text():
    bound = bound_of(QUERIES["ranges"])
    plan = parse_evaluation(bound, "b/c a")
    assert (plan.eager, plan.lazy) == (("b",), ("a",))  # the last one is joined first in any case
    assert plan == evaluation_of(bound, ["b"], ["a", "c"])
    assert str(plan) == "b/a"


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("a b", "has 0 slashes"),
        ("a/", "leaves out b"),
        ("a b/a", "names a twice"),
        ("a bb/", "names bb"),
    ],
)
def test_a_plan_that_is_none_is_refused(plan: str, said: str):
    with pytest.raises(QueryError, match=said):
        parse_evaluation(bound_of(QUERIES["ranges"]), plan)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("PATTERN SEQ(A a, B b) POLICY next", "POLICY next"),
        ("PATTERN SEQ(A a, B* b, C c) POLICY any", "b is optional"),
        ("PATTERN SEQ(A a, OR(B b, C c)) POLICY any", "more than a sequence"),
        ("PATTERN SEQ(A a, B b, NOT C c) WITHIN 5 seconds POLICY any", "NOT c has a neighbour on one side only"),
        ("PATTERN SEQ(A a, B b) BETWEEN EACH 2 seconds POLICY any", "BETWEEN EACH"),
        ("PATTERN SEQ(A a, B b) WINDOW 4 seconds SLIDE 2 seconds POLICY any", "windows slide"),
        ("PATTERN A a POLICY any", "single variable"),
    ],
)
def test_a_query_without_a_choice_says_why(query: str, reason: str):
    bound = bind(parse(query), SCHEMA, catalog=CATALOG)
    assert reason in (only_eager_because(bound) or "")
    with pytest.raises(NotSupportedError, match=reason):
        parse_evaluation(bound, "a/b")
