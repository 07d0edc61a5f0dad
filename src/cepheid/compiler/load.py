"""Loads the kernels, with their machine code kept in a folder that only its owner can write."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import stat
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from cepheid.compiler.machine_code import MachineCode, MachineFunction, assembled, processor
from cepheid.errors import SetupError, level_outside
from cepheid.kernels.jit import ENABLED, OPTIMIZATION, Compilable

_LOCK = threading.RLock()
Kernel: TypeAlias = Callable[..., int]
"""A kernel that can be called from Python: machine code, or the Python function where there is no compiling."""


@dataclass(frozen=True)
class Needs:
    """Which of the kernels that are called by address a plan needs.

    Attributes:
        large: conditions that are more than one comparison.
        free: NOT.
        accept: something to test or decide at the end of a match.
        tally: aggregates over loops.
        fire: matches that are decided by a deadline.
        varying: matches of varying length.
        strict: runs of neighbouring events.
        scattered: matches that give back events which lie among others of theirs.
        lazy: variables that wait for the last event.
    """

    large: bool = True
    free: bool = True
    accept: bool = True
    tally: bool = True
    fire: bool = True
    varying: bool = True
    strict: bool = False
    scattered: bool = False
    lazy: bool = False


Flags: TypeAlias = tuple[str, ...]
"""The flags of `kernels.hooks` and `kernels.open_predicates` that are set in a kernel, in the order of the alphabet."""

_FLAGS_READ: dict[tuple[str, str], frozenset[str]] = {
    ("advance", "advance"): frozenset({"COUNTED", "GUARDED", "OBSERVED", "POSTPONES"}),
    ("advance_chain", "advance_chain"): frozenset({"GUARDED"}),
    ("advance_strict", "advance_strict"): frozenset({"COUNTED", "GUARDED", "OBSERVED"}),
    ("advance_strict", "fire_strict"): frozenset({"OBSERVED"}),
    ("advance_keyed", "advance_keyed"): frozenset({"OF_TWO", "OF_THREE", "OF_FOUR"}),
    ("endings", "accepts"): frozenset({"COUNTED", "OBSERVED"}),
    ("endings", "fire"): frozenset({"COUNTED", "OBSERVED", "POSTPONES"}),
    ("scattered", "fire_scattered"): frozenset({"COUNTED", "OBSERVED"}),
    ("absences", "free_of"): frozenset({"COUNTED"}),
}
"""The flags that are read in a kernel, or in one that it calls. The others need no variants."""

_OF_STEPS: dict[int, Flags] = {2: ("OF_TWO",), 3: ("OF_THREE",), 4: ("OF_FOUR",)}
"""Numbers of steps for which `kernels.advance_keyed` has machine code of its own."""


@dataclass(frozen=True)
class Kernels:
    """The kernels that a plan needs, ready to be called.

    Attributes:
        advance, fire: of `kernels.advance` and `kernels.endings`.
        helpers: what ``advance`` calls by address.
    """

    advance: Kernel
    fire: Kernel
    helpers: tuple[Kernel, ...]


def cache_root() -> Path:
    """The folder that holds machine code: ``CEPHEID_CACHE_DIR``, or ``cepheid`` in the user's cache folder."""
    named = os.environ.get("CEPHEID_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cepheid"


def _require_private(folder: Path) -> None:
    """Refuse a folder that someone else could put code into.

    Raises:
        SetupError: it belongs to another user, or others may write to it.
    """
    if not hasattr(os, "getuid"):
        return
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SetupError(
            f"the folder for machine code, {folder}, can be written by others",
            remedy=f"run `chmod 700 {folder}`, or name another folder in CEPHEID_CACHE_DIR",
        )


def _numba() -> Path:
    """The folder of Numba, which is not imported."""
    found = importlib.util.find_spec("numba")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def cache_folder() -> Path | None:
    """The folder for this version of the kernels; None (with a warning) where none can be made.

    Its name is a hash of all sources in ``kernels``, of Numba's and Python's version, and of the processor, whose
    instructions the code consists of.

    Raises:
        SetupError: the folder exists and others can write to it.
    """
    sources = Path(__file__).parent.parent / "kernels"
    digest = hashlib.sha256()
    for source in sorted(sources.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    # Its file, for to ask Python for the version of a package takes longer than to load a kernel.
    digest.update((_numba() / "_version.py").read_bytes())
    digest.update(f"{sys.version} {processor()}".encode())
    root = cache_root()
    folder = root / digest.hexdigest()[:32]
    try:
        for made in (root, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
            _require_private(made)
    except OSError as error:
        warnings.warn(
            f"machine code is not kept, so each process compiles again for a few seconds: {error}; "
            "name a folder that can be written in CEPHEID_CACHE_DIR",
            RuntimeWarning,
            stacklevel=level_outside(),
        )
        return None
    return folder


@cache
def kernels(needs: Needs, flags: Flags = ()) -> Kernels:
    """The kernels for a plan. The first call of a kind in an environment imports Numba and compiles.

    Args:
        needs: those that the plan needs.
        flags: what a policy wants that looks at pairs; nothing else of it is in the kernels.

    Raises:
        SetupError: the cache folder is not safe to use.
    """

    def needed(want: bool, module: str, name: str, otherwise: str) -> Kernel:
        return _kernel(module, name, flags) if want else _kernel("signatures", otherwise)

    if needs.strict:
        advance = _kernel("advance_strict", "advance_strict", flags)
        fire = _kernel("advance_strict", "fire_strict", flags)
    else:
        name = "advance_lazy" if needs.lazy else "advance"
        advance = _kernel(name, name, flags)
        fire = needed(needs.fire, "endings", "fire", "no_ending")
    if needs.scattered:  # it is called at the end of the input alone, and not by `advance`
        fire = _kernel("signatures", "no_ending")
    return Kernels(
        advance=advance,
        fire=_kernel("scattered", "fire_scattered", flags) if needs.scattered else fire,
        helpers=(
            needed(needs.large, "conditions", "holds_at_large", "no_helper"),
            needed(needs.free, "absences", "free_of", "no_free"),
            needed(needs.accept, "endings", "accepts", "no_ending"),
            needed(needs.tally, "aggregates", "tally_event", "no_helper"),
            needed(needs.free or needs.lazy, "absences", "keep_event", "no_helper"),
            fire,
        ),
    )


def chain_kernel(flags: Flags = ()) -> Kernel:
    """The kernel that steps plans that are chains: `kernels.advance_chain`. It has a guard, and no other hooks."""
    return _kernel("advance_chain", "advance_chain", flags)


def keyed_kernel(n_steps: int) -> Kernel:
    """The kernel that steps chains whose events all have one key: `kernels.advance_keyed`, for so many steps."""
    return _kernel("advance_keyed", "advance_keyed", _OF_STEPS.get(n_steps, ()))


def cell_kernel(*, floats: bool = False) -> Kernel:
    """The kernel that finds the cells of events by an attribute of whole numbers, or of floats: `kernels.routing`."""
    return _kernel("routing", "cells_of_floats" if floats else "cells_of_ints")


def shared_count_kernel() -> Kernel:
    """The kernel that counts matches without making them: `kernels.shared_count`."""
    return _kernel("shared_count", "shared_count")


def shared_first_kernel() -> Kernel:
    """The kernel that finds the first matches: `kernels.shared_first`."""
    return _kernel("shared_first", "shared_first")


def route_kernel() -> Kernel:
    """The kernel that routes events to queries: `kernels.routing`."""
    return _kernel("routing", "route")


def fits_kernel() -> Kernel:
    """The kernel that looks up all texts of a column, of one byte each: `kernels.texts`."""
    return _kernel("texts", "fits_of_bytes")


def text_kernel(*, bytes_only: bool = False) -> Kernel:
    """The kernel that looks texts up, or texts of one byte each: `kernels.texts`."""
    return _kernel("texts", "look_up_bytes" if bytes_only else "look_up_texts")


def order_kernel(*, varying: bool) -> Kernel:
    """The kernel that sorts matches of varying length, or of one: `kernels.order_varying`, `kernels.order_fixed`."""
    return _kernel("order_varying", "order_varying") if varying else _kernel("order_fixed", "sort_fixed")


def place_kernel() -> Kernel:
    """The kernel that counts the events before each in its partition: `kernels.places`."""
    return _kernel("places", "count_places")


def closing_kernel() -> Kernel:
    """The kernel that closes windows as events are received: `kernels.closing`."""
    return _kernel("closing", "close_windows")


def skip_kernel() -> Kernel:
    """The kernel that says which matches AFTER MATCH keeps: `kernels.skipping`."""
    return _kernel("skipping", "keep_matches")


def digest_kernel() -> Kernel:
    """The kernel that makes the ids of many matches: `kernels.blake2b`."""
    return _kernel("blake2b", "hex_digests")


def relinkers() -> tuple[Kernel, Kernel]:
    """The kernels that fill a pool which has grown: for partial matches, and for events kept for NOT."""
    return _kernel("relink", "relink"), _kernel("relink", "relink_kept")


def rekey_kernel() -> Kernel:
    """The kernel that makes the keys of a pool anew, whose columns hold other codes now: `kernels.rekey`."""
    return _kernel("rekey", "rekey")


_loaded: dict[tuple[str, str, Flags], Kernel] = {}


def _kernel(module: str, name: str, flags: Flags = ()) -> Kernel:
    """A kernel by its module in `kernels` and its name: from its file, or compiled."""
    read = _FLAGS_READ.get((module, name), frozenset())
    key = (module, name, tuple(flag for flag in flags if flag in read))
    found = _loaded.get(key)
    if found is None:
        with _LOCK:
            found = _loaded[key] = _load(*key)
    return found


def source_of(module: str, name: str, flags: Flags) -> Any:
    """A kernel before it is compiled, with some flags set in it."""
    made = getattr(importlib.import_module(f"cepheid.kernels.{module}"), name)
    return importlib.import_module("cepheid.kernels.variants").variant(made, dict.fromkeys(flags, 1)) if flags else made


def _load(module: str, name: str, flags: Flags) -> Kernel:
    if not ENABLED:
        interpreted: Kernel = source_of(module, name, flags)
        return interpreted
    folder = _cache_folder_once()
    path = None if folder is None else folder / ".".join((module, name, *flags))
    code = None if path is None else MachineCode.read(path)
    if code is None:
        code = _compile(module, name, flags)
        if path is not None:
            code.save(path)
    return MachineFunction(code)


def _compile(module: str, name: str, flags: Flags) -> MachineCode:
    config: Any = importlib.import_module("numba.core.config")
    # Numba reads these as it compiles. The kernels branch all the time: vectorizing gains nothing and costs half of the
    # time to compile.
    wanted: dict[str, Any] = {"OPT": type(config.OPT)(OPTIMIZATION), "LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 0}
    before = {option: getattr(config, option) for option in wanted}
    try:
        for option, value in wanted.items():
            setattr(config, option, value)
        compilable: Compilable = source_of(module, name, flags).compilable
        return assembled(*compilable.compiled(), compilable.kinds, OPTIMIZATION)
    finally:
        for option, value in before.items():
            setattr(config, option, value)


@cache
def _cache_folder_once() -> Path | None:
    return cache_folder()
