"""A cap that drops, where a plan runs over its window again: over a table and in streams, each match is one of all."""

from __future__ import annotations

import warnings
from random import Random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.session import Work, prepare, run_plan
from cepheid.engine.settings import Settings
from cepheid.errors import CapacityError
from cepheid.events.ingest import read_events
from cepheid.testing.harness import answers_of, table_of
from tests.unit.engine.test_until import bound_to, stream

QUERIES = (
    "SEQ(A a, B b, C c) WITHIN 8 EVENTS POLICY any",
    "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 6 EVENTS POLICY any",
    "SEQ(A a, B b, C c) WHERE a.x < c.x WINDOW 12 s SLIDE 6 s POLICY any",
    "SEQ(A a, B+ b UNTIL b.x = 3, C c) WITHIN 8 s POLICY any",
    "SEQ(A a, NOT SEQ(B b, B d), C c) WITHIN 8 s POLICY any",
    "SEQ(A a, NOT (B b; B+ d UNTIL d.x > a.x), C c) WITHIN 8 s POLICY any",
    "SEQ(A a, any B b, C c) WITHIN 12 s",
    "SEQ(A a, B b, NOT SEQ(C c, D d)) WITHIN 6 s POLICY any",
    "SEQ(A a, B b, C c) WITHIN 20 s BETWEEN EACH 12 EVENTS POLICY any",
)


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_found_is_a_match_and_nothing_is_lost_below_the_cap(query):
    random, n_dropped, n_found = Random(query), 0, 0
    bound = bound_to(query)
    compiled = prepare(bound)
    settings = Settings(4, on_cap="drop oldest")
    if bound.partition:
        settings = Settings(500, max_partial_matches_per_key=4, on_cap="drop oldest")
    for _ in range(8):
        kinds = random.choices("AAABBCCD", k=14)
        events = stream(
            *((kind, at, random.choice((0, 1, 2, 3)), "a", random.choice((1, 2))) for at, kind in enumerate(kinds))
        )
        table, schema = table_of(events, bound.schema)
        batch = read_events(table, schema)
        work = Work()
        whole = answers_of(bound, batch, run_plan(compiled, batch), None)
        try:
            found = run_plan(compiled, batch, work=work, settings=settings)
        except CapacityError:  # so many begin with one event
            continue
        left = answers_of(bound, batch, found, None)
        remaining = iter(whole)
        assert all(answer in remaining for answer in left), "they come in the order of all matches"
        assert work.n_dropped or left == whole
        n_dropped += work.n_dropped
        n_found += len(left)
        above = run_plan(compiled, batch, settings=Settings(500, on_cap="drop oldest"))
        assert answers_of(bound, batch, above, None) == whole
    assert n_dropped
    assert n_found


def test_a_stream_gives_up_the_oldest_and_tells_how_many():
    query = "SEQ(A a, B b, C c) WITHIN 100 EVENTS POLICY any"
    n = 80
    table = pa.table({"ts": list(range(n + 2)), "kind": [*("A" * n), "B", "C"]})
    settings = cep.Settings(max_partial_matches=32, on_cap="drop oldest")
    matcher = cep.Matcher(query, time="ts", type="kind", time_unit="s", settings=settings)
    found = []
    for at in range(n + 2):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "[0-9]+ partial matches were dropped")
            found += matcher.push(table.slice(at, 1)).to_pylist() + matcher.advance(at).to_pylist()
        assert matcher.gauge().n_partial_matches <= 2 * 32, "a cap is looked at when the room is used up"
    dropped = matcher.gauge().n_dropped
    assert dropped
    found += matcher.close().to_pylist()
    firsts = sorted(match["first_time"].timestamp() for match in found)
    assert firsts, "some stay"
    assert firsts == list(range(n - len(firsts), n)), "the newest starts do"
