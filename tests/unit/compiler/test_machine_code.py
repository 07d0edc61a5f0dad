"""Machine code of kernels in files: a later process runs it without Numba."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import cepheid
from cepheid.compiler import load
from cepheid.compiler.building import Builder
from cepheid.compiler.load import relinkers
from cepheid.compiler.machine_code import MachineCode
from cepheid.errors import SetupError
from cepheid.kernels.jit import ENABLED

compiled = pytest.mark.skipif(not ENABLED, reason="kernels run as plain Python: CEPHEID_JIT is 0")

MATCH = """
    import json, sys
    import cepheid, numpy as np, pyarrow as pa
    table = pa.table({"ts": np.arange(6), "type": ["A", "B", "A", "C", "B", "C"]})
    found = cepheid.match(table, "PATTERN SEQ(A a, NOT B n, C c) WITHIN 10 ms", time="ts", type="type", time_unit="ms")
    from cepheid.compiler.load import n_made
    print(json.dumps([len(found), n_made(), "numba" in sys.modules]))
"""


def _in_new_process(folder: Path, jit: str = "wait") -> list[object]:
    """The number of matches that `MATCH` finds, of kernels that were made for it, and whether it imported Numba."""
    source = str(Path(cepheid.__file__).resolve().parents[1])
    environment = {**os.environ, "CEPHEID_CACHE_DIR": str(folder), "PYTHONPATH": source, "CEPHEID_JIT": jit}
    code = "if True:" + MATCH
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    told: list[object] = json.loads(done.stdout)
    return told


@compiled
def test_the_first_process_waits_for_no_compiler_and_later_ones_need_none(tmp_path: Path) -> None:
    assert _in_new_process(tmp_path, "1") == [1, 0, False]
    (folder,) = tmp_path.iterdir()
    end = time.monotonic() + 240
    wanted = {"advance.advance", "absences.free_of", "absences.keep_event", "relink.relink", "order_fixed.sort_fixed"}
    while not wanted.issubset(path.name for path in folder.iterdir()):  # they are made all the same, for the next one
        assert time.monotonic() < end
        time.sleep(0.1)
    n_matches, n_made, imported = _in_new_process(tmp_path)
    assert (n_matches, imported) == (1, False)
    assert n_made in (0, 1), "the last of the small ones may not have been there yet"
    kernel = folder / "absences.keep_event"
    kernel.write_bytes(kernel.read_bytes()[:-1])
    assert _in_new_process(tmp_path) == [1, 1, False], "a damaged file is made anew"
    assert _in_new_process(tmp_path) == [1, 0, False]


@compiled
def test_where_no_compiler_can_be_started_that_is_told(tmp_path: Path) -> None:
    builder = Builder(tmp_path)
    with pytest.raises(SetupError, match=r"(?s)cannot be compiled: .*no_such_kernel.*CEPHEID_JIT=0"):
        builder.wait_for([("relink", "no_such_kernel", ())])
    assert builder.failure is not None


@compiled
def test_without_a_compiler_kernels_stay_plain_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    monkeypatch.setattr(load, "_builder", builder := Builder(tmp_path))
    monkeypatch.setattr(load, "WAITS", False)
    key = ("relink", "relink_kept", ("NEW",))
    load._warn_once.cache_clear()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        load._ask_for([key], waits=False)
        end = time.monotonic() + 20
        while builder.failure is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        load._ask_for([key], waits=False)
        load._ask_for([key], waits=False)
    # By the first call after the failure, which may be the very first.
    [warning] = told
    assert issubclass(warning.category, RuntimeWarning)
    assert re.search(r"run as plain Python, some hundred times slower: .*no python", str(warning.message))


@compiled
@pytest.mark.parametrize("later_s", [0.0, 1e9], ids=["at once", "later"])
def test_after_a_while_the_compiler_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later_s: float
) -> None:
    monkeypatch.setattr(load, "_builder", Builder(tmp_path))
    monkeypatch.setattr(load, "_folder", lambda: tmp_path)
    monkeypatch.setattr(load, "WAITS", True)
    key = ("relink", "relink_kept", ())
    monkeypatch.delitem(load._loaded, key, raising=False)
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", str(tmp_path / "no python"))
        with pytest.raises(SetupError, match="no python"):
            load._ask_for([key], waits=True)
    now = time.monotonic() + later_s
    monkeypatch.setattr("cepheid.compiler.building.time.monotonic", lambda: now)
    if later_s:
        load._ask_for([key], waits=True)
    else:
        with pytest.raises(SetupError, match="no python"):
            load._ask_for([key], waits=True)
    assert (load._loaded_or_none(key) is not None) == bool(later_s)
    load._ask_for([], waits=True)


@compiled
def test_a_forked_process_asks_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(load, "_builder", Builder(tmp_path))
    load._forget_builder()
    assert load._builder is None


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
