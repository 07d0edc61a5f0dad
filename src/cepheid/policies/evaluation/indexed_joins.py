"""The work of a service in this engine: buffers are looked up by a hash or in the order of a value, not looped over.

This takes the place of Eqs. 6, 7 and 9 of APAM, which count pairs of nested loops; Eqs. 1 to 5 and 8 stay.
What differs:

- Partial matches wait under the hash of their equalities (SAME among them); those under one hash are walked over, and
  the first comparison of two values is tested on the way.
- Events that wait for the last one are found by the hash of their equalities, or, where there are none, by the range
  of the first comparison, or all of them are looked at.
- The event that ends a match is bound before all that waits, and joins go depth first, for each partial match of the
  eager variables on its own: what a join finds is not shared between them.
- Of k events in random order, one order in k! is that of the pattern (the paper takes 1/2 for each pair).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cepheid.policies.evaluation.cost_model import UnitCosts
from cepheid.policies.evaluation.plans import Plan
from cepheid.policies.evaluation.workload import MOST, Condition, Workload
from cepheid.ports.evaluation import Form

EAGER_PARTS = ("event", "walked", "tested", "made")
"""What an event costs where all variables are eager: itself, partial matches walked over, conditions tested beside the
first comparison, partial matches or matches made."""

LAZY_PARTS = (
    "event",
    "walked",
    "tested",
    "made",
    "kept",
    "sorted",
    "joined",
    "looked up",
    "entries",
    "visited",
    "taken",
)
"""What an event costs where some wait: the same; an event kept; one kept in the order of a value; a partial match that
meets the last event; look-ups; what they find in a range, and in a list; what of it is in order and is tested."""

N_LATE = 8
"""Of the events that wait in the order of a value, those that are in no order yet, on average."""

Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """How often an event causes each part of the work: float64, in the order of `EAGER_PARTS` or `LAZY_PARTS`.

    Attributes:
        lazy: whether some variable waits.
        counts: variable -> counts for an event of it.
    """

    lazy: bool
    counts: Mapping[str, Counts]


@dataclass(frozen=True)
class MachineCosts:
    """What the parts of the work take on a machine, in seconds, in the order of their names.

    Attributes:
        eager: of `EAGER_PARTS`, for each kernel that evaluates all variables as their events arrive.
        lazy: of `LAZY_PARTS`.
    """

    eager: Mapping[str, tuple[float, ...]]
    lazy: tuple[float, ...]


@dataclass(frozen=True)
class IndexedJoins:
    """Service times of plans in this engine, on a machine.

    Attributes:
        costs: of the machine.
        kernel: the one that evaluates all variables as their events arrive.
    """

    costs: MachineCosts
    kernel: str = "chain"

    @property
    def nested_costs(self) -> UnitCosts:
        """T_PE, T_RC and T_BI of the paper: a pair that is looked at, a result, and an event that is kept."""
        parts = dict(zip(LAZY_PARTS, self.costs.lazy, strict=True))
        looked_at = max(parts["visited"], parts["entries"], 1e-9)
        return UnitCosts(looked_at, max(parts["taken"], looked_at), parts["kept"])

    def services_s(self, workload: Workload, plan: Plan) -> dict[str, float]:
        """E[ST_E] of each variable under a plan."""
        work = work_of(workload, plan)
        costs = np.array(self.costs.lazy if work.lazy else self.costs.eager[self.kernel])
        return {name: float(counts @ costs) for name, counts in work.counts.items()}

    def joined_s(self, workload: Workload, before: Sequence[str], name: str) -> float:
        """The time of joining one more variable to what a final event and some others have found."""
        counts = _Joins(workload).step(before, name, n_alive(workload, before, final=True))
        return float(counts @ np.array(self.costs.lazy))


def work_of(workload: Workload, plan: Plan) -> Work:
    """The work of an event of each variable under a plan.

    Args:
        workload: the pattern and the stream.
        plan: the plan; the group in which it has the final variable makes no difference.
    """
    final = workload.final
    eager = tuple(name for name in plan.eager if name != final)
    lazy = tuple(name for name in plan.lazy if name != final)
    if not lazy:
        every = (*eager, final)
        return Work(
            False, {name: _arriving(workload, every[:i], name, len(EAGER_PARTS)) for i, name in enumerate(every)}
        )
    found = {name: _arriving(workload, eager[:i], name, len(LAZY_PARTS)) for i, name in enumerate(eager)}
    joins = _Joins(workload)
    for i, name in enumerate(lazy):
        found[name] = joins.kept((*eager, final, *lazy[:i]), name)
    found[final] = joins.ending(eager, lazy)
    return Work(True, found)


def n_alive(workload: Workload, names: Sequence[str], *, final: bool = False) -> float:
    """Matches of some variables in a window, those of one order in all.

    Args:
        workload: the pattern and the stream.
        names: the variables, the final one not among them.
        final: of those the ones that an event of the final variable, which has just arrived, ends.
    """
    total, known = 1.0, list[str]()
    for name in (*((workload.final,) if final else ()), *names):
        if name != workload.final:
            total *= workload.n_in_window(name)
        total *= math.prod(one.selectivity for one in workload.new_conditions(known, name))
        if workload.same is not None and known:
            total *= workload.same
        known.append(name)
    return min(total / math.factorial(len(names)), MOST)


def _split(conditions: Sequence[Condition]) -> tuple[float, Condition | None, int, float]:
    """Of the conditions of a step: what its hash lets through, its first comparison, and the others (number, share)."""
    equal = math.prod(one.selectivity for one in conditions if one.form is Form.EQUALITY)
    ranges = [one for one in conditions if one.form is Form.RANGE]
    others = [*ranges[1:], *(one for one in conditions if one.form is Form.OTHER)]
    return equal, ranges[0] if ranges else None, len(others), math.prod(one.selectivity for one in others)


def _arriving(workload: Workload, before: Sequence[str], name: str, n_parts: int) -> Counts:
    """The counts for an event that extends the partial matches of the variables before it."""
    counts = np.zeros(n_parts)
    counts[0] = 1.0
    if not before:
        counts[3] = 1.0
        return counts
    equal, compared, n_others, passing = _split(workload.new_conditions(before, name))
    walked = n_alive(workload, before) * equal * (1.0 if workload.same is None else workload.same)
    met = walked * (1.0 if compared is None else compared.selectivity)
    counts[1], counts[2], counts[3] = walked, met * n_others, met * passing
    return counts


@dataclass(frozen=True)
class _Joins:
    """The work of joining what waits to a final event."""

    workload: Workload
    places: Mapping[str, int] = field(default_factory=dict)

    def kept(self, before: Sequence[str], name: str) -> Counts:
        """The counts for an event that waits, for a step that knows the variables before it."""
        counts = np.zeros(len(LAZY_PARTS))
        counts[0] = counts[4] = 1.0
        counts[5] = 1.0 if self._is_sorted(before, name) else 0.0
        return counts

    def _is_sorted(self, before: Sequence[str], name: str) -> bool:
        conditions = self.workload.new_conditions(before, name)
        if self.workload.same is not None or any(one.form is Form.EQUALITY for one in conditions):
            return False
        return any(one.form is Form.RANGE for one in conditions)

    def ending(self, eager: Sequence[str], lazy: Sequence[str]) -> Counts:
        """The counts for a final event."""
        workload = self.workload
        if eager:
            counts = _arriving(workload, eager, workload.final, len(LAZY_PARTS))
            counts[6], counts[3] = counts[3], 0.0
        else:
            counts = np.zeros(len(LAZY_PARTS))
            counts[0] = counts[6] = 1.0
        for i, name in enumerate(lazy):
            before = (*eager, *lazy[:i])
            counts = counts + self.step(before, name, n_alive(workload, before, final=True))
        return np.minimum(counts, MOST)

    def step(self, before: Sequence[str], name: str, rows: float) -> Counts:
        """The counts of one step, for ``rows`` partial matches of the final event and the variables before."""
        workload, counts = self.workload, np.zeros(len(LAZY_PARTS))
        known = (*before, workload.final)
        equal, compared, n_others, _ = _split(workload.new_conditions(known, name))
        n = workload.n_in_window(name)
        share = 1.0 if compared is None else compared.selectivity
        if workload.same is not None:
            equal *= workload.same
        order = 1 / (len(before) + 1)
        counts[7] = rows
        if self._is_sorted(known, name):
            counts[8] = rows * (n * share + min(N_LATE, n / 2))
        else:
            # From the newest back to the event that it must follow.
            n_before = sum(workload.variables.index(other) < workload.variables.index(name) for other in before)
            counts[9] = rows * n * equal * (1 - n_before * order)
        met = rows * n * equal * share * order
        counts[2], counts[10] = met * n_others, met
        return np.minimum(counts, MOST)
