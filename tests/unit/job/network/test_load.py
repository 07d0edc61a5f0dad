"""Network files: what is wrong is told once, with its place and a remedy; plans are read as they were written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cepheid.errors import CepheidError, JobError, SetupError
from cepheid.job.network.deploy import deploy, load_deployed, load_site
from cepheid.job.network.load import load_network
from cepheid.job.network.plan_file import read_plan, write_plan
from cepheid.job.network.sites import programs

NETWORK = """
[network]
sites = ["a", "b", "c"]
links = [["a", "b"], ["b", "c"]]

[events]
time = "ts"
type = "kind"
order = ["site", "number"]
columns = {site = "text", number = "int", v = "int"}

[types.Rare]
sources = ["a"]
rate = 1.0

[types.Often]
sources = ["b", "c"]
rate = {b = 100.0, c = 300.0}

[queries.pair]
text = "SEQ(Rare r, Often o) WHERE r.v = o.v WITHIN 1 min POLICY any"

[[selectivities]]
types = ["Rare", "Often"]
value = 0.01
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "network.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('links = [["a", "b"], ["b", "c"]]', 'links = [["a", "b"]]', "falls into 2 parts: no link leads from c"),
        ('sources = ["a"]', "sources = []", "no site is a source of Rare"),
        ('sources = ["a"]\n', "", "the type Rare has no sources"),
        ("[types.Rare]", "[types.Other]", "no site of the network is a source of Rare, which the query pair needs"),
        ("rate = 1.0\n", "", "the rate of Rare is missing"),
        ("rate = 1.0", "rate = -1.0", "the rate of Rare is -1.0"),
        ("b = 100.0, ", "", "the rate of Often at b is missing"),
        ("b = 100.0", "b = 100.0, a = 1.0", "a has a rate of Often, and is no source of it"),
        ('["b", "c"]]', '["b", "d"]]', "the link b - d names d, which is no site"),
        ("value = 0.01", "value = 1.5", "selectivities.value: it should be less than or equal to 1"),
        ('"c"]\nlinks', '"c d"]\nlinks', "network.sites"),
        ("order = ", "odrer = ", "there is no key 'events.odrer'"),
        ("[types.Rare]", "[types.Rare]\nrates = 2.0", "there is no key 'types.Rare.rates'"),
        ('order = ["site", "number"]', 'order = ["site", "no"]', "the events have no column 'no'"),
        ("r.v = o.v", "r.w = o.v", "w"),
        ("POLICY any", "POLICY next", "the query pair cannot be split: under POLICY next"),
        ("value = 0.01", "value = 0.01\n[parameters]\nx = 1", "no query has a parameter :x"),
        ('text = "SEQ', 'text = "SEQQ', "SEQQ"),
        ("[network]", "[network", "not TOML"),
        ("rate = 1.0", "rate = 1e308", "the rate of Rare is 1e+308"),
        ("b = 100.0", "b = 1e300", "the rate of Often at b is 1e+300"),
        ("rate = 1.0", 'rate = "1"', "types.Rare.rate: '1' is no rate"),
        ("[queries.pair]", '[queries."a b/c"]', "'a b/c' cannot be part of the names of topics and files"),
        ('links = [["a", "b"], ["b", "c"]]', 'links = [["a", "b", "c"]]', "a link joins two sites, and here are 3"),
        ('types = ["Rare", "Often"]', 'types = ["Rare", "Rare"]', "a selectivity is that of two types"),
        ('types = ["Rare", "Often"]', 'types = ["Rare", "Ofen"]', "there is no type 'Ofen'"),
        (
            "value = 0.01",
            'value = 0.01\n[[in_matches]]\nprojection = "SEQ(Rare, Ofen)"\ntype = "Rare"\nvalue = 0.5',
            "no query has the projection 'SEQ(Rare, Ofen)'",
        ),
        ("value = 0.01", "value = 0.01\n[plan]\nxi = inf", "plan.xi: it should be a finite number"),
        ('time = "ts"', 'time = "kind"', "time and type are one column, kind"),
        ('order = ["site", "number"]', 'order = ["site", "site"]', "order names a column twice"),
        ('v = "int"}', 'v = "int", kind = "int"}', "the column of the event type, kind, is of type int"),
    ],
)
def test_what_is_wrong(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in NETWORK
    path = written(tmp_path, NETWORK.replace(before, after, 1))
    with pytest.raises(CepheidError, match=re.escape(said)) as caught:
        load_network(path).plan()
    assert "Traceback" not in str(caught.value)
    assert (
        caught.value.remedy
        or "value" in after
        or "xi" in after
        or "SEQQ" in after
        or "c d" in after
        or "[network" in after
    )


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="cannot be read"):
        load_network(tmp_path)


