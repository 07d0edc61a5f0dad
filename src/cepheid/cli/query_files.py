"""Query files that read each other: ``FROM pair`` is ``pair.cep`` beside the file that says so."""

from __future__ import annotations

import os
from pathlib import Path

from cepheid.errors import QueryError
from cepheid.language.composite import place_of_source
from cepheid.query import Query


def with_sources(query: Query, path: Path) -> dict[str, tuple[Query, Path]]:
    """The queries whose matches are the events of a query, and of these in turn, with their files; nearest first.

    Args:
        query: the query.
        path: its file.

    Raises:
        QueryError: there is no such file, or it holds no query.
    """
    found: dict[str, tuple[Query, Path]] = {}
    while query.tree.source is not None and query.tree.source not in found:
        name = query.tree.source
        beside = path.parent / f"{name}.cep"
        if not os.path.isfile(beside):
            raise QueryError(
                f"the events are the matches of the query {name}, and there is no file {beside}",
                remedy=f"put it there; or look at a job (*.toml), which has the query as [queries.{name}]",
                text=query.text,
                span=place_of_source(query.tree, query.text),
                origin=query.origin,
            )
        query = Query.from_file(beside)
        found[name] = (query, beside)
    return found
