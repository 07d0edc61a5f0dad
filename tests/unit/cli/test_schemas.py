"""Schemas for looking at a query: from a file, or from the query itself."""

from pathlib import Path

import pytest

from cepheid.cli.infer import inferred
from cepheid.cli.schema_file import read_schema, serves
from cepheid.errors import JobError
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, decimal, set_of, struct
from cepheid.query import Query

PAPERS = Path(__file__).resolve().parents[3] / "workloads" / "papers"

FRAUD = """
[fraud]
queries = ["two_large"]
time = { column = "t", type = "int", unit = "ms" }
type = "kind"
order = ["seq"]
common = { card = "text", seq = "int" }
types = { Txn = { amount = "decimal(9, 2)" }, Denied = {} }
stores = { places = { key = ["text"], fields = { known = "set of text" } } }
functions = { overlap = { arguments = ["text"], result = "bool" } }
"""


def test_a_file_with_a_schema_for_each_query(tmp_path):
    (tmp_path / "s.toml").write_text(FRAUD)
    schema, catalog = read_schema(tmp_path / "s.toml", Path("two_large.cep"))
    assert schema.time == "t"
    assert schema.time_unit == "ms"
    assert schema.order == ("seq",)
    assert schema.per_type["Txn"] == {"t": INT, "kind": TEXT, "card": TEXT, "seq": INT, "amount": decimal(9, 2)}
    assert catalog.stores["places"].fields == {"known": set_of(TEXT)}
    assert catalog.functions["overlap"].result == BOOL
    assert serves(tmp_path / "s.toml", Path("two_large.cep"))
    assert not serves(tmp_path / "s.toml", Path("other.cep"))
    assert not serves(tmp_path / "no.toml", Path("other.cep"))


def test_a_file_with_one_schema(tmp_path):
    (tmp_path / "s.toml").write_text('time = "ts"\ncommon = { x = "float" }\n')
    schema, _ = read_schema(tmp_path / "s.toml", Path("any.cep"))
    assert schema.fields == {"ts": TIMESTAMP, "x": FLOAT}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a", "not TOML"),
        ("[a]\nqueries = ['x']\n", "there is no schema for the query 'q'"),
        ("[a]\nqueries = ['q']\n", r"\[a\] has no column of event time"),
        ("time = 'ts'\ncommon = { x = 'string' }\n", "'string' is not a type"),
        ("time = 'ts'\nwhat = 1\n", "a key 'what' that means nothing"),
        ("time = 'ts'\ncommon = 5\n", "common should be a table"),
        ("time = 'ts'\ntypes = { A = { x = 'int' }, B = { x = 'text' } }\n", "gives 'x' the types int and text"),
        ("time = { column = 't', type = 'int', unit = 'sec' }\n", "'sec' is not a unit of time"),
    ],
)
def test_schema_files_with_faults(tmp_path, text, message):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(JobError, match=message):
        read_schema(tmp_path / "s.toml", Path("q.cep"))


def test_a_schema_file_that_is_not_there(tmp_path):
    with pytest.raises(JobError, match="No such file"):
        read_schema(tmp_path / "s.toml", Path("q.cep"))


@pytest.mark.parametrize("path", sorted(PAPERS.glob("*.cep")), ids=lambda p: p.stem)
def test_the_queries_of_the_papers_fit_their_schema_and_an_inferred_one(path):
    query = Query.from_file(path)
    query.bind(*read_schema(PAPERS / "schemas.toml", path))
    schema, catalog, _ = inferred(query.tree)
    query.bind(schema, catalog)


@pytest.mark.parametrize(
    ("condition", "types"),
    [
        ("a.x > 5", {"x": FLOAT}),
        ("a.x = b.y AND b.y > 1", {"x": FLOAT, "y": FLOAT}),
        ("a.x = b.y", {"x": TEXT, "y": TEXT}),
        ("a.x < b.y", {"x": FLOAT, "y": FLOAT}),
        ("a.x LIKE 'x%'", {"x": TEXT}),
        ("a.x IN (1, 2)", {"x": FLOAT}),
        ("a.x AND NOT b.y", {"x": BOOL, "y": BOOL}),
        ("hour(a.x) > 3", {"x": TIMESTAMP}),
        ("b.x - a.x < 5 minutes", {"x": TIMESTAMP}),
        ("a.x + 5 minutes > b.x", {"x": TIMESTAMP}),
        ("b.x - a.x > 5", {"x": FLOAT}),
        ("a.x > 5 minutes", {"x": DURATION}),
        ("a.x.y > 5", {"x": struct(y=FLOAT)}),
        ("abs(a.x) > b.y", {"x": FLOAT, "y": FLOAT}),
        ("a.x > TIMESTAMP '2024-01-01'", {"x": TIMESTAMP}),
        ("a.x IS NULL", {"x": TEXT}),
    ],
)
def test_types_follow_from_what_an_attribute_meets(condition, types):
    query = Query.parse(f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 5 minutes")
    schema, catalog, assumed = inferred(query.tree)
    query.bind(schema, catalog)
    assert {name: dtype for name, dtype in schema.fields.items() if name in types} == types
    assert sorted(assumed) == sorted(f"{name}: {dtype}" for name, dtype in types.items())


def test_the_name_of_the_time_is_known():
    schema, _, assumed = inferred(Query.parse("PATTERN SEQ(A a, B b) RETURN a.ts AS begins, b.x AS x").tree)
    assert schema.time == "ts"
    assert assumed == ["x: text"]


def test_stores_and_functions_follow_too():
    query = Query.parse(
        "PATTERN SEQ(A a, B b) WHERE b.v NOT IN REMOTE s[a.k].known AND REMOTE t[a.k, b.k].f > b.z "
        "AND MINE(a.k, 5) = 'x' WITHIN 5 minutes"
    )
    schema, catalog, assumed = inferred(query.tree)
    query.bind(schema, catalog)
    assert catalog.stores["s"].fields == {"known": set_of(TEXT)}
    assert catalog.stores["t"].key == (TEXT, TEXT)
    assert catalog.functions["MINE"].result == TEXT
    assert "store s: known: set of text" in assumed
