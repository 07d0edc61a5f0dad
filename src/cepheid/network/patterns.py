"""Queries as planning sees them: a tree of operators over event types (INEv, section 3.2).

No OR (a query with OR is several queries), each type at most once, a negated type between two others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.errors import NetworkError


@dataclass(frozen=True, slots=True)
class Primitive:
    """Events of a type; ``kleene`` for any number of them (KL)."""

    type: str
    kleene: bool = False

    def __str__(self) -> str:
        return f"{self.type}+" if self.kleene else self.type


@dataclass(frozen=True, slots=True)
class Absent:
    """No event of a type between its neighbours in a sequence: the middle of NSEQ."""

    type: str

    def __str__(self) -> str:
        return f"NOT {self.type}"


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other: SEQ, and NSEQ where a part is `Absent`."""

    parts: tuple[Pattern | Absent, ...]

    def __str__(self) -> str:
        return f"SEQ({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Interleaving:
    """All parts in any order: AND. Its parts stand in the order of their text, so equal ones are equal."""

    parts: tuple[Pattern, ...]

    def __str__(self) -> str:
        return f"AND({', '.join(map(str, self.parts))})"


Pattern: TypeAlias = Primitive | Sequence | Interleaving


def primitives(pattern: Pattern | Absent) -> Iterator[Primitive | Absent]:
    """The leaves, in the order of the text."""
    if isinstance(pattern, Primitive | Absent):
        yield pattern
        return
    for part in pattern.parts:
        yield from primitives(part)


def types_of(pattern: Pattern | Absent) -> frozenset[str]:
    """All types, negated ones too."""
    return frozenset(leaf.type for leaf in primitives(pattern))


def negated_types(pattern: Pattern) -> frozenset[str]:
    """The types under NOT."""
    return frozenset(leaf.type for leaf in primitives(pattern) if isinstance(leaf, Absent))


def kleene_types(pattern: Pattern) -> frozenset[str]:
    """The types under KL."""
    return frozenset(leaf.type for leaf in primitives(pattern) if isinstance(leaf, Primitive) and leaf.kleene)


def without_kleene(pattern: Pattern, kept: frozenset[str] = frozenset()) -> Pattern:
    """One event in place of each loop (section 6.1): what is sent; the sinks put the loops back.

    Args:
        pattern: the whole.
        kept: types whose loops stay.
    """
    if isinstance(pattern, Primitive):
        return Primitive(pattern.type, pattern.kleene and pattern.type in kept)
    if isinstance(pattern, Interleaving):
        return interleaving(tuple(without_kleene(part, kept) for part in pattern.parts))
    return sequence(tuple(p if isinstance(p, Absent) else without_kleene(p, kept) for p in pattern.parts))


def sequence(parts: tuple[Pattern | Absent, ...]) -> Pattern:
    """SEQ, flat; of one part, that part."""
    flat: list[Pattern | Absent] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Sequence) else (part,))
    first = flat[0]
    if len(flat) == 1 and not isinstance(first, Absent):
        return first
    return Sequence(tuple(flat))


def interleaving(parts: tuple[Pattern, ...]) -> Pattern:
    """AND, flat, its parts in the order of their text; of one part, that part."""
    flat: list[Pattern] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Interleaving) else (part,))
    return flat[0] if len(flat) == 1 else Interleaving(tuple(sorted(flat, key=str)))


def restrict(pattern: Pattern, kept: frozenset[str]) -> Pattern | None:
    """What is left of a pattern with some of its types: a projection; None where nothing is.

    A negated type may only be kept with all types of both its neighbours (`closure`).
    """
    if isinstance(pattern, Primitive):
        return pattern if pattern.type in kept else None
    left: list[Pattern | Absent] = []
    for part in pattern.parts:
        if isinstance(part, Absent):
            if part.type in kept:
                left.append(part)
        elif (inner := restrict(part, kept)) is not None:
            left.append(inner)
    if not left:
        return None
    if isinstance(pattern, Sequence):
        return sequence(tuple(left))
    return interleaving(tuple(part for part in left if not isinstance(part, Absent)))


def closure(pattern: Pattern) -> dict[str, frozenset[str]]:
    """Negated type -> the types that must stand beside it in any projection (section 5.2).

    They are those whose events can be the last of the part before it in its sequence, past other negated ones, or the
    first of the part after it: the gap lies between these.
    """
    result: dict[str, frozenset[str]] = {}
    if isinstance(pattern, Primitive):
        return result
    for place, part in enumerate(pattern.parts):
        if not isinstance(part, Absent):
            result |= closure(part)
            continue
        before = [p for p in pattern.parts[:place] if not isinstance(p, Absent)][-1]
        after = next(p for p in pattern.parts[place + 1 :] if not isinstance(p, Absent))
        result[part.type] = _at_end(before, last=True) | _at_end(after, last=False)
    return result


def _at_end(pattern: Pattern, *, last: bool) -> frozenset[str]:
    """The types whose events can be the last of a pattern, or the first."""
    if isinstance(pattern, Primitive):
        return frozenset({pattern.type})
    parts = [part for part in pattern.parts if not isinstance(part, Absent)]
    if isinstance(pattern, Sequence):
        parts = [parts[-1 if last else 0]]
    return frozenset().union(*(_at_end(part, last=last) for part in parts))


def require_plannable(pattern: Pattern, name: str) -> None:
    """Check the rules that planning rests on.

    Raises:
        NetworkError: a type stands twice, a NOT at the start or the end, or too few types.
    """
    seen: set[str] = set()
    for leaf in primitives(pattern):
        if leaf.type in seen:
            raise NetworkError(
                f"the query {name} names the type {leaf.type} twice",
                remedy="a query that is split over sites names each type once; give one of the two a type of its own",
            )
        seen.add(leaf.type)
    if len(seen) < 2:
        raise NetworkError(
            f"the query {name} names one type, and there is nothing to split",
            remedy="evaluate it where its events arise, or all of them at one site",
        )
    _require_inner(pattern, name)


def _require_inner(pattern: Pattern, name: str) -> None:
    if isinstance(pattern, Primitive):
        return
    for place, part in enumerate(pattern.parts):
        if not isinstance(part, Absent):
            _require_inner(part, name)
            continue
        around = [pattern.parts[:place], pattern.parts[place + 1 :]]
        if isinstance(pattern, Interleaving) or any(all(isinstance(p, Absent) for p in side) for side in around):
            raise NetworkError(
                f"NOT {part.type} does not stand between two events of the query {name}",
                remedy="a query that is split over sites has NOT only between two events of a sequence",
            )
