"""BLAKE2b (RFC 7693) of many short messages that begin alike, as hexadecimal digits: 128 bits each, no key."""

from __future__ import annotations

from typing import cast

import numpy as np

from cepheid.kernels.digest_table import (
    BLOCK_WORDS,
    COUNTED,
    DIGEST_BYTES,
    KEPT,
    LAST,
    MESSAGE,
    N_ROUNDS,
    SIGMA,
    STATE,
    VECTOR,
)
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Bytes, Ints, Words
from cepheid.kernels.words import unsigned

# Numba makes a float of a signed and an unsigned number: all of these are unsigned.
_ZERO, _ONE, _3, _4, _5, _7, _15, _16 = cast(list[int], [np.uint64(n) for n in (0, 1, 3, 4, 5, 7, 15, 16)])
_24, _32, _39, _40, _48, _63, _127, _128 = cast(list[int], [np.uint64(n) for n in (24, 32, 39, 40, 48, 63, 127, 128)])
_9, _ALL, _PARAMETERS = cast(list[int], [np.uint64(n) for n in (9, 2**64 - 1, 0x01010000 | DIGEST_BYTES)])


@kernel(macro=True)
def mixed(a: int, b: int, c: int, d: int, x: int, y: int) -> tuple[int, int, int, int]:
    """The mixing function G (RFC 7693, 3.1)."""
    a = a + b + x
    d = ((d ^ a) >> _32) | ((d ^ a) << _32)
    c = c + d
    b = ((b ^ c) >> _24) | ((b ^ c) << _40)
    a = a + b + y
    d = ((d ^ a) >> _16) | ((d ^ a) << _48)
    c = c + d
    b = ((b ^ c) >> _63) | ((b ^ c) << _ONE)
    return a, b, c, d


@kernel()
def compress(tables: Words, work: Words) -> None:
    """The compression function F (RFC 7693, 3.2), on the state and the message in ``work``."""
    h = STATE
    v0, v1, v2, v3 = work[h], work[h + 1], work[h + 2], work[h + 3]
    v4, v5, v6, v7 = work[h + 4], work[h + 5], work[h + 6], work[h + 7]
    v8, v9, v10, v11 = tables[0], tables[1], tables[2], tables[3]
    v12, v13, v14, v15 = tables[4] ^ work[COUNTED], tables[5], tables[6] ^ work[LAST], tables[7]
    m = unsigned(MESSAGE)
    for number in range(N_ROUNDS):
        s = unsigned(SIGMA + BLOCK_WORDS * number)
        v0, v4, v8, v12 = mixed(v0, v4, v8, v12, work[m + tables[s]], work[m + tables[s + unsigned(1)]])
        v1, v5, v9, v13 = mixed(v1, v5, v9, v13, work[m + tables[s + unsigned(2)]], work[m + tables[s + unsigned(3)]])
        v2, v6, v10, v14 = mixed(v2, v6, v10, v14, work[m + tables[s + unsigned(4)]], work[m + tables[s + unsigned(5)]])
        v3, v7, v11, v15 = mixed(v3, v7, v11, v15, work[m + tables[s + unsigned(6)]], work[m + tables[s + unsigned(7)]])
        v0, v5, v10, v15 = mixed(v0, v5, v10, v15, work[m + tables[s + unsigned(8)]], work[m + tables[s + unsigned(9)]])
        v1, v6, v11, v12 = mixed(
            v1, v6, v11, v12, work[m + tables[s + unsigned(10)]], work[m + tables[s + unsigned(11)]]
        )
        v2, v7, v8, v13 = mixed(v2, v7, v8, v13, work[m + tables[s + unsigned(12)]], work[m + tables[s + unsigned(13)]])
        v3, v4, v9, v14 = mixed(v3, v4, v9, v14, work[m + tables[s + unsigned(14)]], work[m + tables[s + unsigned(15)]])
    work[h] ^= v0 ^ v8
    work[h + 1] ^= v1 ^ v9
    work[h + 2] ^= v2 ^ v10
    work[h + 3] ^= v3 ^ v11
    work[h + 4] ^= v4 ^ v12
    work[h + 5] ^= v5 ^ v13
    work[h + 6] ^= v6 ^ v14
    work[h + 7] ^= v7 ^ v15


@kernel(entry=True)
def hex_digests(
    prefix: Words, n_prefix: int, words: Words, ends: Ints, tables: Words, work: Words, texts: Bytes
) -> int:
    """The digest of each message: ``prefix`` and then its own words.

    Args:
        prefix: uint64, the bytes that all begin with, little-endian, filled up with zeros.
        n_prefix: how many bytes these are.
        words: uint64, the messages' own words one after the other.
        ends: int64, (n + 1,): where the words of each message begin and end; none is empty.
        tables: as `digest_table.tables` gives them.
        work: uint64, (WORK_WORDS,).
        texts: uint8, (32 * n,): gets two digits for each byte.

    Returns:
        The number of messages.
    """
    for j in range(8):
        work[STATE + j] = tables[VECTOR + j]
    work[STATE] ^= _PARAMETERS
    work[LAST] = _ZERO
    n_blocks = unsigned(n_prefix) >> _7
    for block in range(n_blocks):
        for j in range(BLOCK_WORDS):
            work[MESSAGE + j] = prefix[unsigned(BLOCK_WORDS) * unsigned(block) + unsigned(j)]
        work[COUNTED] = (unsigned(block) + _ONE) * _128
        compress(tables, work)
    for j in range(8):
        work[KEPT + j] = work[STATE + j]
    # What is left of the prefix: whole words, and a part of one into which the first bytes of a message go.
    tail = n_blocks << _4
    n_tail = (unsigned(n_prefix) & _127) >> _3
    shift = (unsigned(n_prefix) & _7) << _3
    for i in range(len(ends) - 1):
        for j in range(8):
            work[STATE + j] = work[KEPT + j]
        for j in range(n_tail):
            work[unsigned(MESSAGE) + unsigned(j)] = prefix[tail + unsigned(j)]
        part = prefix[tail + n_tail] if shift != _ZERO else _ZERO
        filled, counted = n_tail, n_blocks << _7
        work[LAST] = _ZERO
        end = unsigned(ends[i + 1])
        for place in range(unsigned(ends[i]), end):
            if filled == _16:
                counted += _128
                work[COUNTED] = counted
                compress(tables, work)
                filled = _ZERO
            word = words[place]
            work[unsigned(MESSAGE) + filled] = part | (word << shift)
            filled += _ONE
            # Shifting a word by all its 64 bits at once is not defined.
            part = (word >> _ONE) >> (_63 - shift)
        if shift != _ZERO:
            if filled == _16:
                counted += _128
                work[COUNTED] = counted
                compress(tables, work)
                filled = _ZERO
            work[unsigned(MESSAGE) + filled] = part
            filled += _ONE
        while filled < _16:
            work[unsigned(MESSAGE) + filled] = _ZERO
            filled += _ONE
        work[COUNTED] = unsigned(n_prefix) + ((end - unsigned(ends[i])) << _3)
        work[LAST] = _ALL
        compress(tables, work)
        text = unsigned(i) << _5
        for byte in range(DIGEST_BYTES):
            value = work[unsigned(STATE) + (unsigned(byte) >> _3)] >> ((unsigned(byte) & _7) << _3)
            high, low = (value >> _4) & _15, value & _15
            texts[text] = high + _48 + _39 * unsigned(high > _9)
            texts[text + _ONE] = low + _48 + _39 * unsigned(low > _9)
            text += _ONE + _ONE
    return len(ends) - 1
