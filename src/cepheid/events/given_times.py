"""Times and lengths of time that a caller gives, as microseconds."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from time import time_ns

import numpy as np
import pyarrow as pa

from cepheid.errors import DataError, SchemaError
from cepheid.events.event_time import event_times
from cepheid.events.lengths import length_us
from cepheid.events.schema import TIME_UNITS


def moment_us(time: datetime | np.datetime64 | str | int | float, unit: str | None) -> int:
    """A time, us since the epoch.

    Args:
        time: a datetime, an ISO text, or a number.
        unit: of numbers, a key of `TIME_UNITS`, or None.

    Raises:
        DataError: it is no time, or a number without a unit.
    """
    if isinstance(time, int | float) and unit is None:
        raise DataError(
            f"{time} is a number, and nothing says in which unit",
            remedy="give a datetime, or the Matcher a time_unit",
        )
    try:
        # Arrow takes numpy's times as an array only.
        given = pa.array(np.array([time]) if isinstance(time, np.datetime64) else [time])
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"{time!r} is not a time", remedy="give a datetime, an ISO text or a number") from error
    read = event_times(given, unit, "time")
    if read.bad is not None:
        raise DataError(f"the time {read.why(0)}", remedy="give a datetime, an ISO text or a number")
    return int(read.values[0])


def duration_us(slack: timedelta | int | float, unit: str | None) -> int:
    """The length of a slack, us.

    Args:
        slack: a timedelta, or a number.
        unit: of numbers, a key of `TIME_UNITS`, or None.

    Raises:
        SchemaError: it is no length of time, or a number without a unit.
    """
    is_length = isinstance(slack, int | float | timedelta) and not isinstance(slack, bool)
    if not is_length or (isinstance(slack, float) and not math.isfinite(slack)):
        raise SchemaError(f"slack={slack!r} is no length of time", remedy="give a timedelta, a number, or None")
    if isinstance(slack, timedelta):
        us = slack // timedelta(microseconds=1)
    elif unit is None:
        raise SchemaError(
            f"slack={slack} is a number, and nothing says in which unit", remedy="give a timedelta, or a time_unit="
        )
    elif unit in TIME_UNITS:
        us = round(slack * TIME_UNITS[unit])
    else:
        raise SchemaError(f"{unit!r} is not a unit of time", remedy=f"use one of {', '.join(TIME_UNITS)}")
    if us < 0:
        raise SchemaError(f"slack={slack} is negative", remedy="give 0 or more, or None")
    return us


def slack_us(slack: timedelta | str | int | float, unit: str | None) -> int:
    """The length of a slack, us: a text (``"5 s"``), or what `duration_us` takes.

    Raises:
        SchemaError: as of `duration_us`.
    """
    return length_us(slack, "slack") if isinstance(slack, str) else duration_us(slack, unit)


def clock_us() -> int:
    """The time on the clock of this machine, us since the epoch."""
    return time_ns() // 1_000
