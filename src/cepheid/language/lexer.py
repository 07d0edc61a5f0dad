"""From a query's text to tokens: words, numbers, quotes, operators, comments left out.

The lexer is written by hand because what a word is depends on where it stands: ``next`` opens an
element (``next B b``), names a policy (``POLICY next``), says where to go on (``SKIP TO NEXT``), and may
still be a column (``a.next``). Only the words in `RESERVED` are never names without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.errors import QueryError, Span
from cepheid.events.characters import lone_surrogate
from cepheid.events.lengths import NUMBER, WRITTEN_UNITS

RESERVED = frozenset(
    "PATTERN WHERE WITHIN WINDOW BETWEEN POLICY AFTER RETURN FROM".split()
    + "UNTIL AND OR NOT IN IS LIKE NULL TRUE FALSE AS REMOTE".split()
)
"""Words that are never names, except after a dot or in quotes."""

PATTERN_WORDS = frozenset(("SEQ", "NSEQ", "KL", "ANY", "NEXT", "STRICT"))
"""Words that open an element or a group of a pattern, where what follows them says so."""

CLAUSES = frozenset(("PATTERN", "WHERE", "WITHIN", "WINDOW", "POLICY", "AFTER", "RETURN", "FROM"))
"""Words that open a clause; BETWEEN EACH is the one of two words."""

_WINDOW_WORDS = frozenset(("EXCLUSIVE", "SLIDE", "CLOSED", "ONE", "MATCH", "PER", "WINDOW"))
_AFTER_WORDS = frozenset(("MATCH", "NO", "SKIP", "PAST", "TO", "NEXT", "FIRST", "LAST", "ROW"))

UNITS: Mapping[str, tuple[str, int]] = {
    **WRITTEN_UNITS,
    **dict.fromkeys(("event", "events"), ("events", 1)),
}
"""Unit as written (in lower case) -> unit of the tree, and how many of it."""

_SYMBOLS: Mapping[str, str] = {
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
    ";": "SEMICOLON",
    ".": "DOT",
    "|": "PIPE",
    "!": "BANG",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "?": "QUESTION",
    "=": "COMPARE",
    "==": "COMPARE",
    "<>": "COMPARE",
    "!=": "COMPARE",
    "<": "COMPARE",
    "<=": "COMPARE",
    ">": "COMPARE",
    ">=": "COMPARE",
}

_SLIPS: Mapping[str, str] = {
    "=>": "write `>=`",
    "=<": "write `<=`",
    "&&": "write `AND`",
    "||": "write `OR`",
    "≠": "write `<>`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "¬": "write `NOT`",
    "∧": "write `AND`",
    "∨": "write `OR`",
    "/*": "write comments with `--` or `#`; they end with the line",
    "//": "write comments with `--` or `#`; they end with the line",
    "‘": "write text in straight single quotes: 'text'",
    "’": "write text in straight single quotes: 'text'",
    "“": "write names in straight double quotes, and text in straight single quotes",
    "”": "write names in straight double quotes, and text in straight single quotes",
    "–": "write `-`",
    "−": "write `-`",
    "×": "write `*`",
    "°": "numbers carry no unit; leave it out, and state in a comment which unit is meant",
    ":=": "write `=`",
    "->": "write `;` or `SEQ(A a, B b)` for one after the other",
    "→": "write `;` or `SEQ(A a, B b)` for one after the other",
}

_TOKEN = re.compile(
    rf"""
    (?P<space>(?:\s+|--[^\n]*|\#[^\n]*)+)
  | (?P<number>{NUMBER})
  | (?P<word>[^\W\d]\w*)
  | (?P<text>'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`)
  | (?P<parameter>:[^\W\d]\w*)
  | (?P<slip>=>|=<|&&|\|\||/\*|//|:=|->|[≠≤≥¬∧∨‘’“”–−×°→])
  | (?P<symbol>==|<>|!=|<=|>=|[()\[\]{{}},;.|!+\-*/%?=<>])
    """,
    re.VERBOSE,
)

_GAP = r"(?:\s|--[^\n]*\n|\#[^\n]*\n)*"
_BEFORE_ROUND = re.compile(_GAP + r"\(")
_BEFORE_SQUARE = re.compile(_GAP + r"\[")
_BEFORE_TEXT = re.compile(_GAP + r"'")
_BEFORE_COUNT = re.compile(_GAP + r"\(" + _GAP + r"\d")
_BEFORE_ELEMENT = re.compile(_GAP + r"""(?:[^\W\d]|["`*(])""")
_BEFORE_EACH = re.compile(_GAP + r"each\b(?!" + _GAP + r"\.)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        type: the name of the terminal in ``grammar.lark``.
        value: what stands in the text; of a quoted name or text, what stands between the quotes.
        start, end: its place, as in `Span`.
    """

    type: str
    value: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Its place."""
        return Span(self.start, self.end)


def is_word(name: str) -> bool:
    """Whether ``name`` is one word: it can stand after a dot without quotes."""
    return re.fullmatch(r"[^\W\d]\w*", name) is not None


def is_plain(name: str) -> bool:
    """Whether ``name`` can stand in a query without quotes, wherever a name can."""
    word = name.upper()
    return is_word(name) and word not in RESERVED and word not in PATTERN_WORDS


def tokenize(text: str, start: str = "query") -> list[Token]:
    """The tokens of ``text``, the last of them of type ``$END``.

    Args:
        start: what the text is: a ``query``, a ``condition`` (of WHERE), or a ``sequence`` (of PATTERN).

    Raises:
        QueryError: for a character that has no meaning, and for quotes that are not closed.
    """
    require_characters(text)
    tokens: list[Token] = []
    clause = "WHERE" if start == "condition" else "PATTERN"
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup == "slip":
            raise _unreadable(text, at, found.group() if found else None)
        begin, at = found.span()
        kind, raw = found.lastgroup, found.group()
        if kind == "space":
            continue
        if kind == "word":
            type_ = _word(text, raw, at, clause, tokens)
            if type_ == "BETWEEN_EACH" or (type_ in CLAUSES and not (type_ == "WINDOW" and clause == "WINDOW")):
                clause = type_
            if type_ == "BETWEEN_EACH":
                each = _BEFORE_EACH.match(text, at)
                if each is not None:
                    at = each.end()
            tokens.append(Token(type_, raw, begin, at))
        elif kind == "number":
            tokens.append(Token("NUMBER", raw, begin, at))
        elif kind == "parameter":
            tokens.append(Token("PARAMETER", raw[1:], begin, at))
        elif kind == "text":
            tokens.append(Token("TEXT", raw[1:-1].replace("''", "'"), begin, at))
        elif kind == "quoted":
            quote = raw[0]
            name = raw[1:-1].replace(quote * 2, quote)
            if not name:
                remedy = "write text in single quotes: ''" if quote == '"' else "write the name between the quotes"
                raise QueryError("a name has no characters", remedy=remedy, span=Span(begin, at))
            tokens.append(Token("NAME", name, begin, at))
        else:
            tokens.append(Token(_SYMBOLS[raw], raw, begin, at))
    if start == "query" and tokens and tokens[-1].type == "SEMICOLON":
        # A statement of SQL ends so; where a pattern goes on, something follows.
        tokens.pop()
    tokens.append(Token("$END", "", len(text), len(text)))
    return tokens


def require_characters(text: str) -> None:
    """Test whether the text of a query can be written in UTF-8.

    Raises:
        QueryError: half a surrogate pair is in it.
    """
    at = lone_surrogate(text)
    if at is not None:
        raise QueryError(
            f"\\u{ord(text[at]):04x} is half a surrogate pair, and no character",
            remedy="write the character itself, or remove it: no event can hold such a text",
            span=Span(at, at + 1),
        )


def _word(text: str, raw: str, end: int, clause: str, before: list[Token]) -> str:
    """The type of the word ``raw``, which ends at ``end``."""
    last = before[-1].type if before else ""
    if last == "DOT":
        return "NAME"
    word = raw.upper()
    if last == "NUMBER" and raw.lower() in UNITS:
        return "UNIT"
    if word == "BETWEEN":
        return "BETWEEN_EACH" if _BEFORE_EACH.match(text, end) else "BETWEEN"
    if clause == "AFTER" and word in _AFTER_WORDS:
        # SKIP TO FIRST v: a variable may have any of these words as its name.
        names_variable = last in ("FIRST", "LAST") and len(before) > 1 and before[-2].type == "TO"
        return "NAME" if names_variable else word
    if clause in ("WITHIN", "WINDOW", "BETWEEN_EACH") and word in _WINDOW_WORDS:
        return word
    if clause == "POLICY" and word in ("ANY", "NEXT", "STRICT"):
        return word
    if word in RESERVED:
        return word
    if clause == "PATTERN" and word in PATTERN_WORDS:
        return _pattern_word(text, word, end)
    if word == "SAME" and last != "REMOTE" and _BEFORE_SQUARE.match(text, end):
        return "SAME"
    if word == "TIMESTAMP" and _BEFORE_TEXT.match(text, end):
        return "TIMESTAMP"
    return "NAME"


def _pattern_word(text: str, word: str, end: int) -> str:
    """The type of ``word`` (one of `PATTERN_WORDS`) in a pattern."""
    if word in ("SEQ", "NSEQ", "KL"):
        return word if _BEFORE_ROUND.match(text, end) else "NAME"
    if word == "ANY" and _BEFORE_COUNT.match(text, end):
        return "ANY_OF"
    return word if _BEFORE_ELEMENT.match(text, end) else "NAME"


def _unreadable(text: str, at: int, slip: str | None) -> QueryError:
    """The error for what stands at ``at`` and is no token."""
    if slip is not None:
        return QueryError(f"`{slip}` has no meaning here", remedy=_SLIPS[slip], span=Span(at, at + len(slip)))
    character = text[at]
    span = Span(at, at + 1)
    if character == "'":
        return QueryError(
            "a text is opened here and never closed",
            remedy="close it with a single quote; a quote inside a text is doubled: 'it''s'",
            span=span,
        )
    if character in '"`':
        return QueryError(
            "a quoted name is opened here and never closed", remedy=f"close it with {character}", span=span
        )
    if character == ":":
        if at and text[at - 1].isdigit():
            return QueryError(
                "a time of day cannot be written with `:`",
                remedy="compare hour(a.time) with a number, or a timestamp with TIMESTAMP '2024-01-31 06:00:00'",
                span=span,
            )
        return QueryError("`:` stands without a name", remedy="a parameter is written :limit", span=span)
    shown = f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"
    return QueryError(f"{shown} has no meaning in a query", remedy="remove it, or quote the name it is in", span=span)
