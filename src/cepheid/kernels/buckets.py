"""Puts events into buckets, and brings those of several elements together: the loops of `compiler.event_index`."""

from __future__ import annotations

from cepheid.kernels.index import at
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Bytes, Ints, Words

WORD_BYTES = 8


@kernel(entry=True)
def fill_buckets(buckets: Ints, places: Ints, positions: Ints) -> None:
    """The positions of events by their bucket, those of one bucket ascending.

    Args:
        buckets: int64, (n,): the bucket of each event.
        places: int64: where each bucket begins in ``positions``; changed.
        positions: int64, (n,): gets the positions.
    """
    for i in range(len(buckets)):
        bucket = at(buckets[at(i)])
        place = places[bucket]
        positions[at(place)] = i
        places[bucket] = place + 1


@kernel(entry=True)
def mark(positions: Ints, bit: int, bits: Bytes) -> None:
    """Set a bit at each of some positions.

    Args:
        positions: int64, each once.
        bit: from 1 to 128.
        bits: uint8.
    """
    for i in range(len(positions)):
        place = at(positions[at(i)])
        bits[place] = bits[place] | bit


@kernel(entry=True)
def collect(bits: Bytes, words: Words, positions: Ints, found: Ints) -> int:
    """The positions of all bits, ascending, and the bits; they are zeros afterwards.

    Args:
        bits: uint8, as many as a multiple of eight.
        words: the same memory as uint64: words of zeros are passed over.
        positions, found: int64: get them; with room for all.

    Returns:
        How many there are.
    """
    n_found = 0
    for word in range(len(words)):
        if words[at(word)] == 0:
            continue
        for place in range(word * WORD_BYTES, (word + 1) * WORD_BYTES):
            value = int(bits[at(place)])
            if value != 0:
                positions[at(n_found)] = place
                found[at(n_found)] = value
                n_found += 1
        words[at(word)] = 0
    return n_found
