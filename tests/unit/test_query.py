"""The query that users hold: from text, from a file, from a tree; bound with its text at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import cepheid as cep
from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, TEXT, TIMESTAMP

TEXT_OF_QUERY = "pattern seq(A a,B b)\nwhere a.x < b.x within 5 minutes"
SCHEMA = Schema({"ts": TIMESTAMP, "kind": TEXT, "x": FLOAT}, time="ts", type="kind")


def test_it_keeps_its_text_and_prints_in_the_languages_layout():
    query = cep.Query.parse(TEXT_OF_QUERY)
    assert query.text == TEXT_OF_QUERY
    assert str(query).splitlines()[0].split() == ["PATTERN", "SEQ(A", "a,", "B", "b)"]
    assert cep.Query.parse(str(query)) == query


def test_queries_are_equal_when_their_trees_are():
    assert cep.Query.parse("PATTERN SEQ(A a, B b)") == cep.Query.parse("A a; B b", "other.cep")
    assert hash(cep.Query.parse("PATTERN SEQ(A a, B b)")) == hash(cep.Query.parse("SEQ(A a, B b)"))
    assert cep.Query.parse("PATTERN SEQ(A a, B b)") != cep.Query.parse("PATTERN SEQ(A a, B c)")


def test_it_comes_from_a_file(tmp_path: Path):
    path = tmp_path / "rule.cep"
    path.write_text("\ufeff" + TEXT_OF_QUERY, encoding="utf-8")
    query = cep.Query.from_file(path)
    assert query == cep.Query.parse(TEXT_OF_QUERY)
    assert query.origin == str(path)


def test_errors_name_the_file_and_the_place(tmp_path: Path):
    path = tmp_path / "rule.cep"
    path.write_text("PATTERN SEQ(A a, B b)\nWHERE a.y > 1", encoding="utf-8")
    with pytest.raises(QueryError) as caught:
        cep.Query.from_file(path).bind(SCHEMA)
    assert str(caught.value).startswith(f"{path}:2:7: ")
    assert "WHERE a.y > 1" in str(caught.value)


def test_a_file_that_is_missing_or_no_text_is_an_error_of_the_query(tmp_path: Path):
    with pytest.raises(QueryError, match="cannot be read") as caught:
        cep.Query.from_file(tmp_path / "none.cep")
    assert caught.value.origin == str(tmp_path / "none.cep")
    (tmp_path / "latin.cep").write_bytes(b"PATTERN SEQ(A a) -- \xe4")
    with pytest.raises(QueryError, match="not text in UTF-8: byte 20"):
        cep.Query.from_file(tmp_path / "latin.cep")


def test_any_form_of_a_query_will_do():
    query = cep.Query.parse(TEXT_OF_QUERY)
    assert cep.Query.of(query) is query
    assert cep.Query.of(TEXT_OF_QUERY) == query
    assert cep.Query.of(query.tree) == query
    assert cep.Query.of(query.tree).text == str(query)
    a, b = cep.build.event("A", "a"), cep.build.event("B", "b")
    assert cep.Query.of(cep.build.seq(a, b).where(a.x < b.x).within("5 minutes")) == query
    with pytest.raises(TypeError, match="not int"):
        cep.Query.of(5)  # type: ignore[arg-type]


def test_it_binds_to_a_schema():
    bound = cep.Query.parse(TEXT_OF_QUERY).bind(SCHEMA)
    assert list(bound.variables) == ["a", "b"]
    assert bound.text == TEXT_OF_QUERY


def test_check_tells_what_to_know_before_it_runs():
    endless = cep.Query.parse("PATTERN SEQ(A a, B b)", "rule.cep")
    assert "WITHIN" in endless.check(SCHEMA)[0].remedy
    assert cep.Query.parse("PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 5 min").check(SCHEMA) == []
    with pytest.raises(QueryError) as caught:
        cep.Query.parse("PATTERN SEQ(A a, B+ b, A c) POLICY any", "rule.cep").check(SCHEMA, stream=True)
    assert caught.value.origin == "rule.cep"


def test_explain_tells_how_it_runs():
    explained = cep.Query.parse(TEXT_OF_QUERY).explain(SCHEMA)
    assert explained.query == TEXT_OF_QUERY
    assert [row.text for row in explained.predicates] == ["a.x < b.x"]
