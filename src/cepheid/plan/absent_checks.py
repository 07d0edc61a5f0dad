"""What a match of a group under NOT is checked for when the NOT is tested, since it depends on the match around it.

What stands under NOT is matched by itself (`plan.absent_groups`). Whether an UNTIL in it has closed a loop may depend
on what stands before the NOT; and where a match can be read in several ways, a condition from outside of the NOT and
one within must hold in the same way. Such a match is found without that, and checked once more in each gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cepheid.events.types import BOOL, DataType
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import is_repeated_group, parts, patterns, with_parts
from cepheid.language.tree import (
    Aggregate,
    AnyOf,
    Attribute,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    Negation,
    Not,
    Or,
    Pattern,
    Repeat,
    Seq,
    walk,
)
from cepheid.plan.absent_groups import in_several_ways, is_inside, names_of
from cepheid.plan.references import Reference, has_remote, is_single, references
from cepheid.plan.until import until_of


@dataclass(frozen=True)
class Check:
    """What is checked of each reading of a match.

    Attributes:
        conjunct: a condition; of an UNTIL, in terms of ``variable``.
        reads: how it reads the variables under the NOT.
        loop: the loop that is closed by an event for which ``conjunct`` holds; None where the condition must hold.
        variable: the name for that event.
        alone: the conditions on this event alone.
    """

    conjunct: Conjunct
    reads: Mapping[str, Reference]
    loop: Repeat | None = None
    variable: str = ""
    alone: tuple[Conjunct, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What stands under one NOT, and what is checked of it.

    Attributes:
        group: with its UNTILs, as far as they can be true.
        relaxed: the same without those that are checked.
        checks: these.
        types: of the expressions that are new in them.
    """

    group: Pattern
    relaxed: Pattern
    checks: tuple[Check, ...] = ()
    types: Mapping[Expression, DataType] = field(default_factory=dict, hash=False, compare=False)

    @property
    def variables(self) -> frozenset[str]:
        """The variables under the NOT that checks read."""
        return frozenset(name for check in self.checks for name in check.reads)


def checked_groups(bound: BoundQuery) -> tuple[Checked | None, ...]:
    """For each NOT in the order of the text: what is checked of what stands under it; None of a single event."""
    found: list[Checked | None] = []
    for number, (negation, before) in enumerate(_negations(bound.pattern, frozenset())):
        group = negation.part
        found.append(None if isinstance(group, Event) else _checked(bound, group, before, number))
    return tuple(found)


def _negations(pattern: Pattern, before: frozenset[str]) -> Iterator[tuple[Not, frozenset[str]]]:
    """The NOTs, each with the variables that stand before it: nothing else can be bound when its gap begins."""
    match pattern:
        case Not():
            yield pattern, before
        case Seq():
            for part in pattern.parts:
                yield from _negations(part, before)
                if not isinstance(part, Not):
                    before |= _positive(part)
        case _:
            for part in parts(pattern):
                yield from _negations(part, before)


def _positive(pattern: Pattern) -> frozenset[str]:
    if isinstance(pattern, Not):
        return frozenset()
    if isinstance(pattern, Event):
        return frozenset((str(pattern.name),))
    return frozenset[str]().union(*(_positive(part) for part in parts(pattern)))


def _checked(bound: BoundQuery, group: Pattern, before: frozenset[str], number: int) -> Checked:
    inside = frozenset(names_of(group))
    new: dict[Expression, DataType] = {}
    group = _rewritten(group, inside | before, new)
    loops = list(dict.fromkeys(part for part in patterns(group) if isinstance(part, Repeat) and part.until is not None))
    outside = [loop for loop in loops if not inside.issuperset(_named(loop.until)) or _looks_up(loop)]
    unclear = in_several_ways(bound, group)
    if not outside and not unclear:
        return Checked(group, group, (), new)
    conditions: list[Conjunct] = []
    if unclear or (outside and _has_readings(group)):
        # What holds in one way of reading a match says nothing of another.
        outside = loops
        conditions = [c for c in bound.conjuncts if is_inside(c, inside) and not is_single(c)]
    checks = []
    for i, loop in enumerate(outside):
        variable = f"#check{number}.{i}"
        until, types = until_of(loop, variable, {**bound.types, **new})
        new.update(types)
        tested = until.alone[0] if until.rest is None else until.rest
        checks.append(Check(tested, _inner(tested, inside), loop, variable, until.alone))
    checks += [Check(c, _inner(c, inside)) for c in conditions]
    relaxed = _without_until(group, frozenset(check.loop for check in checks if check.loop is not None))
    return Checked(group, relaxed, tuple(checks), new)


def _inner(conjunct: Conjunct, inside: frozenset[str]) -> dict[str, Reference]:
    return {name: read for name, read in references(conjunct.expression).items() if name in inside}


def _looks_up(loop: Repeat) -> bool:
    return loop.until is not None and has_remote(loop.until) is not None


def _named(expression: Expression | None) -> frozenset[str]:
    nodes = () if expression is None else walk(expression)
    return frozenset(n.variable for n in nodes if isinstance(n, Attribute | Aggregate) and n.variable is not None)


def _has_readings(group: Pattern) -> bool:
    """Whether the events of a match may be read in several ways."""
    named = [part.name for part in patterns(group) if isinstance(part, Event)]
    return len(set(named)) < len(named) or any(
        isinstance(part, Or | AnyOf) or is_repeated_group(part) for part in patterns(group)
    )


def _without_until(pattern: Pattern, loops: frozenset[Repeat]) -> Pattern:
    if isinstance(pattern, Repeat) and pattern in loops:
        return replace(pattern, until=None)
    return with_parts(pattern, tuple(_without_until(part, loops) for part in parts(pattern)))


# --- what can never be bound --------------------------------------------------------------------------


def _rewritten(pattern: Pattern, known: frozenset[str], new: dict[Expression, DataType]) -> Pattern:
    """A pattern whose UNTILs name only variables that may be bound while its loops are open."""
    if isinstance(pattern, Repeat) and pattern.until is not None:
        return replace(pattern, until=_where_bound(pattern.until, known, new))
    return with_parts(pattern, tuple(_rewritten(part, known, new) for part in parts(pattern)))


def _where_bound(expression: Expression, known: frozenset[str], new: dict[Expression, DataType]) -> Expression | None:
    """A condition where all other variables are absent; None where it is absent then (SEMANTICS 4.2)."""
    if known.issuperset(_named(expression)):
        return expression
    match expression:
        case Conjunction(operands) | Disjunction(operands):
            left = [part for part in (_where_bound(operand, known, new) for operand in operands) if part is not None]
            if len(left) < 2:
                return left[0] if left else None
            made: Expression = replace(expression, operands=tuple(left))
        case Negation(operand):
            part = _where_bound(operand, known, new)
            if part is None:
                return None
            made = Negation(part)
        case _:
            return None
    new[made] = BOOL
    return made
