"""What README.md says of what runs is so."""

from __future__ import annotations

import re

import pytest

import cepheid as cep
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, TEXT, TIMESTAMP
from cepheid.plan.build import build
from tests.docs.blocks import ROOT

SCHEMA = Schema({"ts": TIMESTAMP, "kind": TEXT, "k": TEXT, "x": FLOAT}, time="ts", type="kind", types=("A", "B", "C"))
CATALOG = cep.Catalog(
    stores={"limits": cep.Store("limits", key=(TEXT,), fields={"": FLOAT}, source={})},
    queries={"rise": cep.Query.parse("SEQ(A a, A b) WHERE a.x < b.x WITHIN 1 min")},
)


def _examples(heading: str) -> list[str]:
    """The code in the second column of the table under ``heading``."""
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition(f"\n| {heading} | for example |\n")[2]
    rows = table.partition("\n\n")[0].splitlines()[1:]
    return [re.search(r"\| `(.+)` \|$", row)[1].replace("\\|", "|") for row in rows]  # type: ignore[index]


def test_the_tables_are_found():
    assert len(_examples("runs")) >= 8


@pytest.mark.parametrize("text", _examples("runs"))
def test_what_is_said_to_run_has_a_plan(text: str):
    build(cep.Query.parse(text).bind(SCHEMA, CATALOG))
