"""Elements of remote stores as a run knows them: asked for once, kept, and read by conditions as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa

from cepheid.compiler.columnwise.casts import as_type
from cepheid.compiler.columnwise.python_values import column_from, python_values
from cepheid.compiler.vector import Resolve, evaluate
from cepheid.errors import DataError
from cepheid.events.arrow_types import arrow_type
from cepheid.events.column import AnyColumn, ArrowColumn, BoolArray, Column, all_absent
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import BoundQuery, Store
from cepheid.language.structure import patterns
from cepheid.language.tree import Aggregate, Expression, Remote, Repeat, children, walk
from cepheid.ports.stores import AsksStore, Element, Key

MOST_ELEMENTS: Final = 1 << 20
"""Elements that are kept of each store; beyond, those that came first are forgotten, and asked for again if needed."""


class _Answered:
    """What a source has answered, to all that ask it at the time: an answer is given once, whoever asked.

    Attributes:
        source: the store.
        known: key -> element.
        open: keys that were asked for, and have no answer yet.
        n_answers: how many came.
    """

    def __init__(self, source: AsksStore) -> None:
        self.source = source
        self.known: dict[Key, Element] = {}
        self.open: dict[Key, None] = {}
        self.n_answers = 0

    def take(self, answers: Mapping[Key, Element]) -> None:
        self.n_answers += len(answers)
        for key, element in answers.items():
            self.open.pop(key, None)
            self.known[key] = element
        while len(self.known) > MOST_ELEMENTS:
            del self.known[next(iter(self.known))]


_ANSWERED: WeakValueDictionary[int, _Answered] = WeakValueDictionary()
"""By the identity of the source, which lives as long as its entry does."""


class Elements:
    """What is known of one store.

    Attributes:
        store: as it was declared, with its source.
    """

    def __init__(self, store: Store) -> None:
        """Begin with what others that ask the same source know.

        Raises:
            DataError: the store has no source.
        """
        if store.source is None:
            raise DataError(
                f"the query reads the store {store.name}, and nothing says where its elements come from",
                remedy=f"declare it with a source: Store({store.name!r}, ..., source=...)",
            )
        self.store = store
        self._source = store.source
        self._answered: _Answered | None = None
        self._n_seen = 0
        if isinstance(store.source, AsksStore):
            found = _ANSWERED.get(id(store.source))
            if found is None:
                found = _ANSWERED[id(store.source)] = _Answered(store.source)
            self._answered = found

    def knows(self, key: Key) -> bool:
        """Whether the element is there, or known not to be."""
        return self._answered is None or None in key or key in self._answered.known

    def of(self, key: Key) -> Element:
        """The element under a key that is known."""
        if None in key:
            return None
        if self._answered is not None:
            return self._answered.known[key]
        assert isinstance(self._source, Mapping)
        return self._source.get(key[0] if len(key) == 1 else key)

    def ask(self, keys: Sequence[Key]) -> None:
        """Ask for elements that are neither known nor asked for yet."""
        if self._answered is None:
            return
        new = [key for key in dict.fromkeys(keys) if not self.knows(key) and key not in self._answered.open]
        if new:
            self._answered.open.update(dict.fromkeys(new))
            self._answered.source.ask(new)

    def poll(self) -> int:
        """Take the answers that have come; how many came since the last call, whoever took them."""
        if self._answered is None:
            return 0
        if self._answered.open:
            self._answered.take(self._answered.source.answers())
        n_new = self._answered.n_answers - self._n_seen
        self._n_seen = self._answered.n_answers
        return n_new

    def wait(self, key: Key) -> None:
        """Wait until an element is known.

        Raises:
            DataError: the store gives up.
        """
        self.ask([key])
        while not self.knows(key):
            assert self._answered is not None
            come = self._answered.source.wait([key])
            if not come:
                raise DataError(
                    f"the store {self.store.name} gives no answer for {_shown(key)}",
                    remedy="see whether it can be reached, or let it answer None for what it does not have",
                )
            self._answered.take(come)


MOST_COLUMNS = 4096
"""Elements that are kept as columns, too: to make one of a set of 500 numbers takes a third of a millisecond."""


class RemoteData:
    """The elements of all stores that a query reads."""

    def __init__(self, bound: BoundQuery) -> None:
        """Know nothing but what others know that ask the same sources: each answer is given to all of a run."""
        self._bound = bound
        self._stores = {name: Elements(bound.catalog.stores[name]) for name in _stores_read(bound)}
        self._columns: dict[tuple[str, tuple[str, ...], Key], tuple[object, AnyColumn]] = {}

    def of(self, name: str) -> Elements:
        """What is known of a store.

        Raises:
            DataError: it has no source.
        """
        if name not in self._stores:
            self._stores[name] = Elements(self._bound.catalog.stores[name])
        return self._stores[name]

    def poll(self) -> int:
        """Take the answers that have come; their number."""
        return sum(elements.poll() for elements in self._stores.values())

    def unknown(self, expression: Expression, resolve: Resolve) -> list[tuple[Elements, Key]]:
        """The look-ups of an expression that wait for an element, each once; one whose key waits is left out.

        Args:
            expression: of one row.
            resolve: gives the columns of events and aggregates, and of look-ups (`column`).
        """
        if isinstance(expression, Remote):
            found = [one for part in expression.key for one in self.unknown(part, resolve)]
            if found:
                return found
            elements, key = self.of(expression.store), self._key(expression, resolve)
            return [] if key is None or elements.knows(key) else [(elements, key)]
        if isinstance(expression, Aggregate):
            return []  # what is aggregated was looked up before
        found = []
        for child in children(expression):
            found += [one for one in self.unknown(child, resolve) if one not in found]  # type: ignore[arg-type]
        return found

    def wait_for(self, expression: Expression, resolve: Resolve) -> None:
        """Wait until all look-ups of an expression have their elements; see `unknown`.

        Raises:
            DataError: a store gives up.
        """
        while unknown := self.unknown(expression, resolve):
            for elements in dict.fromkeys(elements for elements, _ in unknown):
                elements.ask([key for other, key in unknown if other is elements])
            for elements, key in unknown:
                elements.wait(key)

    def looked_up(self, node: Remote, resolve: Resolve, n: int) -> AnyColumn:
        """What a look-up gives in each of n rows; answers are waited for.

        Args:
            node: the look-up.
            resolve: gives the columns of n rows that its key reads.
            n: how many.

        Raises:
            DataError: a store gives up, or a value is not of the declared type.
        """
        keys = self._keys(node, resolve, n)
        elements = self.of(node.store)
        different = list(dict.fromkeys(key for key in keys if key is not None))
        elements.ask(different)
        for key in different:
            elements.wait(key)
        values = [None if key is None else self._value(node, key) for key in keys]
        absent = np.array([key is None for key in keys], np.bool_)
        return _columns(values, self._type(node), f"the store {node.store}", absent if absent.any() else None)

    def column(self, node: Remote, resolve: Resolve) -> AnyColumn:
        """What a look-up gives whose element is known, as a column of one row.

        Raises:
            DataError: the value is not of the declared type.
        """
        dtype = self._type(node)
        key = self._key(node, resolve)
        if key is None:
            return _absent_column(dtype)
        value, place = self._value(node, key), (node.store, node.path, key)
        known = self._columns.get(place)
        if known is None or known[0] is not value:
            known = value, _columns([value], dtype, f"the store {node.store}", None)
            if len(self._columns) >= MOST_COLUMNS:
                self._columns.clear()
            self._columns[place] = known
        return known[1]

    def _type(self, node: Remote) -> DataType:
        """As the store declares it: bind has not seen look-ups whose key is an attribute of any event."""
        fields = self._bound.catalog.stores[node.store].fields
        dtype: DataType | None = fields[node.path[0] if node.path else ""]
        for name in node.path[1:]:
            dtype = None if dtype is None else dtype.field(name)
        assert dtype is not None, "bind has looked at the path"
        return dtype

    def _value(self, node: Remote, key: Key) -> object:
        value: object = self.of(node.store).of(key)
        origin = f"the store {node.store}"
        for name in node.path:
            if value is not None and not isinstance(value, Mapping):
                raise DataError(
                    f"{origin} gave {_shown(value)}, which has no field {name}",
                    remedy="let it give a mapping of fields, or None where it has no element",
                )
            value = None if value is None else value.get(name)
        return value

    def _key(self, node: Remote, resolve: Resolve) -> Key | None:
        """The key of a look-up in one row; None where a part of it is absent."""
        return self._keys(node, resolve, 1)[0]

    def _keys(self, node: Remote, resolve: Resolve, n: int) -> list[Key | None]:
        """The same in each of n rows."""
        absent = np.zeros(n, np.bool_)
        parts: list[list[object]] = []
        for part, dtype in zip(node.key, self.of(node.store).store.key, strict=True):
            column = evaluate(part, resolve, n, self._bound.catalog.functions)
            assert isinstance(column, Column), "bind lets only scalars be keys"
            if column.absent is not None:
                absent |= column.absent
            parts.append(python_values(as_type(column, dtype)))
        return [None if gone else key for gone, key in zip(absent.tolist(), zip(*parts, strict=True), strict=True)]


def _stores_read(bound: BoundQuery) -> list[str]:
    """The stores with a source that a query reads, each once."""
    loops = (part for part in patterns(bound.pattern) if isinstance(part, Repeat) and part.until is not None)
    roots = [
        *(conjunct.expression for conjunct in bound.conjuncts),
        *(loop.until for loop in loops if loop.until is not None),
        *(returned.expression for returned in bound.returns),
    ]
    names = dict.fromkeys(node.store for root in roots for node in walk(root) if isinstance(node, Remote))
    return [name for name in names if bound.catalog.stores[name].source is not None]


def _columns(values: Sequence[object], dtype: DataType, origin: str, absent: BoolArray | None) -> AnyColumn:
    """Values as a column; where they are absent they are None."""
    if dtype.kind not in (Kind.SET, Kind.LIST):
        column = column_from(values, dtype, origin)
        return column if absent is None else replace(column, absent=absent)
    members = [_members(value, dtype, origin) for value in values]
    if absent is not None:
        members = [None if gone else one for one, gone in zip(members, absent.tolist(), strict=True)]
    return ArrowColumn(pa.array(members, arrow_type(dtype)), dtype, absent)


def _members(value: object, dtype: DataType, origin: str) -> list[object] | None:
    """The elements of a list or a set; a missing set is empty."""
    assert dtype.element is not None
    if value is None:
        return None if dtype.kind is Kind.LIST else []
    try:
        members: list[object] | None = list(value)  # type: ignore[call-overload]
    except TypeError:
        members = None
    if members is None or isinstance(value, str):
        raise DataError(
            f"{origin} gave {_shown(value)} ({type(value).__name__}), which is no {dtype}",
            remedy=f"let it give a {dtype}, or declare the type that it gives",
        )
    column_from(members, dtype.element, origin)  # each is of the type
    return members


def _absent_column(dtype: DataType) -> AnyColumn:
    """A look-up under an absent key, as a column of one row."""
    if dtype.kind in (Kind.SET, Kind.LIST):
        return ArrowColumn(pa.nulls(1, arrow_type(dtype)), dtype, np.ones(1, np.bool_))
    return all_absent(dtype, 1)


def _shown(value: object) -> str:
    text = repr(value[0] if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= 60 else text[:57] + "..."
