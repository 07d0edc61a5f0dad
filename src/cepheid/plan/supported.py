"""What the compiled engine runs; everything else is refused here, by name and place."""

from __future__ import annotations

from cepheid.errors import NotSupportedError, Span
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Aggregate, Node, walk
from cepheid.plan.references import has_remote
from cepheid.plan.until import not_yet

MAX_ELEMENTS = 62  # elements are bits of an int64


def _refuse(bound: BoundQuery, what: str, node: Node | None) -> NotSupportedError:
    return NotSupportedError(
        f"the compiled engine cannot run {what} yet",
        remedy="it is part of the language: `cepheid.testing.oracle` runs it, slowly, on small tables",
        text=bound.text,
        origin=bound.origin,
        span=_place(bound, node),
    )


def _place(bound: BoundQuery, node: Node | None) -> Span | None:
    span = None if node is None else node.span
    return span if span is not None and span.end <= len(bound.text) else None


def require_elements(bound: BoundQuery, n_elements: int) -> None:
    """Check that there is a bit for each element of a pattern.

    Raises:
        NotSupportedError: there are too many.
    """
    if n_elements > MAX_ELEMENTS:
        raise NotSupportedError(
            f"the compiled engine runs patterns of at most {MAX_ELEMENTS} elements; this one has {n_elements}",
            remedy="split the pattern",
            text=bound.text,
            origin=bound.origin,
            span=bound.query.pattern.span,
        )


def require_supported(bound: BoundQuery) -> None:
    """Check that the engine can run a query.

    Raises:
        NotSupportedError: it names the operator and its place in the text.
    """
    until = not_yet(bound)
    if until is not None:
        raise _refuse(bound, *until)
    if bound.inner is not None:
        require_supported(bound.inner)
    for conjunct in bound.conjuncts:
        _require_remote(bound, conjunct)
    for returned in bound.returns:
        remote = has_remote(returned.expression)
        if remote is not None:
            raise _refuse(bound, f"REMOTE {remote.store}[...] in RETURN", remote)


def _require_remote(bound: BoundQuery, conjunct: Conjunct) -> None:
    remote = has_remote(conjunct.expression)
    if remote is None:
        return
    looked_up = f"REMOTE {remote.store}[...]"
    if bound.catalog.stores[remote.store].source is None:
        raise NotSupportedError(
            f"the compiled engine cannot run {looked_up}: nothing says where elements of {remote.store} come from",
            remedy=f"declare the store with a source: Store({remote.store!r}, ..., source=...)",
            text=bound.text,
            origin=bound.origin,
            span=_place(bound, remote),
        )
    if not conjunct.variables:
        raise _refuse(bound, f"{looked_up} with a key that no event gives", remote)
    for node in walk(conjunct.expression):
        if isinstance(node, Aggregate) and has_remote(node) is not None:
            raise _refuse(bound, f"{looked_up} under {node.function}", node)
