"""No file of the project names a machine, a package registry's host, or unfinished work."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SELF = Path(__file__).resolve()

# Each is put together from parts, so that this file may be searched too.
FORBIDDEN = {
    "a folder of one machine": re.compile(r"(?<![\w.$}])/(?:home|root|work|Users|tmp)/[\w.]"),
    "the host of a package registry": re.compile(
        r"(?:pypi|pythonhosted|npmjs|crates|anaconda|conda|maven\.apache|maven|deb\.debian|debian|ubuntu|golang)"
        r"\.(?:org|io|com)\b|files\.pythonhosted|proxy\.golang",
        re.IGNORECASE,
    ),
    "an index URL": re.compile(r"--(?:extra-)?index-url\s+\S*://|--find-links\b(?!\s*$)"),
    "a mark of unfinished work": re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK|WI" + r"P)\b"),
    "a stub": re.compile(r"raise NotImplemented" + r"Error"),
}


def files() -> Iterator[Path]:
    """The files that git keeps or would keep."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    for name in sorted(set(listed.decode().split("\0")) - {""}):
        path = ROOT / name
        if path.is_file() and path != SELF and not path.is_symlink():
            yield path


def findings(text: str) -> Iterator[tuple[int, str]]:
    """(line, what was found) for each forbidden word of ``text``."""
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in FORBIDDEN.items():
            found = pattern.search(line)
            if found:
                yield number, f"{what}: {found.group()}"


def test_no_file_holds_a_forbidden_word():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    found = []
    for path in files():
        raw = path.read_bytes()
        if b"\0" in raw:
            continue
        text = raw.decode("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}:{line}: {what}" for line, what in findings(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "cd /ho" + "me/someone/checkout",
        "open('/wo" + "rk/data.csv')",
        "https://py" + "pi.org/simple",
        "# TO" + "DO later",
        "raise NotImplemented" + "Error",
        "--index" + "-url https://example.net/simple",
    ],
)
def test_forbidden_words_are_found(line: str):
    assert len(list(findings(line))) == 1


@pytest.mark.parametrize("line", ["a/work/b", "work/x", "/usr/lib/jvm/java", "$HOME/work", "todos", "docs/"])
def test_other_words_are_not(line: str):
    assert list(findings(line)) == []
