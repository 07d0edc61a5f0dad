"""Text as the drawings need it: one line, of known width, wrapped or cut."""

from __future__ import annotations

import textwrap
import unicodedata


def one_line(text: str) -> str:
    """``text`` on one line, without characters that XML or a terminal cannot hold."""
    joined = " ".join(text.split())
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_unprintable(c) else c for c in joined)


def _is_unprintable(char: str) -> bool:
    # Surrogates, controls and the two non-characters are not allowed in XML 1.0.
    return unicodedata.category(char) in ("Cc", "Cs") or char in "\ufffe\uffff"


def n_cells(text: str) -> int:
    """The width of ``text`` in columns of a terminal: wide characters take two, combining ones none."""
    total = 0
    for char in text:
        if unicodedata.combining(char):
            continue
        total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return total


def cut(text: str, n_max: int) -> str:
    """``text`` on one line of at most ``n_max`` cells, ending in an ellipsis where it was cut."""
    text = one_line(text)
    if n_cells(text) <= n_max:
        return text
    kept = ""
    for char in text:
        if n_cells(kept + char) > n_max - 1:
            break
        kept += char
    return kept.rstrip() + "…"


def wrap(text: str, n_max: int) -> list[str]:
    """``text`` in lines of at most ``n_max`` characters, at blanks where possible; at least one line."""
    return textwrap.wrap(one_line(text), n_max, break_on_hyphens=False) or [""]


SANS_CELL = 0.61
"""Width of a cell of the sans font in units of its size; wide enough for the widest usual fallback (DejaVu Sans)."""

BOLD_CELL = 0.69
"""The same of the sans font in bold."""

MONO_CELL = 0.605
"""Width of a cell of the monospaced font in units of its size."""


def width_px(text: str, size_px: float, *, mono: bool = False, bold: bool = False) -> float:
    """An estimate, on the large side, of the width of ``text`` in pixels."""
    cell = MONO_CELL if mono else BOLD_CELL if bold else SANS_CELL
    return n_cells(text) * size_px * cell
