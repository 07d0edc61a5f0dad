"""Which elements take an event, by its type: in large tables the bytes of the types are looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.compiler import fit
from cepheid.compiler.fit import fits_by_type, fitting_by_type
from cepheid.events.ingest import read_events, schema_of
from cepheid.plan.automaton import Element

TYPES = [
    "",
    "A",
    "B",
    "\0",
    "A\0",
    "é",
    "SUBMIT",
    "SCHEDULE",
    "SCHEDULED",
    "SCHEDULED!",
    "Zahlung abgelehnt",
    "Zahlung abgelehns",
]

texts = st.sampled_from(TYPES) | st.text(max_size=20)


def _fitting(types: Any, elements: list[Element]) -> list[tuple[int, int]]:
    table = pa.table({"ts": pa.array(range(len(types)), pa.int64()), "type": types})
    batch = read_events(table, schema_of(table, time="ts", time_unit="ms", type="type"))
    positions, bits = fitting_by_type(elements, batch)
    every = np.zeros(len(types), np.uint8)
    every[positions] = bits
    assert fits_by_type(elements, batch).tolist() == every.tolist()
    return list(zip(positions.tolist(), bits.tolist(), strict=True))


def _expected(types: list[str], elements: list[Element]) -> list[tuple[int, int]]:
    bits = [sum(1 << e.index for e in elements if not e.types or t in e.types) for t in types]
    return [(i, b) for i, b in enumerate(bits) if b]


@given(
    types=st.lists(texts, min_size=1, max_size=40) | st.lists(st.sampled_from("ABCD"), min_size=1),
    taken=st.lists(st.lists(texts, max_size=3), min_size=1, max_size=4),
    arrow=st.sampled_from([pa.string(), pa.large_string()]),
    cut=st.integers(0, 40),
)
def test_types_that_are_looked_up(types: list[str], taken: list[list[str]], arrow: Any, cut: int) -> None:
    elements = [Element(i, f"v{i}", tuple(names), ()) for i, names in enumerate(taken)]
    # Chunks that begin in the middle of their buffers.
    column = pa.chunked_array([pa.array(["before", *types[:cut]], arrow)[1:], pa.array(types[cut:], arrow)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "MANY_EVENTS", 0)
        patch.setattr(fit, "BLOCK_EVENTS", 7)
        assert _fitting(column, elements) == _expected(types, elements)
    assert _fitting(column, elements) == _expected(types, elements)


@pytest.mark.parametrize(
    "arrow", [pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=["string view", "dictionary"]
)
def test_types_held_in_other_ways(arrow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "MANY_EVENTS", 0)
    types = ["A", "SCHEDULED", "B", "A"]
    elements = [Element(0, "a", ("A",), ()), Element(1, "b", ("SCHEDULED", "A"), ())]
    column = pa.array(types).cast(arrow) if pa.types.is_string_view(arrow) else pa.array(types).dictionary_encode()
    assert _fitting(column, elements) == _expected(types, elements)


@pytest.mark.parametrize("arrow", [pa.string(), pa.large_string()])
def test_types_of_one_byte(arrow: Any) -> None:
    types = pa.chunked_array([pa.array(["before", *"AB\0ABC"], arrow)[1:]])
    elements = [Element(0, "a", ("A", "\0"), ()), Element(1, "b", ("B",), ()), Element(2, "c", ("A", "é"), ())]
    assert _fitting(types, elements) == _expected(types.to_pylist(), elements)


def test_every_known_text_has_a_slot_of_its_own() -> None:
    known = {f"type number {i}": i + 1 for i in range(20)}
    table = fit.lookup_table(known, 0)
    assert table is not None
    assert np.count_nonzero(table[0][2:].reshape(-1, 4)[:, 0] != 2**64 - 1) == 20
