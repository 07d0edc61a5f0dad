"""Text as codes into a dictionary of its distinct values."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.arrow_types import is_text
from cepheid.events.column import BoolArray, Int64Array
from cepheid.events.dictionaries import unified

_SAMPLE_ROWS = 2_048
_ATTEMPTS = 3
_MOST_DISTINCT = 32
_FEWEST_ROWS = 20_000
# Blocks whose arrays of words stay in the processor's cache.
_BLOCK_ROWS = 16_384
_SLOT_BITS = 8
# Odd multipliers with well-mixed bits (the fractional parts of the golden ratio and its like): any such do, as
# the one that separates the values at hand is searched for.
_MULTIPLIERS = tuple(
    np.uint64(m)
    for m in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
)


def encode_text(values: Any) -> tuple[npt.NDArray[Any], BoolArray | None, Any]:
    """Codes for the texts of a column.

    Args:
        values: an Arrow Array or ChunkedArray of text: string, large_string, string_view, or dictionary-encoded.

    Returns:
        Codes (an integer array, of no meaning where there is no value), where there is a value (None: everywhere),
        and the dictionary: distinct texts, no NULL among them, as a string or large_string array.
    """
    arrow = values.type
    if pa.types.is_run_end_encoded(arrow):
        values = pa.chunked_array([pc.run_end_decode(chunk) for chunk in chunks_of(values)], type=arrow.value_type)
        arrow = values.type
    if pa.types.is_dictionary(arrow):
        return _from_dictionary(values, made_here=False)
    if len(values) >= _FEWEST_ROWS and not pa.types.is_string_view(arrow) and values.null_count == 0:
        quick = _encode_few(chunks_of(values))
        if quick is not None:
            return quick[0], None, quick[1]
    return _from_dictionary(values.dictionary_encode(), made_here=True)


def require_utf8(texts: Any, name: str) -> Any:
    """The texts as they are.

    Args:
        texts: a string or large_string array.
        name: of the column, for the error.

    Raises:
        DataError: the bytes of one are not UTF-8.
    """
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"the column {name!r} holds text that is not UTF-8: {error}",
            remedy="decode the bytes with the encoding that they were written in, or cast the column to binary",
        ) from None
    return texts


def chunks_of(values: Any) -> list[Any]:
    """The arrays that a ChunkedArray consists of, those without rows left out; an Array is its own only chunk."""
    if isinstance(values, pa.ChunkedArray):
        return [chunk for chunk in values.chunks if len(chunk)]
    return [values] if len(values) else []


def _from_dictionary(values: Any, *, made_here: bool) -> tuple[npt.NDArray[Any], BoolArray | None, Any]:
    if isinstance(values, pa.ChunkedArray) and values.num_chunks > 1:
        values = unified(values)
    chunks = chunks_of(values)
    if not chunks:
        return np.zeros(0, np.int64), None, pa.array([], pa.string())
    dictionary = chunks[0].dictionary
    parts = [_indices(chunk) for chunk in chunks]
    codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
    valid = _validity([chunk.indices for chunk in chunks])
    if not is_text(dictionary.type):
        dictionary = dictionary.cast(pa.string())
    elif pa.types.is_string_view(dictionary.type):
        dictionary = dictionary.cast(pa.large_string())
    if not made_here and (dictionary.null_count or len(dictionary.unique()) != len(dictionary)):
        # A dictionary made elsewhere may repeat values or hold NULL: equal texts must have equal codes.
        inner_codes, inner_valid, dictionary = _from_dictionary(dictionary.dictionary_encode(), made_here=True)
        safe = codes if valid is None else np.where(valid, codes, 0)
        codes = inner_codes[safe]
        if inner_valid is not None:
            valid = inner_valid[safe] if valid is None else inner_valid[safe] & valid
    return codes, valid, dictionary


def _indices(chunk: Any) -> npt.NDArray[Any]:
    """The indices of a dictionary array, NULL ones as whatever lies in the buffer: Arrow promises no value there."""
    indices = chunk.indices
    if indices.null_count == 0:
        result: npt.NDArray[Any] = numpy_of(indices)
        return result
    filled = numpy_of(indices).copy()
    filled[~numpy_of(indices.is_valid())] = 0
    return filled


def _validity(chunks: list[Any]) -> BoolArray | None:
    if all(chunk.null_count == 0 for chunk in chunks):
        return None
    parts = [numpy_of(chunk.is_valid()) for chunk in chunks]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _encode_few(chunks: list[Any]) -> tuple[Int64Array, Any] | None:
    """Codes for a long column of few short texts, without hashing each: event types, statuses, countries.

    A sample of the rows tells which texts there are. A text of up to 8 bytes is one machine word, so that one
    multiplication and a table of 256 slots give its code, and comparing the word with that of the slot proves the code
    right. A text that the sample did not show is added to it, and the work begun again.

    Returns:
        Codes and dictionary; None where the column is not like that.
    """
    if sys.byteorder != "little":
        return None
    texts = _sample(chunks).unique()
    for _ in range(_ATTEMPTS):
        if len(texts) > _MOST_DISTINCT:
            return None
        words = _words(texts)
        multiplier = None if words is None else _separating(words)
        if words is None or multiplier is None:
            return None
        codes, unknown = _codes(chunks, words, multiplier)
        if codes is not None:
            return codes, texts
        if unknown is None:
            return None
        texts = pa.concat_arrays([texts, unknown]).unique()
    return None


def _sample(chunks: list[Any]) -> Any:
    """Texts from rows all over a column."""
    each = max(1, _SAMPLE_ROWS // len(chunks))
    parts = [c.take(array_of(np.linspace(0, len(c) - 1, min(each, len(c))).astype(np.int64))) for c in chunks]
    return pa.concat_arrays(parts)


def _separating(words: npt.NDArray[np.uint64]) -> np.uint64 | None:
    """A multiplier that gives each of the words a slot of its own, or None."""
    for multiplier in _MULTIPLIERS:
        if len(np.unique(_slots(words, multiplier))) == len(words):
            return multiplier
    return None


def _codes(chunks: list[Any], words: npt.NDArray[np.uint64], multiplier: np.uint64) -> tuple[Int64Array | None, Any]:
    """The code of every text, by the words that the codes stand for.

    Returns:
        The codes; or None, and the texts of the block that has an unknown one (None: one that is no word).
    """
    slots = _slots(words, multiplier)
    word_of_slot = np.zeros(1 << _SLOT_BITS, np.uint64)
    code_of_slot = np.full(1 << _SLOT_BITS, -1, np.int64)
    word_of_slot[slots], code_of_slot[slots] = words, np.arange(len(words))
    codes = np.empty(sum(map(len, chunks)), np.int64)
    done = 0
    for chunk in chunks:
        for begin in range(0, len(chunk), _BLOCK_ROWS):
            texts = chunk.slice(begin, _BLOCK_ROWS)
            found = _words(texts)
            if found is None:
                return None, None
            slots = _slots(found, multiplier)
            block = codes[done : done + len(slots)]
            code_of_slot.take(slots, out=block, mode="wrap")
            # An empty slot holds a zero word, as the empty text does: only the code tells them apart.
            if block.min() < 0 or not np.array_equal(word_of_slot.take(slots), found):
                return None, texts
            done += len(slots)
    return codes, None


def _slots(words: npt.NDArray[np.uint64], multiplier: np.uint64) -> npt.NDArray[np.intp]:
    key = words * multiplier
    key >>= np.uint64(64 - _SLOT_BITS)
    return key.astype(np.intp)


def _words(texts: Any) -> npt.NDArray[np.uint64] | None:
    """The bytes of each text as one word, such that different texts differ.

    Returns:
        The words; None where a text is longer than 8 bytes, or has a zero byte (which padding looks like).
    """
    n = len(texts)
    wide = pa.types.is_large_string(texts.type)
    offsets = np.frombuffer(texts.buffers()[1], np.int64 if wide else np.int32)[texts.offset : texts.offset + n + 1]
    begin, end = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    if end == begin or lengths.max() > 8:
        return None
    raw = np.frombuffer(texts.buffers()[2], np.uint8)[begin:end]
    if raw.min() == 0:
        return None
    # Two words are read around every text's start, so there must be room after the last one.
    padded = np.zeros((len(raw) + 23) // 8, np.uint64)
    padded.view(np.uint8)[: len(raw)] = raw
    starts = offsets[:-1].astype(np.int64)
    starts -= begin
    words = _word_from(padded, starts)
    # The bytes of a text go to the top of the word; what was read beyond its end is shifted out.
    np.left_shift(words, ((8 - lengths.astype(np.int64)) << 3).view(np.uint64), out=words)
    # Shifting a word by all its 64 bits is not defined: empty texts are set.
    if lengths.min() == 0:
        words[lengths == 0] = 0
    return words


def _word_from(words: npt.NDArray[np.uint64], starts: Int64Array) -> npt.NDArray[np.uint64]:
    """The eight bytes from each start on, as a word: from two aligned words, as NumPy reads others slowly."""
    index = starts >> 3
    bits = ((starts & 7) << 3).view(np.uint64)
    low = words.take(index)
    np.right_shift(low, bits, out=low)
    index += 1
    high = words.take(index)
    # The other 64 - bits, in two shifts, as all 64 at once is not defined.
    np.left_shift(high, np.uint64(1), out=high)
    np.left_shift(high, bits ^ np.uint64(63), out=high)
    low |= high
    return low
