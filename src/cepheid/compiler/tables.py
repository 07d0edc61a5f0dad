"""From an automaton to the tables that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.chain import chain_of
from cepheid.compiler.code import Tables
from cepheid.compiler.codes import ACCEPT_CODES, MIRRORED, READS_CODES
from cepheid.compiler.combinations import write_scattered
from cepheid.compiler.gaps import anchor_of, without_gaps
from cepheid.compiler.hooked import Hooks, HookTable
from cepheid.compiler.hosted import Hosted
from cepheid.compiler.joins import NO_FILTER, neighbours_of, write_joins
from cepheid.compiler.keys import KeyPart, Keys
from cepheid.compiler.laid_out import laid_out
from cepheid.compiler.load import Needs
from cepheid.compiler.lower import Lowering
from cepheid.compiler.places import place_registers
from cepheid.compiler.registers import AnyRegister, Registers, Slot
from cepheid.compiler.requests import OTHER_CLOCK, PARTITION, Requests
from cepheid.compiler.runs import run_state, write_runs
from cepheid.compiler.scope import LAST_EVENT
from cepheid.kernels import layout as k
from cepheid.language.bound import Conjunct
from cepheid.plan.absent_checks import Checked
from cepheid.plan.absent_loops import absent_groups
from cepheid.plan.automaton import Absence, Accepting, Anchor, Automaton, Edge, State
from cepheid.ports.pairs import Wanted


@dataclass(frozen=True)
class CompiledPlan:
    """A plan as data, and the columns it reads.

    Attributes:
        automaton: what it was made from.
        plan: the tables, as `kernels.layout` says, int64.
        constants: the float constants.
        requests: the columns to evaluate, by number.
        needs: the kernels it needs.
        hosted: the sub-expressions that the host computes, by number.
        registers: what the registers of a partial match hold: register -> number.
        groups: what finds the matches of what stands under NOTs of groups.
        hooks: for a policy that looks at pairs, or None.
    """

    automaton: Automaton
    plan: NDArray[np.int64]
    constants: NDArray[np.float64]
    requests: Requests
    needs: Needs
    hosted: tuple[Hosted, ...]
    registers: dict[AnyRegister, int]
    groups: tuple[GroupPlan, ...] = ()
    hooks: Hooks | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of its kernels, with a policy that looks at pairs if it is for one: see `compiler.load.Flags`."""
        return (*(() if self.hooks is None else self.hooks.flags), *self.automaton.kernel_flags)

    @cached_property
    def chain(self) -> NDArray[np.int64] | None:
        """The table of `kernels.chain` where the plan is one, else None."""
        if (
            (self.hooks is not None and self.hooks.needs_general)
            or self.automaton.strict
            or self.automaton.joins is not None
            or self.automaton.each is not None
            or (self.automaton.counts_events and self.automaton.partition)
        ):
            return None  # not all hooks are in its kernel, nor are gaps; or its clock is another in each partition
        return chain_of(self.plan, self.needs)

    @cached_property
    def without_gaps(self) -> tuple[CompiledPlan, tuple[int, ...]]:
        """The plan without its NOTs, and what breaks them, as `gaps.without_gaps` tells; itself where it cannot be."""
        found = without_gaps(self.automaton)
        return (self, ()) if found is None else (compile_plan(found[0]), found[1])


@dataclass(frozen=True)
class GroupPlan:
    """What finds matches of what stands under a NOT of a group.

    Attributes:
        element: the number of its element.
        compiled: the plan of the group.
        closers: see `plan.absent_loops.AbsentGroup`.
        checked: what its matches are checked for in each gap.
    """

    element: int
    compiled: CompiledPlan
    closers: tuple[tuple[Conjunct, ...], ...]
    checked: Checked


def compile_plan(automaton: Automaton, wanted: Wanted | None = None) -> CompiledPlan:
    """Lower an automaton to tables.

    Args:
        automaton: the plan.
        wanted: what a policy wants that looks at pairs.

    Raises:
        NotSupportedError: there is a policy, and it cannot look at pairs under this plan.
    """
    return _Compiler(automaton, wanted).compile()


