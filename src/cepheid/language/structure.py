"""The shape of a pattern: where each element stands, what can be empty, first, last or before what.

Pure functions over the tree; they know nothing of schemas. An element is found by its *path*: the
indexes of the children that lead to it from the root, so two equal elements are never confused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Repeat, Seq

Group: TypeAlias = Seq | And | Or | AnyOf


@dataclass(frozen=True, slots=True)
class Place:
    """One element of the pattern, in its place.

    Attributes:
        event: the element.
        path: indexes of the children from the root down; empty where the element is the whole pattern.
        ancestors: the nodes passed on the way, the root first, one for each index of ``path``.
    """

    event: Event
    path: tuple[int, ...]
    ancestors: tuple[Pattern, ...]

    @property
    def name(self) -> str:
        """The element's name; `name_elements` has given it one."""
        assert self.event.name is not None
        return self.event.name

    @property
    def own_repeat(self) -> Repeat | None:
        """The quantifier that stands on the element itself, or None."""
        parent = self.ancestors[-1] if self.ancestors else None
        return parent if isinstance(parent, Repeat) else None

    @property
    def negation(self) -> Not | None:
        """The NOT that the element stands under, or None."""
        return next((node for node in self.ancestors if isinstance(node, Not)), None)


def parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly below ``pattern``."""
    match pattern:
        case Seq() | And() | Or() | AnyOf():
            return pattern.parts
        case Not() | Repeat():
            return (pattern.part,)
        case Event():
            return ()


def places(pattern: Pattern) -> tuple[Place, ...]:
    """Every element of ``pattern``, in the order of the text."""
    return tuple(_places(pattern, (), ()))


def _places(pattern: Pattern, path: tuple[int, ...], ancestors: tuple[Pattern, ...]) -> Iterator[Place]:
    if isinstance(pattern, Event):
        yield Place(pattern, path, ancestors)
        return
    for index, part in enumerate(parts(pattern)):
        yield from _places(part, (*path, index), (*ancestors, pattern))


def patterns(pattern: Pattern) -> Iterator[Pattern]:
    """``pattern`` and every pattern below it, in the order of the text."""
    yield pattern
    for part in parts(pattern):
        yield from patterns(part)


def with_parts(pattern: Pattern, new: tuple[Pattern, ...]) -> Pattern:
    """``pattern`` with other patterns below it."""
    match pattern:
        case Seq() | And() | Or() | AnyOf():
            return replace(pattern, parts=new)
        case Not() | Repeat():
            return replace(pattern, part=new[0])
        case Event():
            return pattern


def name_elements(pattern: Pattern) -> Pattern:
    """``pattern`` with ``#0``, ``#1``, ... on the elements without a name, in the order of the text."""
    return _named(pattern, 0)[0]


def _named(pattern: Pattern, n_hidden: int) -> tuple[Pattern, int]:
    if isinstance(pattern, Event):
        if pattern.name is not None:
            return pattern, n_hidden
        return replace(pattern, name=f"#{n_hidden}"), n_hidden + 1
    new = []
    for part in parts(pattern):
        named, n_hidden = _named(part, n_hidden)
        new.append(named)
    return with_parts(pattern, tuple(new)), n_hidden


def is_loop(repeat: Repeat) -> bool:
    """True where the quantifier lets its part match more than once."""
    return repeat.maximum is None or repeat.maximum > 1


def is_repeated_group(pattern: Pattern) -> bool:
    """True for a group (not a single element) under a quantifier that lets it match more than once."""
    return isinstance(pattern, Repeat) and is_loop(pattern) and not isinstance(pattern.part, Event)


def nullable(pattern: Pattern) -> bool:
    """True where ``pattern`` can match without taking an event. A NOT takes none."""
    match pattern:
        case Event():
            return False
        case Seq() | And():
            return all(nullable(part) for part in pattern.parts)
        case Or():
            return any(nullable(part) for part in pattern.parts)
        case AnyOf():
            return sum(nullable(part) for part in pattern.parts) >= pattern.count
        case Not():
            return True
        case Repeat():
            return pattern.minimum == 0 or nullable(pattern.part)


def n_events_least(pattern: Pattern) -> int:
    """The number of events in the shortest match of ``pattern``."""
    match pattern:
        case Event():
            return 1
        case Seq() | And():
            return sum(n_events_least(part) for part in pattern.parts)
        case Or():
            return min(n_events_least(part) for part in pattern.parts)
        case AnyOf():
            return sum(sorted(n_events_least(part) for part in pattern.parts)[: pattern.count])
        case Not():
            return 0
        case Repeat():
            return pattern.minimum * n_events_least(pattern.part)


