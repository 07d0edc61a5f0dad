"""From "this token cannot stand here" to a sentence that a user understands, and a remedy.

The rules in `RULES` each know one common slip. The first that recognises the place explains it; what
none recognises is told in terms of what was expected.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from cepheid.errors import QueryError
from cepheid.language.lexer import PATTERN_WORDS, RESERVED, UNITS, Token
from cepheid.language.place import CLAUSE_TYPES, CLOSERS, OPENERS, Place, Rule
from cepheid.language.syntax_values import missing_between, single_value
from cepheid.language.terminals import KINDS, described, expectation

_CLAUSE_WORDS = ("PATTERN", "WHERE", "WITHIN", "BETWEEN EACH", "WINDOW", "POLICY", "AFTER MATCH", "RETURN", "FROM")
_GROUPS = ("SEQ", "NSEQ", "KL")
_STARTS_PATTERN = frozenset("NAME STAR LPAR BANG NOT SEQ NSEQ KL ANY_OF ANY NEXT STRICT".split())

_ELSEWHERE = {
    "SELECT": "what a match returns stands at the end: RETURN a.x AS x",
    "MEASURES": "what a match returns stands in RETURN: RETURN a.x AS x",
    "EMIT": "what a match returns stands in RETURN: RETURN a.x AS x",
    "DEFINE": "conditions stand in WHERE, joined by AND: WHERE b.price < a.price",
    "HAVING": "conditions stand in WHERE: WHERE count(b) >= 3",
    "WHEN": "conditions stand in WHERE",
    "IF": "conditions stand in WHERE",
    "PARTITION": "a stream is split by SAME in WHERE: WHERE SAME[card]",
    "GROUP": "a stream is split by SAME in WHERE: WHERE SAME[card]",
    "ORDER": 'events are ordered by time; the column is named where the query is run: time="ts"',
    "LIMIT": "take a slice of the matches after the query has run",
    "SLIDE": "windows that slide are written WINDOW 10 s SLIDE 1 s",
    "EVERY": "windows that slide are written WINDOW 10 s SLIDE 1 s",
    "SKIP": "write AFTER MATCH SKIP PAST LAST",
    "MATCH": "write AFTER MATCH SKIP PAST LAST",
    "ONE": "ONE MATCH PER WINDOW follows WINDOW ... SLIDE ...",
    "ALL": "every match is reported; write POLICY any to have every assignment",
    "SUBSET": "name each variable where it is used",
    "STRATEGY": "write POLICY any, POLICY next or POLICY strict",
}

_POLICIES = {
    "any": ("ANYMATCH", "SKIP_TILL_ANY", "SKIP_TILL_ANY_MATCH", "SKIPTILLANY", "GREEDY", "ALL", "UNCONSTRAINED"),
    "next": ("NEXTMATCH", "SKIP_TILL_NEXT", "SKIP_TILL_NEXT_MATCH", "SKIPTILLNEXT", "RELAXED", "NON_GREEDY"),
    "strict": ("STRICT_CONTIGUITY", "CONTIGUOUS", "CONTIGUITY", "CONTIGUITYSTRICT"),
}


def explain(text: str, tokens: Sequence[Token], index: int, expected: frozenset[str]) -> QueryError:
    """The error for ``tokens[index]``, where only ``expected`` could stand.

    Args:
        text: the query.
        tokens: its tokens, the last of type ``$END``.
        index: the first token that no query can have in its place.
        expected: the terminals that a query can have there.
    """
    place = Place(text, tokens, index, expected)
    for rule in RULES:
        error = rule(place)
        if error is not None:
            return error
    return _plain(place)


def _empty(p: Place) -> QueryError | None:
    if len(p.tokens) > 1:
        return None
    return p.error("the text holds no query", "write a pattern: SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 minutes")


def _no_pattern(p: Place) -> QueryError | None:
    if p.token.type not in CLAUSE_TYPES or p.token.type == "PATTERN" or "SEQ" not in p.expected or p.open_brackets:
        return None
    return p.error(
        f"{p.shown(p.token).upper()} stands where the pattern should",
        "a query begins with its pattern: PATTERN SEQ(A a, B b) WHERE a.x < b.x",
    )


def _misspelt_clause(p: Place) -> QueryError | None:
    """``WHER a.x > 1``: the wrong token, or the name before it that the pattern took for a variable."""
    if p.open_brackets:
        return None
    before = p.back()
    for token in (before, p.token):
        if token is None or token.type != "NAME" or p.text[token.start] in '"`':
            continue
        if token is p.token and "$END" not in p.expected:
            continue
        if token is before and (p.index < 2 or p.clause not in ("PATTERN", "POLICY", "FROM")):
            continue
        word = token.value.upper()
        if word in _ELSEWHERE and (token is p.token or p.token.type == "NAME" or word in ("DEFINE", "SELECT")):
            return p.error(f"{word} is no clause of a query", _ELSEWHERE[word], token)
        close = difflib.get_close_matches(word, _CLAUSE_WORDS, 1, 0.75)
        if close:
            return p.error(f"`{token.value}` is no clause of a query", f"did you mean {close[0]}?", token)
    return None


def _misspelt_word(p: Place) -> QueryError | None:
    """``WITHIN 5 minutes EXCLUSVE``: a name that is nearly one of the words that could stand there."""
    word = p.token.value.upper()
    if p.token.type != "NAME" or "NAME" in p.expected or len(word) < 4:
        return None
    words = sorted(terminal for terminal in p.expected if terminal.isalpha() and terminal not in KINDS)
    close = difflib.get_close_matches(word, words, 1, 0.75)
    if not close:
        return None
    return p.error(f"`{p.token.value}` is no word of the language", f"did you mean {close[0]}?")


def _bracket(p: Place) -> QueryError | None:
    """A bracket that is never closed, closes nothing, or closes another kind."""
    stack = p.open_brackets
    if p.token.type in CLOSERS:
        shown = p.shown(p.token)
        if not stack:
            return p.error(f"`{shown}` closes a bracket that was never opened", "remove it, or open the bracket")
        if CLOSERS[p.token.type] != stack[-1].type:
            opened = p.shown(stack[-1])
            closer = {"(": ")", "[": "]", "{": "}"}[opened]
            return p.error(
                f"`{shown}` stands where `{closer}` would close the `{opened}` before it", f"write `{closer}` here"
            )
        return None
    if stack and (p.token.type in ("$END", "AS") or p.token.type in CLAUSE_TYPES):
        opener = stack[-1]
        closer = {"(": ")", "[": "]", "{": "}"}[p.shown(opener)]
        if OPENERS[opener.type] not in p.expected:
            return None
        before = "at the end" if p.token.type == "$END" else f"before {p.shown(p.token).upper()}"
        return p.error("this bracket is never closed", f"add `{closer}` {before}, or where the group ends", opener)
    return None


def _unit(p: Place) -> QueryError | None:
    """``5 parsecs``, ``5 m``, ``WITHIN minutes``, ``1h 30min``."""
    before, token = p.back(), p.token
    if before is None:
        return None
    if before.type == "NUMBER" and token.type == "NAME" and "UNIT" in p.expected:
        after = p.ahead()
        if p.in_expression and after is not None and after.type in ("DOT", "COMPARE", "LPAR", "IN", "IS", "BETWEEN"):
            return None
        return _unknown_unit(p, before, token)
    in_window = p.clause in ("WITHIN", "WINDOW", "BETWEEN_EACH")
    if in_window and before.type == "UNIT" and token.type == "NUMBER":
        return p.error("a window has one number and one unit", "write it in the smaller unit: 90 min for 1 h 30 min")
    if "NUMBER" in p.expected and in_window:
        return p.error(
            f"expected a length of time or a number of events, found {described(token, p.text)}",
            "write a number, then a unit: 5 minutes, 50 ms, 2000 EVENTS",
        )
    return None


def _unknown_unit(p: Place, number: Token, unit: Token) -> QueryError:
    word, lower = unit.value, unit.value.lower()
    if lower in ("k", "m") and word != "m":
        return p.error(
            f"`{word}` stands apart from its number", f"write {p.shown(number)}{word.upper()} without a space"
        )
    if lower == "m":
        return p.error("`m` may be minutes or millions", f"write {p.shown(number)} min, or {p.shown(number)}M")
    if lower in ("month", "months", "year", "years", "quarter", "y"):
        return p.error(f"a {lower.rstrip('s')} has no fixed length", "write it in days: 30 days")
    if lower in ("ns", "nanosecond", "nanoseconds"):
        return p.error("time is counted in microseconds, no finer", "write it in us, ms or s")
    close = difflib.get_close_matches(lower, UNITS, 1, 0.6)
    hint = f"did you mean `{close[0]}`? " if close else ""
    return p.error(f"`{word}` is no unit", f"{hint}the units are us, ms, s, min, h, d, weeks and EVENTS")


def _clause_content(p: Place) -> QueryError | None:
    """POLICY, AFTER MATCH and WINDOW take few words."""
    if p.clause == "POLICY" and {"ANY", "NEXT", "STRICT"} <= p.expected and "NAME" not in p.expected:
        word = p.token.value.upper().replace("-", "_")
        meant = next((policy for policy, words in _POLICIES.items() if word in words), None)
        close = meant or next(iter(difflib.get_close_matches(word.lower(), _POLICIES, 1, 0.6)), None)
        hint = f"did you mean `{close}`? " if close else ""
        named = p.token.type not in CLAUSE_TYPES | {"$END"}
        return p.error(
            f"`{p.shown(p.token)}` is no selection policy" if named else "POLICY does not say which",
            f"{hint}write POLICY any, POLICY next or POLICY strict",
        )
    if p.clause == "AFTER" and "$END" not in p.expected:
        return p.error(
            f"expected {expectation(p.expected)}, found {described(p.token, p.text)}",
            "write AFTER MATCH NO SKIP, SKIP PAST LAST, SKIP TO NEXT, SKIP TO FIRST v or SKIP TO LAST v",
        )
    if p.clause == "WINDOW" and "SLIDE" in p.expected:
        return p.error(
            "WINDOW does not say how far its windows slide",
            "write WINDOW 10 s SLIDE 1 s; for one span write WITHIN 10 s",
        )
    return None


def _reserved(p: Place) -> QueryError | None:
    """A word of the language where a name should stand."""
    token = p.token
    word = token.value.upper()
    if "NAME" not in p.expected or word not in RESERVED | PATTERN_WORDS or token.type == "NAME":
        return None
    before, after = p.back(), p.ahead()
    named = before is not None and before.type in ("AS", "FROM", "FIRST", "LAST")
    used = p.in_expression and after is not None and after.type == "DOT"
    typed = p.clause == "PATTERN" and not p.in_expression and after is not None and after.type == "NAME"
    if not (named or used or typed):
        return None
    return p.error(
        f"`{p.shown(token)}` is a word of the language", f'as a name it stands in double quotes: "{token.value}"'
    )


def _group_head(p: Place) -> QueryError | None:
    """``any(A, B)`` without a number, ``strict SEQ(A a, B b)``."""
    before = p.back()
    prefixed = before is not None and before.type in ("ANY", "NEXT", "STRICT") and p.clause == "PATTERN"
    if before is not None and prefixed and "STAR" in p.expected:
        return p.error(
            f"{before.value} stands before one event, not a group", f"write it before an event: {before.value} B b"
        )
    if p.token.type == "PIPE":
        return p.error("`|` stands only between event types in brackets", "write (A | B) x, or OR between patterns")
    if p.expected == {"PIPE"} and p.open_brackets:
        opener = p.tokens.index(p.open_brackets[-1])
        if opener and p.tokens[opener - 1].type == "ANY":
            return p.error(
                "ANY does not say how many of its patterns a match has",
                "write the number first: ANY(2, A a, B b, C c)",
                p.tokens[opener - 1],
            )
    return None


def _missing_comma(p: Place) -> QueryError | None:
    """``SEQ(A a B b)``, ``A a B b``."""
    if p.clause == "RETURN" and p.token.type == "NAME" and "COMMA" in p.expected and not p.open_brackets:
        return p.error(f"a comma is missing before {described(p.token, p.text)}", "separate the columns by commas")
    if p.clause != "PATTERN" or p.in_expression or "COMMA" not in p.expected:
        return None
    group = p.back(2)
    if p.token.type == "NAME" and group is not None and group.type == "NAME" and group.value.upper() in _GROUPS:
        return p.error(f"{group.value} is followed by a bracket", f"write {group.value}(...)", group)
    if p.token.type in ("PLUS", "STAR", "QUESTION", "LBRACE") and p.back() is not None:
        return p.error(
            "an element has one quantifier, before or after its name",
            "write B+ b; `+?` takes as few as possible; put a group in brackets to repeat it again: (B+ b)+",
        )
    if p.token.type not in _STARTS_PATTERN:
        return None
    if not p.open_brackets and p.token.type == "NAME":
        return None
    return p.error(
        f"a comma is missing before {described(p.token, p.text)}", "separate the parts of a group by `,` or `;`"
    )


def _missing_where(p: Place) -> QueryError | None:
    """``SEQ(A a, B b) a.x > 1``, ``SEQ(A a, B b) SAME[k]``."""
    if p.open_brackets or p.in_expression or "WHERE" not in p.expected or p.clause != "PATTERN":
        return None
    after = p.ahead()
    begins = p.token.type in ("SAME", "LSQB") or (p.token.type == "NAME" and after is not None and after.type == "DOT")
    if not begins:
        return None
    return p.error(f"WHERE is missing before {described(p.token, p.text)}", "conditions stand in WHERE, joined by AND")


def _between_each(p: Place) -> QueryError | None:
    if p.token.type != "BETWEEN" or "BETWEEN_EACH" not in p.expected or "BETWEEN" in p.expected:
        return None
    return p.error(
        "BETWEEN as a clause is followed by EACH", "write BETWEEN EACH 5 s: the greatest gap between two events"
    )


def _unknown_clause(p: Place) -> QueryError | None:
    if p.open_brackets or p.token.type != "NAME" or not {"WHERE", "WITHIN", "RETURN"} & p.expected:
        return None
    after = p.ahead()
    if p.clause == "PATTERN" and after is not None and after.type in ("NAME", "SEMICOLON", "COMMA"):
        return p.error(
            f"`;` is missing before {described(p.token, p.text)}",
            "write A a; B b, or SEQ(A a, B b), for one after the other",
        )
    return p.error(
        f"expected {expectation(p.expected)}, found {described(p.token, p.text)}",
        "the clauses are WHERE, WITHIN, BETWEEN EACH, WINDOW, POLICY, AFTER MATCH, RETURN and FROM",
    )


def _plain(p: Place) -> QueryError:
    expected = p.expected
    if "$END" in expected:
        remedy = "the clauses are WHERE, WITHIN, BETWEEN EACH, WINDOW, POLICY, AFTER MATCH, RETURN and FROM"
    elif "SEQ" in expected:
        remedy = "a pattern is an event type and a name (Txn a), or a group: SEQ(...), AND(...), OR(...), ANY(2, ...)"
    elif "TEXT" in expected and "NUMBER" in expected:
        remedy = "a value is an attribute (a.x), a number, a text in single quotes, a call, or :parameter"
    elif "COMPARE" in expected or "PLUS" in expected:
        remedy = "go on with an operator, AND or OR, or close the bracket"
    elif expected == {"NAME"}:
        remedy = "a name is letters, digits and `_`, or any text in double quotes"
    else:
        remedy = f"write {expectation(expected)} here"
    return p.error(f"expected {expectation(expected)}, found {described(p.token, p.text)}", remedy)


RULES: tuple[Rule, ...] = (
    _empty,
    _no_pattern,
    _bracket,
    _misspelt_clause,
    _unit,
    _misspelt_word,
    _clause_content,
    single_value,
    _reserved,
    missing_between,
    _group_head,
    _missing_where,
    _between_each,
    _missing_comma,
    _unknown_clause,
)
