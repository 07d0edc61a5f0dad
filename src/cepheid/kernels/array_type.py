"""The type of the arrays that kernels read and write.

Numba's own has seven words: what owns the array, its shape and its strides, beside the place of its data. Each call
hands all of them on, and an index may count from the end. Kernels need two words, and count from the beginning. With
seven, a call by address moved some fifty words from one place of the stack to another, where the processor stood for a
third of the general kernel's time in some builds of it; and a quarter of the time to compile went into them.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model


class Items(types.Type):
    """Items of one machine type, one after the other in memory.

    Attributes:
        dtype: Numba's type of an item.
    """

    def __init__(self, name: str, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=name)


@register_model(Items)
class _Model(models.StructModel):
    """Where the first lies, and how many there are."""

    def __init__(self, manager: Any, items: Any) -> None:
        super().__init__(manager, items, [("data", types.CPointer(items.dtype)), ("size", types.intp)])


@infer_global(operator.getitem)
class _Get(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        items, index = args
        if isinstance(items, Items) and isinstance(index, types.Integer):
            return signature(items.dtype, items, types.intp)
        return None


@infer_global(operator.setitem)
class _Set(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        items, index, _ = args
        if isinstance(items, Items) and isinstance(index, types.Integer):
            return signature(types.none, items, types.intp, items.dtype)
        return None


@infer_global(len)
class _Len(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.intp, *args) if isinstance(args[0], Items) else None


def place_of(builder: Any, items: Any, index: Any) -> Any:
    """Where the item at an index lies."""
    return builder.gep(builder.extract_value(items, 0), [index], inbounds=True)


@lower_builtin(operator.getitem, Items, types.intp)
def _get(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    return builder.load(place_of(builder, *arguments))


@lower_builtin(operator.setitem, Items, types.intp, types.Any)
def _set(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    items, index, value = arguments
    builder.store(value, place_of(builder, items, index))
    return context.get_dummy_value()


@lower_builtin(len, Items)
def _len(context: Any, builder: Any, sig: Any, arguments: Any) -> ir.Value:
    return builder.extract_value(arguments[0], 1)
