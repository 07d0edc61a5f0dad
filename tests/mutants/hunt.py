"""Compares random pairs until two roads differ: exit code 1; 0 where none differ in the given number of pairs.

It runs in a process of its own, on a copy of the package that has a fault.
"""

from __future__ import annotations

import sys
import time
from functools import reduce
from operator import or_
from pathlib import Path

import cepheid
from cepheid.testing.fuzz import SHARES, Search
from cepheid.testing.strategies_features import Features


def hunt(seed: int, n_pairs: int, longest_s: float, always: Features) -> int:
    # A fault is in one part of the language: what else a query could use would only bury it.
    search, start_s = Search(seed, n_streams=6, always=always, shares=SHARES[:1]), time.monotonic()
    while search.coverage.n_pairs < n_pairs and time.monotonic() - start_s < longest_s:
        if search.step() is not None:
            print(search.coverage.n_pairs)
            return 1
    print(search.coverage.n_pairs)
    return 0


if __name__ == "__main__":
    folder, seed, pairs, seconds, *names = sys.argv[1:]
    assert Path(cepheid.__file__).is_relative_to(folder), f"this is another cepheid: {cepheid.__file__}"
    sys.exit(
        hunt(int(seed), int(pairs), float(seconds), reduce(or_, (Features[name] for name in names), Features.NONE))
    )
