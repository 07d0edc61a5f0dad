"""Single figures of a stream, each with the bar that it is held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One number.

    Attributes:
        part: what was run.
        name: of the number, with what it was measured in.
        value: the number.
        bar: the greatest value that is good enough; None where none is asked for.
    """

    part: str
    name: str
    value: float
    bar: float | None = None

    @property
    def is_missed(self) -> bool:
        """Whether it is worse than its bar."""
        return self.bar is not None and not self.value <= self.bar


def print_figures(figures: Sequence[Figure]) -> None:
    """The figures as plain text."""
    for one in figures:
        bar = "" if one.bar is None else f"{one.bar:>12,.2f}"
        print(f"{one.part:<26}{one.name:<52}{one.value:>16,.2f}{bar}")


def missed(figures: Sequence[Figure]) -> list[str]:
    """What misses its bar, in words."""
    return [
        f"{one.part}: {one.name} is {one.value:,.2f}, the bar is {one.bar:,.2f}"
        for one in figures
        if one.is_missed and one.bar is not None
    ]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all do not exceed; NaN where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
