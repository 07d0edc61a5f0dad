"""Every example in the definition of the language, on the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.documented import blocks, cases
from tests.conformance.notation import Case
from tests.conformance.test_cases_oracle import check

SEMANTICS = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"


@pytest.mark.parametrize("case", cases(SEMANTICS), ids=lambda case: case.name)
def test_example(case: Case):
    check(case)


def test_every_query_says_what_it_gives():
    for line, text in blocks(SEMANTICS):
        queries = text.split("\nquery ")[1:] if not text.startswith("query") else text.split("query ")[1:]
        assert queries, line
        for query in queries:
            assert "\nmatch " in query or "\nnone" in query, f"line {line}: {query}"
