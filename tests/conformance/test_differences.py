"""What docs/differences.md says of this language is shown by examples."""

from __future__ import annotations

import re

import pytest

from tests.conformance.documented import DIFFERENCES, SEMANTICS, documented_cases

QUERIES = {case.query for case in documented_cases()}


def rows() -> list[list[str]]:
    """The cells of each row of the table."""
    lines = DIFFERENCES.read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[1:]]


def test_the_table_is_found():
    assert len(rows()) > 20


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_names_its_sections_and_examples(row: list[str]):
    rule, here, *others = row
    assert len(others) == 4
    headings = set(re.findall(r"^## (\d+)\.", SEMANTICS.read_text(encoding="utf-8"), flags=re.MULTILINE))
    numbers = re.search(r"\(([\d, ]+)\)$", rule)
    assert numbers is not None
    assert set(numbers[1].split(", ")) <= headings
    for query in re.findall(r"`((?:SEQ|AND|OR|ANY)\([^`]*)`", here):
        assert query.replace("\\|", "|") in QUERIES


def test_most_rows_have_an_example():
    without = [row[0] for row in rows() if "`SEQ(" not in row[1] and "`AND(" not in row[1]]
    assert len(without) <= 3, without
