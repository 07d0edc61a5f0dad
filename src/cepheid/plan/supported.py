"""What the compiled engine needs to run a query; where that lacks it is refused here, by name and place."""

from __future__ import annotations

from cepheid.errors import NotSupportedError, Span
from cepheid.language.bound import BoundQuery
from cepheid.language.structure import patterns
from cepheid.language.tree import Expression, Node, Remote, Repeat, walk

MAX_ELEMENTS = 62  # elements are bits of an int64


def _place(bound: BoundQuery, node: Node | None) -> Span | None:
    span = None if node is None else node.span
    return span if span is not None and span.end <= len(bound.text) else None


def require_elements(bound: BoundQuery, n_elements: int) -> None:
    """Check that there is a bit for each element of a pattern.

    Args:
        bound: the query.
        n_elements: of its pattern, those in NOT among them; what conditions read of a loop under a NOT counts, too.

    Raises:
        NotSupportedError: there are too many.
    """
    if n_elements > MAX_ELEMENTS:
        raise NotSupportedError(
            f"the compiled engine runs patterns of at most {MAX_ELEMENTS} elements; this one counts as {n_elements}",
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
    if bound.inner is not None:
        require_supported(bound.inner)
    for conjunct in bound.conjuncts:
        _require_source(bound, conjunct.expression)
    for part in patterns(bound.pattern):
        if isinstance(part, Repeat) and part.until is not None:
            _require_source(bound, part.until)
    for returned in bound.returns:
        _require_source(bound, returned.expression)


def _require_source(bound: BoundQuery, expression: Expression) -> None:
    for remote in walk(expression):
        if not isinstance(remote, Remote) or bound.catalog.stores[remote.store].source is not None:
            continue
        raise NotSupportedError(
            f"the compiled engine cannot run REMOTE {remote.store}[...]: nothing says where elements of {remote.store} "
            "come from",
            remedy=f"declare the store with a source: Store({remote.store!r}, ..., source=...)",
            text=bound.text,
            origin=bound.origin,
            span=_place(bound, remote),
        )
