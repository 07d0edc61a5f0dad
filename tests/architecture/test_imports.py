"""The rooms import only whom they may, and the checker sees every way of importing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.imports import FRONT_DOOR, LIBRARIES, ROOMS, imports_of, room_of, violations

SOURCE = Path(__file__).resolve().parents[2] / "src" / "cepheid"


def test_every_room_imports_only_whom_it_may():
    found = violations(SOURCE)
    assert not found, "\n".join(found)


def test_the_table_names_only_rooms_that_it_has():
    for room, allowed in ROOMS.items():
        assert set(allowed) <= set(ROOMS), room
        assert room not in allowed
    for library, rooms in LIBRARIES.items():
        assert set(rooms) <= set(ROOMS), library


def test_no_two_rooms_may_import_each_other():
    for room, allowed in ROOMS.items():
        for other in allowed:
            assert room not in ROOMS[other], f"{room} and {other}"


def _package(tmp_path: Path, files: dict[str, str]) -> Path:
    root = tmp_path / "cepheid"
    for name in ("__init__.py", "errors.py", "kernels/__init__.py", "engine/__init__.py", "plan/__init__.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text('"""Empty."""\n')
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


FORBIDDEN = {
    "at the top": ("plan/a.py", "from cepheid.engine import matcher\n"),
    "as a whole module": ("plan/a.py", "import cepheid.engine\n"),
    "from the package": ("plan/a.py", "from cepheid import engine\n"),
    "in a function": ("plan/a.py", "def f():\n    from cepheid.engine import matcher\n"),
    "relative": ("plan/a.py", "from ..engine import matcher\n"),
    "relative, from a package": ("plan/rewrites/__init__.py", "from ...engine import matcher\n"),
    "for types only": (
        "plan/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from cepheid.engine import matcher\n",
    ),
    "by name": ("plan/a.py", "import importlib\nimportlib.import_module('cepheid.engine')\n"),
    "by name, relative": ("plan/a.py", "from importlib import import_module\nimport_module('..engine', __package__)\n"),
    "through the front door": ("plan/a.py", "from cepheid import match\n"),
    "the front door itself": ("plan/a.py", "import cepheid\n"),
    "by a room of nothing": ("kernels/a.py", "from cepheid import errors\n"),
    "a policy by another": ("policies/slack/a.py", "from cepheid.policies.shedding import table\n"),
    "the engine by the oracle": ("testing/oracle.py", "from cepheid.engine import matcher\n"),
    "a library of another room": ("engine/a.py", "def f():\n    import numba\n"),
    "a library in part": ("engine/a.py", "from pyspark.sql import types\n"),
    "a library of nobody": ("engine/a.py", "import requests\n"),
    "by a room that is not in the table": ("helpers/a.py", "x = 1\n"),
}


@pytest.mark.parametrize("file", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_the_checker_catches(file: tuple[str, str], tmp_path: Path):
    name, text = file
    found = violations(_package(tmp_path, {name: text}))
    assert len(found) == 1
    assert found[0].startswith(f"cepheid/{name}:")


ALLOWED = {
    "its own room": ("plan/a.py", "from cepheid.plan import b\nfrom . import b\nfrom .b import c\n"),
    "rooms below": ("engine/a.py", "from cepheid.kernels import step\nfrom ..errors import QueryError\n"),
    "errors from the package": ("plan/a.py", "from cepheid import errors\n"),
    "the version": ("kernels/a.py", "from cepheid import __version__\n"),
    "its library": ("kernels/a.py", "import numba.core\n"),
    "Python's own and numpy": ("kernels/a.py", "import math\nimport numpy as np\nfrom collections import abc\n"),
    "rooms that are absent": ("engine/a.py", "x = 1\n"),
}


@pytest.mark.parametrize("file", ALLOWED.values(), ids=ALLOWED.keys())
def test_the_checker_allows(file: tuple[str, str], tmp_path: Path):
    name, text = file
    assert violations(_package(tmp_path, {name: text})) == []


def test_rooms_are_told_from_module_names():
    assert room_of("cepheid") == FRONT_DOOR
    assert room_of("cepheid.errors") == "errors"
    assert room_of("cepheid.plan.rewrites.merge") == "plan"
    assert room_of("cepheid.policies.slack.delay") == "policies.slack"
    assert room_of("cepheid.testing.oracle") == "testing.oracle"
    assert room_of("cepheid.testing.oracle_windows") == "testing.oracle"
    assert room_of("cepheid.testing.clock") == "testing"


def test_lines_are_those_of_the_imports():
    source = "x = 1\n\n\ndef f():\n    import a.b, c\n"
    assert [(i.target, i.line) for i in imports_of(source, "cepheid.x", is_package=False)] == [("a.b", 5), ("c", 5)]


def test_the_page_about_the_house_names_every_room():
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p.is_dir() and len(list(p.glob("*.py"))) > 1)}
    missing = sorted(room for room in rooms - {"__init__", "__main__"} if f"| `{room}` |" not in page)
    assert not missing
