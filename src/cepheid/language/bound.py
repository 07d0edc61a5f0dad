"""A query that fits its schema: what bind returns, and what the plan and the oracle read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cepheid.errors import SetupError
from cepheid.events.schema import Schema
from cepheid.events.types import DataType
from cepheid.language.tree import Expression, Pattern, Policy, Query, Skip
from cepheid.ports.stores import StoreSource


def _are_types(given: object) -> bool:
    return isinstance(given, (tuple, list)) and all(isinstance(one, DataType) for one in given)


@dataclass(frozen=True)
class Function:
    """A registered Python function: what it is called with, and what it gives.

    Attributes:
        arguments: the types of its arguments.
        result: the type of its result.
        call: gets Python values (None for NULL), gives one.

    Raises:
        SetupError: one of them is of another kind; the message names it.
    """

    name: str
    arguments: tuple[DataType, ...]
    result: DataType
    call: Callable[..., object]

    def __post_init__(self) -> None:
        for what, fits, expected in (
            ("name", isinstance(self.name, str), "a text"),
            ("arguments", _are_types(self.arguments), "a tuple of types"),
            ("result", isinstance(self.result, DataType), "a type"),
            ("call", callable(self.call), "a function"),
        ):
            if not fits:
                raise SetupError(
                    f"{what}={getattr(self, what)!r} of cep.Function({self.name!r}, ...) is not {expected}",
                    remedy="give the name, the types of the arguments, that of the result and the function, in this "
                    'order: cep.Function("twice", (FLOAT,), FLOAT, lambda x: 2 * x)',
                )


@dataclass(frozen=True)
class Store:
    """A declared remote store: the types of its key and of the fields of its elements.

    Attributes:
        key: the types of the parts of the key.
        fields: field -> type. An element without fields has the one entry ``""``.
        source: where its elements come from when the query is run: a `cepheid.ports.stores.AsksStore`, or a mapping
            from key to element. None where the store is only declared, which is enough to check a query.
    """

    name: str
    key: tuple[DataType, ...]
    fields: Mapping[str, DataType]
    source: StoreSource | None = None


class Written(Protocol):
    """A query with its text, such as a `cepheid.Query`."""

    @property
    def tree(self) -> Query:
        """What the query says."""
        ...

    @property
    def text(self) -> str:
        """As it was written."""
        ...

    @property
    def origin(self) -> str | None:
        """The name of the file it came from, or None."""
        ...


@dataclass(frozen=True)
class Catalog:
    """What a query may name besides events.

    Attributes:
        functions: registered functions, by name.
        stores: remote stores, by name.
        queries: queries whose matches may be the events of another (``FROM name``), by name.

    Raises:
        SetupError: one of them is no mapping.
    """

    functions: Mapping[str, Function] = field(default_factory=dict)
    stores: Mapping[str, Store] = field(default_factory=dict)
    queries: Mapping[str, Written] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("functions", "stores", "queries"):
            given = getattr(self, what)
            if not isinstance(given, Mapping):
                raise SetupError(
                    f"{what}={given!r} of a cep.Catalog is no mapping",
                    remedy=f'give {what} by name: {{"name": ...}}, or leave it out',
                )


def require_catalog(catalog: object) -> Catalog:
    """What stands as ``catalog=``; an empty one for None.

    Raises:
        SetupError: it is no `Catalog`.
    """
    if catalog is None:
        return Catalog()
    if not isinstance(catalog, Catalog):
        raise SetupError(
            f"catalog={catalog!r} is not a cep.Catalog",
            remedy='give cep.Catalog(functions={"name": cep.Function(...)}), or leave it out',
        )
    return catalog


@dataclass(frozen=True)
class Variable:
    """A variable of the pattern.

    Attributes:
        name: as written; ``#0``, ``#1``, ... for elements without a name, which cannot be written.
        types: the event types it takes, over all places where it stands; empty for any.
        fields: the attributes it has.
        loop: it may take more than one event: it stands under a quantifier with a maximum over 1.
        own_loop: the quantifier stands on the variable itself (a Kleene variable), not on a group.
        optional: a match may leave it unbound (under ``?``, ``*``, ``{0,m}``, in OR, not chosen in ANY); of a
            negated variable, a match of what stands under its NOT may.
        negated: it stands under NOT.
        groups: ids of the repeated groups around it, outermost first (not its own quantifier); repeated groups
            are numbered from 0 in the order of the text.
    """

    name: str
    types: tuple[str, ...]
    fields: Mapping[str, DataType]
    loop: bool
    own_loop: bool
    optional: bool
    negated: bool
    groups: tuple[int, ...] = ()

    @property
    def hidden(self) -> bool:
        """True where the text gives the element no name."""
        return self.name.startswith("#")


@dataclass(frozen=True)
class Conjunct:
    """One operand of WHERE, NOT pushed inward (SEMANTICS 4.1).

    Attributes:
        expression: the condition. Literals have been brought to the type of what they meet: text that
            met a timestamp is a TIMESTAMP literal, a number that met a decimal is a DECIMAL one, a
            number that met a float is a FLOAT one.
        variables: names of the variables in it, in the order of the text of the pattern; none where it reads
            only parameters.
        negated: the negated variable among them, or None (two are refused).
    """

    expression: Expression
    variables: tuple[str, ...]
    negated: str | None = None


@dataclass(frozen=True)
class Returned:
    """One column of the output: ``b.x`` of a loop variable is a LIST."""

    name: str
    expression: Expression
    type: DataType


@dataclass(frozen=True)
class BoundWindow:
    """The windows, in microseconds or events.

    Attributes:
        within_us, within_events: ``WITHIN``; at most one is set.
        exclusive: ``last - first < within_us`` instead of ``<=``.
        each_us, each_events: ``BETWEEN EACH``.
        size_us, slide_us / size_events, slide_events: ``WINDOW ... SLIDE ...``.
        closed: the sliding window holds its end.
        one_match: at most one match is reported per window.
    """

    within_us: int | None = None
    within_events: int | None = None
    exclusive: bool = False
    each_us: int | None = None
    each_events: int | None = None
    size_us: int | None = None
    slide_us: int | None = None
    size_events: int | None = None
    slide_events: int | None = None
    closed: bool = False
    one_match: bool = False


@dataclass(frozen=True)
class BoundQuery:
    """A query that fits its schema.

    Attributes:
        query: the tree as written.
        schema: the events; those of FROM are composite events (`language.composite`).
        pattern: the pattern with a name on every element and the conditions of UNTIL brought to the form of
            `Conjunct.expression`; nothing else is changed.
        variables: name -> variable, in the order of the text (first place of each).
        conjuncts: the condition.
        partition: the expressions of SAME, each over one event (``variable`` None).
        window, policy, skip: as they apply; a policy is always named here.
        returns: the output columns that RETURN names; empty for the default output.
        parameters: name -> type, of the parameters in the query and in those that its events come from.
        types: the type of every expression node in ``conjuncts``, ``partition``, ``returns`` and the UNTIL
            conditions of ``pattern``, by the node itself (equal nodes have equal types). ``b.x`` of a loop has the
            type of one value here, in RETURN too, where `Returned.type` is the list.
        catalog: the functions and stores that the query may name.
        text: the text that errors point into (the printed query where it was built).
        inner: the query whose matches are the events (``FROM``), or None.
        origin: where the text came from, for messages; or None.
        identified: each match tells its ``match_id`` and its last time whatever RETURN says
            (`engine.output_schema.MATCH`, `LAST`).
        made: what was made of this very object, by whoever makes it: no part of the query, so neither compared, nor
            copied, nor pickled.
    """

    query: Query
    schema: Schema
    pattern: Pattern
    variables: Mapping[str, Variable]
    conjuncts: tuple[Conjunct, ...]
    partition: tuple[Expression, ...]
    window: BoundWindow
    policy: Policy
    skip: Skip
    returns: tuple[Returned, ...]
    parameters: Mapping[str, DataType]
    types: Mapping[Expression, DataType]
    catalog: Catalog
    text: str
    inner: BoundQuery | None = None
    origin: str | None = field(default=None, compare=False)
    identified: bool = False
    made: dict[object, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def chain(self) -> tuple[BoundQuery, ...]:
        """The query itself, then the one whose matches are its events, and so on to the one that reads events."""
        return (self,) if self.inner is None else (self, *self.inner.chain)

    def __getstate__(self) -> dict[str, object]:
        """The query alone."""
        return {**self.__dict__, "made": {}}
