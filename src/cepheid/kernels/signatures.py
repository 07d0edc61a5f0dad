"""The kernels that are called by address, and what is passed where a plan does not need them.

They share three signatures, so that three stand-ins do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Bytes, Floats, Ints

Helper: TypeAlias = Callable[..., int]
"""`conditions.holds_at_large`, `aggregates.tally_event`, `absences.keep_event`: five ints, and the arrays but `out`."""
Free: TypeAlias = Callable[..., int]
"""`absences.free_of`: three ints, the arrays but `out`, and `conditions.holds_at_large`."""
Ending: TypeAlias = Callable[..., int]
"""`endings.accepts`, `endings.fire`: three ints, all arrays, `conditions.holds_at_large` and `absences.free_of`."""


@kernel(entry=True)
def no_helper(
    a: int,
    b: int,
    c: int,
    d: int,
    e: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
) -> int:
    """Stands for a `Helper` that a plan does not need; never called."""
    return 0


@kernel(entry=True)
def no_free(
    a: int,
    b: int,
    c: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
) -> int:
    """Stands for `Free` where there is no NOT; never called."""
    return 0


@kernel(entry=True)
def no_ending(
    a: int,
    b: int,
    c: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
) -> int:
    """Stands for an `Ending` where only the last event ends a match; never called."""
    return 0
