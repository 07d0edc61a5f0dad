"""What `kernels.blake2b` reads, and where things lie in what it works on. Holds no kernel, so it needs no Numba."""

from __future__ import annotations

import numpy as np

from cepheid.kernels.layout import Words

DIGEST_BYTES = 16
BLOCK_WORDS = 16

# Where things lie in `work`, in words.
STATE, MESSAGE, COUNTED, LAST, KEPT, WORK_WORDS = 0, 8, 24, 25, 26, 34

# Where things lie in `tables`, in words.
VECTOR, SIGMA, N_ROUNDS = 0, 8, 12

_ORDER = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
"""Sigma (RFC 7693, 2.7): in which order a round takes the words of a message; the last two rounds begin again."""

_INITIAL = (
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
)
"""The initialization vector (RFC 7693, 2.6)."""


def tables() -> Words:
    """What the kernel reads: the initialization vector, then the order of the words of each round; uint64."""
    rows = [_ORDER[number % len(_ORDER)] for number in range(N_ROUNDS)]
    return np.array([*_INITIAL, *(place for row in rows for place in row)], np.uint64)
