"""Which elements of a plan can take each event, by its type."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheid.compiler.load import fits_kernel, text_kernel
from cepheid.events.batch import EventBatch
from cepheid.events.text import chunks_of
from cepheid.kernels import text_table as k
from cepheid.plan.automaton import Element

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

MANY_EVENTS = 20_000
"""Fewer are not worth the loading of a kernel, which takes 0.3 ms where it lies on disk: the codes of as many types
take 0.4 ms, and those of a million 9 ms. The bound itself is chosen, not measured."""

BLOCK_EVENTS = 1 << 16
"""So many texts of several bytes are looked up at a time, in arrays that stay in the processor's cache."""

_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
"""Odd, with well-mixed bits."""

_MOST_SLOT_BITS = 12
_MOST_BYTES = 1 << 8
_MOST_OFFSET = 1 << 31


def fitting_by_type(elements: Sequence[Element], batch: EventBatch) -> tuple[Ints, Ints]:
    """The events of which some element takes the type.

    Returns:
        their positions, ascending, and for each the elements as bits: int64, both of shape (n,).
    """
    if batch.schema.type is None:
        everything = sum(1 << e.index for e in elements)
        return np.arange(len(batch)), np.full(len(batch), everything, np.int64)
    of_type, of_any_type = _elements_of_types(elements)
    if batch.rows is None and len(batch) >= MANY_EVENTS:
        found = _looked_up(batch.table.column(batch.schema.type), of_type, of_any_type)
        if found is not None:
            return found
    lookup = np.array([of_type.get(name, of_any_type) for name in batch.type_names] or [0], np.int64)
    codes = batch.type_codes
    assert codes is not None
    fit = lookup.take(codes)
    positions = np.flatnonzero(fit != 0)
    return positions, fit[positions]


def numbers_by_type(types: Sequence[str], batch: EventBatch) -> Ints:
    """The number of the type of each event among ``types``; for any other, how many these are: int64, (n,)."""
    n_types = len(types)
    if batch.schema.type is None:
        return np.full(len(batch), n_types, np.int64)
    if batch.rows is None and len(batch) >= MANY_EVENTS:
        known = {name: number + 1 for number, name in enumerate(types)}
        found = _looked_up(batch.table.column(batch.schema.type), known, n_types + 1)
        if found is not None and len(found[0]) == len(batch):
            return found[1] - 1
    number_of = {name: number for number, name in enumerate(types)}
    lookup = np.array([number_of.get(name, n_types) for name in batch.type_names] or [n_types], np.int64)
    codes = batch.type_codes
    assert codes is not None
    return lookup[codes]


def fits_by_type(elements: Sequence[Element], batch: EventBatch) -> NDArray[np.uint8]:
    """The elements that take the type of each event, as bits: uint8, (n,). There are at most eight elements."""
    n = len(batch)
    if batch.schema.type is not None and batch.rows is None:
        found = _found_bytes(batch.table.column(batch.schema.type), *_elements_of_types(elements))
        if found is not None:
            return found
    positions, fit = fitting_by_type(elements, batch)
    fits = np.zeros(n, np.uint8)
    fits[positions] = fit
    return fits


def codes_of_types(codes: Mapping[str, int], batch: EventBatch) -> NDArray[np.int32]:
    """The code of each event's type; 0 for types that have none, and where events have no types.

    Args:
        codes: type -> code, from 1 to the number of types.
        batch: the events.

    Returns:
        int32, (n,).
    """
    n = len(batch)
    if batch.schema.type is None:
        return np.zeros(n, np.int32)
    if batch.rows is None and n >= MANY_EVENTS and len(codes) < _MOST_BYTES:
        found = _found_bytes(batch.table.column(batch.schema.type), codes, 0)
        if found is not None:
            return found.astype(np.int32)
    numbers = batch.type_codes
    assert numbers is not None
    return np.array([codes.get(name, 0) for name in batch.type_names] or [0], np.int32).take(numbers)


def _found_bytes(values: Any, known: Mapping[str, int], otherwise: int) -> NDArray[np.uint8] | None:
    """The value of each text of a column, where all have one byte, and the kernel is there; else None."""
    chunks = chunks_of(values)
    if len(chunks) != 1 or not _has_buffers(chunks[0].type):
        return None
    offsets, raw = _buffers(chunks[0])
    if int(offsets[-1]) >= _MOST_OFFSET:
        return None
    kernel = fits_kernel()
    if kernel is None:
        return None
    found = np.empty(len(chunks[0]), np.uint8)
    halves = offsets.astype(np.int32, copy=False)
    return found if kernel(halves, raw, _of_byte(known, otherwise).astype(np.uint8), found) else None


def _elements_of_types(elements: Sequence[Element]) -> tuple[dict[str, int], int]:
    """The elements that take each type that is named, as bits, and those that take any other."""
    of_any_type = sum(1 << e.index for e in elements if not e.types)
    names = sorted({name for element in elements for name in element.types})
    of_type = {name: of_any_type | sum(1 << e.index for e in elements if name in e.types) for name in names}
    return of_type, of_any_type