def test_rates_of_zero_and_a_bound_that_no_plan_meets(tmp_path: Path) -> None:
    plan = load_network(written(tmp_path, NETWORK.replace("rate = 1.0", "rate = 0.0"))).plan()
    assert plan.cost == 0.0
    plan = load_network(written(tmp_path, NETWORK + "\n[plan]\nmax_latency = 0.5\n")).plan()
    assert plan.is_centralized
    assert "the centralized plan takes" in plan.reason


def test_rates_of_sites_are_averaged_and_statistics_go_behind(tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text("[types.Rare]\nrate = 7.0\n[types.Often]\nrate = 1.0\n")
    text = NETWORK.replace("rate = 1.0\n", "").replace("[network]", '[network]\nstatistics = "more.toml"')
    job = load_network(written(tmp_path, text))
    assert job.network().rates == {"Rare": 7.0, "Often": 200.0}


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    job = load_network(written(tmp_path, NETWORK))
    plan = job.plan()
    assert not plan.is_centralized
    write_plan(job, plan, tmp_path / "plan.json")
    read = read_plan(job, tmp_path / "plan.json")
    assert read.vertices == plan.graph.vertices
    assert read.combination == plan.graph.combination
    other = load_network(written(tmp_path, NETWORK.replace("1 min", "2 min")))
    with pytest.raises(JobError, match="for other queries"):
        read_plan(other, tmp_path / "plan.json")
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(JobError, match="no plan of a network"):
        read_plan(job, tmp_path / "plan.json")


def test_what_is_deployed_stands_by_itself(tmp_path: Path) -> None:
    job = load_network(written(tmp_path, NETWORK))
    plan = job.plan()
    out = tmp_path / "out"
    files = deploy(job, plan, out)
    assert [path.name for path in files] == ["a.toml", "b.toml", "c.toml"]
    (tmp_path / "network.toml").unlink()
    again, graph = load_deployed(out)
    assert graph.vertices == plan.graph.vertices
    site = load_site(out / "b.toml")
    assert site.program.topics == programs(again, graph)["b"].topics
    assert site.file.reads == list(site.program.topics.read)
    assert site.program.plan == programs(job, plan.graph)["b"].plan
    (out / "checkpoints").mkdir()
    with pytest.raises(JobError, match="holds checkpoints"):
        deploy(job, plan, out)


def test_a_new_plan_takes_the_place_of_the_old_one_and_of_nothing_else(tmp_path: Path) -> None:
    job, out = load_network(written(tmp_path, NETWORK)), tmp_path / "out"
    deploy(job, job.plan(), out)
    (out / "mine.toml").write_text("")
    other = load_network(written(tmp_path, NETWORK.replace('"c"', '"z"').replace("c = 300.0", "z = 300.0")))
    deploy(other, other.plan(), out)
    assert {path.name for path in out.iterdir()} == {
        *("a.toml", "b.toml", "z.toml", "mine.toml", "network.json", "plan.json")
    }


def test_nothing_is_written_where_not_all_can_be(tmp_path: Path) -> None:
    job = load_network(written(tmp_path, NETWORK))
    (tmp_path / "out" / "b.toml").mkdir(parents=True)
    with pytest.raises(SetupError, match="is a folder"):
        deploy(job, job.plan(), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.toml"]
    named = load_network(written(tmp_path, NETWORK.replace('"c"', '"network"').replace("c = 3", "network = 3")))
    with pytest.raises(JobError, match="the network is read from it"):
        deploy(named, named.plan(), tmp_path)
    with pytest.raises(JobError, match="two files"):
        job.require_others([tmp_path / "x.json", tmp_path / "out" / ".." / "x.json"])


def test_a_parameter_without_end_is_deployed(tmp_path: Path) -> None:
    text = NETWORK.replace("r.v = o.v", "r.v = o.v AND o.f < :most").replace('v = "int"', 'v = "int", f = "float"')
    job = load_network(written(tmp_path, text + "\n[parameters]\nmost = inf\n"))
    deploy(job, job.plan(), tmp_path / "out")
    assert load_site(tmp_path / "out" / "a.toml").job.model.parameters == {"most": float("inf")}
