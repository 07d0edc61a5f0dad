"""From "this token cannot stand here" to a sentence that a user understands, and a remedy."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import QueryError, Span
from cepheid.language.lexer import Token


def explain(text: str, tokens: Sequence[Token], index: int, expected: frozenset[str]) -> QueryError:
    """The error for ``tokens[index]``, where only ``expected`` could stand."""
    token = tokens[index]
    return QueryError(f"unexpected `{token.value}`", remedy=f"expected {sorted(expected)}", span=Span(token.start, max(token.end, token.start + 1)))
