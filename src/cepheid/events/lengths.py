"""Lengths of time as users give them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction

from cepheid.errors import SchemaError
from cepheid.events.schema import TIME_UNITS

Length = timedelta | str | int | float
"""A length of time: ``timedelta(seconds=5)``, ``"5 seconds"``, or a number in a unit that is known elsewhere."""

WRITTEN_UNITS: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(("us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds"), ("us", 1)),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), ("ms", 1)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("min", 1)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("h", 1)),
    **dict.fromkeys(("d", "day", "days"), ("d", 1)),
    **dict.fromkeys(("week", "weeks"), ("d", 7)),
}
"""Unit of time as written (in lower case), in queries and elsewhere -> key of `TIME_UNITS`, and how many of it."""

NUMBER = r"(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+(?!\w))?(?:[kKM](?!\w))?"
"""A number as it is written, in queries and elsewhere: ``0.5``, ``10_000``, ``1e3``, ``20k``, ``1M``."""

_LENGTH = re.compile(rf"\s*({NUMBER})\s*([^\W\d]+)\s*")
_SUFFIXES = {"k": 1_000, "K": 1_000, "M": 1_000_000}


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
        us = _written_us(length)
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


def _written_us(text: str) -> int | None:
    written = _LENGTH.fullmatch(text)
    if written is None or written[2].lower() not in WRITTEN_UNITS:
        return None
    number, (unit, n_units) = written[1], WRITTEN_UNITS[written[2].lower()]
    many = _SUFFIXES.get(number[-1], 1)
    return round(Fraction(number if many == 1 else number[:-1]) * many * n_units * TIME_UNITS[unit])
