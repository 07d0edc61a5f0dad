"""The rules for slips in values and conditions."""

from __future__ import annotations

from cepheid.errors import QueryError
from cepheid.language.canonical import AGGREGATES
from cepheid.language.place import CLAUSE_TYPES, Place
from cepheid.language.terminals import described

_ENDS_VALUE = frozenset(("NAME", "NUMBER", "UNIT", "TEXT", "PARAMETER", "RPAR", "RSQB", "TRUE", "FALSE", "NULL"))
_STARTS_VALUE = frozenset("NAME NUMBER TEXT PARAMETER LPAR LSQB NOT TRUE FALSE NULL SAME REMOTE TIMESTAMP".split())
_TESTS = frozenset(("COMPARE", "IN", "LIKE", "IS", "BETWEEN"))


def single_value(p: Place) -> QueryError | None:
    """Slips around single values: ``count(*)``, ``b[1]``, ``IN 5``, ``a.x < b.x < c.x``, ``!a.ok``."""
    token, before, earlier = p.token, p.back(), p.back(2)
    if token.type == "STAR" and before is not None:
        if before.type == "LPAR" and earlier is not None and earlier.value.lower() in AGGREGATES:
            return p.error(f"{earlier.value}(*) does not say what is counted", "name the variable: count(b)")
        if before.type == "RETURN":
            return p.error("RETURN lists expressions", "leave RETURN out to have every variable of a match")
    if token.type == "LSQB" and before is not None and before.type == "NAME" and p.in_expression:
        if p.clause == "PATTERN" and "LSQB" in p.expected:
            return None
        name, after = p.shown(before), p.ahead(2)
        if earlier is not None and earlier.type == "IN":
            return p.error("square brackets do not follow a name", f"a look-up in a store is REMOTE {name}[...]")
        if after is not None and after.type in ("DOT", "COMMA", "LPAR"):
            return p.error("square brackets do not call a function", f"write round brackets: {name}(...)")
        return p.error(
            "square brackets do not pick an element", f"write prev({name}).x, first({name}).x or last({name}).x"
        )
    if before is not None and before.type == "IN":
        return p.error(
            f"IN takes a list, a set or a remote field, not {described(token, p.text)}",
            "write IN (1, 2, 3), IN REMOTE store[key].field or IN a.tags",
        )
    if before is not None and before.type == "LIKE":
        return p.error("LIKE takes a text", "write LIKE 'A%', where % stands for any text and _ for any character")
    if token.type == "COMPARE":
        if before is not None and before.type == "COMPARE":
            return p.error(
                f"`{p.shown(before)}` is followed by `{p.shown(token)}`", "write one operator: = <> < <= > >=", before
            )
        if "AND" in p.expected and p.in_expression:
            return p.error("comparisons cannot be chained", "write a.x < b.x AND b.x < c.x")
    if token.type == "BANG" and p.in_expression:
        return p.error("`!` has no meaning in a condition", "write NOT")
    return None


def missing_between(p: Place) -> QueryError | None:
    """Two values with nothing, or a comma, between them."""
    before, token = p.back(), p.token
    if before is None or not p.in_expression or "AND" not in p.expected:
        return None
    if token.type == "COMMA" and p.clause == "WHERE" and not p.open_brackets:
        return p.error("conditions are not listed with commas", "join them by AND")
    if before.type not in _ENDS_VALUE or token.type not in _STARTS_VALUE:
        return None
    found = described(token, p.text)
    if _is_bare(p) and token.type == "NAME":
        name, attribute = p.shown(before), p.shown(token)
        if before.value.lower() in (*AGGREGATES, "first", "last", "prev"):
            return p.error(f"{name} is followed by a bracket", f"write {name}({attribute}.x)")
        if before.value.upper() == "SAME":
            return p.error("SAME is followed by square brackets", f"write SAME[{attribute}]")
        if not _ends_item(p):
            return p.error(
                f"something is missing between `{name}` and `{attribute}`", f"an attribute is {name}.{attribute}"
            )
    if p.clause == "RETURN" and not p.open_brackets and token.type == "NAME":
        if _ends_item(p):
            return p.error(f"AS is missing before {found}", f"write ... AS {p.shown(token)}")
        return p.error(f"a comma is missing before {found}", "separate the columns by commas")
    if _tested(p):
        return p.error(f"AND or OR is missing before {found}", "join conditions by AND or OR")
    return p.error(
        f"an operator is missing before {found}", "write a comparison (= <> < <= > >=), + - * / %, AND or OR"
    )


def _is_bare(p: Place) -> bool:
    """Whether a name alone, with no dot before it, stands before the wrong token."""
    before, earlier = p.back(), p.back(2)
    return before is not None and before.type == "NAME" and (earlier is None or earlier.type != "DOT")


def _ends_item(p: Place) -> bool:
    """Whether a column of RETURN may end behind the wrong token."""
    after = p.ahead()
    return after is not None and (after.type in ("COMMA", "$END") or after.type in CLAUSE_TYPES)


def _tested(p: Place) -> bool:
    """Whether a comparison stands between the last AND, OR or opening bracket and the wrong token."""
    depth = 0
    for token in reversed(p.tokens[: p.index]):
        if token.type in ("RPAR", "RSQB"):
            depth += 1
        elif token.type in ("LPAR", "LSQB"):
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0 and (token.type in ("AND", "OR", "UNTIL", "COMMA") or token.type in CLAUSE_TYPES):
            # SAME[...] and brackets are conditions of their own.
            return p.tokens[p.index - 1].type in ("RSQB", "RPAR")
        elif depth == 0 and token.type in _TESTS:
            return True
    return False
