"""Loads the kernels, with their machine code kept in a folder that only its owner can write."""

from __future__ import annotations

import atexit
import hashlib
import importlib
import importlib.util
import os
import shutil
import stat
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from cepheid.compiler.building import REMEDY, Builder, Key, file_of
from cepheid.compiler.machine_code import MachineCode, MachineFunction, processor
from cepheid.errors import SetupError, level_outside
from cepheid.kernels.jit import ENABLED, WAITS

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
    ("advance_chain", "advance_chain"): frozenset({"GUARDED", "OBSERVED"}),
    ("advance_lazy", "advance_lazy"): frozenset({"COUNTED", "GUARDED", "OBSERVED"}),
    ("advance_strict", "advance_strict"): frozenset({"COUNTED", "GUARDED", "OBSERVED"}),
    ("advance_strict", "fire_strict"): frozenset({"OBSERVED"}),
    ("advance_keyed", "advance_keyed"): frozenset({"GAPS", "OF_TWO", "OF_THREE", "OF_FOUR"}),
    ("endings", "accepts"): frozenset({"COUNTED", "OBSERVED"}),
    ("endings", "fire"): frozenset({"COUNTED", "OBSERVED", "POSTPONES"}),
    ("scattered", "fire_scattered"): frozenset({"COUNTED", "OBSERVED", "POSTPONES"}),
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
        return Path(named).absolute()
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


def kernels(needs: Needs, flags: Flags = ()) -> Kernels:
    """The kernels for a plan: all as machine code, or all as plain Python as long as some have none.

    Args:
        needs: those that the plan needs.
        flags: what a policy wants that looks at pairs; nothing else of it is in the kernels.

    Raises:
        SetupError: the cache folder is not safe to use; or there is no compiler, and it is to be waited for.
    """
    found = _compiled.get((needs, flags))
    if found is None:
        made = [_key(module, name, flags) for module, name in _names(needs)]
        loaded = {key: _loaded_or_none(key) for key in made}
        if None in loaded.values():
            missing = [key for key, kernel in loaded.items() if kernel is None]
            _ask_for([*missing, *_beside(varying=needs.varying)], waits=False)
            loaded = {key: _loaded_or_none(key) for key in made}
        in_code = None not in loaded.values()
        advance, fire, *helpers = (loaded[key] if in_code else source_of(*key) for key in made)
        assert advance is not None
        assert fire is not None
        found = Kernels(advance, fire, tuple(helper for helper in helpers if helper is not None))
        if in_code or not ENABLED:
            _compiled[needs, flags] = found
    return found


_compiled: dict[tuple[Needs, Flags], Kernels] = {}


def _names(needs: Needs) -> list[tuple[str, str]]:
    """The kernels of a plan: ``advance`` and ``fire``, and what ``advance`` calls by address."""

    def needed(want: bool, module: str, name: str, otherwise: str) -> tuple[str, str]:
        return (module, name) if want else ("signatures", otherwise)

    advance = ("advance_lazy", "advance_lazy") if needs.lazy else ("advance", "advance")
    fire = needed(needs.fire, "endings", "fire", "no_ending")
    if needs.strict:
        advance, fire = ("advance_strict", "advance_strict"), ("advance_strict", "fire_strict")
    at_the_end = fire
    if needs.scattered:  # it is called at the end of the input alone, and not by `advance`
        fire, at_the_end = ("signatures", "no_ending"), ("scattered", "fire_scattered")
    return [
        advance,
        at_the_end,
        needed(needs.large, "conditions", "holds_at_large", "no_helper"),
        needed(needs.free, "absences", "free_of", "no_free"),
        needed(needs.accept, "endings", "accepts", "no_ending"),
        needed(needs.tally, "aggregates", "tally_event", "no_helper"),
        needed(needs.free or needs.lazy, "absences", "keep_event", "no_helper"),
        fire,
    ]


def chain_kernel(flags: Flags = ()) -> Kernel:
    """The kernel that steps plans that are chains: `kernels.advance_chain`. It has a guard, and no other hooks."""
    return _kernel("advance_chain", "advance_chain", flags, beside=_beside(varying=False))


def paced_kernel(*, chain: bool) -> Kernel | None:
    """The kernel that steps event by event and reads the clock: `kernels.paced`; None as `keyed_kernel`."""
    return _kernel_or_none("paced", "pace_chain" if chain else "pace_lazy")


