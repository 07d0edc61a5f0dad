"""Which columns of the events a query reads."""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.language.tree import Attribute, Query, walk


def columns_read(query: Query) -> set[str] | None:
    """The attributes that a query names; None if it returns whole events.

    Without RETURN the output holds every attribute of every variable.
    """
    if not query.returns:
        return None
    return {node.path[0] for node in walk(query) if isinstance(node, Attribute)}


def columns_of_all(queries: Iterable[Query]) -> set[str] | None:
    """The attributes of the events that some of several queries name; None if one of them returns whole events.

    Those with FROM read the output of others.
    """
    names: set[str] = set()
    for query in queries:
        if query.source is not None:
            continue
        read = columns_read(query)
        if read is None:
            return None
        names |= read
    return names
