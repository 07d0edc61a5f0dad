"""Options of the wrong type are refused by their name, with what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CepheidError, ParameterError, SchemaError, SetupError
from cepheid.events.types import INT

EVENTS = pa.table({"ts": pa.array([0, 1], pa.timestamp("s")), "kind": ["A", "B"], "x": [1, 2]})
QUERY = "SEQ(A a, B b) WITHIN 10 s"
COLUMNS = {"time": "ts", "type": "kind"}
WRONG: list[tuple[dict[str, Any], type[CepheidError]]] = [
    ({"catalog": 3}, SetupError),
    ({"queries": 3}, SetupError),
    ({"parameters": 3}, SetupError),
    ({"settings": None}, SetupError),
    ({"order": 3}, SchemaError),
    ({"time_unit": ["s"]}, SchemaError),
]


@pytest.mark.parametrize(("option", "error"), WRONG)
@pytest.mark.parametrize("query", [QUERY, cep.QuerySet({"q": QUERY})])
def test_options(option, error, query):
    for call in (cep.match, cep.count):
        with pytest.raises(error) as raised:
            call(EVENTS, query, **{**COLUMNS, **option})
        assert raised.value.remedy
    with pytest.raises(error) as raised:
        cep.Matcher(query, **{**COLUMNS, **option}, schema=EVENTS)
    assert raised.value.remedy


@pytest.mark.parametrize("queries", [3, ["A a"], None])
def test_sets_of_queries(queries):
    with pytest.raises(SetupError, match="no mapping from names to queries"):
        cep.QuerySet(queries)


def test_an_array_as_a_parameter():
    query = "SEQ(A a, B b) WHERE a.x > :p WITHIN 10 s"
    with pytest.raises(ParameterError, match=":p is an int, and the value is a"):
        cep.match(EVENTS, query, **COLUMNS, parameters={"p": np.array([1, 2])})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("f", abs, (INT,), INT), "arguments="),
        (("f", (INT,), abs, INT), "result="),
        (("f", (INT,), INT, 3), "call=3"),
        ((3, (INT,), INT, abs), "name=3"),
    ],
)
def test_functions(arguments, named):
    with pytest.raises(SetupError, match=named):
        cep.Function(*arguments)


def test_catalogs():
    with pytest.raises(SetupError, match="functions=3"):
        cep.Catalog(functions=3)
