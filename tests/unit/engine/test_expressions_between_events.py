"""docs/expressions.md in the compiled engine: every line of its tables as a condition between two events."""

import itertools
import re

import pyarrow as pa
import pytest

import cepheid as cep
from tests.unit.engine.test_expressions_page import EXAMPLE, TABLE, rows

TWICE = pa.concat_tables([TABLE, TABLE])
EVENTS = TWICE.append_column("kind", pa.array(["A", "B"]))


def spread(text):
    """The expression with every second attribute of `a` read from `b`, which has the same values."""
    turn = itertools.cycle(["a.", "b."])
    return re.sub(r"\ba\.", lambda _: next(turn), text)


def holds(condition):
    query = f"PATTERN SEQ(A a, M? m, B b) WHERE {condition} AND b.ts >= a.ts WITHIN 1 h"
    return cep.match(EVENTS, query, time="ts", type="kind").num_rows == 1


@pytest.mark.parametrize(("text", "value", "dtype"), rows(EXAMPLE))
@pytest.mark.parametrize("mixed", ["{}", "coalesce({}, {})"], ids=["plain", "chosen"])
def test_example_between_events(text, value, dtype, mixed):
    between = spread(f"({mixed.format(*[f'({text})'] * 2)})")
    if value == "absent":
        assert holds(f"{between} IS NULL")
        assert holds(f"{between} IS NOT NULL")
    elif value == "NULL":
        assert holds(f"{between} IS NULL")
        assert not holds(f"{between} IS NOT NULL")
    else:
        shown = "a.nan" if value == "nan" else "a.inf" if value == "inf" else value
        if dtype == "bool":
            assert holds(between if value == "true" else f"NOT {between}")
            assert not holds(between if value == "false" else f"NOT {between}")
        else:
            assert holds(f"{between} = {shown}")
            assert not holds(f"{between} <> {shown}")