def _has_buffers(arrow: Any) -> bool:
    """Whether the texts of a type lie one after the other."""
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _all_bytes(offsets: NDArray[Any]) -> bool:
    """Whether all texts have one byte, by where they begin."""
    return int(offsets[-1]) - int(offsets[0]) == len(offsets) - 1 and bool((offsets[1:] - offsets[:-1] == 1).all())


def _looked_up(values: Any, known: Mapping[str, int], otherwise: int) -> tuple[Ints, Ints] | None:
    """The texts of a column for which ``known``, or else ``otherwise``, is not 0: their rows, and what it is.

    Returns:
        None where the bytes of the texts do not lie one after the other, or a kernel has no machine code yet.
    """
    if not _has_buffers(values.type) or sys.byteorder != "little":
        return None
    table = lookup_table(known, otherwise)
    if table is None:
        return None
    numbers, found = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    done = n_found = 0
    for chunk in chunks_of(values):
        offsets, raw = _buffers(chunk)
        if _all_bytes(offsets):
            kernel = text_kernel(bytes_only=True)
            if kernel is None:
                return None
            texts, of_byte = raw[int(offsets[0]) :][: len(chunk)], _of_byte(known, otherwise)
            n_found += kernel(texts, of_byte, done, numbers[n_found:], found[n_found:])
            done += len(chunk)
            continue
        kernel = text_kernel()
        if kernel is None:
            return None
        for at in range(0, len(chunk), BLOCK_EVENTS):
            block = offsets[at : at + BLOCK_EVENTS + 1]
            begin, end = int(block[0]), int(block[-1])
            # Words are read whole, and the one after the last, too.
            words = np.zeros((end - begin) // 8 + 2, np.uint64)
            words.view(np.uint8)[: end - begin] = raw[begin:end]
            with np.errstate(over="ignore"):  # in plain Python, products of words are reported when they wrap
                n_more = kernel(block.astype(np.int64) - begin, words, *table, numbers[n_found:], found[n_found:])
            numbers[n_found : n_found + n_more] += done
            n_found += n_more
            done += len(block) - 1
    return numbers[:n_found], found[:n_found]


def _buffers(chunk: Any) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Where each text of an Arrow array begins among the bytes of all, and the end of the last; and these bytes."""
    wide = pa.types.is_large_string(chunk.type)
    whole: NDArray[Any] = np.frombuffer(chunk.buffers()[1], np.int64 if wide else np.int32)
    return whole[chunk.offset : chunk.offset + len(chunk) + 1], np.frombuffer(chunk.buffers()[2] or b"", np.uint8)


def _of_byte(known: Mapping[str, int], otherwise: int) -> Ints:
    """The value of each text of one byte: int64, (256,)."""
    values = np.full(256, otherwise, np.int64)
    for text, value in known.items():
        if len(text.encode()) == 1:
            values[ord(text)] = value
    return values


def lookup_table(known: Mapping[str, int], otherwise: int) -> tuple[Words, Words, Ints] | None:
    """The arrays ``lookup``, ``rest`` and ``values`` of `kernels.texts` for some texts and their values.

    Returns:
        None where no multiplier gives each text a slot of its own.
    """
    words = {text: _words_of(text.encode()) for text in known}
    for bits in range(max(4, (4 * len(known)).bit_length()), _MOST_SLOT_BITS + 1):
        for multiplier in _MULTIPLIERS:
            slots = {text: _slot(text.encode(), words[text][0], multiplier, 64 - bits) for text in known}
            if len(set(slots.values())) < len(known):
                continue
            table = np.full(k.LOOKUP_HEADER + (k.SLOT_WIDTH << bits), k.NO_TEXT, np.uint64)
            table[k.L_MULTIPLIER], table[k.L_SHIFT] = multiplier, 64 - bits
            rest: list[int] = []
            for number, (text, slot) in enumerate(slots.items(), start=1):
                first, *further = words[text]
                place = k.LOOKUP_HEADER + slot * k.SLOT_WIDTH
                table[place : place + k.SLOT_WIDTH] = (len(text.encode()), first, number, len(rest))
                rest.extend(further)
            values = np.array([otherwise, *known.values()], np.int64)
            return table, np.array([*rest, 0], np.uint64), values
    return None


def _words_of(text: bytes) -> list[int]:
    return [int.from_bytes(text[i : i + 8], "little") for i in range(0, max(1, len(text)), 8)]


def _slot(text: bytes, first: int, multiplier: int, shift: int) -> int:
    """The slot in which `kernels.texts.look_up_texts` looks for a text."""
    key = first ^ len(text)
    if len(text) > 8:
        key ^= int.from_bytes(text[-8:], "little") * 0x9E3779B97F4A7C15 % 2**64
    return key * multiplier % 2**64 >> shift
