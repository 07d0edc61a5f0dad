"""Turns numbers of registers into fields of a row, once it is known how many links a row has."""

from __future__ import annotations

from cepheid.compiler.code import Tables
from cepheid.compiler.scope import LAST_EVENT
from cepheid.kernels import layout as k


def place_registers(
    registers_at: int,
    tables: Tables,
    keys: list[list[int]],
    absences: list[list[int]],
    ends: list[list[int]],
    lists: list[list[int]],
    joins: list[list[int]],
) -> None:
    """Change, in all tables that name registers, their numbers into fields.

    Args:
        registers_at: the field of the first register.
        tables, keys, absences, ends, lists, joins: rows as `kernels.layout` says.
    """

    def place(row: list[int], source: int, argument: int) -> None:
        if row[source] == k.FROM_ROW:
            row[argument] = k.EVENT if row[argument] == LAST_EVENT else row[argument] + registers_at

    readers = (k.COMPARE, k.PUSH_INT, k.PUSH_FLOAT, k.PUSH_BOUND, k.PUSH_EVENT, k.EMPTY_AS_NULL)
    for row in tables.code:
        if row[k.OP] in readers:
            place(row, k.A_SOURCE, k.A_ARG)
            place(row, k.B_SOURCE, k.B_ARG)
    for row in keys:
        place(row, k.KEY_SOURCE, k.KEY_ARG)
    for row in absences:
        place(row, k.LEFT_SOURCE, k.LEFT_ARG)
        place(row, k.RIGHT_SOURCE, k.RIGHT_ARG)
        if row[k.RIGHT_SOURCE] == k.GAP_REOPENED:
            row[k.RIGHT_ARG] += registers_at
    for row in tables.iterated:
        if row[k.WHEEL_FIRST] >= 0:
            row[k.WHEEL_FIRST] += registers_at
    for at in tables.combination_fields:
        tables.combinations[at] += registers_at
    for row in ends:
        if row[k.DROPPED] >= 0:
            row[k.DROPPED] += registers_at
    for row in joins:
        for at in (k.JOIN_AFTER, k.JOIN_BEFORE, k.JOIN_FILTER):
            if row[at] >= 0:
                row[at] += registers_at
    for row in lists:
        if row[k.FILTER_FIELD] >= 0:
            row[k.FILTER_FIELD] += registers_at
