"""Statistics of a network from past events: rates and selectivities that give back what was counted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from cepheid.errors import JobError
from cepheid.job.network.load import load_network
from cepheid.job.network.statistics import estimate

NETWORK = """
[network]
sites = ["a", "b"]
links = [["a", "b"]]

[events]
time = "ts"
time_unit = "s"
type = "kind"
order = ["number"]
columns = {ts = "int", kind = "text", site = "text", number = "int", v = "int"}

[types.Rare]
sources = ["a"]

[types.Often]
sources = ["a", "b"]

[queries.pair]
text = "SEQ(Rare r, Often o) WHERE r.v = o.v AND o.v > 0 WITHIN 10 s POLICY any"
"""


@pytest.mark.slow
def test_rates_and_selectivities(spark: SparkSession, tmp_path: Path) -> None:
    # A Rare every 20 s, an Often at each site every 2 s; v is 0, 1, 2, 3, 0, ... for one and always 1 for the other.
    rows = [(t, "Rare", "a", 1) for t in range(1, 400, 20)]
    rows += [(t, "Often", site, (t // 2) % 4) for t in range(0, 401, 2) for site in ("a", "b")]
    events = [
        {"ts": t, "kind": kind, "site": site, "number": number, "v": v}
        for number, (t, kind, site, v) in enumerate(rows)
    ]
    pq.write_table(pa.Table.from_pylist(events), tmp_path / "events.parquet")
    (tmp_path / "network.toml").write_text(NETWORK)
    job = load_network(tmp_path)
    said: list[str] = []
    found = estimate(job, tmp_path / "events.parquet", said.append)
    assert found.n_windows == 40.0
    # Those with v = 0 are of use to no query.
    admitted = {site: sum(r[1] == "Often" and r[2] == site and r[3] > 0 for r in rows) / 40 for site in ("a", "b")}
    assert found.rates["Often"] == pytest.approx(admitted)
    assert found.rates["Rare"] == pytest.approx({"a": 20 / 40})
    pairs = [
        (r, o)
        for r in rows
        for o in rows
        if r[1] == "Rare" and o[1] == "Often" and 0 < o[0] - r[0] <= 10 and o[3] == r[3]
    ]
    whole = 0.5 * sum(admitted.values())
    assert found.pairs["Often", "Rare"] == pytest.approx(len(pairs) / 40 / whole)
    n_often = sum(r[1] == "Often" and r[3] > 0 for r in rows)
    assert found.in_matches["SEQ(Rare, Often)", "Often"] == pytest.approx(len({p[1] for p in pairs}) / n_often)
    (tmp_path / "statistics.toml").write_text(found.text())
    text = NETWORK.replace("[network]", '[network]\nstatistics = "statistics.toml"')
    (tmp_path / "network.toml").write_text(text)
    plan = load_network(tmp_path).plan()
    assert plan.cost < plan.centralized.cost
    wrong = NETWORK.replace('[types.Often]\nsources = ["a", "b"]', '[types.Often]\nsources = ["b"]')
    (tmp_path / "network.toml").write_text(wrong)
    with pytest.raises(JobError, match="events of Often arise at a, which is no source of it"):
        estimate(load_network(tmp_path), tmp_path / "events.parquet", said.append)
