"""When equalities split the stream as SAME would, without changing any match (SEMANTICS 1.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.events.types import DataType, Kind
from cepheid.language.bound import BoundQuery, Variable
from cepheid.language.results import SCALARS
from cepheid.language.structure import Place, always_before, places
from cepheid.language.tree import AnyOf, At, Attribute, Compare, Event, Or, Policy, Repeat, SkipMode, walk

Path: TypeAlias = tuple[str, ...]
_Key: TypeAlias = tuple[str, Path]
"""A variable and the path of one of its attributes."""


@dataclass(frozen=True, slots=True)
class InferredPartition:
    """A split of the stream that equalities imply.

    Attributes:
        keys: for each part of the key, variable -> the attribute that holds it on events of that variable
            (``a.k = b.id`` gives ``{"a": ("k",), "b": ("id",)}``). Every element of the pattern is in each,
            negated ones too, and the types within one part are equal; where they are floats, all NaN are one
            key, and so are 0.0 and -0.0. An event with NULL in its part is in no match: at most it starts a
            run that times out.
    """

    keys: tuple[Mapping[str, Path], ...]


def inferred_partition(bound: BoundQuery) -> InferredPartition | None:
    """The partition that a planner may use although the query has no SAME for it, or None.

    That is the case only under ``any`` or ``next``, with a window in time, without skips, if every element,
    negated ones too, is in the equality class, no element is ``strict``, optional, in OR, ANY or a repeated
    group, no loop has UNTIL, and, under ``next``, a condition ties every element but the first to an earlier
    one that is a single event. In every other case the answer could change.

    A class holds what the conjuncts ``u.x = v.y`` connect. Elements that are not under NOT must be connected
    without the help of those that are: what a NOT asks of its own event says nothing of the others.
    """
    if not _clauses_allow(bound) or not _pattern_allows(bound):
        return None
    found = places(bound.pattern)
    equalities = _equalities(bound)
    keys = []
    for members in _classes(equalities, bound.variables):
        key = _complete(members, equalities, bound, found)
        if key is not None:
            keys.append(key)
    return InferredPartition(tuple(keys)) if keys else None


def _clauses_allow(bound: BoundQuery) -> bool:
    window = bound.window
    in_time = window.within_us is not None or window.size_us is not None
    in_events = (window.within_events, window.each_events, window.size_events) != (None, None, None)
    return (
        bound.policy in (Policy.ANY, Policy.NEXT)
        and in_time
        and not in_events
        and not window.one_match
        and bound.skip.mode is SkipMode.NONE
    )


def _pattern_allows(bound: BoundQuery) -> bool:
    for node in walk(bound.pattern):
        match node:
            case Event() if node.policy is Policy.STRICT:
                return False
            case Or() | AnyOf():
                return False
            case Repeat() if not isinstance(node.part, Event) or node.until is not None or node.minimum == 0:
                return False
            case _:
                continue
    return True


def _equalities(bound: BoundQuery) -> list[tuple[Attribute, Attribute]]:
    """The conjuncts ``u.x = v.y`` between events of two variables, with values that hash alike."""
    found = []
    for conjunct in bound.conjuncts:
        match conjunct.expression:
            case Compare(operator="=", left=Attribute(at=At.EACH) as left, right=Attribute(at=At.EACH) as right):
                if left.variable != right.variable and _alike(bound.types[left], bound.types[right]):
                    found.append((left, right))
            case _:
                continue
    return found


def _alike(left: DataType, right: DataType) -> bool:
    """True where equal values of the two types are one value: an int that equals a float is another one."""
    return left == right and left.kind in SCALARS and left.kind is not Kind.NULL


def _key(attribute: Attribute) -> _Key:
    assert attribute.variable is not None
    return attribute.variable, attribute.path


def _classes(equalities: Sequence[tuple[Attribute, Attribute]], variables: Mapping[str, Variable]) -> list[set[_Key]]:
    """What equalities between elements that are not negated connect."""
    classes: list[set[_Key]] = []
    for left, right in equalities:
        pair = {_key(left), _key(right)}
        if any(variables[name].negated for name, _ in pair):
            continue
        touched = [known for known in classes if known & pair]
        for known in touched:
            classes.remove(known)
            pair |= known
        classes.append(pair)
    return classes


def _complete(
    members: set[_Key],
    equalities: Sequence[tuple[Attribute, Attribute]],
    bound: BoundQuery,
    found: Iterable[Place],
) -> dict[str, Path] | None:
    """The class with the negated elements that equal a member of it, if it then has every element."""
    by_name = {place.name: place for place in found}
    key: dict[str, Path] = {}
    for name in bound.variables:
        paths = sorted(path for member, path in members if member == name)
        if bound.variables[name].negated:
            paths = sorted(_tied_paths(name, members, equalities))
        if not paths:
            return None
        # Two attributes of one element in one class are equal in every match: either would do.
        key[name] = paths[0]
    if _some_next(bound) and not _tied_forward(key, equalities, bound, by_name):
        return None
    return key


def _some_next(bound: BoundQuery) -> bool:
    """True where some element takes the next event that qualifies: what qualifies must then be of the partition."""
    prefixes = (node.policy for node in walk(bound.pattern) if isinstance(node, Event))
    return bound.policy is Policy.NEXT or Policy.NEXT in prefixes


def _tied_paths(name: str, members: set[_Key], equalities: Sequence[tuple[Attribute, Attribute]]) -> set[Path]:
    tied = set()
    for left, right in equalities:
        for own, other in ((left, right), (right, left)):
            if own.variable == name and _key(other) in members:
                tied.add(own.path)
    return tied


def _tied_forward(
    key: Mapping[str, Path],
    equalities: Sequence[tuple[Attribute, Attribute]],
    bound: BoundQuery,
    by_name: Mapping[str, Place],
) -> bool:
    """True where, when an event is looked at, an earlier single event already says which partition it is of."""
    names = list(key)
    first = names[0]
    if bound.variables[first].loop or bound.variables[first].negated:
        return False
    if not all(always_before(by_name[first], by_name[name]) for name in names[1:]):
        return False
    return all(_tied_to_earlier(name, key, equalities, bound, by_name) for name in names[1:])


def _tied_to_earlier(
    name: str,
    key: Mapping[str, Path],
    equalities: Sequence[tuple[Attribute, Attribute]],
    bound: BoundQuery,
    by_name: Mapping[str, Place],
) -> bool:
    for left, right in equalities:
        for own, other in ((left, right), (right, left)):
            if _key(own) != (name, key[name]) or other.variable is None:
                continue
            earlier = bound.variables[other.variable]
            if _key(other) != (earlier.name, key[earlier.name]) or earlier.loop or earlier.negated:
                continue
            if always_before(by_name[earlier.name], by_name[name]):
                return True
    return False
