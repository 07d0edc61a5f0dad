"""A table whose rest would take long as plain Python waits for machine code; a short one does not."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import session

QUERIES = {
    True: "PATTERN SEQ(A a, B b) WITHIN 4 POLICY any RETURN a.ts AS a, b.ts AS b",
    False: "PATTERN SEQ(A a, A+ m, B b) WITHIN 4 POLICY any RETURN a.ts AS a, b.ts AS b",
}


@pytest.mark.parametrize("chain", QUERIES)
@pytest.mark.parametrize(("most_plain_s", "n_waits"), [(0.0, 1), (float("inf"), 0)])
def test_long_tables_wait_for_machine_code(
    monkeypatch: pytest.MonkeyPatch, most_plain_s: float, n_waits: int, *, chain: bool
) -> None:
    table = pa.table({"ts": range(300), "kind": ["A", "A", "B"] * 100})
    expected = cep.match(table, QUERIES[chain], time="ts", time_unit="s", type="kind")
    waited: list[bool] = []
    monkeypatch.setattr(session, "await_kernels", lambda needs, flags, *, chain: waited.append(chain))
    monkeypatch.setattr(session, "is_compiled", lambda kernel: bool(waited))
    monkeypatch.setattr(session, "SLICE_S", 0.0)
    monkeypatch.setattr(session, "MOST_PLAIN_S", most_plain_s)
    found = cep.match(table, QUERIES[chain], time="ts", time_unit="s", type="kind")
    assert found == expected
    assert len(found) > 100
    assert waited == [chain] * n_waits
