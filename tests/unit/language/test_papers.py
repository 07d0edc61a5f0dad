"""The queries of the papers parse, print and fit the schemas beside them."""

from pathlib import Path

import pytest

from cepheid.cli.schema_file import read_schema
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.language.printer import print_query
from cepheid.language.tree import Event, Repeat, walk

PAPERS = Path(__file__).parents[3] / "workloads" / "papers"
QUERIES = sorted(PAPERS.glob("*.cep"))


def test_the_queries_of_all_five_papers_are_there():
    assert {path.stem.split("_")[0] for path in QUERIES} == {"apam", "eires", "hspice", "inev", "probslack"}
    assert len(QUERIES) >= 25


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_query_fits_its_schema(path):
    text = path.read_text(encoding="utf-8")
    query = parse(text, path.name)
    assert parse(print_query(query)) == query
    schema, catalog = read_schema(PAPERS / "schemas.toml", path)
    bound = bind(query, schema, catalog=catalog, text=text)
    assert query.policy is bound.policy, "a paper's file names its policy"


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_query_states_its_source_and_its_changes(path):
    comments = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("-- ")]
    assert any(word in comments[0] for word in ("Listing", "Figure", "Table", "Example", "section"))
    assert any("Changes:" in line for line in comments)


def test_listings_keep_their_shape():
    def pattern(name):
        return parse((PAPERS / f"{name}.cep").read_text(encoding="utf-8")).pattern

    assert len([n for n in walk(pattern("hspice_q2")) if isinstance(n, Event)]) == 19
    assert len(pattern("hspice_q4").parts[1].parts) == 11
    assert isinstance(pattern("eires_listing3"), Repeat)
    assert [e.name for e in pattern("apam_figure3").parts] == ["A", "B", "C", "D", "E"]
