"""What a joiner holds as bytes: versioned, in terms of events, parts and rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.matches import Matches
from cepheid.engine.snapshot import packed, unpacked
from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.column import Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.language.printer import print_query

_KIND = "joiner"


def packed_joiner(
    bound: BoundQuery,
    parts: Mapping[str, tuple[str, ...]],
    said: Mapping[str, int],
    events: Any,
    rows: Mapping[str, tuple[Int64Array, Int64Array]],
    held: Int64Array,
    waiting: Matches,
) -> bytes:
    """A snapshot.

    Args:
        bound: the query.
        parts: name of each part -> its variables.
        said: counts and the watermark.
        events: those that are held, as a pyarrow Table; by slot.
        rows: name of each part -> its rows of slots, those joined and those not yet.
        held: rows of all variables, where loops are put back.
        waiting: matches that the watermark will decide.
    """
    tables = [events, _table(held)]
    for old, new in rows.values():
        tables += [_table(old), _table(new)]
    tables.append(pa.table({"offset": array_of(waiting.offsets[1:]), "decided": array_of(waiting.decided_us)}))
    tables.append(pa.table({"slot": array_of(waiting.positions), "variable": array_of(waiting.variables)}))
    head = {**said, "kind": _KIND, "query": print_query(bound.query), "parts": {n: list(v) for n, v in parts.items()}}
    return packed(head, tables)


def unpacked_joiner(
    bound: BoundQuery, parts: Mapping[str, tuple[str, ...]], snapshot: bytes
) -> tuple[dict[str, Any], Any, dict[str, tuple[Int64Array, Int64Array]], Int64Array, Matches]:
    """What `packed_joiner` was given, but for the query and the parts.

    Raises:
        DataError: these bytes are no snapshot of a joiner, or one of another query or of other parts.
    """
    said, tables = unpacked(snapshot)
    if said.get("kind") != _KIND:
        raise DataError("these bytes are no snapshot of a joiner", remedy="give what Joiner.snapshot() returned")
    if said["query"] != print_query(bound.query) or said["parts"] != {name: list(v) for name, v in parts.items()}:
        raise DataError(
            "the snapshot was made by a joiner of another query or of other parts",
            remedy="restore it with the query and the parts that it was made with",
        )
    events, held, *others, ends, entries = tables
    pairs = zip(parts, others[::2], others[1::2], strict=True)
    rows = {name: (_rows(old), _rows(new)) for name, old, new in pairs}
    waiting = Matches(
        np.concatenate((np.zeros(1, np.int64), _values(ends, "offset"))),
        _values(entries, "slot"),
        _values(entries, "variable"),
        _values(ends, "decided"),
    )
    return said, events, rows, _rows(held), waiting


def _table(rows: Int64Array) -> Any:
    return pa.table({str(i): array_of(np.ascontiguousarray(column)) for i, column in enumerate(rows.T)})


def _rows(table: Any) -> Int64Array:
    columns = [_values(table, name) for name in table.column_names]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def _values(table: Any, name: str) -> Any:
    values: Any = table.column(name).combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0) if values.num_chunks else pa.array([], values.type)
    return numpy_of(values).copy()
