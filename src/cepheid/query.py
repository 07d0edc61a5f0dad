"""A query as users hold it: its tree together with its text, so that errors can point into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cepheid.errors import ParameterError, QueryError, SetupError
from cepheid.events.schema import Schema
from cepheid.language import tree as tree_module
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery, Catalog, require_catalog
from cepheid.language.check import Warning, check
from cepheid.language.drafts import Draft
from cepheid.language.lexer import require_characters
from cepheid.language.parameters import require_parameters, with_parameters
from cepheid.language.parser import parse
from cepheid.language.printer import print_query
from cepheid.plan.evaluation import EAGER
from cepheid.ports.evaluation import Decision

if TYPE_CHECKING:
    from cepheid.plan.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Query:
    """A pattern query that has been read. Equal queries have equal trees, however they are spelled.

    Attributes:
        tree: what the query says.
        text: as it was written, or as it prints where it was built.
        origin: the name of the file it came from, or None.
        identified: its matches tell two columns more, as `BoundQuery.identified` says.
    """

    tree: tree_module.Query
    text: str = field(compare=False)
    origin: str | None = field(default=None, compare=False)
    identified: bool = field(default=False, compare=False)

    @classmethod
    def parse(cls, text: str, origin: str | None = None) -> Query:
        """Read a query from its text.

        Args:
            text: the query.
            origin: the name of where it came from, for error messages.

        Raises:
            QueryError: the text is no query; it shows the line, the place and the remedy.
        """
        return cls(parse(text, origin), text, origin)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Query:
        """Read a query from a file in UTF-8, by custom ``*.cep``.

        Raises:
            QueryError: the file cannot be read, or holds no query.
        """
        name = str(path)
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise QueryError(
                f"the query cannot be read: {error.strerror or error}", remedy="correct the path", origin=name
            ) from error
        except UnicodeDecodeError as error:
            raise QueryError(
                f"the query is not text in UTF-8: byte {error.start} fits no character",
                remedy="save the file as UTF-8",
                origin=name,
            ) from error
        return cls.parse(text, name)

    @classmethod
    def of(cls, query: Query | Draft | tree_module.Query | str) -> Query:
        """The query in any of its forms: as it is, from the builder, a tree, or text.

        Raises:
            QueryError: the text is no query; a name or text in the tree cannot be written in UTF-8.
            TypeError: it is none of these.
        """
        if isinstance(query, Query):
            return query
        if isinstance(query, Draft):
            query = query.tree
        if isinstance(query, tree_module.Query):
            text = print_query(query)
            try:
                require_characters(text)
            except QueryError as error:
                raise error.located(text) from None
            return cls(query, text)
        if isinstance(query, str):
            return cls.parse(query)
        raise TypeError(f"a query is text, a Query, or made with cepheid.build, not {type(query).__name__}")

    def bind(self, schema: Schema, catalog: Catalog | None = None) -> BoundQuery:
        """The query with every name, type and unit settled against the events.

        Args:
            schema: the events.
            catalog: the functions and stores that the query names; none by default.

        Raises:
            QueryError: the query does not fit; it shows the line, the place and the remedy.
            SetupError: the catalog is none.
        """
        try:
            bound = bind(self.tree, schema, catalog=require_catalog(catalog), text=self.text)
            return replace(bound, origin=self.origin, identified=self.identified)
        except QueryError as error:
            raise error.located(self.text, self.origin) from None

    def check(
        self,
        schema: Schema,
        catalog: Catalog | None = None,
        *,
        rates_per_s: Mapping[str, float] | None = None,
        stream: bool = False,
    ) -> list[Warning]:
        """What is worth knowing of the query before it runs, the gravest first; empty if nothing is.

        Args:
            schema: the events.
            catalog: the functions and stores that the query names; none by default.
            rates_per_s: event type -> events per second (within one partition), for estimates in numbers.
            stream: the query is to run on a stream, whose partial matches must not be kept for ever.

        Raises:
            QueryError: the query does not fit the events, or would keep ever more partial matches of a stream.
        """
        try:
            return check(self.bind(schema, catalog), rates_per_s, stream=stream)
        except QueryError as error:
            raise error.located(self.text, self.origin) from None

    def explain(
        self,
        schema: Schema,
        catalog: Catalog | None = None,
        *,
        evaluation: str = EAGER,
        decision: Decision | None = None,
    ) -> Explanation:
        """How the query runs, as data: its automaton, where each condition is tested, which columns it reads.

        `cepheid.plan.draw` writes it as text, SVG or Mermaid.

        Args:
            schema: the events.
            catalog: the functions and stores that the query names; none by default.
            evaluation: when the work is done: see `cepheid.Settings`.
            decision: with ``adaptive``, the last of `Matcher.decisions`: then the plan that runs is shown, and what
                was estimated of each.

        Raises:
            QueryError: the query does not fit the events, or has no such evaluation plan (`NotSupportedError`).
        """
        from cepheid.plan.explain import explain  # what a run does not need is not loaded for it

        return explain(self.bind(schema, catalog), evaluation, decision)

    def __str__(self) -> str:
        """The query in the language's own layout; it parses back to an equal one."""
        return print_query(self.tree)


