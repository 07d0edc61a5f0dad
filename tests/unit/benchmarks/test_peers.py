"""Peers find what the engine finds, and what is missing or wrong is told."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.peers import (
    __main__ as peers,
)
from benchmarks.peers import cepheid_engine, core_ceql, duckdb_sql, environments, events_files, polars_join, python_loop
from benchmarks.peers.environments import kept, python_of, run, virtual_environment
from benchmarks.peers.measured import Measured, Unavailable
from benchmarks.peers.report import HEADER, Row, line

N_EVENTS, N_EVENTS_DENSE = 8_000, 3_000


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Events as peers read them: whether dense -> the path without its ending."""
    folder = tmp_path_factory.mktemp("events")
    written = {}
    for dense, n_events in ((False, N_EVENTS), (True, N_EVENTS_DENSE)):
        written[dense] = folder / f"events-{n_events}"
        arguments = [str(written[dense]), str(n_events), *(["--dense"] if dense else [])]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["events_files", *arguments])
            assert events_files.main() == 0
    return written


def told(module, workload: str, streams: dict[bool, Path]) -> tuple[int, int]:
    find = module.prepare(workload, streams[workload.endswith("d")])()
    return module.digest(find())


@pytest.fixture(scope="module")
def right(streams: dict[bool, Path]) -> dict[str, tuple[int, int]]:
    return {workload: told(cepheid_engine, workload, streams) for workload in cepheid_engine.NAMES}


@pytest.mark.parametrize("workload", cepheid_engine.NAMES)
def test_loops_in_python_find_what_the_engine_finds(workload, streams, right):
    assert told(python_loop, workload, streams) == right[workload]
    assert right[workload][0] > 0


@pytest.mark.parametrize("workload", cepheid_engine.NAMES)
def test_joins_in_polars_find_what_the_engine_finds(workload, streams, right):
    pytest.importorskip("polars")
    assert told(polars_join, workload, streams) == right[workload]


@pytest.mark.parametrize("workload", cepheid_engine.NAMES)
def test_joins_in_duckdb_find_what_the_engine_finds(workload, streams, right):
    pytest.importorskip("duckdb", reason="DuckDB is not installed here; benchmarks.peers makes an environment for it")
    assert told(duckdb_sql, workload, streams) == right[workload]


def test_matches_of_core_are_read_from_its_text():
    text = "header\n[16,78], ((id: 0 attributes: [13 16 97 ]) (id: 1 attributes: [27 25 97 ]) )\n"
    assert core_ceql.digest(text) == (1, 40)


class Peer:
    """One that finds what it is told to."""

    name, version, scope = "Flink CEP", "1", "nothing"
    n_events = {"W2": 100_000}  # noqa: RUF012

    def __init__(self, found: Measured | Unavailable) -> None:
        self.found = found

    def make(self, build: Path) -> None:
        if isinstance(self.found, Unavailable):
            raise self.found

    def measure(self, workload: str, events: Path, *, quick: bool) -> Measured:
        assert isinstance(self.found, Measured)
        return self.found


FOUND = Measured(6_846, 5, wall_s=2.0, cpu_s=1.0)


def row(found: Measured, engine_events_per_s: float = 2e7) -> Row:
    return peers.row_of("W2", Peer(found), found, FOUND, engine_events_per_s)


def test_a_peer_that_is_right_and_slow_has_no_fault():
    good = row(FOUND)
    assert (good.ratio, good.bar, good.faults()) == (200.0, 100.0, [])
    assert line(good) == (
        "W2        Flink CEP             100,000      6,846                100     50.00        200 x   100"
    )
    assert len(line(good)) == len(HEADER)


def test_matches_that_are_wrong_are_told_by_count_and_by_events():
    assert row(replace(FOUND, n_matches=6_845)).faults() == ["W2, Flink CEP: 6,845 matches, 6,846 are right"]
    others = "W2, Flink CEP: as many matches as are right, but with other events"
    assert row(replace(FOUND, sum_of_ids=6)).faults() == [others]


def test_a_ratio_below_its_bar_is_told():
    slow = row(FOUND, engine_events_per_s=9e6)
    assert slow.faults() == ["W2: 90 times the speed of Flink CEP, the bar is 100"]
    assert line(slow).endswith("90.0 x   100  <- missed")


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        (FOUND, 0, "200 x"),
        (replace(FOUND, n_matches=1), peers.EXIT_FAULT, "FAILED W2, Flink CEP: 1 matches"),
        (Unavailable("no Java\n-> install one"), peers.EXIT_UNAVAILABLE, "UNAVAILABLE flink: no Java\n-> install one"),
    ],
)
def test_the_exit_code_tells_what_is_wrong(found, code, said, monkeypatch, capsys, tmp_path):
    engine = Peer(replace(FOUND, cpu_s=0.05))
    engine.n_events, engine.name = {"W2": 1_000_000}, "cepheid"
    engine.measure = lambda workload, events, *, quick: (  # type: ignore[method-assign]
        Measured(67_656, 7, 0.05, 0.05) if "1000000" in events.name else FOUND
    )
    monkeypatch.setattr(peers, "CEPHEID", engine)
    monkeypatch.setattr(peers, "PEERS", {"flink": [Peer(found)]})
    monkeypatch.setattr(peers, "pin", lambda: 0)
    monkeypatch.setattr(peers.Streams, "of", lambda self, workload, n_events: Path(f"events-{n_events}"))
    monkeypatch.setattr(sys, "argv", ["peers", "--build", str(tmp_path)])
    monkeypatch.setenv("PYTHONPATH", "")
    assert peers.main() == code
    assert said in capsys.readouterr().out


def test_a_command_that_fails_is_told_with_what_it_said_and_the_remedy():
    with pytest.raises(Unavailable) as told:
        run("CORE", [sys.executable, "-c", "import sys; sys.exit('no such wheel')"], "another Python")
    assert str(told.value).startswith("CORE: ")
    assert str(told.value).endswith("ended with 1 and said\n  no such wheel\n-> another Python")
    with pytest.raises(Unavailable, match="No such file"):
        run("CORE", ["/no/such/program"])


def test_a_python_that_is_not_there_is_told_with_the_variable_that_names_one(monkeypatch):
    monkeypatch.setattr(environments, "_installed", lambda *packages: False)
    with pytest.raises(Unavailable, match=r"no CPython 3\.99 .*\n-> install one, or name it with PYTHON3_99"):
        python_of("3.99")
    monkeypatch.setenv("PYTHON3_99", sys.executable)
    with pytest.raises(Unavailable, match=r"no CPython 3\.99 among"):
        python_of("3.99")


def test_environments_are_made_once_for_what_is_in_them(tmp_path: Path):
    python = virtual_environment(tmp_path, "plain", [])
    made = python.parents[1]
    (made / "mark").touch()
    assert virtual_environment(tmp_path, "plain", []) == python
    assert (made / "mark").exists()
    # One that was not completed is made anew.
    (made / "complete").unlink()
    assert virtual_environment(tmp_path, "plain", []) == python
    assert not (made / "mark").exists()
    assert kept(tmp_path, "plain", ["other"]) != (made, True)
