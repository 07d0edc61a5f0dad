"""Looks texts up in a table of a few known ones, without making codes or hashing whole texts."""

from __future__ import annotations

from typing import cast

import numpy as np

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Bytes, Halves, Ints, Words
from cepheid.kernels.text_table import (
    L_LENGTH,
    L_MULTIPLIER,
    L_REST,
    L_SHIFT,
    L_VALUE,
    L_WORD,
    LOOKUP_HEADER,
    SLOT_WIDTH,
)
from cepheid.kernels.words import unsigned

# Numba makes a float of a signed and an unsigned number: all of these are unsigned.
_ZERO, _ONE, _THREE, _FOUR, _SEVEN, _EIGHT, _63 = cast(list[int], [np.uint64(n) for n in (0, 1, 3, 4, 7, 8, 63)])
_HEADER, _WIDTH, _LENGTH, _WORD, _VALUE, _REST = cast(
    list[int], [np.uint64(n) for n in (LOOKUP_HEADER, SLOT_WIDTH, L_LENGTH, L_WORD, L_VALUE, L_REST)]
)
_ALL, _SPREAD = cast(list[int], [np.uint64(n) for n in (2**64 - 1, 0x9E3779B97F4A7C15)])


@kernel(macro=True)
def word_from(words: Words, begin: int, n_bytes: int) -> int:
    """The bytes from ``begin`` on as a word, at most eight of them, filled up with zeros; from two aligned words."""
    low = words[begin >> _THREE] >> ((begin & _SEVEN) << _THREE)
    # Shifting a word by all its 64 bits at once is not defined.
    high = (words[(begin >> _THREE) + _ONE] << _ONE) << (_63 - ((begin & _SEVEN) << _THREE))
    missing = (_EIGHT - min(n_bytes, _EIGHT)) * _FOUR
    return (low | high) & ((_ALL >> missing) >> missing)


@kernel(entry=True)
def look_up_texts(
    offsets: Ints, words: Words, lookup: Words, rest: Words, values: Ints, numbers: Ints, found: Ints
) -> int:
    """Those texts for which the table has a value other than zero: ``values[0]`` for those that it does not know.

    Args:
        offsets: int64, (n + 1,): where each text begins, in bytes, and the end of the last.
        words: uint64: the bytes, little-endian, and at least eight more.
        lookup, rest, values: the table.
        numbers, found: int64, (n,): room for the numbers of the texts, and for their values.

    Returns:
        How many there are.
    """
    multiplier, shift = lookup[L_MULTIPLIER], lookup[L_SHIFT]
    n_found = 0
    end = unsigned(offsets[0])
    for i in range(len(offsets) - 1):
        begin = end
        end = unsigned(offsets[i + 1])
        length = end - begin
        word = word_from(words, begin, length)
        key = word ^ length
        if length > _EIGHT:  # of a longer text, the last eight bytes as well
            key ^= word_from(words, end - _EIGHT, _EIGHT) * _SPREAD
        slot = _HEADER + ((key * multiplier) >> shift) * _WIDTH
        # No branch: which texts are known cannot be foreseen.
        known = (lookup[slot + _LENGTH] ^ length) | (lookup[slot + _WORD] ^ word) == _ZERO
        which = lookup[slot + _VALUE] * unsigned(known)
        if length > _EIGHT and known:
            place = lookup[slot + _REST]
            done = _EIGHT
            while done < length:
                if word_from(words, begin + done, length - done) != rest[place]:
                    which = _ZERO
                    break
                place += _ONE
                done += _EIGHT
        value = values[which]
        numbers[n_found] = i
        found[n_found] = value
        n_found += int(value != 0)
    return n_found


@kernel(entry=True)
def look_up_bytes(texts: Bytes, values: Ints, first: int, numbers: Ints, found: Ints) -> int:
    """The same for texts of one byte each.

    Args:
        texts: uint8, (n,).
        values: int64, (256,): the value of each text.
        first: the number of the first text.
        numbers, found: int64, (n,): room for the numbers of the texts, and for their values.

    Returns:
        How many there are.
    """
    n_found = 0
    for i in range(len(texts)):
        value = values[texts[i]]
        numbers[n_found] = first + i
        found[n_found] = value
        n_found += int(value != 0)
    return n_found


@kernel(entry=True)
def fits_of_bytes(offsets: Halves, texts: Bytes, values: Bytes, fits: Bytes) -> int:
    """The value of each text, where all have one byte.

    Args:
        offsets: int32, (n + 1,): where each text begins, in bytes, and the end of the last.
        texts: uint8: the bytes.
        values: uint8, (256,): the value of each text.
        fits: uint8, (n,): gets the values.

    Returns:
        1; 0 where some text has more or fewer bytes, and the values are not to be used.
    """
    others = 0
    begin = offsets[0]
    for i in range(len(fits)):
        others |= (offsets[i + 1] - offsets[i]) ^ 1
    if others != 0:
        return 0
    for i in range(len(fits)):
        fits[i] = values[texts[begin + i]]
    return 1
