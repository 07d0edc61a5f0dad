"""Neighbouring events: what random pairs seldom meet."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.session import Work, run
from cepheid.events.ingest import read_events, schema_of
from tests.unit.engine.test_long_streams import by_key, found, stream


def test_loops_in_loops_are_tried_once_for_each_way_to_see_them():
    """The choices are 2**58; all that differ in nothing that counts are one."""
    kinds = ["A"] * 59 + ["B"]
    table = pa.table({"t": list(range(60)), "kind": kinds})
    matches = cep.match(table, "PATTERN SEQ((A+ a)+, B b) POLICY strict", time="t", type="kind", time_unit="s")
    assert [len(a) for a in matches["a"].to_pylist()] == list(range(59, 0, -1))


@pytest.mark.parametrize(("n", "n_keys", "seed"), [(6000, 7, 1), (12000, 400, 2)])
def test_long_streams(n: int, n_keys: int, seed: int):
    """Against a plain loop: pools grow and rings wrap on the way."""
    table = stream(n, n_keys, seed)
    expected = []
    for events in by_key(table).values():
        for p, (i, _, kind, x) in enumerate(events):
            if kind != "A":
                continue
            taken = []
            for j, _, kind_j, x_j in events[p + 1 :]:
                if kind_j not in "BC" or x_j <= x:
                    break
                taken.append(j)
            if taken:
                expected.append((i, *taken))
    text = "PATTERN SEQ(A a, (B|C)+ b) WHERE SAME[k] AND b.x > a.x POLICY strict"
    assert sorted(found(table, text)) == sorted(expected)
    assert len(expected) > 200


def test_room_is_given_back_within_a_window():
    n = 20_000
    table = pa.table({"t": np.arange(n), "kind": np.array(["A", "B"])[np.arange(n) % 2], "x": np.zeros(n, np.int64)})
    work = Work()
    schema = schema_of(table, time="t", time_unit="ms", type="kind")
    query = cep.Query.parse("PATTERN SEQ(A a, B b, A c, B d, C e) WITHIN 10 ms POLICY strict")
    assert len(run(query.bind(schema), read_events(table, schema), work=work)) == 0
    assert work.n_created > n
    assert work.pool_bytes < 1_000_000
