"""The kernel by hand finds what the engine finds."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.engine import reference_kernel
from benchmarks.engine.workloads import WORKLOADS
from benchmarks.peers import cepheid_engine, python_loop
from benchmarks.stream import stream


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_kernel, "matches_of", reference_kernel.matches_of.py_func)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("n_events", "dense"), [(20_000, False), (1_500, True)])
def test_it_finds_what_the_loop_in_python_finds(n_events: int, dense: bool):
    table = stream(n_events, dense=dense)
    find, found = reference_kernel.kernel_on(table)
    columns = (table.column(name).to_pylist() for name in ("type", "ts", "key", "v1", "price"))
    right = sorted(python_loop.matches(zip(*columns, strict=True)))
    for _ in range(2):
        assert find() == len(right) > 0
        assert sorted(map(tuple, found[: 3 * len(right)].reshape(-1, 3).tolist())) == right


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("room", ["ROOM_FIRSTS", "ROOM_PAIRS", "ROOM_MATCHES"])
def test_it_says_where_room_is_missing(room: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reference_kernel, room, 2)
    find, _ = reference_kernel.kernel_on(stream(1_500, dense=True))
    with pytest.raises(MemoryError, match="no room"):
        find()


def test_its_bars_stand_beside_those_of_polars():
    assert (WORKLOADS["W2"].least_reference_ratio, WORKLOADS["W2"].least_ratio) == (0.5, 3.0)
    assert WORKLOADS["W2d"].least_reference_ratio == 0.5


def test_its_positions_are_ids():
    assert np.array_equal(stream(100)["id"].to_numpy(), np.arange(100))
    assert set(cepheid_engine.NAMES) <= set(WORKLOADS)
