"""What a stream holds as bytes: versioned, in terms of events and of the plan, and of no kernel.

A snapshot is a JSON text and Arrow tables behind it. Each table is written with its length as an IPC stream. Events
are kept as they came, with their numbers in the stream; a partial match is a row with the one that it extends, the
event that it took last, its state, and its registers, named by the numbers of elements and columns in the plan
(`engine.saved_rows`). A fingerprint of the plan stands beside them: where the query has another plan by now, the
snapshot is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.events.schema import Schema

MAGIC = b"cepheid snapshot "
VERSION = 2
_WHERE = ("cepheid time", "cepheid number", "cepheid place")
_LENGTH_BYTES = 8


def packed(said: Mapping[str, Any], tables: Sequence[Any]) -> bytes:
    """A snapshot of what JSON can say, and of pyarrow Tables."""
    head = json.dumps({**said, "n_tables": len(tables)}).encode()
    parts = [MAGIC, VERSION.to_bytes(2, "little")]
    for content in (head, *map(_written, tables)):
        parts += [len(content).to_bytes(_LENGTH_BYTES, "little"), content]
    return b"".join(parts)


def unpacked(snapshot: bytes) -> tuple[dict[str, Any], list[Any]]:
    """What `packed` was given.

    Raises:
        DataError: these bytes are no snapshot, or one of another version.
    """
    start = len(MAGIC) + 2
    if snapshot[: len(MAGIC)] != MAGIC:
        raise DataError("these bytes are no snapshot", remedy="give what Matcher.snapshot() returned")
    version = int.from_bytes(snapshot[len(MAGIC) : start], "little")
    if version != VERSION:
        raise DataError(
            f"the snapshot has the format {version}, and this version of cepheid reads {VERSION}",
            remedy="restore it with the version that made it, or feed the stream again",
        )
    contents = []
    while start < len(snapshot):
        end = start + _LENGTH_BYTES
        start = end + int.from_bytes(snapshot[start:end], "little")
        contents.append(snapshot[end:start])
    try:
        said: dict[str, Any] = json.loads(contents[0])
        tables = [pa.ipc.open_stream(content).read_all() for content in contents[1:]]
    except (IndexError, ValueError, pa.ArrowException) as error:
        raise DataError(f"the snapshot is damaged: {error}", remedy="give it as it was made") from error
    if start != len(snapshot) or len(tables) != said["n_tables"]:
        raise DataError("the snapshot is cut off", remedy="give it as it was made")
    return said, tables


def other_plan() -> DataError:
    """The error where what a session saved fits no session of the plan that the query has now."""
    return DataError(
        "the snapshot was made by a version of cepheid that has another plan for this query",
        remedy="restore it with the version that made it, or feed the stream again",
    )


def table_of_events(batch: EventBatch | None) -> Any:
    """Events, whose rows they are, as a table with their times, numbers and places; one without columns for none."""
    if batch is None:
        return pa.table({})
    table = batch.table
    for name, values in zip(_WHERE, (batch.time_us, batch.numbers, batch.places), strict=True):
        if values is not None:
            table = table.append_column(name, array_of(values))
    return table


def events_of_table(table: Any, schema: Schema) -> EventBatch | None:
    """What `table_of_events` was given."""
    if not table.num_columns:
        return None
    where = [numpy_of(table.column(name).combine_chunks()) if name in table.column_names else None for name in _WHERE]
    time_us, numbers, places = (None if values is None else values.copy() for values in where)
    assert time_us is not None
    own = table.select([name for name in table.column_names if name not in _WHERE])
    return EventBatch(table=own, schema=schema, time_us=time_us, numbers=numbers, places=places)


def _written(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
