"""Every public module, class, function and method says what it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "cepheid"

# Decorators under which a function repeats a docstring that stands elsewhere.
_REPEATS = ("override", "overload", "setter")


def undocumented(source: str) -> Iterator[tuple[int, str]]:
    """(line, name) of what is public and has no docstring; line 1 and "module" for the module."""
    tree = ast.parse(source)
    if not (ast.get_docstring(tree) or "").strip():
        yield 1, "module"
    yield from _below(tree, "")


def _below(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[int, str]]:
    for child in node.body:
        if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if child.name.startswith("_") or any(ast.unparse(d).endswith(_REPEATS) for d in child.decorator_list):
            continue
        name = f"{prefix}{child.name}"
        if not (ast.get_docstring(child) or "").strip():
            yield child.lineno, name
        if isinstance(child, ast.ClassDef):
            yield from _below(child, f"{name}.")


def test_everything_public_has_a_docstring():
    found = [
        f"{path.relative_to(SOURCE.parent)}:{line}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, name in undocumented(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_what_is_missing_is_found():
    source = '''
class Bare:
    def method(self): ...
    def _private(self): ...
    def __len__(self): ...
    @property
    def size(self):
        """Documented."""
    @size.setter
    def size(self, value): ...

def function(): ...
async def waiting(): ...
def _private(): ...
class _Private:
    def method(self): ...
'''
    assert list(undocumented(source)) == [
        (1, "module"),
        (2, "Bare"),
        (3, "Bare.method"),
        (12, "function"),
        (13, "waiting"),
    ]
