"""Calls that take turns: objects that several threads may call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class HasLock(Protocol):
    """An object whose calls take turns.

    Attributes:
        lock: held by the call whose turn it is; a call may make others.
    """

    lock: threading.RLock


S = TypeVar("S", bound=HasLock)
P = ParamSpec("P")
R = TypeVar("R")


def in_turn(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that waits until no other thread is in such a method of the same object.

    Kernels run without the interpreter's lock, so two threads would be in them at once.
    """

    @wraps(method)
    def waiting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return waiting
