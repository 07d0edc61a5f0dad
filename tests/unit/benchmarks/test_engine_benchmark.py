"""The benchmark of the engine counts what the oracle counts, and says what is missed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.engine import starts
from benchmarks.engine.measure import engine_on, set_on
from benchmarks.engine.rows import Row, line
from benchmarks.engine.workloads import WORKLOADS
from benchmarks.peers import polars_join, python_loop
from benchmarks.stream import stream
from cepheid.events.ingest import schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.oracle import match
from cepheid.testing.oracle_events import OracleEvent, OracleMatch

ROOT = Path(__file__).resolve().parents[3]


def n_by_oracle(table, query: str) -> int:
    return len(matches_by_oracle(table, query))


def matches_by_oracle(table, query: str) -> list[OracleMatch]:
    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    events = [
        OracleEvent(row["ts"] * 1000, (number,), "stream", row["type"], row)
        for number, row in enumerate(table.to_pylist())
    ]
    return list(match(bind(parse(query), schema), events, timed_out=False).matches)


@pytest.mark.parametrize(
    ("name", "n_events"),
    # W3 has no partitions: the oracle tries all pairs of events.
    [
        *[
            ("W0", 10_000),
            ("W2", 10_000),
            ("W5any", 10_000),
            ("W1", 3_000),
            ("W1strict", 10_000),
            ("W3", 1_000),
            ("W4", 3_000),
            ("W5", 3_000),
        ],
        *[("W6", 2_000), ("W7", 1_000), ("W8", 2_000), ("W9", 2_000), ("W10", 1_000)],
    ],
)
def test_the_engine_counts_what_the_oracle_counts(name: str, n_events: int):
    table = stream(n_events)
    query = WORKLOADS[name].query
    found = engine_on(table, query)()
    assert found == n_by_oracle(table, query) > 0


def test_rules_count_what_the_oracle_counts_in_one_pass_and_one_by_one():
    table = stream(6_000)
    queries = dict(list(WORKLOADS["W12"].queries.items())[:12])
    counts = [find() for find in set_on(table, queries)]
    assert counts[0] == counts[1] == sum(n_by_oracle(table, query) for query in queries.values()) > 0


def test_the_first_query_has_the_number_of_matches_of_the_oracle():
    assert n_by_oracle(stream(starts.N_EVENTS), WORKLOADS["W2"].query) == starts.N_MATCHES


@pytest.mark.parametrize("dense", [False, True])
def test_peers_find_what_the_engine_finds(dense: bool):
    pytest.importorskip("polars")
    table = stream(10_000, dense=dense)
    n_matches = engine_on(table, WORKLOADS["W2"].query)()
    events = zip(*(table.column(c).to_pylist() for c in ("type", "ts", "key", "v1", "price")), strict=True)
    found = polars_join.matches(table)
    assert len(found) == n_matches
    assert sorted(polars_join.matches_plainly(table).rows()) == sorted(found.rows())
    assert len(python_loop.matches(events)) == n_matches


def test_the_join_finds_nothing_in_nothing():
    pytest.importorskip("polars")
    assert len(polars_join.matches(stream(0))) == 0


def test_the_join_refuses_keys_that_do_not_fit():
    pytest.importorskip("polars")
    table = stream(10)
    far = table.set_column(2, "ts", [[2**31] * 10])
    with pytest.raises(ValueError, match="32 bits"):
        polars_join.matches(far)


RIGHT = Row("W2", "cepheid", events_per_s=9e6, matches=5, peak_rss_bytes=10**8, bar=8e6, n_events=100, right=5)


def test_a_row_that_is_right_has_no_fault():
    assert RIGHT.faults() == []
    assert "missed" not in line(RIGHT)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (replace(RIGHT, events_per_s=7e6), "W2, cepheid: 7.00 M events/s, the bar is 8.00 M"),
        (replace(RIGHT, matches=4), "W2, cepheid: 4 matches, 5 are right"),
        (
            replace(RIGHT, peer="Polars", ratio=1.5, bar=2.0),
            "W2, cepheid: 1.50 times the speed of Polars, the bar is 2.00",
        ),
        (replace(RIGHT, events_per_s=None, seconds=5.0, bar=4.0), "W2, cepheid: 5.00 s, the bar is 4.00 s"),
    ],
)
def test_a_row_says_what_is_missed(row: Row, fault: str):
    assert row.faults() == [fault]
    assert line(row).endswith("<- missed")


def test_the_process_that_starts_the_others_is_light():
    code = (
        "import benchmarks.engine.__main__, sys; print([n for n in ('numpy', 'pyarrow', 'polars') if n in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert told.strip() == "[]"