class _Compiler:
    def __init__(self, automaton: Automaton, wanted: Wanted | None) -> None:
        self.automaton = automaton
        self.tables = Tables()
        self.requests = Requests(automaton.bound.catalog.functions)
        self.registers = Registers(automaton, self.requests)
        self.lowering = Lowering(automaton, self.tables, self.registers, self.requests)
        self.absences: list[list[int]] = []
        self.ends: list[list[int]] = []
        self.keys: list[list[int]] = []
        self.lists: list[list[int]] = []
        self.list_edges: list[int] = []
        self.partition_column = self.requests.number(PARTITION) if automaton.partition or automaton.sliding else None
        self.keyed = Keys(automaton, self.registers, self.requests, self.partition_column)
        self.hook_table = None if wanted is None else HookTable(automaton, wanted, self.requests)

    def compile(self) -> CompiledPlan:
        automaton = self.automaton
        edges = [self._guards(edge) for edge in automaton.edges]
        made = [self._made_guards(edge) for edge in automaton.edges]
        ends = [self._ends_of(state) for state in automaton.states]
        closings = [self._closing_guards(state) for state in automaton.states]
        closed_by = [self._add_absences(state.closers) for state in automaton.states]
        list_ranges = [(0, 0)] * len(automaton.states)
        if automaton.strict:
            ways = write_runs(automaton, self.partition_column, ends, self.keys, self.lists, self.list_edges)
        else:
            list_ranges = [self._lists_of(state, edges) for state in automaton.states]
            ways = [(0, 0)] * len(automaton.states)
        buffers = self._buffers()
        joins = self._joins(buffers, edges)
        if self.hook_table is not None:
            self.hook_table.take_registers(self.registers)
        self.registers.n_ints += int(automaton.postpones)  # the last one: what a partial match rests on
        width = max((hi - lo for lo, hi in list_ranges), default=0)
        late = automaton.skips or any(
            state.accepting is Accepting.LATE or any(end.trailing for end in state.ends) for state in automaton.states
        )
        marks = automaton.tells_timed_out or automaton.logs_rows or (late and automaton.runs_fork)
        run_width = 3 if marks else (2 if late else 0)
        registers_at = k.LINKS + 2 * max(1, width) + (run_width if automaton.joins is None else k.JOIN_FIELDS)
        if automaton.strict:
            registers_at = k.LINKS + k.STRICT_LINKS
        updates: list[list[int]] = []
        edge_rows = []
        for edge, (guards, absences), made_guards in zip(automaton.edges, edges, made, strict=True):
            first = len(updates)
            updates.extend(self.registers.updates(edge))
            if self.hook_table is not None:
                updates.extend(self.hook_table.updates(edge))
            edge_rows.append(
                [
                    -1 if edge.source is None else edge.source,
                    edge.target,
                    edge.element,
                    int(edge.forks),
                    *guards,
                    *absences,
                    first,
                    len(updates),
                    *made_guards,
                ]
            )
        state_rows = []
        bare = automaton.bare_states
        for state, (ends_from, ends_to), closing, (lo, hi), way_range, closers in zip(
            automaton.states, ends, closings, list_ranges, ways, closed_by, strict=True
        ):
            closes = state.full_at is not None and (
                state.ends_when_full or state.closing_tests or state.closing_absences
            )
            full = self.registers.count(state.element) if closes else -1
            state_rows.append(
                [
                    state.element,
                    ACCEPT_CODES[state.accepting],
                    ends_from,
                    ends_to,
                    full,
                    state.full_at or 0,
                    lo,
                    hi,
                    0 if state.edges else (k.BARE_FINAL if state.index in bare else 1),
                    k.ENDS_ANYWAY if state.over_when_full else int(state.ends_when_full),
                    *closing[0],
                    *closing[1],
                    *way_range,
                    -1 if state.twin is None else state.twin,
                    int(state.neighbours),
                    *closers,
                ]
            )
        place_registers(registers_at, self.tables, self.keys, self.absences, self.ends, self.lists, joins)
        lists = list(self.lists)
        for starts in (automaton.starts, *automaton.further_starts):
            elements = 0
            for number in starts:
                elements |= 1 << automaton.edges[number].element
            n_edges = len(self.list_edges)
            self.list_edges.extend(starts)
            lists.append([0, elements, n_edges, n_edges + len(starts), len(automaton.states), 0, 0, 0, -1, 0, 0, 0])
        hook_rows = []
        if self.hook_table is not None:
            hook_rows = self.hook_table.rows(registers_at, list_ranges, len(lists))
        plan = laid_out(
            automaton,
            self.registers,
            len(self.tables.floats),
            registers_at,
            run_width,
            self._each_column(),
            {
                k.P_HOOKS: hook_rows,
                k.P_ENDS: self.ends,
                k.P_CODE: self.tables.code,
                k.P_CONDITIONS: self.tables.conditions,
                k.P_ITERATED: self.tables.iterated,
                k.P_COMBINATIONS: [[number] for number in self.tables.combinations],
                k.P_UPDATES: updates,
                k.P_EDGES: edge_rows,
                k.P_ABSENCES: self.absences,
                k.P_KEYS: self.keys,
                k.P_LISTS: lists,
                k.P_LIST_EDGES: [[number] for number in self.list_edges],
                k.P_BUFFERS: buffers,
                k.P_JOINS: joins,
                k.P_STATES: [*state_rows, run_state()] if automaton.strict else state_rows,
            },
        )
        return CompiledPlan(
            automaton=automaton,
            plan=plan,
            constants=np.array(self.tables.floats, np.float64),
            requests=self.requests,
            needs=Needs(
                large=any(not row[k.IS_FUSED] for row in self.tables.conditions),
                free=bool(self.absences),
                accept=automaton.strict
                or any(
                    (state.accepting is not Accepting.NO and row[k.IS_FINAL] != k.BARE_FINAL)
                    or state.closing_tests
                    or state.closing_absences
                    for state, row in zip(automaton.states, state_rows, strict=True)
                )
                or any(edge.made_tests or edge.made_absences for edge in automaton.edges),
                tally=any(row[0] in k.TALLIES for row in updates) or self.registers.n_floats > 0,
                fire=run_width > 0 or automaton.strict,
                varying=not automaton.fixed,
                strict=automaton.strict,
                scattered=automaton.scattered,
                lazy=automaton.joins is not None,
            ),
            hosted=tuple(self.tables.hosted),
            registers=self.registers.numbers,
            groups=tuple(
                GroupPlan(e.index, compile_plan(group.automaton), group.closers, e.checked)
                for e in automaton.elements
                if e.inner is not None and e.checked is not None
                for group in absent_groups(e.inner)
            ),
            hooks=None if self.hook_table is None else self.hook_table.hooks,
        )

    def _each_column(self) -> int:
        other = self.automaton.each_by_other
        return k.FIRST_COLUMN + self.requests.number(OTHER_CLOCK) if other else k.TIME_COLUMN

    # --- conditions -------------------------------------------------------------------------------

    def _guards(self, edge: Edge) -> tuple[tuple[int, int], tuple[int, int]]:
        """The conditions and absences of a step, as ranges of rows."""
        exact = self.keyed.exact_equalities(edge)
        rows = []
        for count in edge.counts:
            if count.least is not None:
                rows.append(self.lowering.count_test(count.element, ">=", count.least))
            if count.most is not None:
                rows.append(self.lowering.count_test(count.element, "<=", count.most))
        rows.extend(self.lowering.test(test) for test in edge.tests if test not in exact)
        rows.extend(self._neighbour_test(edge))
        rows.extend(self._partition_test(edge))
        # What most candidates fail at the least cost comes first.
        rows.sort(key=lambda row: self._filter(row, edge) is None)
        return self._add_conditions(rows), self._add_absences(edge.absences)

    def _filter(self, condition_row: Sequence[int], edge: Edge) -> tuple[int, int, int, int] | None:
        """A comparison of an int of an earlier single event with one of the arriving event, if a condition is one.

        Returns:
            the earlier element, comparator with its value on the left, and the two columns.
        """
        if not condition_row[k.IS_FUSED]:
            return None
        op, comparator, source_a, a, column_a, source_b, b, column_b = self.tables.code[condition_row[k.CODE_FROM]]
        if op != k.COMPARE:
            return None
        if (source_a, a) == (k.FROM_HEADER, k.M_CURRENT):
            source_a, a, column_a, source_b, b, column_b = source_b, b, column_b, source_a, a, column_a
            comparator = MIRRORED.get(comparator, comparator)
        if source_a != k.FROM_ROW or (source_b, b) != (k.FROM_HEADER, k.M_CURRENT):
            return None
        if a == LAST_EVENT and edge.source is not None:
            last = self.automaton.states[edge.source].element
            if not self.automaton.variables[last].loop:
                return last, comparator, column_a, column_b
        for register, number in self.registers.numbers.items():
            if number != a or not isinstance(register, Slot) or register.which != "event":
                continue
            if self.keyed.is_bound(self.automaton.variables[register.element], edge):  # one that is absent has no value
                return register.element, comparator, column_a, column_b
        return None

    def _made_guards(self, edge: Edge) -> tuple[int, int, int, int]:
        rows = [self.lowering.test(test) for test in edge.made_tests]
        return (*self._add_conditions(rows), *self._add_absences(edge.made_absences))

    def _ends_of(self, state: State) -> tuple[int, int]:
        """Add the rows of the table `ends` of a state."""
        first = len(self.ends)
        if self.automaton.graph:
            for end in state.ends:
                tests = self._add_conditions([self.lowering.test(test) for test in end.tests])
                absences = self._add_absences(end.absences)
                trailing = self._add_absences(end.trailing)
                dropped = -1 if end.dropped is None else self.registers.iteration(end.dropped)
                self.ends.append(
                    [
                        *tests,
                        *absences,
                        *trailing,
                        dropped,
                        write_scattered(end, self.registers, self.tables.combinations, self.tables.combination_fields),
                        end.n_trailing or 0,
                    ]
                )
        elif state.accepting is not Accepting.NO:
            rows = [
                self.lowering.count_test(count.element, ">=", count.least)
                for count in state.counts
                if count.least is not None
            ]
            rows.extend(self.lowering.test(test) for test in state.tests)
            self.ends.append([*self._add_conditions(rows), *self._add_absences(state.absences), 0, 0, -1, -1, 1])
        return first, len(self.ends)

    def _closing_guards(self, state: State) -> tuple[tuple[int, int], tuple[int, int]]:
        rows = [self.lowering.test(test) for test in state.closing_tests]
        return self._add_conditions(rows), self._add_absences(state.closing_absences)

    def _add_conditions(self, rows: Sequence[list[int]]) -> tuple[int, int]:
        first = len(self.tables.conditions)
        self.tables.conditions.extend(rows)
        return first, len(self.tables.conditions)

    def _add_absences(self, absences: Sequence[Absence]) -> tuple[int, int]:
        made = []
        for absence in absences:
            tried = self._add_conditions([self.lowering.test(test) for test in absence.tests])
            remembered = absence.gap if self.automaton.graph else absence.negated
            if absence.neighbours is not None:
                left, right = neighbours_of(self.automaton, self.registers, absence.neighbours)
            else:
                left = anchor_of(self.registers, absence.left, "left", remembered)
                right = anchor_of(self.registers, absence.right, "right", remembered)
            number = absence.gap if self.automaton.graph else absence.negated - self.automaton.n_positive
            probe_from = len(self.keys)
            if self.partition_column is not None:
                current = absence.right is Anchor.CURRENT
                source = (k.FROM_HEADER, k.M_CURRENT) if current else right
                if self.automaton.graph:  # the row's own event: all of a match are in one partition
                    source = (k.FROM_ROW, LAST_EVENT)
                self.keys.append([*source, self.partition_column])
            made.append(
                [
                    number,
                    *left,
                    *right,
                    *tried,
                    probe_from,
                    len(self.keys),
                    int(absence.fatal),
                    int(absence.inner),
                    READS_CODES[absence.reads],
                    int(absence.broken),
                    int(absence.last),
                    *self._add_conditions([self.lowering.test(test) for test in absence.checks]),
                ]
            )
        self.absences.extend(made)
        return len(self.absences) - len(made), len(self.absences)

    # --- keys and lists ---------------------------------------------------------------------------

    def _partition_test(self, edge: Edge) -> list[list[int]]:
        """The equality of partitions, where the key is a hash of several parts."""
        if self.partition_column is None or self.automaton.strict or len(self.keyed.key_of(edge)) < 2:
            return []
        column = self.partition_column
        return [self.tables.comparison([k.EQ, k.FROM_HEADER, k.M_CURRENT, column, k.FROM_ROW, LAST_EVENT, column])]

    def _neighbour_test(self, edge: Edge) -> list[list[int]]:
        """The event takes the place after that of the row's last event."""
        if not edge.strict or self.keyed.key_of(edge) == (self.keyed.neighbour_part(),):
            return []
        part = self.keyed.neighbour_part()
        columns = (part.row_column, k.FROM_HEADER, k.M_CURRENT, part.event_column)
        return [self.tables.comparison([k.EQ, k.FROM_ROW, LAST_EVENT, *columns])]

    def _lists_of(self, state: State, guards: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> tuple[int, int]:
        """Make the lists of a state: one for each key that its steps have."""
        by_key: dict[tuple[KeyPart, ...], list[int]] = {}
        for number in state.edges:
            by_key.setdefault(self.keyed.key_of(self.automaton.edges[number]), []).append(number)
        first = len(self.lists)
        for position, (key, numbers) in enumerate(by_key.items()):
            row_from = len(self.keys)
            self.keys.extend([p.source, p.argument, p.row_column] for p in key)
            event_from = len(self.keys)
            self.keys.extend([k.FROM_HEADER, k.M_CURRENT, p.event_column] for p in key)
            elements = 0
            for number in numbers:
                elements |= 1 << self.automaton.edges[number].element
            edges_from = len(self.list_edges)
            self.list_edges.extend(numbers)
            self.lists.append(
                [
                    k.LINKS + 2 * position,
                    elements,
                    edges_from,
                    len(self.list_edges),
                    row_from,
                    event_from,
                    event_from,
                    len(self.keys),
                    *self._filter_of(numbers, guards),
                ]
            )
        return first, len(self.lists)

    def _filter_of(
        self, edges: Sequence[int], guards: Sequence[tuple[tuple[int, int], tuple[int, int]]]
    ) -> tuple[int, int, int, int]:
        """The filter of a list: the first condition of its only edge, if it is of that form."""
        if len(edges) == 1:
            first, last = guards[edges[0]][0]
            found = (
                self._filter(self.tables.conditions[first], self.automaton.edges[edges[0]]) if first < last else None
            )
            if found is not None:
                element, comparator, row_column, event_column = found
                return self.registers.value(element, row_column), comparator, row_column, event_column
        return NO_FILTER

    def _buffers(self) -> list[list[int]]:
        rows = []
        for element in self.automaton.elements[self.automaton.n_positive :]:
            first = len(self.keys)
            if self.partition_column is not None:
                self.keys.append([k.FROM_HEADER, k.M_CURRENT, self.partition_column])
            rows.append([element.index, first, len(self.keys)])
        return rows

    def _joins(
        self, buffers: list[list[int]], guards: Sequence[tuple[tuple[int, int], tuple[int, int]]]
    ) -> list[list[int]]:
        """The steps that take events which were kept; adds the buffers in which these are."""
        if self.automaton.joins is None:
            return []

        def filters(edge: int) -> tuple[int, int, int, int]:
            return self._filter_of([edge], guards)

        return write_joins(
            self.automaton, self.automaton.joins, self.keyed, self.registers, self.keys, buffers, filters
        )
