"""The table in docs/language.md of how text is written in Python: both columns make the same query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import cepheid as cep
from cepheid import build
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "language.md"


def rows() -> list[tuple[list[str], list[str]]]:
    """The code in both cells of each row."""
    table = PAGE.read_text(encoding="utf-8").partition("| text | Python |\n|---|---|\n")[2].partition("\n\n")[0]
    cells = [re.split(r"(?<!\\)\|", line)[1:3] for line in table.splitlines()]
    return [tuple(re.findall(r"`([^`]+)`", cell.replace("\\|", "|")) for cell in pair) for pair in cells]  # type: ignore[misc]


def pairs() -> Iterator[tuple[str, str]]:
    """(text, Python) where the one stands for the other."""
    for texts, pythons in rows():
        pythons = [code for code in pythons if "(" in code or "[" in code or code in ("a.x", "~p")]
        if any("..." in code for code in (*texts, *pythons)):
            continue  # a form to be filled in
        if len(pythons) == len(texts):
            yield from zip(texts, pythons, strict=True)
        elif len(texts) == 1:  # two ways to write it
            yield from ((texts[0], code) for code in pythons)
        elif "a.x" in texts:  # a.x is written in two ways
            yield from zip((texts[0], *texts), pythons, strict=True)


def namespace() -> dict[str, Any]:
    a, b, p = build.event("A", "a"), build.event("B", "b"), build.event("P")
    return {**{name: getattr(build, name) for name in dir(build)}, "a": a, "b": b, "p": p, "timedelta": timedelta}


def built(text: str, code: str) -> cep.Query:
    """The query of the Python column, with what is needed around it."""
    names = namespace()
    a, b = names["a"], names["b"]
    if code.startswith("."):
        return cep.Query.of(eval(f"query(seq(a, b)){code}", names))
    value = eval(code, names)
    if re.match(r"[a-z:]|REMOTE", text) and not text.startswith("strict "):
        loop = "b" in re.findall(r"\b[ab]\b", text)
        return cep.Query.of(build.seq(a, b.plus() if loop else b).returns(v=value))
    return cep.Query.of(build.query(build.seq(a, value)))


def parsed(text: str, code: str) -> cep.Query:
    """The same of the text column."""
    if code.startswith("."):
        clause = f"WHERE {text}" if text.startswith("SAME") else text
        return cep.Query.parse(f"SEQ(A a, B b) {clause}")
    if re.match(r"[a-z:]|REMOTE", text) and not text.startswith("strict "):
        loop = "b" in re.findall(r"\b[ab]\b", text)
        return cep.Query.parse(f"SEQ(A a, {'B+ b' if loop else 'B b'}) RETURN {text} AS v")
    return cep.Query.parse(f"SEQ(A a, {text})")


def test_the_table_is_found():
    assert len(rows()) > 15
    assert len(list(pairs())) > 20


@pytest.mark.parametrize(("text", "code"), list(pairs()), ids=str)
def test_both_columns_make_the_same_query(text: str, code: str):
    assert built(text, code).tree == parsed(text, code).tree


@pytest.mark.parametrize(
    "clause", re.findall(r"`\.(\w+)`", PAGE.read_text("utf-8").partition("by its first clause")[2].partition(";")[0])
)
def test_clauses_that_make_a_pattern_a_query(clause: str):
    assert hasattr(build.seq(build.event("A"), build.event("B")), clause)
    assert hasattr(build.query(build.event("A")), clause)
