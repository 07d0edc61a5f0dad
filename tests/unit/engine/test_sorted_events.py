"""Events that wait in the order of a value: many of them, which come, are put in order, and are forgotten."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.engine.session import prepare, run_plan
from cepheid.events.ingest import read_events, schema_of
from cepheid.kernels.layout import MOST_LATE
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.plan.evaluation import parse_evaluation

N_EVENTS = 10 * MOST_LATE


def events(seed: int, n_values: int) -> pa.Table:
    random = np.random.default_rng(seed)
    values = random.integers(0, n_values, N_EVENTS)
    return pa.table(
        {
            "ts": np.sort(random.integers(0, 20 * N_EVENTS, N_EVENTS)),
            "type": random.choice(["A", "A", "A", "B", "B", "C"], N_EVENTS),
            "x": pa.array(values, mask=random.random(N_EVENTS) < 0.02),
        }
    )


@pytest.mark.parametrize("window_ms", [500, 3_000])
@pytest.mark.parametrize("condition", ["a.x < b.x AND b.x <= c.x", "a.x >= c.x + 1 AND b.x > a.x"])
def test_a_range_of_many_events_is_found_as_one_by_one(window_ms: int, condition: str):
    for seed, n_values in ((1, 5), (2, 30)):
        table = events(seed, n_values)
        schema = schema_of(table, time="ts", time_unit="ms", type="type")
        text = f"PATTERN SEQ(A a, B b, C c) WHERE {condition} WITHIN {window_ms} ms POLICY any"
        bound, batch = bind(parse(text), schema), read_events(table, schema)
        wanted = run_plan(prepare(bound), batch)
        assert len(wanted.offsets) > 10
        for plan in ("/b a", "/a b"):
            found = run_plan(prepare(bound, evaluation=parse_evaluation(bound, plan)), batch)
            assert np.array_equal(found.positions, wanted.positions)
