"""A name for each match that depends on nothing but the query, its variables and the events (SEMANTICS 7.2)."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.compiler.columnwise.distinct import compacted
from cepheid.compiler.load import Kernel, digest_kernel, is_compiled
from cepheid.engine.matches import Matches
from cepheid.errors import SchemaError
from cepheid.events.arrow_memory import texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import ArrowColumn, Column, Int64Array
from cepheid.events.types import Kind
from cepheid.kernels import digest_table as k
from cepheid.kernels.jit import ENABLED
from cepheid.language.bound import BoundQuery
from cepheid.language.printer import print_query

DIGEST_BYTES = k.DIGEST_BYTES
ARROW_TYPE: Any = pa.string()

FEW_MATCHES = 1 << 14
"""So many Python hashes in 14 ms; the kernel is read from disk in 4 ms, and compiled in 1.2 s where it is not there.
The bound is chosen."""


def match_ids(bound: BoundQuery, batch: EventBatch, matches: Matches, source: str = "") -> Any:
    """The id of each match: 32 hexadecimal digits, a BLAKE2b hash of 128 bits.

    Hashed are the query as it is printed; the number of the variable and the identity of the event for each event, in
    order; and the bounds of the window where windows slide, as a match is reported once for each of them. An event is
    identified by ``source`` and its order key: the columns that the schema names, else its row in the caller's table,
    or its number in the stream.

    Args:
        bound: the query.
        batch: the events that the matches point into.
        matches: n matches.
        source: the name of the table or stream.

    Returns:
        A string array of n ids.
    """
    prefix = prefix_of(bound, source)
    identity = _identities(batch, matches.positions)
    entries = np.empty((len(matches.positions), 1 + identity.shape[1]), "<i8")
    entries[:, 0] = matches.variables
    entries[:, 1:] = identity
    # One run of bytes for each match: its window, if it has one, then its entries.
    words = entries.reshape(-1)
    ends = matches.offsets * entries.shape[1]
    if matches.window_start_us is not None and matches.window_end_us is not None:
        windows = np.stack([matches.window_start_us, matches.window_end_us], axis=1).astype("<i8")
        words = np.insert(words, np.repeat(ends[:-1], 2), windows.reshape(-1))
        ends = ends + 2 * np.arange(len(ends))
    if ENABLED and len(matches) > FEW_MATCHES and is_compiled(kernel := digest_kernel()):
        return _digests_by_kernel(kernel, prefix, words, ends).cast(ARROW_TYPE)
    return texts_of(_digests(prefix, words, ends)).cast(ARROW_TYPE)


def prefix_of(bound: BoundQuery, source: str) -> bytes:
    """What the hashes of all matches of a query begin with."""
    parts = [part.encode() for part in (print_query(bound.query), source)]
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def _digests(prefix: bytes, words: Int64Array, ends: Int64Array) -> list[str]:
    """The digest of each message: the prefix, then the words from one end to the next."""
    data = memoryview(words.tobytes())
    bounds = (ends * 8).tolist()
    copy = blake2b(prefix, digest_size=DIGEST_BYTES).copy
    digests = []
    start = bounds[0]
    for end in bounds[1:]:
        state = copy()
        state.update(data[start:end])
        digests.append(state.hexdigest())
        start = end
    return digests


def _digests_by_kernel(kernel: Kernel, prefix: bytes, words: Int64Array, ends: Int64Array) -> Any:
    """The same as an Arrow array, in less than half of the time."""
    n, n_digits = len(ends) - 1, 2 * DIGEST_BYTES
    padded = np.zeros(len(prefix) // 8 + 1, "<u8")
    padded.view(np.uint8)[: len(prefix)] = np.frombuffer(prefix, np.uint8)
    digits, work = np.empty(n_digits * n, np.uint8), np.zeros(k.WORK_WORDS, np.uint64)
    messages = np.ascontiguousarray(words, "<i8").view(np.uint64)
    kernel(padded, len(prefix), messages, np.ascontiguousarray(ends), k.tables(), work, digits)
    places = np.arange(0, n_digits * n + 1, n_digits, dtype=np.int64)
    return pa.Array.from_buffers(pa.large_string(), n, [None, pa.py_buffer(places), pa.py_buffer(digits)])


def _identities(batch: EventBatch, positions: Int64Array) -> npt.NDArray[np.int64]:
    """The order key of the events at these positions as machine words, shape (m, words)."""
    if not batch.schema.order:
        return batch.numbers_of(positions).reshape(-1, 1)
    # Events of many matches are worked on once, as are all of a batch; of a few matches only their own.
    few = len(positions) < len(batch)
    words = [word for name in batch.schema.order for word in _words(batch, name, positions if few else None)]
    identities = np.stack(words, axis=1)
    return identities if few else identities[positions]


def _words(batch: EventBatch, name: str, positions: Int64Array | None) -> list[Int64Array]:
    """A column of the order key: whether there is a value, and what it is."""
    column = batch.column((name,))
    if isinstance(column, ArrowColumn):
        raise SchemaError(f"the column {name!r} cannot be part of the order key", remedy="use numbers, text or times")
    if positions is not None:
        column = column.take(positions)
    return [column.is_valid().astype(np.int64), *_value_words(column)]


def _value_words(column: Column) -> list[Int64Array]:
    match column.type.kind:
        case Kind.TEXT:
            # Codes depend on the batch: a text stands for itself, by its own hash.
            column = compacted(column)
            texts = column.dictionary.to_pylist()
            digests = b"".join(blake2b(t.encode(), digest_size=DIGEST_BYTES).digest() for t in texts)
            by_code = np.frombuffer(digests, "<i8").astype(np.int64).reshape(-1, 2)
            valid = column.is_valid()
            return [np.where(valid, by_code[column.values, word], 0) for word in (0, 1)]
        case Kind.FLOAT:
            return [np.where(np.isnan(column.values), np.nan, column.values + 0.0).view(np.int64)]
        case _:
            return [column.values.astype(np.int64, copy=False)]
