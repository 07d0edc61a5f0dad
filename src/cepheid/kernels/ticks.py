"""The time, read by kernels: services of events take fractions of a microsecond, less than a call from Python."""

from __future__ import annotations

import sys
import time
from typing import Any

from cepheid.kernels.jit import ENABLED

_MONOTONIC = 6 if sys.platform == "darwin" else 1


def _now_ns() -> Any:
    if not ENABLED:
        return time.perf_counter_ns
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    word = ir.IntType(64)

    @intrinsic
    def now_ns(typing_context: Any) -> Any:
        """The C library's monotonic clock: `clock_gettime`."""

        def generated(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            taken = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
            kind = ir.FunctionType(ir.IntType(32), (ir.IntType(32), taken.type))
            read = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
            builder.call(read, (ir.Constant(ir.IntType(32), _MONOTONIC), taken))
            first, second = (builder.load(cgutils.gep_inbounds(builder, taken, 0, field)) for field in (0, 1))
            return builder.add(builder.mul(first, ir.Constant(word, 1_000_000_000)), second)

        return types.int64(), generated

    return now_ns


now_ns = _now_ns()
"""The monotonic clock, ns: `clock_gettime` of the C library, or Python's where kernels run as plain Python."""
