"""The kernel that hashes matches gives what Python's BLAKE2b gives."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pytest

from cepheid.compiler.load import digest_kernel
from cepheid.engine import match_id
from cepheid.kernels.jit import ENABLED

pytestmark = pytest.mark.skipif(not ENABLED, reason="without the compiler Python hashes all matches")

# Around whole words and whole blocks of 128 bytes.
LENGTHS = (0, 1, 7, 8, 9, 63, 64, 119, 120, 121, 127, 128, 129, 135, 136, 255, 256, 257, 300)


@pytest.mark.parametrize("n_bytes", LENGTHS)
def test_digests_are_those_of_hashlib(n_bytes: int):
    random = np.random.default_rng(n_bytes)
    prefix = random.bytes(n_bytes)
    ends = np.cumsum([0, *range(1, 37)])
    words = random.integers(-(2**63), 2**63, ends[-1])
    right = [
        blake2b(prefix + words[begin:end].tobytes(), digest_size=match_id.DIGEST_BYTES).hexdigest()
        for begin, end in pairwise(ends)
    ]
    assert match_id._digests(prefix, words, ends) == right
    assert match_id._digests_by_kernel(digest_kernel(), prefix, words, ends).to_pylist() == right


def test_many_matches_have_the_ids_of_few(monkeypatch: pytest.MonkeyPatch):
    import cepheid as cep
    from benchmarks.stream import stream

    for query in (
        "SEQ(A a, B+ b, C c) WHERE SAME[key] WITHIN 1000 ms",
        "SEQ(A a, B b) WHERE SAME[key] WINDOW 1000 ms SLIDE 500 ms",
    ):

        def ids(query: str = query) -> list[str]:
            found = cep.match(stream(2_000), f"PATTERN {query}", time="ts", type="type", time_unit="ms")
            return found["match_id"].to_pylist()

        by_python = ids()
        monkeypatch.setattr(match_id, "FEW_MATCHES", 0)
        assert ids() == by_python
        assert len(set(by_python)) == len(by_python) > 0
        monkeypatch.undo()
