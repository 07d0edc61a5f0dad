"""The numbers of W2k and W3c are those of plain loops, and those of the engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.engine import many_keys
from benchmarks.engine.measure import engine_on
from benchmarks.engine.rows import Row


def test_the_engine_counts_what_the_loops_count(monkeypatch: pytest.MonkeyPatch):
    table = many_keys.short_lived_keys(20_000)
    found = engine_on(table, many_keys.KEYS_QUERY)()
    assert found == many_keys.n_keyed_by_loop(table) > 0
    monkeypatch.setattr(many_keys, "STEP_EVENTS", 7_000)
    steps = many_keys.Steps(table)
    assert steps.find() == found
    assert steps.bytes_after == steps.bytes_before > 0
    chained = many_keys.chained_keys(30_000)
    assert engine_on(chained, many_keys.CHAINED_QUERY)() == many_keys.n_chained_by_loop(chained) > 0


@pytest.mark.slow
def test_the_right_numbers_are_those_of_the_loops():
    keyed, chained = many_keys.N_MATCHES["W2k"], many_keys.N_MATCHES["W3c"]
    for n_keys in (many_keys.N_KEYS_QUICK, many_keys.N_KEYS):
        table = many_keys.short_lived_keys(n_keys)
        assert many_keys.n_keyed_by_loop(table) == keyed[len(table)]
    for n_events in (many_keys.N_EVENTS_QUICK, many_keys.N_EVENTS):
        assert many_keys.n_chained_by_loop(many_keys.chained_keys(n_events)) == chained[n_events]


def test_bytes_that_stay_are_a_fault():
    row = Row("W2k", "in steps", 1e7, 1, None, held_bytes=10, held_bytes_before=10)
    assert not row.faults()
    assert "11 bytes are held" in replace(row, held_bytes=11).faults()[0]
