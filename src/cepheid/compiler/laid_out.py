"""A plan as one array: its header, and its tables one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.registers import Registers
from cepheid.compiler.stack import stack_depth
from cepheid.kernels import layout as k
from cepheid.language.tree import Policy
from cepheid.plan.automaton import Automaton
from cepheid.plan.retention import retention


def laid_out(
    automaton: Automaton,
    registers: Registers,
    n_floats: int,
    registers_at: int,
    run_width: int,
    each_column: int,
    tables: Mapping[int, Sequence[Sequence[int]]],
) -> NDArray[np.int64]:
    """The header of the plan, and its tables one after the other.

    Args:
        automaton: what the tables were made from.
        registers: of its partial matches.
        n_floats: how many float constants it has.
        registers_at: the field of a row at which the registers begin.
        run_width: fields before that for the run of a partial match; 0 where no deadline is waited for.
        each_column: the column of the clock of BETWEEN EACH.
        tables: by their place in the header.
    """
    positive = automaton.elements[: automaton.n_positive]
    header = [0] * k.PLAN_HEADER
    within = automaton.within
    keep, kept_longer = retention(automaton)
    header[k.P_N_BUFFERS] = len(tables[k.P_BUFFERS])
    header[k.P_WITHIN] = -1 if within is None else within
    header[k.P_KEEP] = header[k.P_HORIZON] = -1 if keep is None else keep
    header[k.P_KEEP_NEGATED] = -1 if kept_longer is None else kept_longer
    header[k.P_EACH] = -1 if automaton.each is None else automaton.each
    header[k.P_EACH_COLUMN] = each_column
    header[k.P_EACH_IS_TIME] = int(automaton.bound.window.each_events is None)
    header[k.P_N_STARTS] = 1 + len(automaton.further_starts)
    header[k.P_N_LISTS] = len(tables[k.P_LISTS]) - header[k.P_N_STARTS]
    header[k.P_ROW_WIDTH] = registers_at + registers.n_ints
    header[k.P_REGISTERS] = registers_at
    header[k.P_FIXED_LENGTH] = len(positive) if automaton.fixed else 0
    header[k.P_RUN_FIELD] = registers_at - run_width if run_width else -1
    forks = automaton.bound.policy is Policy.ANY
    header[k.P_TELLS] = automaton.tells_timed_out and (
        k.TELLS_ALL if forks and automaton.ambiguous and not automaton.mixed else k.TELLS_TIMED_OUT
    )
    header[k.P_ONE_START] = int(not (forks or automaton.runs_fork))
    header[k.P_MIXED] = int(automaton.runs_fork)
    header[k.P_CHAIN] = registers_at + registers.n_ints - 1 if automaton.postpones else -1
    if automaton.skips:
        header[k.P_LOGS] = k.LOGS_ROWS if automaton.logs_rows else k.LOGS_RUNS
    header[k.P_N_REALS] = registers.n_floats
    many = forks or automaton.runs_fork
    fanouts = [row[k.LIST_EDGES_TO] - row[k.LIST_EDGES_FROM] if many else 1 for row in tables[k.P_LISTS]]
    header[k.P_FANOUT] = max(1, *fanouts) * (2 if automaton.mixed else 1)
    if automaton.postpones:  # a copy of the row itself; and what is told of the ends of runs
        header[k.P_FANOUT] = (header[k.P_FANOUT] + 1) * (2 if automaton.skips else 1)
    if automaton.strict:
        header[k.P_RUN_FIELD] = k.ITEM_TO
        header[k.P_FANOUT] = max(2 * len(state.ends) + 1 for state in automaton.states)
        # Rows with equal registers have the same future, where nothing but registers is ever looked at.
        header[k.P_HISTORY] = int(bool(tables[k.P_ITERATED]) or any(row[k.OP] == k.HOST for row in tables[k.P_CODE]))
    joins = automaton.joins
    header[k.P_TRIGGER] = header[k.P_JOIN_FIELD] = -1
    if joins is not None:
        header[k.P_TRIGGER] = joins.trigger
        header[k.P_N_JOINS] = len(joins.steps)
        header[k.P_N_SORTED] = sum(row[k.JOIN_SORTED] >= 0 for row in tables[k.P_JOINS])
        header[k.P_CLOSES_LOOP] = int(joins.closes_with_loop)
        header[k.P_JOIN_FIELD] = registers_at - k.JOIN_FIELDS
    header[k.P_STACK_REALS] = n_floats
    header[k.P_REGISTER_REALS] = n_floats + stack_depth(tables[k.P_CODE], tables[k.P_CONDITIONS])
    words: list[int] = []
    for place, rows in tables.items():
        header[place] = k.PLAN_HEADER + len(words)
        for row in rows:
            words.extend(row)
    return np.array(header + words, np.int64)
