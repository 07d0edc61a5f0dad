"""Each statement of the definition has an example or a test, and these exist."""

from __future__ import annotations

import re

import pytest

from tests.conformance.cases import CASES
from tests.conformance.documented import ROOT, SEMANTICS, cases
from tests.conformance.statements import STATEMENTS, Statement

QUERIES = {case.query for case in cases(SEMANTICS)}


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: f"{statement.section} {statement.says}")
def test_a_statement_is_shown(statement: Statement):
    assert statement.doc or statement.case or statement.fault or statement.test
    assert set(statement.doc) <= QUERIES
    for beginning in statement.case:
        assert any(case.name.startswith(beginning) for case in CASES), beginning
    for name in statement.fault:
        assert any((ROOT / "tests/golden").glob(f"*/{name}.cep")), name
    for test in statement.test:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_every_section_has_statements():
    # Section 9 is on composite events, with an example for each paragraph.
    sections = set(re.findall(r"^## (\d+)\.", SEMANTICS.read_text(encoding="utf-8"), flags=re.MULTILINE)) - {"9"}
    assert sections == {statement.section for statement in STATEMENTS}
