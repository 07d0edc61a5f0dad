"""Registered functions that random queries call."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP
from cepheid.language.bound import Function


def near(one: int | None, other: int | None) -> bool | None:
    """Whether two numbers are neighbours; NULL for two NULLs, false for one."""
    if one is None or other is None:
        return None if one is other else False
    return abs(one - other) <= 1


def joined(one: str | None, other: str | None) -> str | None:
    """One text and the other, the lesser first."""
    return None if one is None or other is None else "".join(sorted((one, other)))


def mean(one: float | None, other: float | None) -> float | None:
    """The mean of two numbers."""
    return None if one is None or other is None else (one + other) / 2


def later(moment: datetime | None, gap: timedelta | None) -> datetime | None:
    """A moment half a gap later."""
    return None if moment is None or gap is None else moment + gap / 2


REGISTERED: Mapping[str, Function] = {
    "near": Function("near", (INT, INT), BOOL, near),
    "joined": Function("joined", (TEXT, TEXT), TEXT, joined),
    "mean": Function("mean", (FLOAT, FLOAT), FLOAT, mean),
    "later": Function("later", (TIMESTAMP, DURATION), TIMESTAMP, later),
}
"""Name -> function."""
