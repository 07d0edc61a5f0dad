"""The parts of the language that random queries may use."""

from __future__ import annotations

from enum import Flag, auto


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

    ENGINE = ENGINE_1 | NOT_ENDS | GROUPS | AND | OR | ANY_OF | EACH
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
