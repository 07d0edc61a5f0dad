"""The kernels that are called by address, and what is passed where a plan does not need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import DONE, Bytes, Floats, Ints

Large: TypeAlias = Callable[..., bool]
"""`conditions.holds_at_large`"""
Free: TypeAlias = Callable[..., int]
"""`absences.free_of`"""
Accept: TypeAlias = Callable[..., bool]
"""`endings.accepts`"""
Tally: TypeAlias = Callable[..., None]
"""`aggregates.tally_event`"""
Fire: TypeAlias = Callable[..., int]
"""`endings.fire`"""


@kernel(entry=True)
def no_large(
    at: int,
    row_id: int,
    row: int,
    current: int,
    tried: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
) -> bool:
    """Stands for `Large` where every condition is one comparison; never called."""
    return False


@kernel(entry=True)
def no_free(
    first: int,
    last: int,
    row_id: int,
    row: int,
    current: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Large,
) -> int:
    """Stands for `Free` where there is no NOT; never called."""
    return 0


@kernel(entry=True)
def no_accept(
    at: int,
    row_id: int,
    row: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Large,
    free: Free,
) -> bool:
    """Stands for `Accept` where only the last event ends a match; never called."""
    return False


@kernel(entry=True)
def no_tally(
    at: int, row: int, current: int, plan: Ints, pool: Ints, reals: Floats, ints: Ints, floats: Floats, nulls: Bytes
) -> None:
    """Stands for `Tally` where nothing is aggregated; never called."""


@kernel(entry=True)
def no_fire(
    until: int,
    everything: bool,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Large,
    free: Free,
    accept: Accept,
) -> int:
    """Stands for `Fire` where no match waits for a deadline; never called."""
    return DONE
