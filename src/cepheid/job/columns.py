"""Which columns of the events a query reads."""

from __future__ import annotations

from cepheid.language.tree import Attribute, Query, walk


def columns_read(query: Query) -> set[str] | None:
    """The attributes that a query names; None if it returns whole events.

    Without RETURN the output holds every attribute of every variable.
    """
    if not query.returns:
        return None
    return {node.path[0] for node in walk(query) if isinstance(node, Attribute)}