def n_events_most(pattern: Pattern) -> int | None:
    """The number of events in the longest match of ``pattern``; None for no bound."""
    match pattern:
        case Event():
            return 1
        case Not():
            return 0
        case Repeat():
            once = n_events_most(pattern.part)
            return None if once is None or pattern.maximum is None else once * pattern.maximum
        case _:
            most = [n_events_most(part) for part in pattern.parts]
            known = sorted(n for n in most if n is not None)
            if len(known) < len(most):
                return None
            if isinstance(pattern, Or):
                return known[-1]
            return sum(known[-pattern.count :] if isinstance(pattern, AnyOf) else known)


def always_bound(pattern: Pattern) -> frozenset[str]:
    """The names that every match of ``pattern`` binds; elements under NOT are bound by none."""
    match pattern:
        case Event():
            return frozenset() if pattern.name is None else frozenset((pattern.name,))
        case Seq() | And():
            return frozenset[str]().union(*(always_bound(part) for part in pattern.parts))
        case Or():
            return frozenset.intersection(*(always_bound(part) for part in pattern.parts))
        case AnyOf():
            below = [always_bound(part) for part in pattern.parts]
            if pattern.count >= len(below):
                return frozenset[str]().union(*below)
            return frozenset.intersection(*below) if pattern.count == 1 else frozenset()
        case Not():
            return frozenset()
        case Repeat():
            return frozenset() if pattern.minimum == 0 else always_bound(pattern.part)


def first_names(pattern: Pattern) -> frozenset[str]:
    """The names of the elements that can take the first event of a match of ``pattern``."""
    match pattern:
        case Event():
            return frozenset() if pattern.name is None else frozenset((pattern.name,))
        case Seq():
            found: frozenset[str] = frozenset()
            for part in pattern.parts:
                found |= first_names(part)
                if not nullable(part):
                    break
            return found
        case And() | Or() | AnyOf():
            return frozenset[str]().union(*(first_names(part) for part in pattern.parts))
        case Not():
            return frozenset()
        case Repeat():
            return first_names(pattern.part)


def can_be_preceded(place: Place) -> bool:
    """True where some match has an event of another element before the first of this one.

    Iterations of a repeated group count: its first element follows the last of the iteration before.
    """
    for node, index in zip(place.ancestors, place.path, strict=True):
        match node:
            case Seq() if any(not isinstance(part, Not) for part in node.parts[:index]):
                return True
            case And() if len(node.parts) > 1:
                return True
            case AnyOf() if node.count > 1:
                return True
            case Repeat() if is_repeated_group(node):
                return True
            case _:
                continue
    return False


def may_be_trailing(path: tuple[int, ...], ancestors: tuple[Pattern, ...]) -> bool:
    """True where a match may end before anything that stands after the node at ``path``."""
    for node, index in zip(ancestors, path, strict=True):
        if isinstance(node, Seq) and not all(nullable(part) for part in node.parts[index + 1 :]):
            return False
    return True


def fork(one: Place, other: Place) -> tuple[Pattern | None, int, int]:
    """The lowest node above both elements, and the indexes of its children that lead to each.

    The node is None where the two are one place.
    """
    for node, left, right in zip(one.ancestors, one.path, other.path, strict=False):
        if left != right:
            return node, left, right
    return None, 0, 0


def exclusive(one: Place, other: Place) -> bool:
    """True where no match has both elements: different branches of an OR (or of an ANY of one)."""
    node, _, _ = fork(one, other)
    return isinstance(node, Or) or (isinstance(node, AnyOf) and node.count == 1)


def always_before(one: Place, other: Place) -> bool:
    """True where, within an iteration, all events of ``one`` come before all events of ``other``."""
    node, left, right = fork(one, other)
    return isinstance(node, Seq) and left < right


def nodes_with_paths(
    pattern: Pattern, path: tuple[int, ...] = (), ancestors: tuple[Pattern, ...] = ()
) -> Iterator[tuple[Pattern, tuple[int, ...], tuple[Pattern, ...]]]:
    """Every pattern with its path and ancestors, in the order of the text."""
    yield pattern, path, ancestors
    for index, part in enumerate(parts(pattern)):
        yield from nodes_with_paths(part, (*path, index), (*ancestors, pattern))
