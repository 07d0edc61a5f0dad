"""Windows that slide give the kernel copies of events: as many as there are events in all, by chance."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep


@pytest.mark.parametrize("n_others", range(6))
def test_values_of_copies_are_those_of_their_events(n_others: int):
    others = list(range(3, 3 + n_others))
    kinds, values = ["A", "B", *"X" * n_others], [1, 9, *[0] * n_others]
    table = pa.table({"ts": [1, 2, *others], "kind": kinds, "x": values})
    for where, n in (("a.x > b.x", 0), ("a.x < b.x", 2), ("a.x = 1 AND b.x = 9 AND b.x - a.x = 8", 2)):
        query = f"SEQ(A a, B b) WHERE {where} WINDOW 10 SLIDE 5 RETURN a.x AS ax, b.x AS bx"
        found = cep.match(table, query, time="ts", type="kind", time_unit="s").to_pylist()
        assert found == [{"ax": 1, "bx": 9}] * n


@pytest.mark.parametrize("unit", ["", " EVENTS"])
def test_values_beside_events_without_a_partition(unit: str):
    rows = [(0, "B", 2, 8), (2, "B", 2, 2), (3, "B", None, 1), (4, "B", 2, 4)]
    columns = dict(zip(("ts", "kind", "k", "x"), map(list, zip(*rows, strict=True)), strict=True))
    query = f"SEQ(B a, B b) WHERE SAME[k] AND a.x > b.x WINDOW 3{unit} SLIDE 2{unit} RETURN a.x AS ax, b.x AS bx"
    found = cep.match(pa.table(columns), query, time="ts", type="kind", time_unit="s").to_pylist()
    assert {(row["ax"], row["bx"]) for row in found} == {(8, 2)}
