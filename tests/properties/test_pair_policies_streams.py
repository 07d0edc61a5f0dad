"""Policies that look at pairs in a stream that comes in parts: the same pairs, matches and counts as in one table."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from cepheid.engine.output import assemble
from cepheid.engine.settings import Settings
from cepheid.engine.snapshot import unpacked
from cepheid.engine.stream import Stream
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.errors import DataError, NotSupportedError
from cepheid.events.ingest import read_events
from cepheid.kernels.jit import ENABLED
from cepheid.language.bound import BoundQuery
from cepheid.ports.pairs import Wanted
from cepheid.testing.harness import answers_of, table_of
from cepheid.testing.oracle_events import OracleEvent
from tests.properties.stub_policies import DropsCells
from tests.properties.test_pair_policies import BINS, bound_to, drawn_events, found, some_cells

pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

QUERIES = (
    "SEQ(A a, B b) WITHIN 3 s POLICY any",
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 5 s POLICY any",
    "SEQ(A a, A b, B c) WITHIN 5 s BETWEEN EACH 2 s POLICY any",
    "SEQ(A a, B+ b, C c) WHERE SAME[k] WITHIN 9 s BETWEEN EACH 4 s POLICY next",
    "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 4 s POLICY next",
    "SEQ(A a, B+ b, C c) WHERE SAME[k, abs(k)] AND b.x > 0 WITHIN 8 s POLICY next",
    "SEQ(A a, B+ b) WHERE a.k = b.k WITHIN 4 s POLICY next",
    "SEQ(A a, NOT D n, B b, C c) WHERE SAME[k] AND n.x < a.x WITHIN 9 s POLICY any",
    "SEQ(A a, B b, NOT D n) WHERE n.k = b.k WITHIN 3 s POLICY next",
    "AND(A a, SEQ(B b, C c)) WHERE a.x <= b.x WITHIN 5 s POLICY any",
)

COUNTS = ("dropped", "processed", "taken", "completed", "matched")
BY_STATE = ("created", "extended", "expired", "pairs", "evaluated")


def told_in_parts(
    bound: BoundQuery, events: Sequence[OracleEvent], policy: DropsCells, random: Random, evaluation: str = "eager"
) -> list[object]:
    """The matches of a stream with pushes, watermarks and snapshots at random, as numbers of events."""
    table, schema = table_of(events, bound.schema)
    settings = Settings(evaluation=evaluation)
    stream = Stream(bound, table.schema, settings, policy)
    told: list[object] = []
    n_pushed = 0
    while n_pushed < len(events):
        n = random.choice((1, 2, 4))
        stream.push(read_events(table.slice(n_pushed, n), schema))
        n_pushed += n
        left = [event.time for event in events[n_pushed:]]
        moves = [min(left) - 1 - random.choice((0, 1_000_000))] if left and random.random() < 0.8 else []
        for watermark_us in moves:
            step = stream.found(watermark_us)
            told += [] if step is None else [list(answer.bindings) for answer in answers_of(bound, *step, None)]
        if random.random() < 0.3:
            snapshot = stream.snapshot({})
            stream = Stream(bound, table.schema, settings, policy)
            stream.restore(*unpacked(snapshot), schema)
    step = stream.found(AFTER_ALL_US)
    assert stream.found(AFTER_ALL_US) is None
    return told + ([] if step is None else [list(answer.bindings) for answer in answers_of(bound, *step, None)])


@pytest.mark.parametrize("pattern", QUERIES)
def test_a_stream_in_parts_tells_and_counts_what_a_table_does(pattern: str):
    bound, random = bound_to(f"PATTERN {pattern}"), Random(pattern)
    n_dropped = n_expired = n_matches = 0
    for number in range(8):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, observe=True, work=True, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, 0.3 * (number % 2))
        events = drawn_events(random, 30)
        whole, parts = DropsCells(dropped, wanted), DropsCells(dropped, wanted, random.choice((None, 1, 5)))
        matches = found(bound, events, whole, 4)
        assert told_in_parts(bound, events, parts, random) == matches
        assert parts.seen is not None
        assert parts.seen.ended
        for name in COUNTS:
            assert parts.told(name) == whole.told(name), name
        for name in BY_STATE:
            assert parts.told_by_state(name) == whole.told_by_state(name), name
        n_dropped += whole.told("dropped").total()
        n_expired += whole.told_by_state("expired").total()
        n_matches += len(matches)
    assert n_dropped
    assert n_expired
    assert n_matches


def test_a_policy_goes_on_from_a_snapshot():
    class Learns(DropsCells):
        def remembered(self) -> dict[str, object]:
            return {"n_looks": self.n_looks}

        def remember(self, said: dict[str, object]) -> None:
            self.n_looks = said["n_looks"]

    bound = bound_to("PATTERN SEQ(A a, B b) WITHIN 9 s POLICY any")
    events = tuple(OracleEvent(i, (i,), "e", kind, {"ts": i, "k": 1, "x": 0}) for i, kind in enumerate("AAB"))
    table, schema = table_of(events, bound.schema)
    wanted = Wanted(observe=True, work=True)
    stream = Stream(bound, table.schema, policy=Learns(frozenset(), wanted, n_work=1))
    stream.push(read_events(table.slice(0, 2), schema))
    stream.found(1)
    snapshot = unpacked(stream.snapshot({}))
    later = Learns(frozenset(), wanted, n_work=100)
    stream = Stream(bound, table.schema, policy=later)
    stream.restore(*snapshot, schema)
    assert later.n_looks == 1
    stream.push(read_events(table.slice(2, 1), schema))
    assert len(assemble(bound, *stream.found(AFTER_ALL_US))) == 2
    assert later.told("processed") == {("A", None, 0): 2, ("B", "a", 0): 2}
    assert later.seen.work == 3 + 2 + 2
    with pytest.raises(DataError, match="was made with a policy"):
        Stream(bound, table.schema).restore(*snapshot, schema)


def test_where_a_stream_is_run_again_there_is_no_policy():
    bound = bound_to("PATTERN SEQ(A a, B b) WINDOW 4 s SLIDE 2 s")
    table, _ = table_of([], bound.schema)
    with pytest.raises(NotSupportedError, match="in a stream yet: its windows slide"):
        Stream(bound, table.schema, policy=DropsCells(frozenset(), Wanted(guard=True)))
