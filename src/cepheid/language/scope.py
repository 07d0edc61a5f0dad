"""What a query may name: its variables, their types and attributes, and the rules for names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from cepheid.events.schema import Schema
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import Variable
from cepheid.language.faults import fault, listing, suggestion
from cepheid.language.structure import (
    Place,
    always_bound,
    exclusive,
    is_loop,
    is_repeated_group,
    name_elements,
    nodes_with_paths,
    places,
)
from cepheid.language.tree import Attribute, Event, Pattern


class Clause(Enum):
    """Where an expression stands; it decides what the expression may name."""

    WHERE = "WHERE"
    UNTIL = "UNTIL"
    SAME = "SAME"
    RETURN = "RETURN"


@dataclass(frozen=True)
class Scope:
    """The names of a pattern.

    Attributes:
        schema: the events.
        pattern: the pattern with a name on every element.
        places: name -> the places where it stands, in the order of the text.
        variables: name -> variable, in the order of the text.
    """

    schema: Schema
    pattern: Pattern
    places: Mapping[str, tuple[Place, ...]]
    variables: Mapping[str, Variable]

    def variable(self, name: str, node: Attribute | None) -> Variable:
        """The variable ``name``.

        Raises:
            QueryError: there is none; the remedy names the nearest, or how to name an element.
        """
        known = self.variables.get(name)
        if known is not None and not known.hidden:
            return known
        raise self._unknown(name, node)

    def _unknown(self, name: str, node: Attribute | None) -> Exception:
        names = [variable.name for variable in self.variables.values() if not variable.hidden]
        typed = next((v for v in self.variables.values() if name in v.types), None)
        if typed is not None:
            called = f"write {name} x and name the attribute as x.attribute"
            if not typed.hidden:
                called = f"the element is called {typed.name}"
            return fault(f"{name} is an event type, not a variable of the pattern", node, called)
        otherwise = f"the pattern's variables are: {listing(names)}"
        if not names:
            otherwise = "give the element a name in the pattern, as in A a"
        return fault(f"the pattern has no variable {name}", node, suggestion(name, names, otherwise))

    def conflict(self, types: tuple[str, ...], attribute: str) -> tuple[str, str] | None:
        """Two of ``types`` (of all, where empty) that give ``attribute`` different types, or None."""
        seen: tuple[str, DataType] | None = None
        for name in types or tuple(self.schema.per_type):
            dtype = self.schema.per_type.get(name, {}).get(attribute)
            if dtype is None:
                continue
            if seen is not None and seen[1] != dtype:
                return f"{seen[0]} ({seen[1]})", f"{name} ({dtype})"
            seen = seen or (name, dtype)
        return None


def scope_of(pattern: Pattern, schema: Schema) -> Scope:
    """The names of ``pattern``.

    Raises:
        QueryError: an event type that cannot occur, a name that stands twice where one match can have
            both, or whose places differ in kind.
    """
    named = name_elements(pattern)
    by_name: dict[str, list[Place]] = {}
    for written in places(pattern):
        name = written.event.name
        if name is not None and (not name or name.startswith("#")):
            raise fault(f"{name!r} is not a name", written.event, "begin the name with a letter")
    for place in places(named):
        _check_types(place.event, schema)
        by_name.setdefault(place.name, []).append(place)
    groups = _group_ids(named)
    variables = {name: _variable(name, found, named, groups, schema) for name, found in by_name.items()}
    return Scope(schema, named, {name: tuple(found) for name, found in by_name.items()}, variables)


def _group_ids(pattern: Pattern) -> dict[tuple[int, ...], int]:
    """Path of each repeated group -> its id, from 0 in the order of the text."""
    paths = [path for node, path, _ in nodes_with_paths(pattern) if is_repeated_group(node)]
    return {path: number for number, path in enumerate(paths)}


def _groups(place: Place, ids: Mapping[tuple[int, ...], int]) -> tuple[int, ...]:
    return tuple(ids[place.path[:depth]] for depth in range(len(place.path)) if place.path[:depth] in ids)


def _check_types(event: Event, schema: Schema) -> None:
    known = schema.known_types
    for index, name in enumerate(event.types):
        if known is not None and name not in known:
            raise fault(
                f"no event has the type {name}", event, suggestion(name, known, f"the types are: {listing(known)}")
            )
        if known is None and schema.type is None:
            raise fault(
                f"the events have no type column, so none is known to be of type {name}",
                event,
                'name the column (type="..."), or take any event with *',
            )
        if name in event.types[:index]:
            raise fault(f"the type {name} is named twice", event, "name each type once")


def _variable(
    name: str, found: list[Place], pattern: Pattern, ids: Mapping[tuple[int, ...], int], schema: Schema
) -> Variable:
    first = found[0]
    for index, place in enumerate(found[1:], start=1):
        for earlier in found[:index]:
            if not exclusive(earlier, place):
                raise fault(
                    f"the name {name} stands for two elements of one match",
                    place.event,
                    f"give the second another name, such as {name}2 (a name may recur only in branches of OR)",
                )
        _check_alike(name, first, place, ids)
    types: tuple[str, ...] = ()
    if all(place.event.types for place in found):
        types = tuple(dict.fromkeys(t for place in found for t in place.event.types))
    groups = _groups(first, ids)
    negation = first.negation
    # A negated variable is optional where what stands under its NOT can do without it.
    bound = always_bound(pattern if negation is None else negation.part)
    return Variable(
        name=name,
        types=types,
        fields=dict(schema.fields_of(types)),
        loop=bool(groups) or any(_own_loop(place) for place in found),
        own_loop=any(_own_loop(place) for place in found),
        optional=name not in bound,
        negated=negation is not None,
        groups=groups,
    )


def _own_loop(place: Place) -> bool:
    return place.own_repeat is not None and is_loop(place.own_repeat)


def _check_alike(name: str, first: Place, other: Place, ids: Mapping[tuple[int, ...], int]) -> None:
    """One name must mean one kind of thing in every branch: one event, or a loop, or a negated element."""
    reason = None
    if (first.negation is None) is not (other.negation is None):
        reason = "is negated in one branch and not in another"
    elif _own_loop(first) is not _own_loop(other):
        reason = "is one event in one branch and a loop in another"
    elif _groups(first, ids) != _groups(other, ids):
        reason = "stands in different repeated groups"
    if reason is not None:
        raise fault(f"the name {name} {reason}", other.event, f"give the second another name, such as {name}2")


def attribute_type(
    fields: Mapping[str, DataType],
    node: Attribute,
    owner: str,
    *,
    called: str = "attribute",
    others: Sequence[str] = (),
) -> DataType:
    """The type of the attribute at ``node.path``.

    Args:
        fields: the attributes of the event.
        node: the attribute, for its path and place.
        owner: what has the attributes, as a message names it.
        called: what a message calls them.
        others: the event types that have the attribute, where the owner has not.

    Raises:
        QueryError: there is no such attribute, or a field is asked of something that has none.
    """
    name = node.path[0]
    dtype = fields.get(name)
    if dtype is None:
        message = f"{owner} has no {called} {name}"
        if others:
            message += f": that is one of {' and '.join(others)}"
        raise fault(message, node, suggestion(name, fields, f"the {called}s are: {listing(fields)}"))
    have = name
    for part in node.path[1:]:
        if dtype.kind is not Kind.STRUCT:
            raise fault(f"{have} is {article(dtype)}: it has no field {part}", node, f"write {have} alone")
        below = dtype.field(part)
        if below is None:
            names = [field for field, _ in dtype.fields]
            raise fault(
                f"{have} has no field {part}", node, suggestion(part, names, f"its fields are: {listing(names)}")
            )
        dtype = below
        have = f"{have}.{part}"
    return dtype


def article(dtype: DataType) -> str:
    """The type with its article, for a message: ``an int``, ``a text``."""
    if dtype.kind is Kind.OTHER:
        return "a value that is only carried along"
    if dtype.kind is Kind.NULL:
        return "NULL"
    text = str(dtype)
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"
