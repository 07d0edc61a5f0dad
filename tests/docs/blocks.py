"""The fenced blocks of a Markdown file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_OPEN = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^`]*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        file: the Markdown file, relative to the checkout.
        line: the line of its first line of text, from 1.
        info: what stands behind the opening fence: ``python``, ``python spark``, ``sh``, ...
        text: what stands between the fences.
    """

    file: str
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        """The first word of ``info``."""
        return self.info.split()[0] if self.info.split() else ""

    @property
    def tags(self) -> frozenset[str]:
        """The further words of ``info``, without ``file=...``."""
        return frozenset(word for word in self.info.split()[1:] if not word.startswith("file="))

    @property
    def file_name(self) -> str | None:
        """The name in ``file=name`` of ``info``: the block is the content of a file."""
        return next((word.removeprefix("file=") for word in self.info.split()[1:] if word.startswith("file=")), None)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def blocks_of(markdown: str, file: str) -> Iterator[Block]:
    """Every fenced block of a Markdown text, in order.

    Raises:
        ValueError: a fence is never closed.
    """
    lines = markdown.splitlines()
    number = 0
    while number < len(lines):
        opening = _OPEN.match(lines[number])
        number += 1
        if opening is None:
            continue
        indent, fence = len(opening["indent"]), opening["fence"]
        body: list[str] = []
        start = number + 1
        while number < len(lines) and not re.fullmatch(rf" *{fence}`* *", lines[number]):
            line = lines[number]
            body.append(line[indent:] if line[:indent].isspace() or not indent else line)
            number += 1
        if number == len(lines):
            raise ValueError(f"{file}:{start - 1}: the block is never closed")
        number += 1
        yield Block(file, start, opening["info"].strip(), "\n".join(body) + "\n")


def documents() -> list[Path]:
    """The Markdown files whose blocks must hold what they say."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def all_blocks() -> list[Block]:
    """Every block of every document."""
    return [
        block
        for path in documents()
        for block in blocks_of(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]
