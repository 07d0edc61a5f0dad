"""Tells whether a plan is a chain, and makes the table that the kernel for chains reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.load import Needs
from cepheid.kernels import chain as c
from cepheid.kernels import layout as k

MOST_STEPS = 12
"""The table of the numbers of steps has one entry for each mask of elements."""

PASSES = {k.LT: 0b001, k.LE: 0b011, k.EQ: 0b010, k.GE: 0b110, k.GT: 0b100, k.NE: 0b101}
"""What `kernels.chain.S_PASSES` is for a comparator."""

PASSES_ALL = 0b111

_NOTHING = Needs(large=False, free=False, accept=False, tally=False, fire=False, varying=False)


def chain_of(plan: NDArray[np.int64], needs: Needs) -> NDArray[np.int64] | None:
    """The table of `kernels.chain` for a plan, or None where it is no chain.

    A chain takes one event at each step, has one list and one edge at each state, and no conditions but comparisons of
    two ints.

    Args:
        plan: the tables of `kernels.layout`.
        needs: the kernels that the plan needs.
    """
    n_steps = int(plan[k.P_FIXED_LENGTH])
    if needs != _NOTHING or not 2 <= n_steps <= MOST_STEPS:
        return None
    if plan[k.P_RUN_FIELD] != -1 or plan[k.P_N_BUFFERS] or plan[k.P_N_REALS] or plan[k.P_N_LISTS] != n_steps - 1:
        return None
    return _Chain(plan, n_steps).table()


class _Chain:
    def __init__(self, plan: NDArray[np.int64], n_steps: int) -> None:
        self.n_steps = n_steps

        def table(place: int, width: int) -> list[list[int]]:
            end = plan[place + 1] if place < k.P_STATES else len(plan)
            rows: list[list[int]] = plan[plan[place] : end].reshape(-1, width).tolist()
            return rows

        self.code = table(k.P_CODE, k.CODE_WIDTH)
        self.conditions = table(k.P_CONDITIONS, k.CONDITION_WIDTH)
        self.all_updates = table(k.P_UPDATES, k.UPDATE_WIDTH)
        self.edges = table(k.P_EDGES, k.EDGE_WIDTH)
        self.keys = table(k.P_KEYS, k.KEY_WIDTH)
        self.lists = table(k.P_LISTS, k.LIST_WIDTH)
        self.list_edges = [row[0] for row in table(k.P_LIST_EDGES, 1)]
        self.states = table(k.P_STATES, k.STATE_WIDTH)
        self.registers_at = int(plan[k.P_REGISTERS])
        self.tests: list[list[int]] = []
        self.updates: list[list[int]] = []

    def table(self) -> NDArray[np.int64] | None:
        """The whole table, or None."""
        if len(self.states) != self.n_steps or len(self.edges) != self.n_steps or len(self.lists) != self.n_steps:
            return None
        steps = []
        for number in range(self.n_steps):
            step = self._step(number)
            if step is None:
                return None
            steps.append(step)
        numbers = np.zeros(1 << self.n_steps, np.int64)
        for number in range(self.n_steps):
            numbers[1 << number] = number
        parts = [np.array(rows, np.int64).reshape(-1) for rows in (steps, self.tests, self.updates)]
        header = np.zeros(c.CHAIN_HEADER, np.int64)
        header[c.C_N_STEPS] = self.n_steps
        header[c.C_TESTS] = c.CHAIN_HEADER + len(parts[0])
        header[c.C_UPDATES] = header[c.C_TESTS] + len(parts[1])
        header[c.C_NUMBERS] = header[c.C_UPDATES] + len(parts[2])
        return np.concatenate([header, *parts, numbers])

    def _step(self, number: int) -> list[int] | None:
        """The row of a step, or None where a chain has none like it."""
        # The starts stand in the last list.
        listed = self.lists[number - 1]
        edge_numbers = self.list_edges[listed[k.LIST_EDGES_FROM] : listed[k.LIST_EDGES_TO]]
        if len(edge_numbers) != 1:
            return None
        edge = self.edges[edge_numbers[0]]
        last = number == self.n_steps - 1
        if edge[k.SOURCE] != number - 1 or edge[k.TARGET] != number or edge[k.ELEMENT] != number:
            return None
        if edge[k.ABSENCE_FROM] != edge[k.ABSENCE_TO] or not self._plain_state(number):
            return None
        step = [0] * c.STEP_WIDTH
        step[c.S_STATE] = number | (number + 1) << k.LENGTH_SHIFT
        step[c.S_FORKS] = edge[k.FORKS]
        guard_from, guard_to = edge[k.GUARD_FROM], edge[k.GUARD_TO]
        step[c.S_EVENT_KEY] = step[c.S_ROW_KEY] = -1
        step[c.S_FILTER_FIELD], step[c.S_FILTER_COLUMN], step[c.S_PASSES] = k.EVENT, k.TIME_COLUMN, PASSES_ALL
        if number == 0:
            if guard_from != guard_to:
                return None
        else:
            event_key = self._key(listed[k.EVENT_KEYS_FROM], listed[k.EVENT_KEYS_TO])
            if event_key is None or event_key[0] != k.EVENT or listed[k.LIST_FIELD] != c.NEXT:
                return None
            step[c.S_EVENT_KEY] = event_key[1]
            if listed[k.FILTER_FIELD] >= 0:
                guard_from += 1
                step[c.S_FILTER_FIELD] = listed[k.FILTER_FIELD]
                step[c.S_FILTER_COLUMN] = k.FIRST_COLUMN + listed[k.FILTER_EVENT_COLUMN]
                step[c.S_PASSES] = PASSES[listed[k.FILTER_COMPARATOR]]
        if not last:
            following = self.lists[number]
            row_key = self._key(following[k.ROW_KEYS_FROM], following[k.ROW_KEYS_TO])
            if row_key is None:
                return None
            step[c.S_ROW_KEY_EVENT], step[c.S_ROW_KEY] = row_key
        step[c.S_TEST_FROM] = len(self.tests)
        for condition in self.conditions[guard_from:guard_to]:
            test = self._test(condition)
            if test is None:
                return None
            self.tests.append(test)
        step[c.S_TEST_TO] = len(self.tests)
        step[c.S_UPDATE_FROM] = len(self.updates)
        for op, register, _, column, _ in self.all_updates[edge[k.UPDATE_FROM] : edge[k.UPDATE_TO]]:
            if op not in (k.SET_SLOT, k.SET_VALUE):
                return None
            self.updates.append([self.registers_at + register, k.FIRST_COLUMN + column if op == k.SET_VALUE else -1])
        step[c.S_UPDATE_TO] = len(self.updates)
        return step

    def _plain_state(self, number: int) -> bool:
        """Whether nothing happens in a state but waiting for the next event; in the last one, nothing at all."""
        state = self.states[number]
        if number == self.n_steps - 1:
            return state[k.IS_FINAL] == k.BARE_FINAL
        waits = (state[k.STATE_LISTS_FROM], state[k.STATE_LISTS_TO]) == (number, number + 1)
        return waits and state[k.ACCEPTS] == k.REJECTS and state[k.FULL_REGISTER] == -1 and not state[k.IS_FINAL]

    def _key(self, first: int, last: int) -> tuple[int, int] | None:
        """The field with the event of a key of one part, and its column (-1 for no part); None for several."""
        if first == last:
            return k.EVENT, -1
        if last - first > 1:
            return None
        source, argument, column = self.keys[first]
        field = self._event_field(source, argument)
        # The arriving event is the one that a new row took last.
        return None if field is None else (k.EVENT if field < 0 else field, k.FIRST_COLUMN + column)

    def _test(self, condition: Sequence[int]) -> list[int] | None:
        if not condition[k.IS_FUSED]:
            return None
        op, comparator, source_a, a, column_a, source_b, b, column_b = self.code[condition[k.CODE_FROM]]
        field_a, field_b = self._event_field(source_a, a), self._event_field(source_b, b)
        if op != k.COMPARE or field_a is None or field_b is None:
            return None
        return [comparator, field_a, k.FIRST_COLUMN + column_a, field_b, k.FIRST_COLUMN + column_b]

    @staticmethod
    def _event_field(source: int, argument: int) -> int | None:
        """The field of a row that holds the number of an operand's event; -1 for the arriving one; None for others."""
        if source == k.FROM_ROW:
            return argument
        return -1 if argument == k.M_CURRENT else None
