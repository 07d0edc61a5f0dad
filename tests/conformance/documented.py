"""The examples in the documentation, as cases.

A block that begins with ```` ```text ```` has a line for each fact, by its first word; a line that begins with a
blank goes on with the one before:

    events     A@1 B@3
    query      SEQ(A a, B b) WITHIN 2
    match      a=A@1 b=B@3

``events`` holds for all queries that follow in the block, as does ``named`` (``pair = SEQ(A a, B b)``), a query that
others may be FROM. After a query come ``match`` lines, or ``none``; and where they matter ``watermark`` (seconds),
``timed out``, ``late``, ``rejected``, ``returns`` (a value for each column), and ``store`` (``levels[1] = 5``, or
``places['ann'].known = {'x', 'y'}``).
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from cepheid.events.types import BOOL, FLOAT, INT, TEXT, DataType, set_of
from cepheid.language.bound import Catalog, Store
from cepheid.query import Query
from tests.conformance.notation import Case, literal

ROOT = Path(__file__).resolve().parents[2]
SEMANTICS = ROOT / "docs" / "semantics.md"
DIFFERENCES = ROOT / "docs" / "differences.md"
DOCUMENTS = (SEMANTICS, DIFFERENCES)
"""The pages whose text blocks are examples."""

_BLOCK = re.compile(r"^( *)```text\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_LINE = re.compile(
    r"(events|query|match|none|watermark|timed out|late|rejected|returns|store|named)\b\s*(.*)", re.DOTALL
)
_ENTRY = re.compile(r"(\w+)\[(.*?)\](?:\.(\w+))?\s*=\s*(.*)")


@dataclass
class Block:
    """What has been read of a block."""

    events: str = ""
    stores: dict[str, dict[object, object]] = field(default_factory=dict)
    declared: dict[str, Store] = field(default_factory=dict)
    named: dict[str, Query] = field(default_factory=dict)

    def store(self, text: str) -> None:
        found = _ENTRY.match(text)
        assert found is not None, text
        name, keys, attribute, written = found.groups()
        key = ast.literal_eval(keys)
        value = ast.literal_eval(written)
        parts = key if isinstance(key, tuple) else (key,)
        fields = dict(self.declared[name].fields) if name in self.declared else {}
        fields[attribute or ""] = type_of(value)
        self.declared[name] = Store(name, tuple(type_of(part) for part in parts), fields)
        if isinstance(value, set):
            value = frozenset(value)
        entries = self.stores.setdefault(name, {})
        if attribute is None:
            entries[key] = value
        else:
            element = entries.setdefault(key, {})
            assert isinstance(element, dict)
            element[attribute] = value


def type_of(value: object) -> DataType:
    match value:
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case set():
            return set_of(type_of(next(iter(value))))
        case _:
            return TEXT


def blocks(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each block."""
    text = path.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, textwrap.dedent(found.group(2))


def cases(path: Path) -> list[Case]:
    """Every query in the documentation with what it says of its matches."""
    return [case for line, text in blocks(path) for case in _cases(f"{path.name}:{line}", text)]


def documented_cases() -> list[Case]:
    """Those of every page."""
    return [case for path in DOCUMENTS for case in cases(path)]


def _cases(name: str, text: str) -> list[Case]:
    block = Block()
    found: list[Case] = []
    for entry in re.sub(r"\n[ ]+", " ", re.sub(r"\n\n+", "\n", text.strip())).split("\n"):
        read = _LINE.match(entry)
        assert read is not None, f"{name}: {entry}"
        word, rest = read.groups()
        if word == "events":
            block.events = rest
        elif word == "store":
            block.store(rest)
        elif word == "named":
            called, text = rest.split(" = ", 1)
            block.named[called] = Query.parse(text)
        elif word == "query":
            found.append(
                Case(
                    f"{name} {rest}",
                    rest,
                    block.events,
                    stores=block.stores,
                    catalog=Catalog(stores=block.declared, queries=dict(block.named)),
                )
            )
        else:
            found[-1] = _with_result(found[-1], word, rest)
    return found


def _with_result(case: Case, word: str, rest: str) -> Case:
    match word:
        case "match":
            return replace(case, matches=(*case.matches, rest))
        case "watermark":
            return replace(case, watermark=float(rest))
        case "timed out":
            return replace(case, timed_out=(*(case.timed_out or ()), rest))
        case "late":
            return replace(case, late=tuple(rest.split()))
        case "rejected":
            return replace(case, rejected=tuple(rest.split()))
        case "returns":
            values = dict(pair.split("=", 1) for pair in rest.split("; "))
            row = {column: literal(value) for column, value in values.items()}
            return replace(case, returned=(*(case.returned or ()), row))
        case _:
            return case
