"""Machine code of kernels: made by LLVM from what Numba compiles, kept in files, and called without Numba.

Importing Numba and making it ready takes longer than everything else that a first query needs. So a later process gets
the code from a file, LLVM links it, and it is called by Numba's calling convention for compiled functions: the places
of the result and of an error, then the arguments one after the other, of an array two words (see `kernels.array_type`).
It returns 0, or -2 where the result is None.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

_RETURNED = (0, -2)
_DTYPES = {"Ints": np.int64, "Floats": np.float64, "Bytes": np.uint8, "Halves": np.int32, "Words": np.uint64}
_WORD = ctypes.c_int64
_PLACE = ctypes.c_void_p
_ARRAY = (_PLACE, _WORD)


@dataclass(frozen=True)
class MachineCode:
    """A compiled function.

    Attributes:
        symbol: its name in the object file.
        kinds: the kind of each argument: ``int``, an array (``Ints``, ``Floats``, ``Bytes``, ``Halves``, ``Words``), or
            the address of another function, which has the name of its signature.
        image: the object file.
    """

    symbol: str
    kinds: tuple[str, ...]
    image: bytes

    def save(self, path: Path) -> None:
        """Write it to a file, which other processes see all at once."""
        head = {"symbol": self.symbol, "kinds": self.kinds, "sha256": hashlib.sha256(self.image).hexdigest()}
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n" + self.image)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise

    @staticmethod
    def read(path: Path) -> MachineCode | None:
        """What a file holds; None where there is none, or one that was damaged."""
        try:
            head, _, image = path.read_bytes().partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            told = json.loads(head)
            code = MachineCode(told["symbol"], tuple(told["kinds"]), image)
            whole = told["sha256"] == hashlib.sha256(image).hexdigest()
        except (ValueError, KeyError, TypeError):
            return None
        return code if whole else None


class MachineFunction:
    """Machine code, ready to be called. It runs without the GIL.

    Attributes:
        address: where it lies.
    """

    def __init__(self, code: MachineCode) -> None:
        self._library = _linked(code)  # its code lies in memory as long as this is referred to
        self.address = int(self._library[code.symbol])
        self._symbol = code.symbol
        self._kinds = code.kinds
        words = [part for kind in code.kinds for part in (_ARRAY if kind in _DTYPES else (_WORD,))]
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, _PLACE, _PLACE, *words)(self.address)

    def __call__(self, *arguments: Any) -> int:
        """Call it.

        Args:
            arguments: integers, contiguous arrays of one dimension, and other functions of machine code.

        Returns:
            The result; 0 where that is None.

        Raises:
            TypeError: an argument is not of its kind.
            RuntimeError: it met an error.
        """
        words = self.words(*arguments)
        result, error = _WORD(), _PLACE()
        self.require_success(self._function(ctypes.byref(result), ctypes.byref(error), *words))
        return result.value

    def bound(self, *arguments: Any) -> Callable[[], int]:
        """It with its arguments, to be called several times: their words are found once.

        Args:
            arguments: see `__call__`; they are kept as long as what is returned.
        """
        result, error = _WORD(), _PLACE()
        words = (ctypes.byref(result), ctypes.byref(error), *self.words(*arguments))
        return partial(self._again, result, words, arguments)

    def _again(self, result: Any, words: tuple[Any, ...], held: tuple[Any, ...]) -> int:
        # What the words point to lies in `held`, which is not read.
        self.require_success(self._function(*words))
        value: int = result.value
        return value

    def words(self, *arguments: Any) -> list[int]:
        """The words of the calling convention for some arguments; see `__call__`."""
        words: list[int] = []
        for kind, value in zip(self._kinds, arguments, strict=True):
            if kind in _DTYPES:
                if value.dtype != _DTYPES[kind] or value.ndim != 1 or not value.flags.c_contiguous:
                    raise TypeError(f"{self._symbol}: {kind} expected, not an array of {value.dtype}")
                words += (value.__array_interface__["data"][0], len(value))
            elif kind == "int":
                words.append(int(value))
            else:
                words.append(value.address)
        return words

    @property
    def places(self) -> list[int]:
        """Where the words of each argument begin among all."""
        widths = [len(_ARRAY) if kind in _DTYPES else 1 for kind in self._kinds]
        return [sum(widths[:number]) for number in range(len(widths))]

    def require_success(self, status: int) -> None:
        """Look at what the machine code returned.

        Raises:
            RuntimeError: it met an error.
        """
        if status not in _RETURNED:
            raise RuntimeError(f"{self._symbol} stopped with status {status}")

    def as_function(self, result: Any, *arguments: Any) -> Callable[..., int]:
        """The code by the calling convention of C, where it is made so.

        Args:
            result, arguments: types of ctypes.
        """
        function: Any = ctypes.CFUNCTYPE(result, *arguments)(self.address)
        function.keeps = self  # the code lies in memory as long as this object lives
        called: Callable[..., int] = function
        return called


def processor() -> str:
    """The processor that machine code is made for."""
    llvm = _llvm()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def assembled(code: str, symbol: str, kinds: tuple[str, ...], optimization: int) -> MachineCode:
    """Machine code for a function in LLVM's code.

    Args:
        code: LLVM's code, optimized.
        symbol, kinds: see `MachineCode`.
        optimization: the level at which instructions are chosen.
    """
    module = _llvm().parse_assembly(code)
    return MachineCode(symbol, kinds, _target(optimization).emit_object(module))


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _target(optimization: int) -> Any:
    llvm = _llvm()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=optimization,
        reloc="pic",  # what it calls may lie anywhere
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _linker() -> Any:
    return _llvm().create_lljit_compiler(_target(0))


@cache
def _numbers() -> Callable[[], int]:
    return iter(range(2**62)).__next__


def _linked(code: MachineCode) -> Any:
    """The code in memory, with what it calls in the C library."""
    builder = _llvm().JITLibraryBuilder().add_object_img(code.image).add_current_process().export_symbol(code.symbol)
    return builder.link(_linker(), f"cepheid {_numbers()()}")
