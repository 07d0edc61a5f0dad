"""How kernels are compiled: the flags in one place."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_WANTED = os.environ.get("CEPHEID_JIT", "1")

ENABLED = _WANTED != "0"
"""False where the kernels always run as plain Python. Else they do until their machine code is there."""

WAITS = _WANTED == "wait"
"""Whether machine code is waited for before anything runs: then no kernel runs as plain Python."""

COMPILING_VARIABLE = "CEPHEID_COMPILING"

COMPILING = os.environ.get(COMPILING_VARIABLE) == "1"
"""Whether this process makes machine code (`compiler.build`): only there are kernels more than plain Python."""

OPTIMIZATION = 1
"""LLVM's level: 2 takes a fifth longer to compile and runs no faster."""

OPTIMIZATION_OBSERVED = 2
"""That of kernels that count what becomes of pairs: there 2 saves a third of what counting costs."""


@cache
def _pipeline() -> Any:
    """What Numba does to kernels; made ready when the first of them is met."""
    from cepheid.kernels.pipeline import KernelPipeline, remember

    remember()
    return KernelPipeline


@cache
def _machine_types() -> dict[str, Any]:
    """The machine type of each annotation that a kernel may have."""
    from numba import types

    from cepheid.kernels.array_type import Items
    from cepheid.kernels.called import Called

    word, real, truth = types.int64, types.float64, types.boolean
    ints, floats, nulls = Items("Ints", word), Items("Floats", real), Items("Bytes", types.uint8)
    arrays = (ints, ints, floats, ints, floats, nulls)  # plan, pool, reals, ints, floats, nulls
    helper = Called("Helper", word, *[word] * 5, *arrays)
    free = Called("Free", word, *[word] * 3, *arrays, helper)
    return {
        "int": word,
        "float": real,
        "bool": truth,
        "None": types.none,
        "tuple[int, int]": types.UniTuple(word, 2),
        "tuple[int, bool]": types.Tuple((word, truth)),
        "Ints": ints,
        "Floats": floats,
        "Bytes": nulls,
        "Halves": Items("Halves", types.int32),
        "Words": Items("Words", types.uint64),
        # kernels that are called by address: see `signatures`
        "Helper": helper,
        "Free": free,
        "Ending": Called("Ending", word, *[word] * 3, *arrays, ints, helper, free),
    }


@dataclass(frozen=True)
class Compilable:
    """A kernel that is called from outside or by its address, before it is compiled.

    Attributes:
        dispatcher: Numba's.
        signature: Numba's types of the result and of the arguments.
        kinds: the annotations of the arguments.
    """

    dispatcher: Any
    signature: Any
    kinds: tuple[str, ...]

    def compiled(self) -> tuple[str, str]:
        """LLVM's code of it and of all it calls, and the name that it has there."""
        from cepheid.kernels.pipeline import optimized

        self.dispatcher.compile(self.signature)
        made = self.dispatcher.overloads[self.signature.args]
        return optimized(made.library), made.fndesc.llvm_func_name


def kernel(*, entry: bool = False, inline: bool = False, macro: bool = False) -> Callable[[F], F]:
    """Compile a function when a kernel that uses it is compiled.

    The signature is read from the annotations: Numba would otherwise compile once more for every argument that is
    a constant at a call. The kernels allocate nothing, so references to arrays are not counted (counting them costs
    many times the work itself). Integer overflow is tested where it can happen. Without the GIL, services can match
    on several threads. By its attribute ``made_again``, `variants.variant` does the same to a copy with other globals.

    Args:
        entry: it is called from outside, or by its address, too: it has an attribute ``compilable``, a `Compilable`,
            whose machine code, with that of all it calls, `compiler.load` loads.
        inline: paste its machine code into the callers (the inner loops).
        macro: paste it into the callers before they are typed; for what few places use, or no variant but one, as
            typing it again at each place takes longer to compile than a call.
    """

    def decorate(function: F) -> F:
        if not COMPILING:
            function.made_again = decorate  # type: ignore[attr-defined]
            return function
        import numba

        options: dict[str, Any] = {
            "nogil": True,
            "boundscheck": False,
            "_nrt": False,
            "pipeline_class": _pipeline(),
        }
        if macro:
            pasted: F = numba.njit(inline="always", **options)(function)
            pasted.made_again = decorate  # type: ignore[attr-defined]
            return pasted
        known = _machine_types()
        *arguments, result = (known[str(a)] for a in _annotations(function))
        options |= {"forceinline": inline, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        helper = numba.njit(**options)(function)
        helper.made_again = decorate
        template_of = helper.get_call_template
        helper.get_call_template = lambda args, kws: template_of(tuple(arguments), {})
        if entry:
            *kinds, _ = (str(a) for a in _annotations(function))
            helper.compilable = Compilable(helper, result(*arguments), tuple(kinds))
        called: F = helper
        return called

    return decorate


def _annotations(function: Callable[..., Any]) -> list[Any]:
    """The annotations of the arguments in order, then that of the result."""
    found = dict(function.__annotations__)
    result = found.pop("return")
    return [*found.values(), result]
