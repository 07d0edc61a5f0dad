"""Of which queries the compiled engine can tell what timed out; the rest is refused here, by name and place."""

from __future__ import annotations

from cepheid.errors import NotSupportedError
from cepheid.language.bound import BoundQuery
from cepheid.language.structure import patterns
from cepheid.language.tree import Event, Node


def require_timed_out(bound: BoundQuery) -> None:
    """Check that the engine can tell what times out.

    Raises:
        NotSupportedError: it names the operator and its place in the text.
    """
    for part in patterns(bound.pattern):
        match part:
            case Event(policy=policy) if policy is not None and policy is not bound.policy:
                raise _refused(bound, f"the prefix `{policy.value}` on an element", part)
            case _:
                continue


def _refused(bound: BoundQuery, what: str, node: Node) -> NotSupportedError:
    span = node.span
    return NotSupportedError(
        f"the compiled engine cannot tell what times out under {what} yet",
        remedy="ask for the matches alone, without the output timed_out",
        text=bound.text,
        origin=bound.origin,
        span=span if span is not None and span.end <= len(bound.text) else None,
    )
