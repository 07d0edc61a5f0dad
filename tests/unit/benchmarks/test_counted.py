"""The numbers of W11 are those of a plain loop, and those of the engine."""

from __future__ import annotations

import pytest

import cepheid as cep
from benchmarks.engine import counted


@pytest.mark.parametrize("length", [3, 9])
def test_it_counts_what_the_loop_counts(length: int):
    table = counted.stream(length, 3_000)
    found = cep.count(table, counted.query(length), time="ts", time_unit="ms", type="type")
    assert found == counted.n_by_loop(table["type"].to_pylist(), length) > 0


@pytest.mark.slow
@pytest.mark.parametrize("length", counted.LENGTHS)
def test_the_right_numbers_are_those_of_the_loop(length: int):
    n_events = counted.N_EVENTS_QUICK
    types = counted.stream(length, n_events)["type"].to_pylist()
    assert counted.n_by_loop(types, length) == counted.N_MATCHES[n_events][length]
