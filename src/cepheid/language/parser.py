"""From a query's text to its tree."""

from __future__ import annotations

from typing import Any

from cepheid.errors import QueryError
from cepheid.language.actions import RawQuery, actions
from cepheid.language.assemble import assemble, check_expression
from cepheid.language.lalr import UnexpectedToken, parse_tokens
from cepheid.language.lexer import tokenize
from cepheid.language.syntax_errors import explain
from cepheid.language.tree import Expression, Pattern, Query


def parse(text: str, origin: str | None = None) -> Query:
    """The tree of a query.

    Args:
        text: the query.
        origin: the name of the file (or other source) it came from, for error messages.

    Raises:
        QueryError: where the text is no query; it names the line, shows the place and a remedy.
    """
    try:
        return assemble(_run(text, "query"))
    except QueryError as error:
        raise error.located(text, origin) from None


def parse_expression(text: str, origin: str | None = None) -> Expression:
    """The tree of a condition or value, such as ``a.amount > 2 * b.amount``; without SAME.

    Raises:
        QueryError: where the text is no expression.
    """
    try:
        found: Expression = _run(text, "condition")
        check_expression(found)
        return found
    except QueryError as error:
        raise error.located(text, origin) from None


def parse_pattern(text: str, origin: str | None = None) -> Pattern:
    """The tree of a pattern alone, such as ``SEQ(A a, B+ b)``.

    Raises:
        QueryError: where the text is no pattern.
    """
    try:
        found = _run(text, "sequence")
        return assemble(RawQuery(found, (), found.span)).pattern
    except QueryError as error:
        raise error.located(text, origin) from None


def _run(text: str, start: str) -> Any:
    tokens = tokenize(text, start)
    try:
        return parse_tokens(tokens, start, actions())
    except UnexpectedToken as unexpected:
        raise explain(text, tokens, unexpected.index, unexpected.expected) from None
