"""The type of a kernel that is called by its address."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, models, register_model


class Called(types.Callable):
    """A word that is the address of a compiled function of a known signature.

    Numba's own type for functions as values brings its callers the means to raise errors in Python, which machine code
    that is loaded without Numba would miss. The name tells types apart; it is a part of the symbol of every kernel that
    takes one.
    """

    def __init__(self, name: str, result: Any, *arguments: Any) -> None:
        self._signature = signature(result, *arguments, recvr=self)
        super().__init__(name=name)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The one signature; arguments are converted to its types."""
        return self._signature

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """The one signature, and that it has no parameters."""
        return (self._signature,), False

    def get_impl_key(self, sig: Any) -> Any:
        """What `_call` is registered under."""
        return Called


@register_model(Called)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, called: Any) -> None:
        super().__init__(manager, called, ir.IntType(64))


@lower_builtin(Called, types.VarArg(types.Any))
def _call(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    convention = context.call_conv
    kinds = sig.args[1:]
    function_type = convention.get_function_type(sig.return_type, kinds)
    function = builder.inttoptr(arguments[0], function_type.as_pointer())
    status, result = convention.call_function(builder, function, sig.return_type, kinds, arguments[1:])
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result
