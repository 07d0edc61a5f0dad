"""The merging example of APAM (Figure 2): what is kept when its last event comes, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler.columns import KernelEvents
from cepheid.engine.session import prepare, stepped_to_the_end
from cepheid.engine.settings import DEFAULTS
from cepheid.events.ingest import read_events, schema_of
from cepheid.kernels import layout as k
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.plan.evaluation import parse_evaluation

QUERY = Path(__file__).parents[3] / "workloads" / "papers" / "apam_figure2.cep"

STREAM = "a1(2) c2(3,1) b3(1) c4(2,5) a5(7) a6(1) b7(9) c8(6,6) a9(9) b10(3) b11(4) c12(3,7) a13(3) c14(3,6) d15(5,7)"


def figure_2() -> pa.Table:
    kinds, times, first, second = [], [], [], []
    for text in STREAM.split():
        named, values = text[:-1].split("(")
        kinds.append(named[0].upper())
        times.append(int(named[1:]))
        x, y = (*values.split(","), None)[:2]
        first.append(int(x or 0))
        second.append(None if y is None else int(y))
    return pa.table({"timestamp": times, "type": kinds, "attr1": first, "attr2": pa.array(second, pa.int64())})


def test_bc_is_worked_out_before_the_last_event_comes_and_a_is_kept():
    table = figure_2()
    schema = schema_of(table, time="timestamp", time_unit="ms", type="type")
    bound = bind(parse(QUERY.read_text(encoding="utf-8")), schema)
    compiled = prepare(bound, evaluation=parse_evaluation(bound, "B C/D A"))
    batch = read_events(table.slice(0, 14), schema)
    times = table["timestamp"].to_numpy()

    def look(events: KernelEvents, pool: k.Ints) -> k.Ints:
        width, rows = int(compiled.plan[k.P_ROW_WIDTH]), int(pool[k.M_ROWS])
        found = []
        for number in range(int(pool[k.M_TAIL]), int(pool[k.M_HEAD])):
            row = pool[rows + number * width :][:width]
            if row[k.PARENT] >= 0:
                before = pool[rows + int(row[k.PARENT]) * width + k.EVENT]
                found += [times[before], times[row[k.EVENT]]]
        kept = pool[pool[k.M_KEPT] :][: int(pool[k.M_KEPT_HEAD]) * k.KEPT_WIDTH].reshape(-1, k.KEPT_WIDTH)
        return np.array([*found, -1, *times[kept[:, k.KEPT_EVENT]]])

    looked = stepped_to_the_end(compiled, batch, DEFAULTS, look).looked
    assert looked is not None
    at = int(np.flatnonzero(looked == -1)[0])
    pairs = [(int(b), int(c)) for b, c in looked[:at].reshape(-1, 2)]
    assert [pair for pair in pairs if 15 - pair[0] < 10] == [(10, 12), (10, 14)]
    assert [time for time in looked[at + 1 :].tolist() if 15 - time < 10] == [6, 9, 13]


@pytest.mark.parametrize("plan", ["/D B C A", "B C/D A", "A B C/", "B/C A", "A/C B"])
def test_the_only_match(plan: str):
    import cepheid as cep

    found = cep.match(
        figure_2(),
        cep.Query.parse(QUERY.read_text(encoding="utf-8")),
        time="timestamp",
        time_unit="ms",
        type="type",
        settings=cep.Settings(evaluation=plan),
    )
    assert [[row[name]["timestamp"] for name in "ABCD"] for row in found.to_pylist()] == [[6, 10, 12, 15]]
