"""Where a syntax error is, and what stands around it: what the rules that explain it look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from cepheid.errors import QueryError, Span
from cepheid.language.lexer import CLAUSES, Token

OPENERS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
CLOSERS = {closer: opener for opener, closer in OPENERS.items()}
CLAUSE_TYPES = CLAUSES | {"BETWEEN_EACH"}


@dataclass
class Place:
    """The place of a syntax error.

    Attributes:
        text: the query.
        tokens: its tokens.
        index: the token that cannot stand where it does.
        expected: the terminals that could.
    """

    text: str
    tokens: Sequence[Token]
    index: int
    expected: frozenset[str]

    @property
    def token(self) -> Token:
        """The wrong token."""
        return self.tokens[self.index]

    def back(self, n: int = 1) -> Token | None:
        """The n-th token before the wrong one."""
        return self.tokens[self.index - n] if self.index >= n else None

    def ahead(self, n: int = 1) -> Token | None:
        """The n-th token after the wrong one."""
        return self.tokens[self.index + n] if self.index + n < len(self.tokens) else None

    @cached_property
    def open_brackets(self) -> list[Token]:
        """The brackets that are open at the wrong token, the innermost last."""
        stack: list[Token] = []
        for token in self.tokens[: self.index]:
            if token.type in OPENERS:
                stack.append(token)
            elif token.type in CLOSERS and stack:
                stack.pop()
        return stack

    @cached_property
    def clause(self) -> str:
        """The type of the token that opened the clause; PATTERN where there is none."""
        for token in reversed(self.tokens[: self.index]):
            if token.type in CLAUSE_TYPES:
                return token.type
        return "PATTERN"

    @cached_property
    def in_expression(self) -> bool:
        """Whether a value or an operator is expected rather than a pattern."""
        values = {"TEXT", "TIMESTAMP", "COMPARE", "PERCENT", "IN"}
        return self.clause in ("WHERE", "RETURN") or bool(values & self.expected)

    def span(self, token: Token | None = None) -> Span:
        """The place of ``token``; the end of the text is shown behind its last token."""
        token = token or self.token
        if token.type == "$END":
            end = self.tokens[-2].end if len(self.tokens) > 1 else 0
            return Span(end, end + 1)
        return token.span

    def shown(self, token: Token) -> str:
        """``token`` as it stands in the text."""
        return self.text[token.start : token.end]

    def error(self, message: str, remedy: str, token: Token | None = None) -> QueryError:
        """The error at ``token``, or at the wrong one."""
        return QueryError(message, remedy=remedy, span=self.span(token))


Rule: TypeAlias = Callable[[Place], QueryError | None]
"""Explains the error if it knows the slip."""
