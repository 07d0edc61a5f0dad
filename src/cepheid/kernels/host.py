"""Calls out of the kernels: to the host, for what no table of instructions can compute, and to the C library."""

from __future__ import annotations

import math
from typing import Any

from cepheid.kernels.host_type import HOST_TYPE
from cepheid.kernels.jit import COMPILING, kernel

if COMPILING:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def _call_host(typing_context: Any, address: Any, number: Any, tag: Any) -> tuple[Any, Any]:
        word = types.int64

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            machine_word = context.get_value_type(word)
            function_type = ir.FunctionType(machine_word, [machine_word, machine_word])
            function = builder.inttoptr(arguments[0], function_type.as_pointer())
            return builder.call(function, arguments[1:])

        return word(word, word, word), codegen

    call_host: Any = intrinsic(_call_host)
    """``call_host(address, number, tag)``: call a `HOST_TYPE` by its address."""

    @kernel(inline=True)
    def power(x: float, y: float) -> float:
        """``x`` to the power of ``y`` as the C library has it."""
        return math.pow(x, y)

else:

    def call_host(address: int, number: int, tag: int) -> int:
        """Call a `HOST_TYPE` by its address."""
        return HOST_TYPE(int(address))(int(number), int(tag))

    def power(x: float, y: float) -> float:
        """``x`` to the power of ``y`` as the C library has it."""
        try:
            return math.pow(x, y)
        except OverflowError:
            return -math.inf if x < 0 and math.fmod(y, 2) != 0 else math.inf
        except ValueError:
            if x == 0:  # to a negative power
                return math.copysign(math.inf, x) if math.fmod(y, 2) in (1.0, -1.0) else math.inf
            return math.nan
