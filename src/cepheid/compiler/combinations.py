"""Which combinations of elements a condition is tried on, as `kernels.combinations` reads them."""

from __future__ import annotations

from cepheid.compiler.registers import Registers
from cepheid.compiler.scope import Scope
from cepheid.kernels import layout as k
from cepheid.plan.automaton import End
from cepheid.plan.terms import LATER


def write_combination(scope: Scope, flat: list[int], fields: list[int]) -> int:
    """Write which combinations of elements a condition is tried on (`kernels.layout`).

    Args:
        scope: of the condition; its iterated variables are known.
        flat: the table `combinations`, which grows.
        fields: the places in it that name a register, which grow too.

    Returns:
        Where in the table.
    """
    situation, registers = scope.situation, scope.registers
    variables = registers.automaton.variables
    wheels = scope.iterated
    at = len(flat)

    def field(register: int) -> None:
        fields.append(len(flat))
        flat.append(register)

    flat.append(wheels.index(situation.fixed) if situation.fixed is not None else -1)
    flat.append(len(situation.required))
    for variable in sorted(situation.required):
        loop = variables[variable].loop
        field(registers.slot("first" if loop else "event", variable))
    pairs = [
        (i, j, group)
        for i, one in enumerate(wheels)
        for j, other in enumerate(wheels[:i])
        for group in sorted(variables[one].groups & variables[other].groups)
    ]
    own = dict(situation.around)
    around = [(i, group) for i, one in enumerate(wheels) for group in sorted(variables[one].groups & own.keys())]
    flat.append(len(pairs) + len(around))
    for i, j, group in pairs:
        flat.extend((i, j))
        field(registers.iteration(group))
    for i, group in around:
        flat.extend((i, k.SAME_AS_ROW))
        if own[group] == LATER:
            flat.append(-1)
        else:
            field(registers.iteration(group))
    places = [(wheels.index(v), dict(place)) for v, place in situation.places if v in wheels]
    flat.append(len(places))
    for v, place in places:
        checks = [
            (j, group, place[group])
            for j, other in enumerate(wheels)
            if j != v
            for group in sorted(variables[other].groups & place.keys())
        ]
        flat.extend((v, len(checks)))
        for j, group, iteration in checks:
            flat.append(j)
            if iteration == LATER:
                flat.append(-1)
            else:
                field(registers.iteration(group))
    return at


def write_scattered(end: End, registers: Registers, flat: list[int], fields: list[int]) -> int:
    """Write which events an end gives back: those of some variables, in the last iteration of their group.

    Args:
        end: of a state.
        registers: give out what tells iterations.
        flat, fields: as in `write_combination`.

    Returns:
        where it is told in the table `combinations`; -1 where it gives none back.
    """
    if not end.scattered:
        return -1
    at, automaton = len(flat), registers.automaton
    taken = [v for v in automaton.variables if not v.negated]
    everywhere = {group for v in taken for group in v.groups} if automaton.ambiguous else set()
    for groups in (end.scattered, sorted(everywhere)):
        flat.append(len(groups))
        for group in groups:
            fields.append(len(flat))
            flat += [registers.iteration(group), sum(1 << v.index for v in taken if group in v.groups)]
    return at
