"""The parts of the language: those that random queries may use, and those that a query has."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Flag, auto

from cepheid.language.bound import BoundQuery
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    At,
    Attribute,
    Call,
    Disjunction,
    Event,
    Node,
    Not,
    Or,
    Pattern,
    Remote,
    Repeat,
    Seq,
    SkipMode,
    walk,
)


class Features(Flag):
    """Parts of the language. ``SEQ`` of elements and comparisons with constants are always there."""

    NONE = 0
    NOT_MIDDLE = auto()
    NOT_ENDS = auto()  # at the start and at the end of the pattern
    NOT_GROUP = auto()
    KLEENE = auto()  # quantifiers on variables, greedy and reluctant
    UNTIL = auto()
    GROUPS = auto()  # quantifiers on groups, and SEQ in SEQ
    AND = auto()
    OR = auto()
    ANY_OF = auto()
    ANY = auto()
    NEXT = auto()
    STRICT = auto()
    PREFIXES = auto()
    CROSS = auto()  # conditions between variables
    KEYS = auto()  # equalities that give all events one key
    AGGREGATES = auto()
    PREV = auto()
    FIRST_LAST = auto()
    LOGIC = auto()  # OR, NOT and IS NULL
    FUNCTIONS = auto()
    REMOTE = auto()
    SAME = auto()
    WITHIN = auto()
    EXCLUSIVE = auto()
    EACH = auto()
    EVENTS = auto()  # windows measured in events
    SLIDING = auto()
    SKIP = auto()
    NULLS = auto()
    NANS = auto()
    SOURCES = auto()  # events of several sources
    RETURN = auto()

    ENGINE_1 = (
        NOT_MIDDLE
        | KLEENE
        | ANY
        | NEXT
        | CROSS
        | KEYS
        | AGGREGATES
        | PREV
        | FIRST_LAST
        | LOGIC
        | FUNCTIONS
        | SAME
        | WITHIN
        | EXCLUSIVE
        | NULLS
        | NANS
    )
    """What the engine's plan for sequences runs."""

    CHAINS = (
        ANY
        | NEXT
        | CROSS
        | KEYS
        | SAME
        | WITHIN
        | EXCLUSIVE
        | NOT_MIDDLE
        | LOGIC
        | FUNCTIONS
        | NULLS
        | SOURCES
        | RETURN
    )
    """Of these, many queries are chains."""

    ENGINE = (
        ENGINE_1
        | STRICT
        | PREFIXES
        | NOT_ENDS
        | NOT_GROUP
        | UNTIL
        | GROUPS
        | AND
        | OR
        | ANY_OF
        | EACH
        | EVENTS
        | SLIDING
        | SKIP
    )
    """What the compiled engine runs."""

    ALL = (
        ENGINE_1
        | NOT_ENDS
        | NOT_GROUP
        | UNTIL
        | GROUPS
        | AND
        | OR
        | ANY_OF
        | STRICT
        | PREFIXES
        | REMOTE
        | EACH
        | EVENTS
        | SLIDING
        | SKIP
        | SOURCES
        | RETURN
    )
    """The whole language."""


POLICIES = ("any", "next", "strict")
WINDOWS = ("none", "time", "events", "sliding time", "sliding events")

OPERATORS = (
    "AND",
    "OR",
    "OR with a name in both",
    "ANY(k)",
    "SEQ in another group",
    "two groups deep",
    "three groups deep",
    "group +",
    "group *",
    "group {n,m}",
    "group ?",
    "group reluctant",
    "loop +",
    "loop *",
    "loop {n,m}",
    "optional",
    "reluctant",
    "optional first",
    "loop first",
    "loop last",
    "loop last, reluctant",
    "UNTIL",
    "NOT first",
    "NOT between",
    "NOT last",
    "NOT of a group",
    "NOT under OR",
    "prefix any",
    "prefix next",
    "prefix strict",
    "several types",
    "any type",
    "SAME",
    "EXCLUSIVE",
    "BETWEEN EACH time",
    "BETWEEN EACH events",
    "CLOSED",
    "ONE MATCH PER WINDOW",
    "SKIP PAST LAST",
    "SKIP TO NEXT",
    "SKIP TO FIRST",
    "SKIP TO LAST",
    "conditions between events",
    "aggregates",
    "prev",
    "first and last",
    "OR in WHERE",
    "functions",
    "REMOTE",
    "RETURN",
)
"""What a query can be made of, beside SEQ of single events."""

OF_STREAMS = ("NULL", "NaN", "ties in time", "several sources", "out of order")
"""What a stream can be made of."""


def policy_of(bound: BoundQuery) -> str:
    """One of `POLICIES`: that of the whole query, prefixes aside."""
    return bound.policy.value


def window_of(bound: BoundQuery) -> str:
    """One of `WINDOWS`."""
    window = bound.window
    if window.size_us is not None:
        return "sliding time"
    if window.size_events is not None:
        return "sliding events"
    if window.within_us is not None:
        return "time"
    return "none" if window.within_events is None else "events"