def keyed_kernel(n_steps: int, *, gaps: bool = False) -> Kernel | None:
    """The kernel that steps chains whose events all have one key: `kernels.advance_keyed`, for so many steps.

    None as long as it has no machine code. The one for chains, which does the same, is made before it.

    Args:
        n_steps: of the plan.
        gaps: there are events that may not come between two steps. What else steps such a plan is made when it runs.
    """
    if not gaps:
        chain_kernel()
    flags = (*(("GAPS",) if gaps else ()), *_OF_STEPS.get(n_steps, ()))
    return _kernel_or_none("advance_keyed", "advance_keyed", flags)


def cell_kernel(*, floats: bool = False) -> Kernel:
    """The kernel that finds the cells of events by an attribute of whole numbers, or of floats: `kernels.routing`."""
    return _kernel("routing", "cells_of_floats" if floats else "cells_of_ints", n=MANY)


def shared_count_kernel(n_events: int) -> Kernel:
    """The kernel that counts matches without making them, of so many events: `kernels.shared_count`."""
    return _kernel("shared_count", "shared_count", n=n_events)


def shared_first_kernel(n_events: int) -> Kernel:
    """The kernel that finds the first matches in so many events: `kernels.shared_first`."""
    return _kernel("shared_first", "shared_first", n=n_events)


def route_kernel() -> Kernel:
    """The kernel that routes events to queries: `kernels.routing`."""
    return _kernel("routing", "route", n=MANY)


def fits_kernel() -> Kernel | None:
    """The kernel that looks up all texts of a column, of one byte each: `kernels.texts`; None as `keyed_kernel`."""
    return _kernel_or_none("texts", "fits_of_bytes")


def text_kernel(*, bytes_only: bool = False) -> Kernel | None:
    """The kernel that looks texts up, or texts of one byte each: `kernels.texts`; None as `keyed_kernel`."""
    return _kernel_or_none("texts", "look_up_bytes" if bytes_only else "look_up_texts")


def order_kernel(n_matches: int, *, varying: bool) -> Kernel:
    """The kernel that sorts matches of varying length, or of one: `kernels.order_varying`, `kernels.order_fixed`."""
    module, name, _ = _order(varying=varying)
    return _kernel(module, name, n=n_matches)


def _order(*, varying: bool) -> Key:
    return ("order_varying", "order_varying", ()) if varying else ("order_fixed", "sort_fixed", ())


def place_kernel(n_events: int) -> Kernel:
    """The kernel that counts the events before each in its partition: `kernels.places`."""
    return _kernel("places", "count_places", n=n_events)


def closing_kernel() -> Kernel:
    """The kernel that closes windows as events are received: `kernels.closing`."""
    return _kernel("closing", "close_windows")


def skip_kernel(n_matches: int) -> Kernel:
    """The kernel that says which matches AFTER MATCH keeps: `kernels.skipping`."""
    return _kernel("skipping", "keep_matches", n=n_matches)


def digest_kernel() -> Kernel:
    """The kernel that makes the ids of many matches: `kernels.blake2b`."""
    return _kernel("blake2b", "hex_digests", n=MANY)


def relinkers() -> tuple[Kernel, Kernel]:
    """The kernels that fill a pool which has grown: for partial matches, and for events kept for NOT."""
    return _kernel("relink", "relink"), _kernel("relink", "relink_kept")


def rekey_kernel() -> Kernel:
    """The kernel that makes the keys of a pool anew, whose columns hold other codes now: `kernels.rekey`."""
    return _kernel("rekey", "rekey")


MANY = 20_000
"""Items that are worth waiting for machine code: as plain Python, a kernel takes a few us for each."""

_loaded: dict[Key, Kernel] = {}


def _beside(*, varying: bool) -> tuple[Key, ...]:
    """Small kernels that most runs of a plan come to: when those that step it are made, so are these.

    Args:
        varying: its matches are of varying length.
    """
    return ("relink", "relink", ()), ("relink", "relink_kept", ()), _order(varying=varying)


def _key(module: str, name: str, flags: Flags) -> Key:
    read = _FLAGS_READ.get((module, name), frozenset())
    return module, name, tuple(flag for flag in flags if flag in read)


def _kernel(module: str, name: str, flags: Flags = (), *, n: int = 0, beside: Sequence[Key] = ()) -> Kernel:
    """A kernel by its module in `kernels` and its name: its machine code, or plain Python as long as there is none.

    Args:
        module, name, flags: which.
        n: for so many items: for `MANY`, machine code is waited for.
        beside: what is made with it.
    """
    key = _key(module, name, flags)
    found = _loaded_or_none(key)
    if found is None:
        _ask_for([key, *beside], waits=n >= MANY)
        found = _loaded_or_none(key)
    return source_of(*key) if found is None else found


