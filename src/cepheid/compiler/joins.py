"""The steps that take events which were kept, as rows of the table `joins`."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.compiler.keys import Keys
from cepheid.compiler.registers import Registers
from cepheid.kernels import layout as k
from cepheid.plan.automaton import Automaton, Joins

NO_FILTER = (-1, 0, 0, 0)
RANGES = (k.LT, k.LE, k.GT, k.GE)


def write_joins(
    automaton: Automaton,
    joins: Joins,
    keyed: Keys,
    registers: Registers,
    keys: list[list[int]],
    buffers: list[list[int]],
    filters: Callable[[int], tuple[int, int, int, int]],
) -> list[list[int]]:
    """The rows; their keys and the buffers of what they try are added to the other tables.

    Args:
        automaton: the plan, with its ``joins``.
        keyed: finds the keys.
        registers: give out those that hold the events between which one must lie.
        keys, buffers: tables that grow.
        filters: gives, for an edge, the fields of a filter (register, comparator, two columns) as lists have them.
    """
    rows: list[list[int]] = []
    for step in joins.steps:
        parts = keyed.key_of(automaton.edges[step.entering])
        row_from = len(keys)
        keys.extend([part.source, part.argument, part.row_column] for part in parts)
        event_from = len(keys)
        keys.extend([k.FROM_HEADER, k.M_CURRENT, part.event_column] for part in parts)
        after = -1 if step.after is None else _last(automaton, registers, step.after)
        before = -1 if step.before is None else _first(automaton, registers, step.before)
        again = -1 if step.again is None else step.again
        # Both edges of a loop would have to have it.
        found = filters(step.entering) if step.again is None else NO_FILTER
        sorts = not parts and found[0] >= 0 and found[1] in RANGES
        n_sorted = sum(row[k.JOIN_SORTED] >= 0 for row in rows)
        row = [len(buffers), step.entering, again, after, before, row_from, event_from, *found]
        rows.append([*row, n_sorted if sorts else -1])
        buffers.append([step.element, event_from, len(keys)])
    return rows


def neighbours_of(
    automaton: Automaton, registers: Registers, neighbours: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where the events on both sides of a gap are found: the last one of its left neighbour, the first of its right."""
    left, right = neighbours
    return (k.FROM_ROW, _last(automaton, registers, left)), (k.FROM_ROW, _first(automaton, registers, right))


def _last(automaton: Automaton, registers: Registers, element: int) -> int:
    return registers.slot("last" if automaton.elements[element].loop else "event", element)


def _first(automaton: Automaton, registers: Registers, element: int) -> int:
    return registers.slot("first" if automaton.elements[element].loop else "event", element)
