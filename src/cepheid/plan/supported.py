"""What the compiled engine runs; everything else is refused here, by name and place."""

from __future__ import annotations

from cepheid.errors import NotSupportedError, Span
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import (
    And,
    AnyOf,
    Event,
    Node,
    Not,
    Or,
    Pattern,
    Policy,
    Repeat,
    Seq,
    SkipMode,
)
from cepheid.plan.references import has_remote, references

MAX_ELEMENTS = 62  # elements are bits of an int64


def _refuse(bound: BoundQuery, what: str, node: Node | None, remedy: str | None = None) -> NotSupportedError:
    span: Span | None = node.span if node is not None else None
    return NotSupportedError(
        f"the compiled engine cannot run {what} yet",
        remedy=remedy or "it is part of the language: `cepheid.testing.oracle` runs it, slowly, on small tables",
        text=bound.text,
        span=span if span is not None and span.end <= len(bound.text) else None,
    )


def require_supported(bound: BoundQuery) -> None:
    """Check that the engine can run a query.

    Raises:
        NotSupportedError: it names the operator and its place in the text.
    """
    _require_pattern(bound, bound.pattern, top=True)
    if bound.policy is Policy.STRICT:
        raise _refuse(bound, "POLICY strict", bound.query.pattern)
    window = bound.query.window
    if window.sliding is not None:
        raise _refuse(bound, "WINDOW ... SLIDE", window.sliding)
    if bound.window.within_events is not None:
        raise _refuse(bound, "WITHIN a number of EVENTS", window.within)
    if bound.window.each_events is not None:
        raise _refuse(bound, "BETWEEN EACH of a number of EVENTS", window.each)
    if bound.skip.mode is not SkipMode.NONE:
        raise _refuse(bound, f"AFTER MATCH {bound.skip.mode.value}", bound.skip)
    if bound.inner is not None:
        require_supported(bound.inner)
    for conjunct in bound.conjuncts:
        remote = has_remote(conjunct.expression)
        if remote is not None:
            raise _refuse(bound, f"REMOTE {remote.store}[...]", remote)
    for returned in bound.returns:
        remote = has_remote(returned.expression)
        if remote is not None:
            raise _refuse(bound, f"REMOTE {remote.store}[...]", remote)
        for reference in references(returned.expression).values():
            if reference.prev:
                raise _refuse(bound, "prev(...) in RETURN", returned.expression)


def _require_pattern(bound: BoundQuery, pattern: Pattern, top: bool) -> None:
    parts = pattern.parts if isinstance(pattern, Seq) else (pattern,)
    for position, part in enumerate(parts):
        match part:
            case Seq():
                _require_pattern(bound, part, top=False)
            case And():
                raise _refuse(bound, "AND of patterns", part)
            case Or():
                raise _refuse(bound, "OR of patterns", part)
            case AnyOf():
                raise _refuse(bound, "ANY(k, ...)", part)
            case Not(part=Event() as event):
                if top and position == 0:
                    raise _refuse(bound, "NOT at the start of the pattern", part)
                if top and position == len(parts) - 1:
                    raise _refuse(bound, "NOT at the end of the pattern", part)
                _require_event(bound, event)
            case Not():
                raise _refuse(bound, "NOT of a group", part)
            case Repeat(part=Event() as event, until=until):
                if until is not None:
                    raise _refuse(bound, "UNTIL", part)
                _require_event(bound, event)
            case Repeat():
                raise _refuse(bound, "a quantifier on a group", part)
            case Event():
                _require_event(bound, part)


def _require_event(bound: BoundQuery, event: Event) -> None:
    if event.policy is not None:
        raise _refuse(bound, f"the prefix `{event.policy.value}` on an element", event)
