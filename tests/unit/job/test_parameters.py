"""Values of parameters from job files and command lines."""

from datetime import timedelta
from decimal import Decimal

import pytest

from cepheid.errors import ParameterError
from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, FLOAT, INT, TEXT, TIMESTAMP, decimal
from cepheid.job.parameters import parameter_values
from cepheid.query import Query

SCHEMA = Schema(
    fields={"ts": TIMESTAMP, "i": INT, "f": FLOAT, "b": BOOL, "s": TEXT, "d": decimal(9, 2)}, time="ts", type="s"
)
BOUND = Query.parse(
    "PATTERN SEQ(A a, B b) WHERE a.i = :i AND a.f > :f AND a.b = :b AND a.s = :s AND a.d = :d AND a.ts > :t"
    " AND b.ts - a.ts < :w AND b.i IN :list WITHIN 5 minutes"
).bind(SCHEMA)


def test_values_of_a_job_file():
    said = {"w": "90 seconds", "d": "1.25", "i": 3, "list": [1, 2]}
    assert parameter_values(BOUND, said) == {
        "w": timedelta(seconds=90),
        "d": Decimal("1.25"),
        "i": 3,
        "list": [1, 2],
    }


def test_values_of_a_command_line():
    typed = {
        "i": "3",
        "f": "-1.5e3",
        "b": "TRUE",
        "s": " x=y ",
        "d": "1.25",
        "t": "2024-01-31 10:00",
        "w": "1.5 h",
        "list": "1, 2,3",
    }
    assert parameter_values(BOUND, {"i": 9}, typed) == {
        "i": 3,
        "f": -1500.0,
        "b": True,
        "s": " x=y ",
        "d": Decimal("1.25"),
        "t": "2024-01-31 10:00",
        "w": timedelta(minutes=90),
        "list": [1, 2, 3],
    }
    assert parameter_values(BOUND, {}, {"list": " "}) == {"list": []}


@pytest.mark.parametrize(
    ("name", "text"),
    [("i", "1.5"), ("f", "1,5"), ("b", "yes"), ("d", "x"), ("w", "5"), ("w", "5 events"), ("list", "1,x")],
)
def test_texts_that_stand_for_no_value(name, text):
    with pytest.raises(ParameterError, match=f"the parameter :{name} ") as caught:
        parameter_values(BOUND, {}, {name: text})
    assert caught.value.remedy


def test_unknown_parameters_are_left_for_the_query_to_refuse():
    assert parameter_values(BOUND, {"x": 1}, {"y": "2"}) == {"x": 1, "y": "2"}
