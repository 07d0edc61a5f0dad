"""Loads the kernels, with their machine code kept in a folder that only its owner can write."""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from cepheid.errors import SetupError

_LOCK = threading.RLock()
T = TypeVar("T")


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
    """

    large: bool = True
    free: bool = True
    accept: bool = True
    tally: bool = True
    fire: bool = True
    varying: bool = True


@dataclass(frozen=True)
class Kernels:
    """The kernels that a plan needs, ready to be called.

    Attributes:
        advance, fire: of `kernels.advance` and `kernels.endings`.
        helpers: what ``advance`` calls by address.
    """

    advance: Callable[..., int]
    fire: Callable[..., int]
    helpers: tuple[Callable[..., Any], ...]


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


def cache_folder() -> Path | None:
    """The folder for this version of the kernels; None (with a warning) where none can be made.

    Its name is a hash of all sources in ``kernels``, of Numba's and Python's version: Numba itself does not notice
    an edit in a helper that a cached function calls.

    Raises:
        SetupError: the folder exists and others can write to it.
    """
    from importlib.metadata import version

    sources = Path(__file__).parent.parent / "kernels"
    digest = hashlib.sha256()
    for source in sorted(sources.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    digest.update(f"{version('numba')} {sys.version}".encode())
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
            stacklevel=2,
        )
        return None
    return folder


@cache
def kernels(needs: Needs) -> Kernels:
    """The kernels for a plan. The first call in a process imports Numba; the first in an environment compiles.

    Raises:
        SetupError: the cache folder is not safe to use.
    """
    return _compiled(lambda: _kernels(needs))


@cache
def chain_kernel() -> Callable[..., int]:
    """The kernel that steps plans that are chains: `kernels.advance_chain`."""

    def load() -> Callable[..., int]:
        found: Callable[..., int] = importlib.import_module("cepheid.kernels.advance_chain").advance_chain
        return found

    return _compiled(load)


@cache
def text_kernel() -> Callable[..., None]:
    """The kernel that looks texts up: `kernels.texts`."""

    def load() -> Callable[..., None]:
        found: Callable[..., None] = importlib.import_module("cepheid.kernels.texts").look_up_texts
        return found

    return _compiled(load)


@cache
def order_kernel(*, varying: bool) -> Callable[..., Any]:
    """The kernel that sorts matches of varying length, or of one: `kernels.order_varying`, `kernels.order_fixed`."""

    def load() -> Callable[..., Any]:
        module = importlib.import_module(f"cepheid.kernels.{'order_varying' if varying else 'order_fixed'}")
        found: Callable[..., Any] = module.order_varying if varying else module.sort_fixed
        return found

    return _compiled(load)


@cache
def relinkers() -> tuple[Callable[..., None], Callable[..., None]]:
    """The kernels that fill a pool which has grown: for partial matches, and for events kept for NOT."""

    def load() -> tuple[Callable[..., None], Callable[..., None]]:
        module = importlib.import_module("cepheid.kernels.relink")
        return module.relink, module.relink_kept

    return _compiled(load)


def _compiled(load: Callable[[], T]) -> T:
    """What ``load`` gives, with Numba set up for the kernels that it imports."""
    with _LOCK:
        jit: Any = importlib.import_module("cepheid.kernels.jit")
        if not jit.ENABLED:
            return load()
        config: Any = importlib.import_module("numba.core.config")

        folder = _cache_folder_once()
        jit.CACHED = folder is not None
        # Numba reads these when a kernel module is imported, which compiles it or takes its code from disk. The
        # kernels branch all the time: vectorizing gains nothing and costs half of the time to compile.
        wanted: dict[str, Any] = {"OPT": type(config.OPT)(jit.OPTIMIZATION), "LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 0}
        if folder is not None:
            wanted["CACHE_DIR"] = str(folder)
        before = {name: getattr(config, name) for name in wanted}
        try:
            for name, value in wanted.items():
                setattr(config, name, value)
            return load()
        finally:
            for name, value in before.items():
                setattr(config, name, value)


@cache
def _cache_folder_once() -> Path | None:
    return cache_folder()


def _kernels(needs: Needs) -> Kernels:
    def load(module: str, name: str) -> Any:
        return getattr(importlib.import_module(f"cepheid.kernels.{module}"), name)

    def needed(want: bool, module: str, name: str, otherwise: str) -> Any:
        return load(module, name) if want else load("signatures", otherwise)

    fire = needed(needs.fire, "endings", "fire", "no_ending")
    return Kernels(
        advance=load("advance", "advance"),
        fire=fire,
        helpers=(
            needed(needs.large, "conditions", "holds_at_large", "no_helper"),
            needed(needs.free, "absences", "free_of", "no_free"),
            needed(needs.accept, "endings", "accepts", "no_ending"),
            needed(needs.tally, "aggregates", "tally_event", "no_helper"),
            needed(needs.free, "absences", "keep_event", "no_helper"),
            fire,
        ),
    )
