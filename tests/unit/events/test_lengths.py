"""Lengths of time are written as in queries."""

from __future__ import annotations

from contextlib import suppress

import pytest

from cepheid.errors import QueryError, SchemaError
from cepheid.events.lengths import WRITTEN_UNITS, length_us
from cepheid.events.schema import TIME_UNITS
from cepheid.language.quantities import extent

NUMBERS = ("2", "1.5", ".5", "10_000", "1e3", "2.5E-1", "20k", "1M", "3K")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_length_is_what_it_is_in_a_query(number: str):
    for unit in WRITTEN_UNITS:
        for text in (f"{number} {unit}", f" {number}  {unit.upper()} "):
            written = extent(text)
            assert length_us(text, "slack") == round(written.value * TIME_UNITS[written.unit])


@pytest.mark.parametrize("text", ["", "5", "5 events", "5 fortnights", "5m", "-5 s", "1e s", "5 km", "5 s s", "1 2 s"])
def test_what_is_none_in_a_query_is_none_elsewhere(text: str):
    with pytest.raises(SchemaError, match="no length of time"):
        length_us(text, "slack")
    with suppress(QueryError):
        assert extent(text).unit in (None, "events")
