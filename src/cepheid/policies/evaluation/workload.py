"""What a pattern asks of a stream, in numbers: the rates of its events and what its conditions let through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cepheid.ports.evaluation import Form

MOST = 1e15
"""More events, or combinations of them, are not told apart: what grows beyond this is too much in any plan."""


@dataclass(frozen=True)
class Condition:
    """A condition on several variables (a parameterized predicate).

    Attributes:
        variables: those that it names.
        selectivity: the share of combinations of their events for which it holds.
        form: how a look-up can make use of it.
    """

    variables: frozenset[str]
    selectivity: float
    form: Form = Form.OTHER


@dataclass(frozen=True)
class Loop:
    """How many events a repeated variable takes; the greatest number is None for any."""

    minimum: int
    maximum: int | None


@dataclass(frozen=True)
class Workload:
    """A pattern and the stream that it meets.

    Attributes:
        variables: in the order of the pattern; the last one ends its matches (its events are final events).
        rates_per_s: λ_E: the events a second that each variable can take.
        window_s: W, in seconds.
        conditions: on several variables each.
        same: with SAME, the chance that two events are of one partition; None without.
        loops: the variables that repeat.
    """

    variables: tuple[str, ...]
    rates_per_s: Mapping[str, float]
    window_s: float
    conditions: tuple[Condition, ...] = ()
    same: float | None = None
    loops: Mapping[str, Loop] = field(default_factory=dict)

    @property
    def final(self) -> str:
        """The variable whose events are final events."""
        return self.variables[-1]

    @property
    def arrival_rate_per_s(self) -> float:
        """λ: the events a second that some variable can take."""
        return math.fsum(self.rates_per_s[name] for name in self.variables)

    def n_in_window(self, name: str) -> float:
        """λ_E x W; of a loop, the sets of so many of these events that it may take."""
        n = min(self.rates_per_s[name] * self.window_s, MOST)
        loop = self.loops.get(name)
        return n if loop is None else n_choices(n, loop)

    def new_conditions(self, before: Iterable[str], name: str) -> list[Condition]:
        """The conditions that can be tested once a variable joins others, and could not before."""
        known = {*before, name}
        return [one for one in self.conditions if name in one.variables and one.variables <= known]

    def in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Variables in the order of the pattern."""
        asked = frozenset(names)
        return tuple(name for name in self.variables if name in asked)


def n_choices(n: float, loop: Loop) -> float:
    """The number of ways in which a loop can take some of ``n`` events: the sum of C(n, k) over what it may take."""
    total, ways = 0.0, 1.0
    for k in range(1001):
        if k:
            ways *= max(n - k + 1, 0.0) / k
        if ways == 0.0 or total >= MOST or (loop.maximum is not None and k > loop.maximum):
            break
        if k >= loop.minimum:
            total += ways
    return min(total, MOST)
