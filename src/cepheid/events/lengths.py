"""Lengths of time as users give them."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from fractions import Fraction

from cepheid.errors import SchemaError
from cepheid.events.schema import TIME_UNITS

Length = timedelta | str | int | float
"""A length of time: ``timedelta(seconds=5)``, ``"5 seconds"``, or a number in a unit that is known elsewhere."""

_NAMES = {
    "us": ("us", "microsecond", "microseconds"),
    "ms": ("ms", "millisecond", "milliseconds"),
    "s": ("s", "sec", "second", "seconds"),
    "min": ("min", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_UNITS = {name: TIME_UNITS[unit] for unit, names in _NAMES.items() for name in names}
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def length_us(length: Length, name: str, time_unit: str | None = None) -> int:
    """A length of time in microseconds.

    Args:
        length: as the user gives it.
        name: of the argument, for errors.
        time_unit: of numbers.

    Raises:
        SchemaError: it is no length of time, or a negative one.
    """
    us: int | None = None
    if isinstance(length, timedelta):
        us = length // timedelta(microseconds=1)
    elif isinstance(length, str):
        written = _WRITTEN.fullmatch(length)
        if written is not None and written[2].lower() in _UNITS:
            us = round(Fraction(written[1]) * _UNITS[written[2].lower()])
    elif isinstance(length, int | float) and not isinstance(length, bool) and math.isfinite(length):
        if time_unit is None:
            raise SchemaError(
                f"{name}={length} is a number, and nothing says in which unit",
                remedy=f'write {name}="{length} seconds", or give a timedelta',
            )
        if time_unit not in TIME_UNITS:
            raise SchemaError(f"{time_unit!r} is not a unit of time", remedy=f"use one of {', '.join(TIME_UNITS)}")
        us = round(length * TIME_UNITS[time_unit])
    if us is None or us < 0:
        raise SchemaError(
            f"{name}={length!r} is no length of time from 0",
            remedy=f'write {name}="10 seconds", or give a timedelta',
        )
    return us
