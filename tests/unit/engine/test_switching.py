"""Another evaluation plan begins with one pass over the events that are retained, and needs no other."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import carried
from cepheid.kernels import layout as k

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE a.v <= b.v WITHIN 40 POLICY any RETURN a.ts AS a, b.ts AS b, c.ts AS c"
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s"}
N_EVENTS, WINDOW_S, PART = 300, 40, 7
PLANS = ("lazy", "b/a", "eager", "/b a")


def test_a_switch_passes_once_over_what_is_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(7)
    kinds, values = random.choices("ABC", k=N_EVENTS), random.choices(range(5), k=N_EVENTS)
    table = pa.table({"ts": list(range(N_EVENTS)), "kind": kinds, "v": values})
    passes: list[tuple[int, int, int]] = []
    step_over = carried.step_over

    def counted(compiled: Any, events: Any, pool: Any, *others: Any) -> None:
        begin = int(pool.pool[k.M_EVENT])
        step_over(compiled, events, pool, *others)
        passes.append((begin, int(pool.pool[k.M_EVENT]), events.n))

    monkeypatch.setattr(carried, "step_over", counted)
    matcher = cep.Matcher(QUERY, **COLUMNS, slack=0, schema=table.schema)
    found, n_stepped = [], 0
    for number, at in enumerate(range(0, N_EVENTS, PART)):
        found += matcher.push(table.slice(at, PART)).to_pylist()
        if number % 3 == 2:
            passes.clear()
            matcher.switch(PLANS[number // 3 % len(PLANS)])
            assert len(passes) <= 1
            for begin, end, n in passes:
                assert (begin, end) == (0, n)
                # Those in the window of the newest event, and of the part that is let go as a whole.
                assert n <= WINDOW_S + PART + 1
                n_stepped += n
    found += matcher.close().to_pylist()
    assert n_stepped > N_EVENTS // 4
    assert found == cep.match(table, QUERY, **COLUMNS).to_pylist()
    assert found
