"""Reads columns of several widths by their address: one kernel for all that a table may hold."""

from __future__ import annotations

import ctypes
from typing import Any

from cepheid.kernels.jit import COMPILING

if COMPILING:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from cepheid.kernels.array_type import place_of

    def _load(bits: int) -> Any:
        def load(typing_context: Any, address: Any, index: Any) -> tuple[Any, Any]:
            word = types.int64

            def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                column = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
                value = builder.load(builder.gep(column, [arguments[1]]))
                return builder.sext(value, context.get_value_type(word)) if bits < 64 else value

            return word(word, word), codegen

        return intrinsic(load)

    def _copy_words(typing_context: Any, to: Any, place: Any, source: Any, first: Any, n: Any) -> tuple[Any, Any]:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = place_of(builder, *arguments[:2]), place_of(builder, *arguments[2:4])
            cgutils.raw_memcpy(builder, *places, arguments[4], 8, align=8)
            return context.get_dummy_value()

        word = types.int64
        return types.none(to, word, source, word, word), codegen

    copy_words: Any = intrinsic(_copy_words)
    """``copy_words(to, place, source, first, n)``: words of an array to another, or itself, not over each other."""

    load_int32: Any = _load(32)
    """``load_int32(address, index)``: an element of an int32 array that begins at an address."""

    load_int64: Any = _load(64)
    """``load_int64(address, index)``: the same of an int64 array."""

else:

    def load_int32(address: int, index: int) -> int:
        """An element of an int32 array that begins at an address."""
        return ctypes.c_int32.from_address(int(address) + 4 * int(index)).value

    def load_int64(address: int, index: int) -> int:
        """The same of an int64 array."""
        return ctypes.c_int64.from_address(int(address) + 8 * int(index)).value

    def copy_words(to: Any, place: int, source: Any, first: int, n: int) -> None:
        """Copy words of one array to another, or within one, where they do not lie over each other."""
        to[place : place + n] = source[first : first + n]
