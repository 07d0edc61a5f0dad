"""The terminals of the grammar in words that a user of the language knows."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.language.lexer import CLAUSES, Token

SYMBOLS = {
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "DOT": "`.`",
    "PIPE": "`|`",
    "BANG": "`!`",
    "PLUS": "`+`",
    "MINUS": "`-`",
    "STAR": "`*`",
    "SLASH": "`/`",
    "PERCENT": "`%`",
    "QUESTION": "`?`",
}

KINDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "UNIT": "a unit of time",
    "TEXT": "a text in single quotes",
    "PARAMETER": "a parameter",
    "$END": "the end of the query",
    "BETWEEN_EACH": "`BETWEEN EACH`",
    "ANY_OF": "`ANY(`",
}

_VALUE = frozenset(("NUMBER", "TEXT", "NAME", "REMOTE", "PARAMETER", "MINUS", "TIMESTAMP", "NULL", "TRUE", "FALSE"))
_CONDITION = _VALUE | {"NOT", "SAME", "LSQB", "LPAR"}
_ELEMENT = frozenset(("SEQ", "NSEQ", "KL", "ANY_OF", "ANY", "NEXT", "STRICT", "NAME", "STAR", "LPAR", "AND", "OR"))
_PATTERN = _ELEMENT | {"NOT", "BANG"}
_OPERATOR = frozenset(("PLUS", "MINUS", "STAR", "SLASH", "PERCENT"))
_TEST = frozenset(("COMPARE", "IN", "LIKE", "IS", "BETWEEN", "NOT"))
_LOGIC = frozenset(("AND", "OR"))
_QUANTIFIER = frozenset(("PLUS", "STAR", "QUESTION", "LBRACE"))
_CLAUSE = (CLAUSES | {"BETWEEN_EACH"}) - {"PATTERN"}

_GROUPS: Sequence[tuple[frozenset[str], str]] = (
    (_PATTERN | {"PATTERN"}, "a pattern"),
    (_PATTERN, "a pattern"),
    (_ELEMENT, "a pattern"),
    (_CONDITION, "a value or condition"),
    (_CONDITION - {"NOT"}, "a value"),
    (_VALUE, "a value"),
    (_OPERATOR, "an operator"),
    (_QUANTIFIER, "a quantifier"),
    (_TEST, "a comparison"),
    (_LOGIC, "AND or OR"),
    (_CLAUSE, "a clause (WHERE, WITHIN, RETURN, ...)"),
)


def expectation(expected: frozenset[str]) -> str:
    """What could stand in a place, from the terminals that could: ``a value or `)```."""
    left = set(expected)
    parts: list[str] = []
    for group, words in _GROUPS:
        if group <= left:
            left -= group
            parts.append(words)
    if "COMPARE" in left:
        left.discard("COMPARE")
        parts.append("a comparison")
    for terminal in sorted(left):
        parts.append(SYMBOLS.get(terminal) or KINDS.get(terminal) or f"`{terminal}`")
    if "a clause (WHERE, WITHIN, RETURN, ...)" in parts and len(parts) > 4:
        # After a pattern or condition nearly everything may follow: the clauses are what is meant.
        parts = ["a clause (WHERE, WITHIN, RETURN, ...)", *[p for p in parts if p in ("`)`", "`,`", "AND or OR")]]
    if len(parts) > 5:
        parts = [*parts[:5], "..."]
    if len(parts) == 1:
        return parts[0]
    return ", ".join(parts[:-1]) + " or " + parts[-1] if parts[-1] != "..." else ", ".join(parts)


def described(token: Token, text: str) -> str:
    """``token`` in words: ``the number 5``, ``the end of the query``."""
    if token.type == "$END":
        return "the end of the query"
    raw = text[token.start : token.end]
    if len(raw) > 30:
        raw = raw[:27] + "..."
    raw = raw.replace("\n", " ")
    if token.type == "NAME":
        return f"the name `{raw}`"
    if token.type == "NUMBER":
        return f"the number {raw}"
    if token.type == "TEXT":
        return f"the text {raw}"
    return f"`{raw}`"
