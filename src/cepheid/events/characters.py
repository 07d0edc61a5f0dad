"""Which texts of Python are texts to Arrow, which holds them in UTF-8."""

from __future__ import annotations

import re

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def lone_surrogate(text: str) -> int | None:
    """The place of the first half of a surrogate pair, which is no character and has no UTF-8; None where none is."""
    if text.isascii():
        return None
    found = _SURROGATE.search(text)
    return None if found is None else found.start()
