"""What a stream holds as bytes: versioned, in terms of events and of the plan, and of no kernel.

A snapshot is a JSON text and Arrow tables behind it, each with its length, after a digest of them. Tables are written
as IPC streams. Events
are kept as they came, with their numbers in the stream; a partial match is a row with the one that it extends, the
event that it took last, its state, and its registers, named by the numbers of elements and columns in the plan
(`engine.saved_rows`). A fingerprint of the plan stands beside them: where the query has another plan by now, the
snapshot is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.events.schema import Schema

MAGIC = b"cepheid snapshot "
VERSION = 4
"""Beside what format 3 says, it tells what was learned of a stream whose evaluation plan is chosen."""

WITHOUT_DIGEST = 2
"""The first format that is read: a change of a byte may not be noticed there."""

DIGEST_BYTES = 16
_WHERE = ("cepheid time", "cepheid number", "cepheid place")
_VERSION_BYTES = 2
_LENGTH_BYTES = 8
_AS_MADE = "give it as it was made"


def packed(said: Mapping[str, Any], tables: Sequence[Any]) -> bytes:
    """A snapshot of what JSON can say, and of pyarrow Tables."""
    head = json.dumps({**said, "n_tables": len(tables)}).encode()
    parts = []
    for content in (head, *map(_written, tables)):
        parts += [len(content).to_bytes(_LENGTH_BYTES, "little"), content]
    held = b"".join(parts)
    return b"".join((MAGIC, VERSION.to_bytes(_VERSION_BYTES, "little"), _digest(held), held))


def unpacked(snapshot: bytes) -> tuple[dict[str, Any], list[Any]]:
    """What `packed` was given, by this version or an earlier one.

    Raises:
        DataError: these bytes are no snapshot, one of another version, or not as they were made.
    """
    start = len(MAGIC) + _VERSION_BYTES
    if snapshot[: len(MAGIC)] != MAGIC or len(snapshot) < start:
        raise DataError("these bytes are no snapshot", remedy="give what Matcher.snapshot() returned")
    version = int.from_bytes(snapshot[len(MAGIC) : start], "little")
    if not WITHOUT_DIGEST <= version <= VERSION:
        raise DataError(
            f"the snapshot has the format {version}, and this version of cepheid reads {WITHOUT_DIGEST} to {VERSION}",
            remedy="restore it with the version that made it, or feed the stream again",
        )
    digest = b""
    if version > WITHOUT_DIGEST:
        digest, start = snapshot[start : start + DIGEST_BYTES], start + DIGEST_BYTES
    held, contents = snapshot[start:], []
    while start < len(snapshot):
        end = start + _LENGTH_BYTES
        start = end + int.from_bytes(snapshot[start:end], "little")
        contents.append(snapshot[end:start])
    if start != len(snapshot):
        raise DataError("the snapshot is cut off, or damaged", remedy=_AS_MADE)
    if digest and digest != _digest(held):
        raise DataError("the snapshot is damaged: its bytes are not those that were written", remedy=_AS_MADE)
    try:
        said: dict[str, Any] = json.loads(contents[0])
        tables = [pa.ipc.open_stream(content).read_all() for content in contents[1:]]
    except (IndexError, ValueError, pa.ArrowException) as error:
        raise DataError(f"the snapshot is damaged: {error}", remedy=_AS_MADE) from error
    if len(tables) != said["n_tables"]:
        raise DataError("the snapshot is cut off, or damaged", remedy=_AS_MADE)
    return said, tables


def _digest(held: bytes) -> bytes:
    return blake2b(held, digest_size=DIGEST_BYTES).digest()


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


def require_same(said: Mapping[str, Any], asked: Mapping[str, str]) -> None:
    """Refuse a snapshot of another query, or with other options.

    Args:
        said: what the snapshot says.
        asked: the query and its options now, by their names in ``said``.

    Raises:
        DataError: they differ.
    """
    for what, value in asked.items():
        if said.get(what) != value:
            raise DataError(
                f"the snapshot was made with {what} {said.get(what)}, and this matcher has {value}",
                remedy="make the matcher as the one that made the snapshot",
            )
