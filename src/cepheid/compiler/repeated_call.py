"""One kernel called again and again with the same arrays, as for single events: without Python's work for arguments.

An array is two words of a kernel's calling convention, and a kernel takes up to seven arrays. To hand these over
through ctypes takes longer than a kernel takes for an event. So they stand in memory, and a few instructions that LLVM
makes for each number of words load them from there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from cepheid.compiler.load import Kernel
from cepheid.compiler.machine_code import MachineCode, MachineFunction, assembled

_RESULT, _ERROR, _FUNCTION = 0, 1, 2
_WORDS_FROM = 3
"""What stands in memory: the result, the place of an error, the kernel's address, then the words of its arguments."""


class RepeatedCall:
    """A kernel and its arguments."""

    def __init__(self, kernel: Kernel, *arguments: Any) -> None:
        """Make it ready; as long as this object lives, it keeps the arrays.

        Args:
            kernel: machine code, or a Python function where there is no compiling.
            arguments: integers, arrays, and other kernels.
        """
        self._kernel = kernel
        self.set(*arguments)

    def set(self, *arguments: Any) -> None:
        """Go on with other arguments."""
        self._arguments = list(arguments)
        if not isinstance(self._kernel, MachineFunction):
            return
        words = self._kernel.words(*arguments)
        self._block = np.array([0, 0, self._kernel.address, *words], np.int64)
        self._cells = self._block.data
        self._places = self._kernel.places
        self._go = _through(len(words))
        self._at = ctypes.c_void_p(self._block.__array_interface__["data"][0])

    def put(self, number: int, value: int) -> None:
        """Change an argument that is an integer."""
        self._arguments[number] = value
        if isinstance(self._kernel, MachineFunction):
            self._cells[_WORDS_FROM + self._places[number]] = value

    def __call__(self) -> int:
        """Call it.

        Raises:
            RuntimeError: it met an error.
        """
        if not isinstance(self._kernel, MachineFunction):
            return self._kernel(*self._arguments)
        status = self._go(self._at)
        if status:
            self._kernel.require_success(status)
        result: int = self._cells[_RESULT]
        return result


@cache
def _through(n_words: int) -> Callable[[Any], int]:
    """A function that calls the kernel whose words stand at an address."""
    kinds = ", ".join(["i64"] * (n_words + 2))
    lines = [
        "define i32 @through(i64* %block) {",
        "  %result = ptrtoint i64* %block to i64",
        f"  %error = add i64 %result, {8 * _ERROR}",
    ]
    for place in (_FUNCTION, *range(_WORDS_FROM, _WORDS_FROM + n_words)):
        lines += [
            f"  %at{place} = getelementptr i64, i64* %block, i64 {place}",
            f"  %word{place} = load i64, i64* %at{place}",
        ]
    words = ", ".join(f"i64 %word{place}" for place in range(_WORDS_FROM, _WORDS_FROM + n_words))
    lines += [
        f"  %function = inttoptr i64 %word{_FUNCTION} to i32 ({kinds})*",
        f"  %status = call i32 %function(i64 %result, i64 %error, {words})",
        "  ret i32 %status",
        "}",
    ]
    code: MachineCode = assembled("\n".join(lines), "through", (), 0)
    return MachineFunction(code).as_function(ctypes.c_int32, ctypes.c_void_p)
