"""What the checks of a query have in common: errors at a node, nearest names, lists in a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from cepheid.errors import QueryError, Span
from cepheid.language.printer import print_expression
from cepheid.language.tree import Expression, Node, children

_NAMES_SHOWN = 12
"""Names listed in a remedy before the rest is only counted."""

_WIDTH_SHOWN = 60
"""Characters of an expression that a message quotes."""


def place_of(node: Node | None) -> Span | None:
    """The place of ``node`` in the text, or of what lies below it where it has none itself."""
    if node is None or node.span is not None:
        return None if node is None else node.span
    found: Span | None = None
    for child in children(node):
        below = place_of(child)
        if below is not None:
            found = below.join(found)
    return found


def fault(message: str, node: Node | None, remedy: str | None = None) -> QueryError:
    """An error of the query at ``node``; bind fills in the text."""
    return QueryError(message, remedy=remedy, span=place_of(node))


def nearest(name: str, options: Iterable[str]) -> str | None:
    """The option that ``name`` most probably misspells, or None."""
    known = [option for option in options if not option.startswith("#")]
    for option in known:
        if option.lower() == name.lower():
            return option
    close = difflib.get_close_matches(name, known, n=1)
    return close[0] if close else None


def listing(names: Iterable[str]) -> str:
    """Names with commas, the visible ones only, not too many."""
    shown = [name for name in names if not name.startswith("#")]
    if not shown:
        return "none"
    text = ", ".join(shown[:_NAMES_SHOWN])
    rest = len(shown) - _NAMES_SHOWN
    return f"{text} and {rest} more" if rest > 0 else text


def suggestion(name: str, options: Iterable[str], otherwise: str) -> str:
    """A remedy for an unknown name: the nearest option, and else ``otherwise``."""
    options = list(options)
    close = nearest(name, options)
    return f"did you mean {close}? ({otherwise})" if close is not None else otherwise


def shown(node: Expression, text: str) -> str:
    """``node`` as a message names it: as the text has it (else as it prints), on one line and not too long."""
    place = place_of(node)
    written = text[place.start : place.end] if place is not None else ""
    if not written:
        written = print_expression(node)
    return shortened(" ".join(written.split()))


def shortened(text: str) -> str:
    """``text``, cut to what a message has room for."""
    return text if len(text) <= _WIDTH_SHOWN else text[: _WIDTH_SHOWN - 3] + "..."
