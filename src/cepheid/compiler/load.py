"""Loads the kernels, with their machine code kept in a folder that only its owner can write."""

from __future__ import annotations

import hashlib
import importlib
import os
import stat
import sys
import threading
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from cepheid.errors import SetupError

_LOCK = threading.Lock()


class Kernels(NamedTuple):
    """The kernel modules, ready to be called."""

    advance: ModuleType
    order: ModuleType
    layout: ModuleType


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
def kernels() -> Kernels:
    """The kernels. The first call in a process imports Numba; the first in an environment compiles, for seconds.

    Raises:
        SetupError: the cache folder is not safe to use.
    """
    with _LOCK:
        jit = importlib.import_module("cepheid.kernels.jit")
        if not jit.ENABLED:
            return _modules()
        from numba.core import config

        folder = cache_folder()
        jit.CACHED = folder is not None
        # Numba reads the folder when a function is decorated, which is when a kernel module is imported.
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder) if folder is not None else before
        try:
            return _modules()
        finally:
            config.CACHE_DIR = before


def _modules() -> Kernels:
    return Kernels(*(importlib.import_module(f"cepheid.kernels.{name}") for name in Kernels._fields))
