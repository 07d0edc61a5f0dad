"""What the engine measures of itself, so that a policy learns what work costs on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A sequence of single events over a stream of random events, and what an event took on average.

    Attributes:
        kernel: ``chain``, ``keyed`` or ``general`` where all variables are eager, ``lazy`` where some wait.
        plan: the evaluation plan, as text.
        variables: in the order of the pattern; each takes events of a type of its own.
        n_in_window: variable -> events of it in a window.
        equal, less: (variable, other) -> the chance that an equality, or a comparison by <, holds.
        service_s: seconds an event.
        same: with SAME, the chance that two events have the same key; None without.
    """

    kernel: str
    plan: str
    variables: tuple[str, ...]
    n_in_window: Mapping[str, float]
    equal: Mapping[tuple[str, str], float]
    less: Mapping[tuple[str, str], float]
    service_s: float
    same: float | None = None