def _kernel_or_none(module: str, name: str, flags: Flags = ()) -> Kernel | None:
    """The machine code of a kernel that something slower can stand in for; None as long as there is none."""
    key = _key(module, name, flags)
    found = _loaded_or_none(key)
    if found is None:
        _ask_for([key], waits=False)
        found = _loaded_or_none(key)
    return found


def is_compiled(kernel: Kernel) -> bool:
    """Whether a kernel is machine code, or will never be."""
    return isinstance(kernel, MachineFunction) or not ENABLED


def runs_compiled(needs: Needs, flags: Flags = (), *, chain: bool) -> bool:
    """Whether the kernels of a plan are machine code by now; asks for none.

    Args:
        needs, flags: see `kernels`.
        chain: the plan is stepped by `chain_kernel`.
    """
    return ENABLED and all(_loaded_or_none(key) is not None for key in _keys(needs, flags, chain=chain))


def await_kernels(needs: Needs, flags: Flags = (), *, chain: bool) -> None:
    """Wait for the machine code of a plan's kernels; where it cannot be made they go on as plain Python.

    Args:
        needs, flags, chain: see `runs_compiled`.
    """
    if ENABLED and _builder is not None:
        _builder.wait_at_most([key for key in _keys(needs, flags, chain=chain) if _loaded_or_none(key) is None])


def _keys(needs: Needs, flags: Flags, *, chain: bool) -> list[Key]:
    names = [("advance_chain", "advance_chain")] if chain else _names(needs)
    return [_key(module, name, flags) for module, name in names]


def n_made() -> int:
    """How many kernels have been made for this process: as long as it stays the same, none has been added."""
    return 0 if _builder is None else _builder.n_made


def wait_for_kernels(timeout_s: float | None = None) -> None:
    """Wait for all machine code that is being made. See ``CEPHEID_JIT=wait``, too.

    Args:
        timeout_s: give up waiting after so long; None for never.

    Raises:
        SetupError: it cannot be made.
    """
    if _builder is not None:
        _builder.wait_for_all(timeout_s)


def source_of(module: str, name: str, flags: Flags) -> Any:
    """A kernel as it is written, with some flags set in it."""
    made = getattr(importlib.import_module(f"cepheid.kernels.{module}"), name)
    return importlib.import_module("cepheid.kernels.variants").variant(made, dict.fromkeys(flags, 1)) if flags else made


def _loaded_or_none(key: Key) -> Kernel | None:
    """A kernel that is ready: machine code that is there, or plain Python where nothing is compiled."""
    found = _loaded.get(key)
    if found is not None:
        return found
    with _LOCK:
        found = _loaded.get(key)
        if found is None and not ENABLED:
            found = _loaded[key] = source_of(*key)
        if found is None:
            code = MachineCode.read(file_of(_folder(), key))
            if code is not None:
                found = _loaded[key] = MachineFunction(code)
    return found


_builder: Builder | None = None


def _forget_builder() -> None:
    """In a forked process nobody waits for what is being made, so it is asked for anew.

    A thread that held the lock is not there.
    """
    global _builder, _LOCK
    _builder, _LOCK = None, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_builder)


def _ask_for(keys: Sequence[Key], *, waits: bool) -> None:
    """Have kernels made.

    Raises:
        SetupError: they cannot be made, and nothing may run as plain Python.
    """
    global _builder
    missing = [key for key in keys if _loaded_or_none(key) is None]
    if not missing:
        return
    with _LOCK:
        if _builder is None or _builder.is_worth_another:
            _builder = Builder(_folder())
        builder = _builder
    if WAITS:
        builder.wait_for(missing)
    elif waits:
        builder.wait_at_most(missing)
    else:
        builder.ask_for(missing)
    if builder.failure is not None:
        _warn_once(builder.failure)


@cache
def _warn_once(failure: str) -> None:
    warnings.warn(
        f"no machine code can be made, so queries run as plain Python, some hundred times slower: {failure}; {REMEDY}",
        RuntimeWarning,
        stacklevel=level_outside(),
    )


@cache
def _folder() -> Path:
    """The folder for machine code; where none can be kept, one that goes with this process."""
    kept = cache_folder()
    if kept is not None:
        return kept
    made = tempfile.mkdtemp(prefix="cepheid-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
