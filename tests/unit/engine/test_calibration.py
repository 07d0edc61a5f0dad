"""What work costs on a machine is measured with the kernels that will do it, that for chains of one key among them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler.keyed_events import FEWEST_EVENTS, keyed_events_of
from cepheid.engine import calibration
from cepheid.engine.calibration import KEYED, Design
from cepheid.engine.session import prepare
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.policies.evaluation.fitting import fitted, workload_of
from cepheid.ports.evaluation import Decision, Measure, Pattern, Sampled


@pytest.mark.parametrize("design", KEYED, ids=lambda design: f"{design.plan} {design.window}")
def test_streams_of_one_key_are_for_the_kernel_of_one_key(design: Design):
    table = design.events()
    schema = schema_of(table, time="at", time_unit="us", type="type")
    compiled = prepare(bind(parse(design.query()), schema))
    assert keyed_events_of(compiled, read_events(table, schema)) is not None
    counts = np.unique(table["key"].to_numpy(), return_counts=True)[1]
    assert (counts.astype(float) ** 2).sum() / len(table) ** 2 == pytest.approx(design.same, rel=0.05)
    measured = design.measured("keyed", 1e-8)
    assert workload_of(measured).same == design.same


def test_costs_of_the_kernel_of_one_key_can_be_fitted():
    """Under costs that are known, what streams take says what they are."""
    from cepheid.policies.evaluation.fitting import plan_of
    from cepheid.policies.evaluation.indexed_joins import IndexedJoins, MachineCosts

    model = IndexedJoins(MachineCosts({"keyed": (16e-9, 2e-9, 0.0, 3e-9)}, ()), "keyed")
    taken = []
    for design in KEYED:
        one = design.measured("keyed", 1.0)
        workload = workload_of(one)
        services = model.services_s(workload, plan_of(one))
        total = sum(workload.rates_per_s.values())
        mean = sum(workload.rates_per_s[name] * services[name] for name in one.variables) / total
        taken.append(design.measured("keyed", mean))
    assert fitted(taken) == pytest.approx((16e-9, 2e-9, 0.0, 3e-9), rel=1e-6, abs=1e-15)


class Asked:
    """Tells for which kernel it was asked, and chooses nothing."""

    kernels: ClassVar[list[str]] = []

    def __init__(self, pattern: Pattern, measure: Measure) -> None:
        self.kernels.append(pattern.kernel)

    def wants(self, time_us: int, n_events: int) -> bool:
        return False

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        return None


@pytest.mark.parametrize(
    ("where", "n", "kernel"),
    [
        ("SAME[k] AND a.x < b.x", FEWEST_EVENTS, "keyed"),
        ("SAME[k] AND a.x < b.x", FEWEST_EVENTS - 1, "chain"),
        ("a.k = c.k AND a.x < b.x", FEWEST_EVENTS, "chain"),
        ("SAME[k] AND (a.x < b.x OR a.x < c.x)", FEWEST_EVENTS, "general"),
    ],
)
def test_a_table_is_chosen_for_by_the_kernel_that_will_run(where: str, n: int, kernel: str):
    table = pa.table({"ts": np.arange(n), "kind": np.tile(["A", "B", "C", "D"], n // 4 + 1)[:n], "k": np.arange(n) % 7})
    table = table.append_column("x", pa.array(np.arange(n) % 10))
    settings = cep.Settings(evaluation="adaptive", chooser=Asked)
    query = f"PATTERN SEQ(A a, B b, C c) WHERE {where} WITHIN 9 us POLICY any"
    del Asked.kernels[:]
    found = cep.match(table, query, time="ts", type="kind", time_unit="us", settings=settings)
    assert Asked.kernels == [kernel]
    assert found.equals(cep.match(table, query, time="ts", type="kind", time_unit="us"))
    one = cep.Matcher(query, time="ts", type="kind", time_unit="us", slack=0, schema=table, settings=settings)
    assert one.close().num_rows == 0
    assert Asked.kernels[1:] == ["chain" if kernel == "keyed" else kernel]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kernels as machine code, whose folder is empty."""
    monkeypatch.setattr(calibration, "ENABLED", True)
    monkeypatch.setattr(calibration, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(calibration, "_found", {})
    return tmp_path


def test_what_was_measured_before_is_read_without_a_look_at_the_kernels(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def never(*_: object) -> None:
        raise AssertionError("no kernel is asked for, and nothing is measured")

    monkeypatch.setattr(calibration, "_is_ready", lambda kernel: False)
    assert calibration.measured("lazy") == ()
    calibration._write(folder / "calibration.lazy.json", calibration.LAZY, [1e-7] * len(calibration.LAZY))
    monkeypatch.setattr(calibration, "_is_ready", never)
    monkeypatch.setattr(calibration, "_times_s", never)
    found = calibration.measured("lazy")
    assert [one.service_s for one in found] == [1e-7] * len(calibration.LAZY)
    assert calibration.measured("lazy") is found
    # What was measured with other streams is not taken for these.
    calibration._write(folder / "calibration.chain.json", calibration.LAZY, [1e-7])
    monkeypatch.setattr(calibration, "_is_ready", lambda kernel: False)
    assert calibration.measured("chain") == ()
