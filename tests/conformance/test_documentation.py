"""Every example in the definition of the language and beside it, on the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.documented import DOCUMENTS, blocks, documented_cases
from tests.conformance.notation import Case
from tests.conformance.test_cases_oracle import check


@pytest.mark.parametrize("case", documented_cases(), ids=lambda case: case.name)
def test_example(case: Case):
    check(case)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_query_says_what_it_gives(path: Path):
    for line, text in blocks(path):
        queries = text.split("\nquery ")[1:] if not text.startswith("query") else text.split("query ")[1:]
        assert queries, line
        for query in queries:
            assert "\nmatch " in query or "\nnone" in query, f"line {line}: {query}"