def operators_of(bound: BoundQuery) -> frozenset[str]:
    """Those of `OPERATORS` that a query has."""
    window, found = bound.window, set(_of_pattern(bound.pattern))
    positive = [pattern for pattern in _in_text(bound.pattern) if not isinstance(pattern, Not)]
    if positive:
        found |= _at_an_end(positive[0], "first") | _at_an_end(positive[-1], "last")
    found |= {"SAME"} if bound.partition else set()
    found |= {"EXCLUSIVE"} if window.exclusive else set()
    found |= {"BETWEEN EACH time"} if window.each_us is not None else set()
    found |= {"BETWEEN EACH events"} if window.each_events is not None else set()
    found |= {"CLOSED"} if window.closed else set()
    found |= {"ONE MATCH PER WINDOW"} if window.one_match else set()
    found |= {bound.skip.mode.value} if bound.skip.mode is not SkipMode.NONE else set()
    found |= {"RETURN"} if bound.query.returns else set()
    for conjunct in bound.conjuncts:
        found |= {"conditions between events"} if len(conjunct.variables) > 1 else set()
        for node in walk(conjunct.expression):
            found |= _of_condition(node)
    return frozenset(found)


def _in_text(pattern: Pattern) -> list[Pattern]:
    """The parts of the outermost sequence."""
    return list(pattern.parts) if isinstance(pattern, Seq) else [pattern]


def _at_an_end(part: Pattern, end: str) -> set[str]:
    if not isinstance(part, Repeat):
        return set()
    found = {f"loop {end}"} if part.maximum != 1 else set()
    if end == "first":
        return found | ({"optional first"} if part.minimum == 0 else set())
    return found if part.greedy else {"loop last, reluctant"}


def _of_pattern(pattern: Pattern, depth: int = 0, outermost: bool = True, under_or: bool = False) -> Iterator[str]:
    """What a pattern is made of, each as often as it comes.

    Args:
        pattern: the pattern.
        depth: groups around it; the outermost SEQ is none.
        outermost: nothing is around it, not even that SEQ.
        under_or: an OR is around.
    """
    if isinstance(pattern, And | Or | AnyOf | Seq) and not (outermost and isinstance(pattern, Seq)):
        depth += 1
        if depth > 1:
            yield "two groups deep" if depth == 2 else "three groups deep"
    match pattern:
        case Event():
            if pattern.policy is not None:
                yield f"prefix {pattern.policy.value}"
            if len(pattern.types) != 1:
                yield "several types" if pattern.types else "any type"
        case Not():
            yield "NOT under OR" if under_or else "NOT between"
            if not isinstance(pattern.part, Event):
                yield "NOT of a group"
                yield from _of_pattern(pattern.part, depth, False)
        case Repeat():
            single = isinstance(pattern.part, Event)
            yield _quantifier(pattern, single)
            if not pattern.greedy:
                yield "reluctant" if single else "group reluctant"
            if pattern.until is not None:
                yield "UNTIL"
            yield from _of_pattern(pattern.part, depth, False, under_or)
        case Seq():
            if not outermost:
                yield "SEQ in another group"
            for index, part in enumerate(pattern.parts):
                at_end = "first" if index == 0 else "last" if index == len(pattern.parts) - 1 else None
                if isinstance(part, Not) and at_end and outermost:
                    yield f"NOT {at_end}"
                    yield from (found for found in _of_pattern(part, depth, False) if found != "NOT between")
                else:
                    yield from _of_pattern(part, depth, False, under_or)
        case And():
            yield "AND"
        case Or():
            yield "OR"
            named = [{node.name for node in walk(part) if isinstance(node, Event)} for part in pattern.parts]
            if sum(map(len, named)) > len(set().union(*named)):
                yield "OR with a name in both"
        case AnyOf():
            yield "ANY(k)"
    if isinstance(pattern, And | Or | AnyOf):
        for part in pattern.parts:
            yield from _of_pattern(part, depth, False, under_or or isinstance(pattern, Or))


def _quantifier(pattern: Repeat, single: bool) -> str:
    if pattern.minimum == 0 and pattern.maximum == 1:
        return "optional" if single else "group ?"
    mark = "{n,m}" if pattern.maximum is not None or pattern.minimum > 1 else "+" if pattern.minimum else "*"
    return f"{'loop' if single else 'group'} {mark}"


def _of_condition(node: Node) -> set[str]:
    match node:
        case Aggregate():
            return {"aggregates"}
        case Attribute(at=At.PREV):
            return {"prev"}
        case Attribute(at=At.FIRST) | Attribute(at=At.LAST):
            return {"first and last"}
        case Disjunction():
            return {"OR in WHERE"}
        case Call():
            return {"functions"}
        case Remote():
            return {"REMOTE"}
    return set()