Asked: TypeAlias = Query | Draft | tree_module.Query | str
"""A query in any of its forms; see `Query.of`."""


class QuerySet(Mapping[str, Query]):
    """Several queries by name, to be run in one pass over the same events.

    A query of the set may be FROM another one of it.
    """

    def __init__(self, queries: Mapping[str, Asked]) -> None:
        """Put queries together.

        Args:
            queries: name -> a query in any of its forms. Messages about a query that came from no file begin with its
                name.

        Raises:
            QueryError: one of them is no query, a name is empty, or there is none.
            SetupError: they are no mapping.
        """
        _require_by_name(queries)
        if not queries:
            raise QueryError("a set of queries is empty", remedy='give it queries, as in {"name": "SEQ(A a, B b)"}')
        self._queries: dict[str, Query] = {}
        for name, query in queries.items():
            if not isinstance(name, str) or not name:
                raise QueryError(f"{name!r} is no name of a query", remedy="name each query of a set by a text")
            try:
                read = Query.of(query)
            except QueryError as error:
                raise error.located(error.text or "", name) from None
            self._queries[name] = read if read.origin is not None else replace(read, origin=name)

    def __getitem__(self, name: str) -> Query:
        """The query of that name."""
        return self._queries[name]

    def __iter__(self) -> Iterator[str]:
        """The names, in their order."""
        return iter(self._queries)

    def __len__(self) -> int:
        """The number of queries."""
        return len(self._queries)

    def __repr__(self) -> str:
        """The names."""
        return f"QuerySet({', '.join(self._queries)})"

    def bind(self, schema: Schema, catalog: Catalog | None = None) -> dict[str, BoundQuery]:
        """Each query with every name, type and unit settled against the events.

        Args:
            schema: the events.
            catalog: the functions, stores and further queries that the queries name; none by default.

        Raises:
            QueryError: a query does not fit; it says which. Or the catalog has another query of the same name.
        """
        for name in require_catalog(catalog).queries:
            if name in self._queries:
                raise QueryError(f"two queries are called {name}", remedy="give one of them another name")
        known = catalog_with(catalog, self._queries)
        return {name: query.bind(schema, known) for name, query in self._queries.items()}


def with_values(bounds: Mapping[str, BoundQuery], values: Mapping[str, object]) -> dict[str, BoundQuery]:
    """The queries of a set with their parameters replaced by constants.

    Args:
        bounds: name -> bound query.
        values: parameter -> value; each query gets those that it names.

    Raises:
        ParameterError: a parameter has no value, a value has no parameter, or has the wrong type.
        SetupError: the values are no mapping.
    """
    require_parameters(values)
    if len(bounds) == 1:
        return {name: with_parameters(bound, values) for name, bound in bounds.items()}
    known = {parameter for bound in bounds.values() for parameter in bound.parameters}
    for name in values:
        if name not in known:
            raise ParameterError(
                f"no query of the set has a parameter :{name}",
                remedy=f"the parameters are: {', '.join(f':{have}' for have in sorted(known)) or 'none'}",
            )
    filled = {}
    for name, bound in bounds.items():
        try:
            filled[name] = with_parameters(bound, {p: values[p] for p in bound.parameters if p in values})
        except ParameterError as error:
            raise error.located(bound.text, bound.origin or name) from None
    return filled


def _require_by_name(queries: object) -> None:
    if not isinstance(queries, Mapping):
        raise SetupError(
            f"queries={queries!r} is no mapping from names to queries",
            remedy='give each query a name: {"name": "SEQ(A a, B b)"}',
        )


def catalog_with(catalog: Catalog | None, queries: Mapping[str, Asked] | None) -> Catalog:
    """A catalog with further queries that may stand behind FROM.

    Raises:
        QueryError: one of them is no query.
        SetupError: the catalog is none, or the queries are no mapping.
    """
    known = require_catalog(catalog)
    if queries is None:
        return known
    _require_by_name(queries)
    return replace(known, queries={**known.queries, **{name: Query.of(query) for name, query in queries.items()}})
