"""How kernels are compiled: the flags in one place."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

ENABLED = os.environ.get("CEPHEID_JIT", "1") != "0"
"""False where the kernels run as plain Python."""

CACHED = False
"""Whether machine code is kept on disk; `compiler.load` sets it, with the folder, before it imports a kernel."""


@cache
def _machine_types() -> dict[str, Any]:
    """The machine type of each annotation that a kernel may have."""
    from numba import types

    return {
        "int": types.int64,
        "float": types.float64,
        "bool": types.boolean,
        "None": types.none,
        "tuple[int, bool]": types.Tuple((types.int64, types.boolean)),
        "Ints": types.int64[::1],
        "Floats": types.float64[::1],
        "Bytes": types.uint8[::1],
    }


def kernel(*, inline: bool = False, entry: bool = False) -> Callable[[F], F]:
    """Compile a function when a kernel that uses it is compiled.

    The signature is read from the annotations: Numba would otherwise compile once more for every argument that is
    a constant at a call. The kernels allocate nothing, so references to arrays are not counted (counting them costs
    many times the work itself). Integer overflow is tested where it can happen. Without the GIL, services can match
    on several threads.

    Args:
        inline: paste the machine code into the callers (the inner loops).
        entry: it is called from outside: compile it when its module is imported, or take its machine code, with
            that of all it calls, from disk.
    """

    def decorate(function: F) -> F:
        if not ENABLED:
            return function
        import numba

        known = _machine_types()
        *arguments, result = (known[str(a)] for a in _annotations(function))
        options: dict[str, Any] = {"nogil": True, "boundscheck": False, "_nrt": False, "forceinline": inline}
        if entry:
            compiled: F = numba.njit(result(*arguments), cache=CACHED, **options)(function)
            return compiled
        helper = numba.njit(**options)(function)
        template_of = helper.get_call_template
        helper.get_call_template = lambda args, kws: template_of(tuple(arguments), {})
        called: F = helper
        return called

    return decorate


def _annotations(function: Callable[..., Any]) -> list[Any]:
    """The annotations of the arguments in order, then that of the result."""
    found = dict(function.__annotations__)
    result = found.pop("return")
    return [*found.values(), result]
