"""Registers of loops: counts, sums and extremes, brought up to date as events are taken."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    COPY_REALS,
    COUNT_ON,
    COUNT_VALUE_INT,
    FIRST_COLUMN,
    GT,
    LT,
    M_BASE,
    M_CURRENT,
    M_FLOAT_NULLS,
    M_HEAD,
    M_INT_NULLS,
    M_N_EVENTS,
    MAX_FLOAT,
    MAX_INT,
    MIN_FLOAT,
    MIN_INT,
    NOT_BEGUN,
    P_N_REALS,
    P_REGISTERS,
    SET_FIRST_SLOT,
    SET_FLOAT,
    SET_IF,
    SET_ROW,
    SUM_FLOAT,
    SUM_INT,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.predicates import compare_floats
from cepheid.kernels.rows import INT_MAX, INT_MIN, reals_of


@kernel()
def add_overflows(a: int, b: int) -> bool:
    """Whether a + b leaves int64."""
    if b > 0:
        return a > INT_MAX - b
    return a < INT_MIN - b


@kernel()
def _add_with_carry(held: int, value: int, pool: Ints) -> None:
    """Add to the sum at ``pool[held]``, whose carry, in units of 2**64, is after it: no step leaves int64."""
    total = pool[held]
    if not add_overflows(total, value):
        pool[held] = total + value
    elif value > 0:
        pool[held] = (total + INT_MIN) + (value + INT_MIN)
        pool[held + 1] += 1
    else:
        pool[held] = (total - INT_MIN) + (value - INT_MIN)
        pool[held + 1] -= 1


@kernel()
def float_of_sum(held: int, pool: Ints) -> float:
    """The float64 that is nearest to the sum at ``pool[held]`` with its carry, ties to even."""
    low, carry = pool[held], pool[held + 1]
    if carry == 0:
        return float(low)
    # All but the bits that do not fit an int64 with the carry; where any of those is set, the last one that stays
    # becomes 1. At least 55 bits stay, so the conversion rounds as the whole number would.
    shift = 9
    while abs(carry) >= 1 << (shift - 2):
        shift += 1
    kept = carry * (1 << (64 - shift)) + (low >> shift)
    if low & ((1 << shift) - 1):
        kept |= 1
    return float(kept) * float(1 << shift)


@kernel(entry=True)
def tally_event(
    at: int,
    row: int,
    source: int,
    unused: int,
    unused_too: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
) -> int:
    """Bring the aggregate registers that the row of `updates` at ``plan[at:]`` names up to date with the current event.

    Args:
        at: or COPY_REALS: the float registers of the row at ``source`` go to that at ``row``.
    """
    if at == COPY_REALS:
        here, there = reals_of(row, plan, pool), reals_of(source, plan, pool)
        for r in range(plan[P_N_REALS]):
            reals[here + r] = reals[there + r]
        return 0
    if plan[at] == SET_FLOAT:
        reals[reals_of(row, plan, pool) + plan[at + 4]] = 0.0
        return 0
    op, column = plan[at], plan[at + 3]
    register = row + plan[P_REGISTERS] + plan[at + 1]
    if op == SET_ROW:
        pool[register] = pool[M_HEAD]  # the row is being made
        return 0
    if op == SET_FIRST_SLOT:
        if pool[register] < 0:
            pool[register] = pool[M_CURRENT]
        return 0
    if op == COUNT_ON:
        pool[register] = 1 if pool[register] == NOT_BEGUN else pool[register] + 1
        return 0
    if op == SET_IF:
        if pool[register] == plan[at + 3]:
            pool[register] = plan[at + 2]
        return 0
    n = pool[M_N_EVENTS]
    event = pool[M_CURRENT] - pool[M_BASE]
    of_ints = op == COUNT_VALUE_INT or op == SUM_INT or op == MIN_INT or op == MAX_INT
    place = ints[(pool[M_INT_NULLS] if of_ints else pool[M_FLOAT_NULLS]) + column]
    if place >= 0 and nulls[place * n + event] != 0:
        return 0
    count = pool[register]
    pool[register] = count + 1
    if of_ints:
        value = ints[(FIRST_COLUMN + column) * n + event]
        held = row + plan[P_REGISTERS] + plan[at + 2]
        if op == SUM_INT:
            _add_with_carry(held, value, pool)
        elif op == MIN_INT:
            if count == 0 or value < pool[held]:
                pool[held] = value
        elif op == MAX_INT:
            if count == 0 or value > pool[held]:
                pool[held] = value
        return 0
    x = floats[column * n + event]
    real = reals_of(row, plan, pool) + plan[at + 4]
    if op == SUM_FLOAT:
        reals[real] += x
    elif op == MIN_FLOAT:
        if count == 0 or compare_floats(LT, x, reals[real]):
            reals[real] = x
    elif op == MAX_FLOAT:
        if count == 0 or compare_floats(GT, x, reals[real]):
            reals[real] = x
    return 0
