"""Machine code of kernels in files: a later process runs it without Numba."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cepheid
from cepheid.compiler.load import relinkers
from cepheid.compiler.machine_code import MachineCode
from cepheid.kernels.jit import ENABLED

compiled = pytest.mark.skipif(not ENABLED, reason="kernels run as plain Python: CEPHEID_JIT is 0")

MATCH = """
    import json, sys
    import cepheid, numpy as np, pyarrow as pa
    table = pa.table({"ts": np.arange(6), "type": ["A", "B", "A", "C", "B", "C"]})
    found = cepheid.match(table, "PATTERN SEQ(A a, NOT B n, C c) WITHIN 10 ms", time="ts", type="type", time_unit="ms")
    print(json.dumps([len(found), "numba" in sys.modules]))
"""


def _in_new_process(folder: Path) -> list[object]:
    """The number of matches that `MATCH` finds, and whether it imported Numba."""
    source = str(Path(cepheid.__file__).resolve().parents[1])
    environment = {**os.environ, "CEPHEID_CACHE_DIR": str(folder), "PYTHONPATH": source}
    code = "if True:" + MATCH
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    told: list[object] = json.loads(done.stdout)
    return told


@compiled
def test_a_later_process_finds_the_same_without_numba(tmp_path: Path) -> None:
    assert _in_new_process(tmp_path) == [1, True]
    assert _in_new_process(tmp_path) == [1, False]
    (folder,) = tmp_path.iterdir()
    kernel = folder / "advance.advance"
    kernel.write_bytes(kernel.read_bytes()[:-1])
    assert _in_new_process(tmp_path) == [1, True], "a damaged file is made anew"
    assert _in_new_process(tmp_path) == [1, False]


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kernel"
    assert MachineCode.read(path) is None
    code = MachineCode("symbol", ("int", "Ints"), b"object\nfile")
    code.save(path)
    assert MachineCode.read(path) == code
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("damaged", [b"", b"object", b'{"sha256": ""}\nobject'])
def test_a_damaged_file_is_none(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "kernel"
    path.write_bytes(damaged)
    assert MachineCode.read(path) is None


@compiled
@pytest.mark.parametrize(
    "pool",
    [np.zeros(4, np.int32), np.zeros((2, 2), np.int64), np.zeros(8, np.int64)[::2]],
    ids=["type", "shape", "gaps"],
)
def test_machine_code_refuses_other_arrays(pool: np.ndarray) -> None:
    with pytest.raises(TypeError, match="Ints expected"):
        relinkers()[1](pool)
