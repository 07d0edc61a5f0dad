"""Patterns and queries as Python objects: what the functions of `cepheid.language.builder` give."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn, TypeAlias

from cepheid.errors import QueryError
from cepheid.language import canonical
from cepheid.language import tree as nodes
from cepheid.language.assemble import same_key
from cepheid.language.printer import print_pattern, print_query
from cepheid.language.quantities import extent
from cepheid.language.terms import Expr, Item, Value, checked, checked_name, condition_of, node_of

Length: TypeAlias = str | int | float | timedelta
"""``"5 minutes"``, ``"2000 events"``, a timedelta, or a number in the unit of the time column."""

MAX_COUNT = 999_999_999
"""The greatest number of repetitions that can be written."""


class Part:
    """A pattern, or a part of one."""

    __slots__ = ("_node",)

    def __init__(self, node: nodes.Pattern) -> None:
        self._node = node

    def __invert__(self) -> Group:
        """NOT: no match of this in its place."""
        return Group(nodes.Not(self._node))

    def _repeated(self, minimum: int, maximum: int | None, greedy: bool, until: Expr | None) -> nodes.Pattern:
        for bound in (minimum, maximum):
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound > MAX_COUNT):
                raise QueryError(
                    f"{bound!r} is no number of repetitions", remedy="give a whole number, or None for no bound"
                )
        condition = None if until is None else checked(Expr(condition_of(until)))._node
        return canonical.repeat(self._node, minimum, maximum, bool(greedy), condition)

    def __bool__(self) -> NoReturn:
        raise QueryError(
            "a pattern is neither true nor false", remedy="write seq(...), all_of(...), one_of(...), or ~ for NOT"
        )

    def _no_value(self, other: object) -> NoReturn:
        raise QueryError(f"{self!r} is an event, not a value", remedy='name an attribute: a.amount or a["amount"]')

    __lt__ = __le__ = __gt__ = __ge__ = _no_value
    __eq__ = __ne__ = _no_value
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_value
    __and__ = __rand__ = __or__ = __ror__ = _no_value
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        canonical.Measure().check(self._node)
        return print_pattern(self._node)


class Element(Part):
    """One event, or a loop of one: ``a.amount`` and ``a["amount"]`` read its attributes.

    An attribute whose name is that of a method here (plus, star, optional, times) or begins with ``_`` is
    read with square brackets.
    """

    __slots__ = ("_name",)

    def __init__(self, node: nodes.Pattern, name: str | None) -> None:
        super().__init__(node)
        self._name = name

    def plus(self, *, greedy: bool = True, until: Expr | None = None) -> Element:
        """One or more, ``B+ b``; see `times`."""
        return self.times(1, None, greedy=greedy, until=until)

    def star(self, *, greedy: bool = True, until: Expr | None = None) -> Element:
        """None or more, ``B* b``; see `times`."""
        return self.times(0, None, greedy=greedy, until=until)

    def optional(self, *, greedy: bool = True) -> Element:
        """None or one, ``B? b``."""
        return self.times(0, 1, greedy=greedy)

    def times(self, minimum: int, maximum: int | None, *, greedy: bool = True, until: Expr | None = None) -> Element:
        """From ``minimum`` to ``maximum`` events, ``B{2,5} b``.

        Args:
            minimum: the least number.
            maximum: the greatest number, or None for no bound.
            greedy: take as many as possible; False for as few as possible (``+?``).
            until: the loop closes at the first event that fulfils this.

        Raises:
            QueryError: for bounds that nothing fits.
        """
        return Element(self._repeated(minimum, maximum, greedy, until), self._name)

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            # Python looks such names up on its own (copy, pickle, notebooks); a column has ["_name"].
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Expr:
        return Expr(nodes.Attribute(variable_of(self), (checked_name(name, "an attribute"),)))

    def __iter__(self) -> NoReturn:
        raise QueryError(
            "an element has no parts to go through", remedy="use count(b), or b.x for every event of a loop"
        )


class Group(Part):
    """A pattern of several parts; its clause methods begin a query."""

    __slots__ = ()

    def plus(self, *, greedy: bool = True) -> Group:
        """One or more, one after the other."""
        return self.times(1, None, greedy=greedy)

    def star(self, *, greedy: bool = True) -> Group:
        """None or more, one after the other."""
        return self.times(0, None, greedy=greedy)

    def optional(self, *, greedy: bool = True) -> Group:
        """None or one."""
        return self.times(0, 1, greedy=greedy)

    def times(self, minimum: int, maximum: int | None, *, greedy: bool = True) -> Group:
        """From ``minimum`` to ``maximum`` (None: no bound) matches, one after the other.

        Raises:
            QueryError: for bounds that nothing fits.
        """
        return Group(self._repeated(minimum, maximum, greedy, None))

    def where(self, *conditions: Expr) -> Draft:
        """A query for this pattern; see `Draft.where`."""
        return Draft.of(self).where(*conditions)

    def same(self, *keys: str | Expr) -> Draft:
        """A query for this pattern; see `Draft.same`."""
        return Draft.of(self).same(*keys)

    def within(self, length: Length, unit: str | None = None, *, exclusive: bool = False) -> Draft:
        """A query for this pattern; see `Draft.within`."""
        return Draft.of(self).within(length, unit, exclusive=exclusive)

    def between_each(self, length: Length, unit: str | None = None) -> Draft:
        """A query for this pattern; see `Draft.between_each`."""
        return Draft.of(self).between_each(length, unit)

    def window(self, size: Length, slide: Length, *, closed: bool = False, one_match: bool = False) -> Draft:
        """A query for this pattern; see `Draft.window`."""
        return Draft.of(self).window(size, slide, closed=closed, one_match=one_match)

    def policy(self, name: str | nodes.Policy) -> Draft:
        """A query for this pattern; see `Draft.policy`."""
        return Draft.of(self).policy(name)

    def returns(self, *items: Item | Expr, **named: Value) -> Draft:
        """A query for this pattern; see `Draft.returns`."""
        return Draft.of(self).returns(*items, **named)


class Draft:
    """A query on its way. `tree` is the query; ``str`` its text.

    Each clause is given once, but for `where` and `same`, which add to what is there.
    """

    __slots__ = ("_given", "_query")

    def __init__(self, query: nodes.Query, given: frozenset[str] = frozenset()) -> None:
        self._query = query
        self._given = given

    @classmethod
    def of(cls, pattern: Part) -> Draft:
        """The query for ``pattern`` with no clause yet.

        Raises:
            QueryError: the pattern is nested too deep.
        """
        canonical.Measure().check(pattern._node)
        return cls(nodes.Query(pattern._node))

    @property
    def tree(self) -> nodes.Query:
        """The tree, equal to the one that its text gives."""
        return canonical.name_by_type(self._query)

    def where(self, *conditions: Expr) -> Draft:
        """Conditions that must all hold.

        Raises:
            QueryError: for what is no condition.
        """
        made = [checked(Expr(condition_of(c)))._node for c in conditions]
        if not made:
            raise QueryError("where takes at least one condition", remedy="compare an attribute: a.amount > 10")
        have = self._query.where
        where = canonical.conjunction(made if have is None else [have, *made])
        return self._with(None, where=where)

    def same(self, *keys: str | Expr) -> Draft:
        """Split the stream: all events of a match agree in ``keys``.

        Args:
            keys: names of attributes, or expressions over `field`.

        Raises:
            QueryError: for a key that does not read one event.
        """
        made: list[nodes.Expression] = []
        for key in keys:
            if isinstance(key, Expr):
                node = key._node
            else:
                node = nodes.Attribute(None, (checked_name(key, "an attribute"),))
            canonical.Measure().check(node)
            canonical.check_numbers(node)
            made.append(same_key(node))
        if not made:
            raise QueryError("same takes at least one attribute", remedy='name it: same("card")')
        return self._with(None, same=(*self._query.same, *made))

    def within(self, length: Length, unit: str | None = None, *, exclusive: bool = False) -> Draft:
        """The greatest time from the first event of a match to its last.

        Args:
            length: ``"5 minutes"``, ``"2000 events"``, a timedelta, or a number of ``unit``.
            unit: a unit of time or ``"events"``; None for the unit of the time column.
            exclusive: the time must stay below the length.

        Raises:
            QueryError: for what is no length.
        """
        window = replace(self._query.window, within=extent(length, unit), exclusive=bool(exclusive))
        return self._with("WITHIN", window=window)

    def between_each(self, length: Length, unit: str | None = None) -> Draft:
        """The greatest time from each event of a match to the next; arguments as in `within`."""
        return self._with("BETWEEN EACH", window=replace(self._query.window, each=extent(length, unit)))

    def window(self, size: Length, slide: Length, *, closed: bool = False, one_match: bool = False) -> Draft:
        """Match in each of the windows of ``size`` that begin every ``slide``.

        Args:
            size: as ``length`` in `within`.
            slide: from the start of a window to the next.
            closed: a window holds its end.
            one_match: report at most one match per window.

        Raises:
            QueryError: for what is no length.
        """
        sliding = nodes.Sliding(extent(size), extent(slide), bool(closed), bool(one_match))
        return self._with("WINDOW", window=replace(self._query.window, sliding=sliding))

    def policy(self, name: str | nodes.Policy) -> Draft:
        """Which events a match may skip: ``"any"``, ``"next"`` or ``"strict"``.

        Raises:
            QueryError: for another name.
        """
        return self._with("POLICY", policy=policy_of(name))

    def no_skip(self) -> Draft:
        """AFTER MATCH NO SKIP, which is what holds where nothing is said."""
        return self._with("AFTER MATCH", skip=nodes.Skip())

    def skip_past_last(self) -> Draft:
        """AFTER MATCH SKIP PAST LAST: go on after the last event of a match."""
        return self._with("AFTER MATCH", skip=nodes.Skip(nodes.SkipMode.PAST_LAST))

    def skip_to_next(self) -> Draft:
        """AFTER MATCH SKIP TO NEXT: go on after the first event of a match."""
        return self._with("AFTER MATCH", skip=nodes.Skip(nodes.SkipMode.TO_NEXT))

    def skip_to_first(self, variable: Element | str) -> Draft:
        """AFTER MATCH SKIP TO FIRST: go on at the first event of ``variable``."""
        return self._with("AFTER MATCH", skip=nodes.Skip(nodes.SkipMode.TO_FIRST, variable_of(variable)))

    def skip_to_last(self, variable: Element | str) -> Draft:
        """AFTER MATCH SKIP TO LAST: go on at the last event of ``variable``."""
        return self._with("AFTER MATCH", skip=nodes.Skip(nodes.SkipMode.TO_LAST, variable_of(variable)))

    def returns(self, *items: Item | Expr, **named: Value) -> Draft:
        """The output columns: ``a.card.as_("card")``, or ``card=a.card``.

        Raises:
            QueryError: for what is no expression.
        """
        made: list[nodes.ReturnItem] = []
        for item in items:
            node = item._node if isinstance(item, Item) else nodes.ReturnItem(condition_of(item))
            checked(Expr(node.expression))
            made.append(node)
        for name, value in named.items():
            made.append(nodes.ReturnItem(checked(Expr(node_of(value)))._node, name))
        if not made:
            raise QueryError(
                "returns takes at least one column", remedy="leave it out to have every variable of a match"
            )
        return self._with("RETURN", returns=tuple(made))

    def source(self, name: str) -> Draft:
        """FROM: the events are the matches of the query ``name``."""
        return self._with("FROM", source=checked_name(name, "a query"))

    def _with(self, clause: str | None, **changes: Any) -> Draft:
        if clause in self._given:
            raise QueryError(f"{clause} is given twice", remedy="keep one of the two")
        given = self._given if clause is None else self._given | {clause}
        return Draft(replace(self._query, **changes), given)

    def __str__(self) -> str:
        return print_query(self.tree)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}\n{self}>"


def policy_of(name: str | nodes.Policy) -> nodes.Policy:
    """The policy called ``name``.

    Raises:
        QueryError: there is none.
    """
    if isinstance(name, nodes.Policy):
        return name
    try:
        return nodes.Policy(name)
    except ValueError:
        raise QueryError(f"{name!r} is no selection policy", remedy="use any, next or strict") from None


def variable_of(element: Element | str) -> str:
    """The name of the variable that ``element`` is.

    Raises:
        QueryError: it has none.
    """
    if isinstance(element, str):
        return canonical.check_variable(checked_name(element, "a variable"))
    if not isinstance(element, Element):
        raise QueryError(f"{element!r} is no variable", remedy='write event("Txn", "a"), and use what it gives')
    if element._name is None:
        raise QueryError(
            f"the element {element!r} has no name to refer to it by", remedy='give it one: event("Txn", "a")'
        )
    return element._name
