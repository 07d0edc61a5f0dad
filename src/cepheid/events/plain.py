"""Values as JSON can hold them."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal


def as_plain(value: object) -> object:
    """``value`` as JSON can hold it: times as ISO 8601, durations as seconds, NaN and infinities as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)
        case datetime():
            # Arrow gives naive values for columns without a zone, which are UTC.
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {str(k): as_plain(v) for k, v in value.items()}
        case list() | tuple():
            return [as_plain(v) for v in value]
        case _:
            return str(value)
