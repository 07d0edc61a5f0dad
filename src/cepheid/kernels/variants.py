"""Kernels of the same source with flags of `hooks` set: what is not asked for is not in their machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

_made: dict[tuple[Any, tuple[tuple[str, int], ...]], Any] = {}


def variant(made: Callable[..., Any], flags: Mapping[str, int]) -> Any:
    """A kernel with some global constants set to other values, in it and in all the kernels that it calls.

    Args:
        made: a kernel, as `jit.kernel` gave it.
        flags: the name of each constant, and its value.

    Returns:
        The kernel itself where neither it nor any that it calls reads one of them.
    """
    key = made, tuple(sorted(flags.items()))
    if key not in _made:
        _made[key] = _variant(made, flags)
    return _made[key]


def _variant(made: Any, flags: Mapping[str, int]) -> Any:
    source: Any = getattr(made, "py_func", made)
    changed: dict[str, Any] = {}
    for name in source.__code__.co_names:
        if name in flags:
            changed[name] = flags[name]
            continue
        called = source.__globals__.get(name)
        if hasattr(called, "made_again"):
            other = variant(called, flags)
            if other is not called:
                changed[name] = other
    if not changed:
        return made
    copy = FunctionType(source.__code__, {**source.__globals__, **changed}, source.__name__)
    copy.__annotations__ = source.__annotations__
    copy.__doc__, copy.__module__, copy.__qualname__ = source.__doc__, source.__module__, source.__qualname__
    return made.made_again(copy)
