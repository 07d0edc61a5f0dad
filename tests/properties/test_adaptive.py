"""A plan that changes while a stream runs loses no match, and finds none twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NotSupportedError
from cepheid.ports.evaluation import Decision, Measure, Pattern, Sampled
from cepheid.ports.pairs import Cells, Orders, Seen, Wanted

QUERIES = {
    "ranges": "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 9 seconds",
    "equalities": "SEQ(A a, B b, C c) WHERE SAME[k] AND a.x = c.x WITHIN 9 seconds",
    "a loop": "SEQ(A a, B+ b, C c) WHERE a.x = b.x AND avg(b.x) <= c.x WITHIN 7 s",
    "a NOT": "SEQ(A a, NOT C n, B b, C c) WHERE n.x = c.x WITHIN 9 seconds",
    "events counted": "SEQ(A a, A b, A c) WHERE a.x < c.x WITHIN 5 EVENTS",
}


class Restless:
    """Chooses another plan at random whenever it is asked."""

    fewest = 3

    def __init__(self, pattern: Pattern, measure: Measure) -> None:
        self.random = Random(len(pattern.conditions))
        names = pattern.variables[:-1]
        self.plans = ["eager", *(f"{' '.join(o[:n])}/{' '.join(o[n:])}" for o in permutations(names) for n in range(3))]

    def wants(self, time_us: int, n_events: int) -> bool:
        return n_events >= self.fewest

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        assert sampled.n_events >= self.fewest
        assert all(0 <= share <= 1 for share in sampled.shares)
        assert all(0 <= held <= tried for held, tried in sampled.held)
        return Decision(sampled.until_us, current, self.random.choice(self.plans), (), {}, ())


RESTLESS = cep.Settings(evaluation="adaptive", chooser=Restless)


def events_of(random: Random, n: int) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array(sorted(random.randint(0, n) for _ in range(n)), pa.timestamp("s")),
            "kind": [random.choice("ABC") for _ in range(n)],
            "k": [random.choice((1, 1, 2, None)) for _ in range(n)],
            "x": [random.choice((1, 2, 2, 3, 4, None)) for _ in range(n)],
        }
    )


def matcher(query: str, settings: cep.Settings) -> cep.Matcher:
    return cep.Matcher(query, time="ts", type="kind", slack=0, time_unit="s", settings=settings)


def ended(found: Sequence[Any]) -> pa.Table:
    return pa.concat_tables(found)


@pytest.mark.parametrize("name", QUERIES)
def test_a_plan_that_changes_all_the_time_gives_the_same_matches(name: str):
    query, random, n_switched, n_found = f"PATTERN {QUERIES[name]} POLICY any", Random(name), 0, 0
    for _ in range(6):
        table = events_of(random, 40)
        wanted = cep.match(table, query, time="ts", type="kind")
        one = matcher(query, RESTLESS)
        found, at = [], 0
        while at < len(table):
            n = random.randint(1, 4)
            found.append(one.push(table.slice(at, n)))
            at += n
            n_switched += any(decision.switches for decision in one.decisions)
            if random.random() < 0.1:
                saved, one = one.snapshot(), matcher(query, RESTLESS)
                one.restore(saved)
        found.append(one.close())
        assert ended(found).equals(wanted)
        n_found += len(wanted)
    assert n_found
    assert n_switched


def test_events_that_come_one_by_one_are_watched_too():
    query, table = f"PATTERN {QUERIES['ranges']} POLICY any", events_of(Random(3), 400)
    wanted = cep.match(table, query, time="ts", type="kind").to_pylist()
    one = cep.Matcher(query, time="ts", type="kind", slack=0, time_unit="s", schema=table, settings=RESTLESS)
    found = [match for row in table.to_pylist() for match in one.push(row)]
    assert len([decision for decision in one.decisions if decision.switches]) > 2
    assert [*found, *one.close()] == wanted
    one = cep.Matcher(query, time="ts", type="kind", slack=0, time_unit="s", schema=table, settings=RESTLESS)
    mixed = []
    for at in range(0, 400, 100):
        mixed += one.push(table.slice(at, 20)).to_pylist()
        mixed += [match for row in table.slice(at + 20, 80).to_pylist() for match in one.push(row)]
    assert [*mixed, *one.close()] == wanted


def test_matches_of_a_table_are_found_with_a_plan_that_is_chosen():
    for name, pattern in QUERIES.items():
        query, table = f"PATTERN {pattern} POLICY any", events_of(Random(name), 60)
        wanted = cep.match(table, query, time="ts", type="kind")
        assert cep.match(table, query, time="ts", type="kind", settings=RESTLESS).equals(wanted)
        assert cep.count(table, query, time="ts", type="kind", settings=RESTLESS) == len(wanted)


def test_queries_of_a_set_choose_for_themselves():
    queries = {name: f"PATTERN {QUERIES[name]} POLICY any" for name in ("ranges", "equalities", "a NOT")}
    queries["one plan"] = "PATTERN SEQ(A a, B b) WITHIN 5 seconds POLICY next"
    table = events_of(Random(1), 60)
    wanted = cep.match(table, cep.QuerySet(queries), time="ts", type="kind")
    one = cep.Matcher(cep.QuerySet(queries), time="ts", type="kind", slack=0, time_unit="s", settings=RESTLESS)
    found = [one.push(table.slice(at, 4)) for at in range(0, 60, 4)]
    found.append(one.close())
    for name, matches in wanted.items():
        assert ended([part[name] for part in found]).equals(matches)
    assert {decision.plan for decision in one.decisions} > {"eager"}
    assert cep.match(table, cep.QuerySet(queries), time="ts", type="kind", settings=RESTLESS) == wanted


def test_matches_that_are_the_events_of_another_query():
    inner = "PATTERN SEQ(A p, B q) WHERE p.x <= q.x WITHIN 3 seconds POLICY any RETURN p.x AS x, q.x AS y, q.ts AS at"
    query = "PATTERN SEQ(pairs a, pairs b) WHERE a.x < b.y WITHIN 9 seconds POLICY any FROM pairs"
    table = events_of(Random(5), 60)
    wanted = cep.match(table, query, time="ts", type="kind", queries={"pairs": inner})
    one = cep.Matcher(
        query, time="ts", type="kind", slack=0, time_unit="s", queries={"pairs": inner}, settings=RESTLESS
    )
    found = [one.push(table.slice(at, 3)) for at in range(0, 60, 3)]
    assert ended([*found, one.close()]).equals(wanted)
    assert len(wanted)
    assert len(one.decisions) > 2


class Idle:
    """A policy that looks at pairs and does nothing."""

    wanted = Wanted(guard=True)

    def begin(self, cells: Cells) -> Orders:
        return Orders()

    def look(self, seen: Seen) -> Orders:
        return Orders()


def test_a_policy_that_looks_at_pairs_needs_the_eager_plan():
    with pytest.raises(NotSupportedError, match="evaluation='adaptive'"):
        cep.Matcher(
            "PATTERN SEQ(A a, B b, C c) WITHIN 9 seconds POLICY any",
            time="ts",
            type="kind",
            schema=events_of(Random(0), 1),
            policy=Idle(),
            settings=RESTLESS,
        )


def test_switching_to_adaptive_and_back():
    query, table = f"PATTERN {QUERIES['ranges']} POLICY any", events_of(Random(9), 60)
    wanted = cep.match(table, query, time="ts", type="kind")
    one = matcher(query, cep.Settings())
    found = [one.push(table.slice(0, 20))]
    assert not one.decisions
    one.switch("adaptive")
    found += [one.push(table.slice(at, 5)) for at in range(20, 40, 5)]
    one.switch("b a/")
    found += [one.push(table.slice(40)), one.close()]
    assert ended(found).equals(wanted)
