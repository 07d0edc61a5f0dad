"""The time of events, from whatever a column holds, as int64 microseconds since the epoch, UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import SchemaError
from cepheid.events.arrow_memory import numpy_of
from cepheid.events.arrow_types import data_type, is_text
from cepheid.events.column import BoolArray, Int64Array
from cepheid.events.convert import US_PER_UNIT, floor_nanoseconds, numbers_of, one_array
from cepheid.events.schema import TIME_UNITS
from cepheid.events.text import chunks_of, encode_text
from cepheid.events.types import Kind

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_LIMIT = 2**62 - 1
"""Microseconds from the epoch that a time may be away, some 146,000 years: then every difference fits int64."""


@dataclass(frozen=True, eq=False)
class EventTimes:
    """Times of rows.

    Attributes:
        values: int64 microseconds, shape (n,); 0 where ``bad``.
        bad: True where there is no time; None where all rows have one.
        reasons: row -> what is wrong with it, in words; a row of ``bad`` without an entry is NULL.
        n_floored: the number of times that lost nanoseconds.
    """

    values: Int64Array
    bad: BoolArray | None
    reasons: dict[int, str]
    n_floored: int = 0

    def why(self, row: int) -> str:
        """What is wrong with a row of ``bad``, in words."""
        return self.reasons.get(row, "is NULL")


def event_times(values: Any, unit: str | None, name: str) -> EventTimes:
    """Read a time column.

    Timestamps without a zone, and ISO texts without an offset, are read as UTC; dates are their midnight. Of
    floats the nearest microsecond is taken, of nanoseconds the one before.

    Args:
        values: an Arrow Array or ChunkedArray of timestamps, dates, ISO texts, integers or floats.
        unit: a key of `TIME_UNITS` for integers and floats.
        name: of the column, for errors.

    Raises:
        SchemaError: the column has another type, or is of numbers and ``unit`` is None.
    """
    factor = check_time(values.type, unit, name)
    kind = data_type(values.type).kind
    if kind is Kind.TEXT:
        return _from_text(values)
    if kind is Kind.NULL:
        return EventTimes(np.zeros(len(values), np.int64), np.ones(len(values), np.bool_), {})
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if kind is Kind.INT:
        numbers, valid, _ = numbers_of(values, name)
        return _scaled(numbers, factor, valid, unit or "")
    if kind is Kind.FLOAT:
        return _from_floats(values, factor, name)
    return _from_timestamps(values)


def check_time(arrow: Any, unit: str | None, name: str) -> int:
    """The microseconds in one unit of a time column of numbers; 1 for other columns.

    Raises:
        SchemaError: a column of this Arrow type cannot be a time column.
    """
    kind = data_type(arrow).kind
    if kind in (Kind.INT, Kind.FLOAT):
        if unit is None:
            raise SchemaError(
                f"the time column {name!r} holds numbers ({arrow}), and nothing says in which unit",
                remedy=f"name it: time_unit= one of {', '.join(TIME_UNITS)}",
            )
        return TIME_UNITS[unit]
    elif kind not in (Kind.TIMESTAMP, Kind.TEXT, Kind.NULL):
        raise SchemaError(
            f"the column {name!r} of type {arrow} cannot be the time of events",
            remedy="use timestamps, dates, ISO texts, or numbers with time_unit=",
        )
    return 1


def _validity(values: Any) -> BoolArray | None:
    if values.null_count == 0:
        return None
    return np.concatenate([numpy_of(chunk.is_valid()) for chunk in chunks_of(values)])


def _scaled(raw: Int64Array, factor: int, valid: BoolArray | None, unit: str) -> EventTimes:
    """Whole units as microseconds; what would not fit is bad."""
    reasons: dict[int, str] = {}
    bad = None if valid is None else ~valid
    if len(raw):
        limit = _LIMIT // factor
        if int(raw.max()) > limit or int(raw.min()) < -limit:
            outside = (raw > limit) | (raw < -limit)
            if valid is not None:
                outside &= valid
            reasons = {int(row): f"{raw[row]} {unit} is beyond the range of times" for row in np.flatnonzero(outside)}
            bad = outside if bad is None else bad | outside
            raw = np.where(outside, 0, raw)
        if factor != 1:
            raw = raw * factor
    if bad is not None:
        raw = np.where(bad, 0, raw)
    return EventTimes(raw, bad, reasons)


def _from_timestamps(values: Any) -> EventTimes:
    arrow = values.type
    valid = _validity(values)
    if pa.types.is_date32(arrow):
        return _scaled(_raw_int64(values.cast(pa.int32()).cast(pa.int64())), TIME_UNITS["d"], valid, "days")
    raw = _raw_int64(values.cast(pa.int64()))
    if pa.types.is_date64(arrow):
        return _scaled(raw // 86_400_000, TIME_UNITS["d"], valid, "days")
    if arrow.unit == "ns":
        whole, n_floored = floor_nanoseconds(raw, valid)
        bad = None if valid is None else ~valid
        return EventTimes(whole if bad is None else np.where(bad, 0, whole), bad, {}, n_floored)
    return _scaled(raw, US_PER_UNIT[arrow.unit], valid, arrow.unit)


def _raw_int64(values: Any) -> Int64Array:
    """The buffers of an int64 array, NULL rows holding whatever lies there."""
    parts = [
        np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset : chunk.offset + len(chunk)]
        for chunk in chunks_of(values)
    ]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _from_floats(values: Any, factor: int, name: str) -> EventTimes:
    numbers, valid, _ = numbers_of(values, name)
    with np.errstate(over="ignore", invalid="ignore"):
        us = np.rint(numbers * factor)
        outside = ~(np.abs(us) < _LIMIT + 1)  # which a float holds, unlike the limit
    bad = None if valid is None else ~valid
    reasons: dict[int, str] = {}
    if outside.any():
        reasons = {int(row): f"{numbers[row]} is not a time" for row in np.flatnonzero(outside)}
        bad = outside if bad is None else bad | outside
    if bad is not None:
        us[bad] = 0
    return EventTimes(us.astype(np.int64), bad, reasons)


def _from_text(values: Any) -> EventTimes:
    """ISO 8601 texts. All of one form at once where Arrow reads it, else each distinct text by itself."""
    if not is_text(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    for arrow in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            times = values.cast(arrow)
        except pa.ArrowInvalid:
            # Not the form of every text; the next attempt, or reading each, says what the matter is.
            continue
        return _from_timestamps(times)
    codes, valid, dictionary = encode_text(one_array(values))
    # Bytes that are no UTF-8 are no time, either.
    texts = [text.decode(errors="replace") for text in dictionary.cast(pa.large_binary()).to_pylist()]
    us = np.zeros(len(texts), np.int64)
    readable = np.ones(len(texts), np.bool_)
    floored = np.zeros(len(texts), np.bool_)
    for code, (time_us, lost) in enumerate(map(parse_iso, texts)):
        readable[code] = time_us is not None
        floored[code] = lost
        us[code] = time_us or 0
    safe = codes if valid is None else np.where(valid, codes, 0)
    bad = ~readable[safe]
    wrong = np.flatnonzero(bad if valid is None else bad & valid)
    reasons = {int(row): f"{texts[safe[row]]!r} is not an ISO time" for row in wrong}
    if valid is not None:
        bad |= ~valid
    lost_rows = floored[safe] & ~bad
    return EventTimes(np.where(bad, 0, us[safe]), bad if bad.any() else None, reasons, int(np.count_nonzero(lost_rows)))


def parse_iso(text: str) -> tuple[int | None, bool]:
    """Read an ISO 8601 text as microseconds since the epoch.

    Returns:
        The time (None if ``text`` is not one), and whether digits beyond the microsecond were cut off.
    """
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None, False
    # The offset is taken off as a number: near the ends of the calendar the moment itself has no datetime.
    offset = time.utcoffset() or timedelta(0)
    return (time.replace(tzinfo=None) - _EPOCH - offset) // _MICROSECOND, _has_submicroseconds(text)


def _has_submicroseconds(text: str) -> bool:
    """True if the fraction of a second has a digit other than 0 after the sixth (`fromisoformat` cuts them off)."""
    fraction = text.replace(",", ".").partition(".")[2]
    digits = fraction[: next((i for i, c in enumerate(fraction) if not c.isdigit()), len(fraction))]
    return bool(digits[6:].strip("0"))
