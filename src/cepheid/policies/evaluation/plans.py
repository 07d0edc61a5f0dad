"""Evaluation plans as the cost models see them, and the candidates among which one is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Which variables are evaluated as they arrive, and in which order the others are joined.

    Attributes:
        eager: EEG, in the order of the pattern.
        lazy: LEG, in the order in which they are joined. The variable that ends a match may be in either group.
    """

    eager: tuple[str, ...]
    lazy: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' '.join(self.eager)}/{' '.join(self.lazy)}"


def candidates(variables: Sequence[str], order: Sequence[str]) -> tuple[Plan, ...]:
    """The l + 1 plans that divide an optimal matching order in two: its first variables are eager.

    Args:
        variables: in the order of the pattern, which the eager ones keep.
        order: the same, in the order in which they are matched best.

    Source: APAM, section 4.
    """
    return tuple(
        Plan(tuple(name for name in variables if name in order[:n]), tuple(order[n:])) for n in range(len(order) + 1)
    )
