"""The case studies of INEv read what the data says, and tell when a claim does not hold."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.figures.inev import case_studies
from benchmarks.figures.inev.case_studies import Measured, Modelled

HEADER = "trip_duration,start_time,stop_time,end_station_id,bike_id,user_type\n"


def written(path: Path, text: str) -> Path:
    with gzip.open(path, "wt") as file:
        file.write(text)
    return path


def test_rates_are_those_of_a_source_in_a_window(tmp_path: Path):
    rows = [(0, 0, "A"), (1, 5, "A"), (1, 6, "A"), (2, 90, "B"), (2, 100, "B")]
    text = "node,t_sec,type\n" + "".join(f"{node},{at},{kind}\n" for node, at, kind in rows)
    network = case_studies.typed_network(written(tmp_path / "typed.csv.gz", text), 50)
    assert network.sources == {"A": (0, 1), "B": (2,)}
    assert network.rates == {"A": 3 / 2 / 2, "B": 1.0}
    assert len(network.nodes) == case_studies.N_SITES


def test_a_trip_is_an_event_where_and_when_it_ends(tmp_path: Path):
    day = "2015-09-21"
    text = HEADER + (
        f"61,{day} 14:00:00,{day} 14:01:01,3185,7,Subscriber\n"
        f"600,{day} 14:00:00,{day} 14:10:00,3185,8,Customer\n"
        f"700,{day} 14:00:00,{day} 14:11:40,3183,9,Subscriber\n"
        f"6000,{day} 14:00:00,{day} 15:40:00,3185,7,Customer\n"
        f"86400,{day} 14:00:00,2015-10-22 15:40:00,3185,7,Customer\n"
    )
    table = case_studies.trips(written(tmp_path / "trips.csv.gz", text), 2)
    assert table["type"].to_pylist() == ["Short", "Customer", "Long", "VeryLong"]
    assert table["site"].to_pylist() == [0, 0, 1, 0]
    assert table["bike"].to_pylist() == [7, 8, 9, 7]
    trace = case_studies.trip_trace(table)
    assert trace.network.sources["Long"] == (1,)
    found = case_studies.measured("again", "SEQ(Short s, VeryLong v)", trace)
    assert found.n_matches == 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("SEQ(A, AND(B, I), E)", "SEQ(A, AND(B, I), E)"),
        ("AND(E, F, C, H)", "AND(C, E, F, H)"),  # the parts of an AND have no order
        ("SEQ(AND(A, B), C)", "SEQ(AND(A, B), C)"),
    ],
)
def test_patterns_are_read_as_they_are_printed(text: str, printed: str):
    assert str(case_studies.pattern_of(text)) == printed


def test_the_table_has_the_papers_numbers_beside_ours():
    papers = Modelled("cluster", "Q1", ("SEQ(A, H, B, I)",), 0.03, 0.04, 0.00001)
    head, row = case_studies.table3([papers, MODEL, replace(MODEL, selectivity=0.0001, ratio=0.0002)])
    assert head.split()[2] == "paper"
    assert row.split()[:7] == ["cluster", "Q1", "0.006%", "4.0000%", "0.0500%", "0.0200%", "0.0010%"]


MODEL = Modelled("cluster", "Q1", ("SEQ(A, H, B, I)",), 0.001, 0.0005, 0.00001)
RUN = Measured("again", 3, 100, 110.0, 1000, False, 1.0)


def test_claims_that_hold_are_no_faults():
    bikes = Modelled("Citi Bike", "AG", ("SEQ(A, G)",), 0.0001, 0.0006, 0.00001)
    assert case_studies.wrong_in([MODEL, bikes], [RUN]) == []


@pytest.mark.parametrize(
    ("models", "runs", "told"),
    [
        ([replace(MODEL, ratio=0.003)], [], "over 0.2%"),
        ([replace(MODEL, ratio=0.000001)], [], "below what any plan has to send"),
        ([Modelled("Citi Bike", "AG", ("SEQ(A, G)",), 0.0001, 0.002, 0.00001)], [], "no query is at 0.07%"),
        ([], [replace(RUN, n_matches=0)], "no match"),
        ([], [replace(RUN, model=900.0)], "the model says 900 messages, and 100 were sent"),
        ([], [replace(RUN, messages=600, model=600.0)], "60.0% of one site"),
    ],
)
def test_claims_that_do_not_hold_are_told(models: list[Modelled], runs: list[Measured], told: str):
    (fault,) = case_studies.wrong_in(models, runs)
    assert told in fault
