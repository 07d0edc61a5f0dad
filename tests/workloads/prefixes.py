"""The events of a workload as the oracle takes them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from cepheid.events.schema import TIME_UNITS, Schema
from cepheid.testing.oracle import OracleEvent

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


def oracle_events(tables: Mapping[str | None, object], schema: Schema) -> list[OracleEvent]:
    """All rows of the tables, ordered as events are: by time, then order key; rows are numbered through all tables."""
    events = []
    row = 0
    for event_type, table in tables.items():
        for values in table.to_pylist():
            plain = {name: _plain(value) for name, value in values.items()}
            moment = plain[schema.time]
            kind = event_type if schema.type is None or schema.per_type else plain[schema.type]
            if moment is not None and (kind is not None or schema.type is None):
                unit = TIME_UNITS[schema.time_unit] if schema.time_unit else 1
                key = (*(plain[name] for name in schema.order), row)
                events.append(OracleEvent(int(moment * unit), key, "table", kind, plain))
            row += 1
    return sorted(events, key=lambda event: event.sort_key)


def _plain(value: object) -> object:
    match value:
        case datetime():
            return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) // _US
        case date():
            return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH) // _US
        case timedelta():
            return value // _US
        case list():
            return tuple(_plain(v) for v in value)
        case dict():
            return {k: _plain(v) for k, v in value.items()}
        case _:
            return value
