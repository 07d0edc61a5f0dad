"""Conditions of any form: a postfix table is run for an event and a partial match.

Three-valued as in SQL, and *absent* beside (SEMANTICS 4.2): absent operands are neutral in AND and OR, and a
condition that is absent as a whole holds.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from cepheid.kernels.aggregates import add_overflows, float_of_sum
from cepheid.kernels.combinations import begin_turning, counts, row_before, turn_on, waits
from cepheid.kernels.host import call_host, power
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    A_ARG,
    A_COLUMN,
    A_SOURCE,
    ABS_FLOAT,
    ABS_INT,
    ABSENT,
    ADD_FLOAT,
    ADD_INT,
    AND,
    ARG,
    B_ARG,
    B_COLUMN,
    B_SOURCE,
    CEIL,
    CODE_FROM,
    CODE_TO,
    CODE_WIDTH,
    COMBINATION,
    COMPARE,
    DISTANCE,
    DIV_FLOAT,
    EMPTY,
    EMPTY_AS_NULL,
    EMPTY_IF,
    FIRST_COLUMN,
    FIRST_UNARY,
    FLOOR,
    GREATEST_FLOAT,
    GREATEST_INT,
    GT,
    HOST,
    IS_NOT_NULL,
    IS_NULL,
    ITERATED_FROM,
    LEAST_FLOAT,
    LEAST_INT,
    LT,
    M_BASE,
    M_FLOAT_NULLS,
    M_HOST,
    M_INT_NULLS,
    M_ITERATED,
    M_N_EVENTS,
    M_STACK,
    M_TAGS,
    M_TOP,
    MOD_INT,
    MUL_FLOAT,
    MUL_INT,
    N_ITERATED,
    NEG_FLOAT,
    NEG_INT,
    NOT,
    NOT_BEGUN,
    NOT_BOUND,
    NOT_EMPTY,
    NULL,
    OP,
    OR,
    OR_OF_IN,
    P_CODE,
    P_COMBINATIONS,
    P_ITERATED,
    P_REGISTERS,
    P_STACK_REALS,
    POWER,
    PUSH_ABSENT,
    PUSH_BOUND,
    PUSH_COUNT,
    PUSH_EVENT,
    PUSH_FLOAT,
    PUSH_FLOAT_CONST,
    PUSH_INT,
    PUSH_INT_CONST,
    PUSH_INT_REGISTER,
    PUSH_MEAN_FLOAT,
    PUSH_MEAN_INT,
    PUSH_NULL,
    PUSH_SUM_INT,
    SCALE_BOUNDED,
    SCALE_INT,
    SIGN_FLOAT,
    SIGN_INT,
    SQRT,
    STACK_COMPARE_FLOATS,
    STACK_COMPARE_INTS,
    SUB_FLOAT,
    SUB_INT,
    TO_FLOAT,
    VALUE,
    WHEEL_WIDTH,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.predicates import _compare_fused, _is_null, compare_floats, compare_ints, locate
from cepheid.kernels.rows import INT_MAX, INT_MIN, reals_of, row_of


@kernel()
def subtract_overflows(a: int, b: int) -> bool:
    """Whether a - b leaves int64."""
    if b < 0:
        return a > INT_MAX + b
    return a < INT_MIN + b


@kernel()
def multiply_overflows(a: int, b: int) -> bool:
    """Whether a * b leaves int64."""
    if a == 0 or b == 0:
        return False
    if a == INT_MIN or b == INT_MIN:
        return not (a == 1 or b == 1)
    size_a, size_b = abs(a), abs(b)
    largest = INT_MAX // size_b
    if size_a <= largest:
        return False
    # The least int64 has no positive twin: -(2**63) is in range.
    least = (a < 0) != (b < 0) and size_a == largest + 1 and INT_MAX % size_b == size_b - 1
    return not least


@kernel()
def _began_before(beside: int, row: int, count: int, plan: Ints, pool: Ints) -> bool:
    """Whether a variable has elements before an iteration without any, by the field of their number.

    Args:
        beside: the iterated variables that may have an element in that iteration, as bits.
        row: of the partial match, for where none has.
    """
    v = 0
    while beside >> v:
        other = pool[pool[M_ITERATED] + v]
        if (beside >> v) & 1 and other >= 0:
            return pool[row_of(other, plan, pool) + count] > 0
        v += 1
    return pool[row + count] > 0


@kernel()
def _push_register(at: int, tag: int, row: int, plan: Ints, pool: Ints, reals: Floats) -> None:
    """Push a count, an aggregate or a mean from the registers of a row."""
    op = plan[at + OP]
    top = pool[M_STACK] - pool[M_TAGS] + tag
    top_real = plan[P_STACK_REALS] - pool[M_TAGS] + tag
    none_so_far = False
    if plan[at + B_SOURCE]:
        standing = pool[pool[M_ITERATED] + plan[at + B_ARG]]
        if standing >= 0:
            row = row_before(standing, plan, pool)
        elif _began_before(plan[at + B_SOURCE] >> 1, row, plan[P_REGISTERS] + plan[at + B_COLUMN], plan, pool):
            row = -1
        else:
            none_so_far = True
        if row < 0:
            pool[tag] = ABSENT
            return
    registers = row + plan[P_REGISTERS]
    n = pool[registers + plan[at + ARG]]
    if none_so_far and n > 0:
        n = 0
    if n == NOT_BEGUN and plan[at + A_SOURCE] != NOT_EMPTY:
        passed = plan[at + A_SOURCE] - EMPTY_IF
        if passed < 0 or pool[pool[M_TOP] + plan[P_REGISTERS] + passed]:
            n = 0
    if n == NOT_BEGUN:
        pool[tag] = ABSENT
    elif op == PUSH_COUNT:
        pool[top] = n
    elif n <= 0:
        pool[tag] = NULL
    elif op == PUSH_INT_REGISTER:
        pool[top] = pool[registers + plan[at + A_ARG]]
    elif op == PUSH_SUM_INT:
        held = registers + plan[at + A_ARG]
        if pool[held + 1] == 0:
            pool[top] = pool[held]
        else:
            pool[tag] = NULL
    elif op == PUSH_MEAN_INT:
        reals[top_real] = float_of_sum(registers + plan[at + A_ARG], pool) / (n * reals[plan[at + A_COLUMN]])
    else:
        number = reals[reals_of(row, plan, pool) + plan[at + A_ARG]]
        reals[top_real] = number / n if op == PUSH_MEAN_FLOAT else number


@kernel()
def _combine(op: int, tag: int, base_ints: int, pool: Ints) -> None:
    """AND or OR of the two on top: absent operands are neutral (but in IN), then as in SQL."""
    tag_a, tag_b = pool[tag], pool[tag + 1]
    a, b = pool[base_ints + tag], pool[base_ints + tag + 1]
    if op == OR_OF_IN and (tag_a == ABSENT or tag_b == ABSENT):
        pool[tag] = ABSENT
    elif tag_a == ABSENT:
        pool[tag] = tag_b
        pool[base_ints + tag] = b
    elif tag_b != ABSENT:
        deciding = 0 if op == AND else 1
        if (tag_a == VALUE and a == deciding) or (tag_b == VALUE and b == deciding):
            pool[tag] = VALUE
            pool[base_ints + tag] = deciding
        elif tag_a == NULL or tag_b == NULL:
            pool[tag] = NULL
        else:
            pool[base_ints + tag] = 1 - deciding


@kernel()
def _unary(op: int, argument: int, tag: int, top: int, top_real: int, pool: Ints, reals: Floats) -> None:
    """A function of one operand that is a value, in place."""
    a = pool[top]
    x = reals[top_real]
    if op == SCALE_INT:
        if multiply_overflows(a, argument):
            pool[tag] = NULL
        else:
            pool[top] = a * argument
    elif op == SCALE_BOUNDED:
        if argument == 1:
            pool[top] = min(max(a, INT_MIN + 1), INT_MAX - 1)
        elif multiply_overflows(a, argument):
            pool[top] = INT_MAX if a > 0 else INT_MIN
        else:
            pool[top] = a * argument
    elif op == NEG_INT or op == ABS_INT:
        if op == NEG_INT or a < 0:
            if a == INT_MIN:
                pool[tag] = NULL
            else:
                pool[top] = -a
    elif op == SIGN_INT:
        pool[top] = 1 if a > 0 else (-1 if a < 0 else 0)
    elif op == NEG_FLOAT:
        reals[top_real] = -x
    elif op == ABS_FLOAT:
        reals[top_real] = abs(x)
    elif op == SIGN_FLOAT:
        reals[top_real] = x if x != x else (1.0 if x > 0 else (-1.0 if x < 0 else 0.0))
    elif op == SQRT:
        reals[top_real] = sqrt(x) if x >= 0 else np.nan
    elif op == FLOOR:
        reals[top_real] = np.floor(x)
    elif op == CEIL:
        reals[top_real] = np.ceil(x)
    else:  # ROUND: half away from zero, of the number as its shortest decimal text reads
        size = abs(x)
        if argument >= 0:
            scale = 10.0**argument
            if size * scale < 1e14:
                whole = np.floor(size * scale)
                if size >= (2.0 * whole + 1.0) / (2.0 * scale):
                    whole += 1.0
                reals[top_real] = whole / scale if x >= 0 else -whole / scale
        else:
            scale = 10.0**-argument
            if size - size == 0.0:
                whole = np.floor(size / scale + 0.5) * scale
                reals[top_real] = whole if x >= 0 else -whole


@kernel()
def _binary(op: int, comparator: int, tag: int, top: int, top_real: int, pool: Ints, reals: Floats) -> None:
    """An operator on the two on top, which are values; the result takes the place of the first."""
    a, b = pool[top], pool[top + 1]
    x, y = reals[top_real], reals[top_real + 1]
    if op == STACK_COMPARE_INTS:
        pool[top] = 1 if compare_ints(comparator, a, b) else 0
    elif op == STACK_COMPARE_FLOATS:
        pool[top] = 1 if compare_floats(comparator, x, y) else 0
    elif op == ADD_INT:
        if add_overflows(a, b):
            pool[tag] = NULL
        else:
            pool[top] = a + b
    elif op == SUB_INT:
        if subtract_overflows(a, b):
            pool[tag] = NULL
        else:
            pool[top] = a - b
    elif op == MUL_INT:
        if multiply_overflows(a, b):
            pool[tag] = NULL
        else:
            pool[top] = a * b
    elif op == MOD_INT:
        if b == 0:
            pool[tag] = NULL
        elif b == -1:
            pool[top] = 0
        else:
            r = a % b  # has the divisor's sign; the language wants the dividend's
            if r != 0 and (a < 0) != (b < 0):
                r -= b
            pool[top] = r
    elif op == ADD_FLOAT:
        reals[top_real] = x + y
    elif op == SUB_FLOAT:
        reals[top_real] = x - y
    elif op == MUL_FLOAT:
        reals[top_real] = x * y
    elif op == POWER:
        reals[top_real] = power(x, y)
    elif y == 0.0:  # DIV_FLOAT, MOD_FLOAT
        pool[tag] = NULL
    elif op == DIV_FLOAT:
        reals[top_real] = x / y
    else:
        reals[top_real] = np.fmod(x, y)


@kernel()
def _choose(op: int, tag: int, top: int, top_real: int, pool: Ints, reals: Floats) -> None:
    """least, greatest and coalesce of the two on top: NULLs are passed over; one that is absent makes it absent."""
    if pool[tag] == ABSENT or pool[tag + 1] == ABSENT:
        pool[tag] = ABSENT
        return
    second = False
    if pool[tag] == NULL:
        second = True
    elif pool[tag + 1] == VALUE:
        if op == LEAST_INT:
            second = pool[top + 1] < pool[top]
        elif op == GREATEST_INT:
            second = pool[top + 1] > pool[top]
        elif op == LEAST_FLOAT:
            second = compare_floats(LT, reals[top_real + 1], reals[top_real])
        elif op == GREATEST_FLOAT:
            second = compare_floats(GT, reals[top_real + 1], reals[top_real])
    if second:
        pool[top] = pool[top + 1]
        reals[top_real] = reals[top_real + 1]
        pool[tag] = pool[tag + 1]


@kernel()
def _stack(
    first: int,
    last: int,
    row: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
) -> int:
    """Run the instructions from ``first`` to before ``last``: 1 true, 0 false or NULL, 2 absent."""
    # Depth d of the stack: the tag, the int and the float there.
    tag = pool[M_TAGS] - 1
    base_ints = pool[M_STACK] - pool[M_TAGS]
    base_reals = plan[P_STACK_REALS] - pool[M_TAGS]
    n = pool[M_N_EVENTS]
    for i in range(first, last):
        at = plan[P_CODE] + i * CODE_WIDTH
        op = plan[at + OP]
        argument = plan[at + ARG]
        if op < TO_FLOAT:  # one more on the stack
            tag += 1
            pool[tag] = VALUE
            if op == COMPARE:
                answer = _compare_fused(at, row, plan, pool, ints, nulls)
                pool[base_ints + tag] = answer
                if answer == ABSENT:
                    pool[tag] = ABSENT
                elif answer < 0:
                    pool[tag] = NULL
            elif op == PUSH_INT or op == PUSH_FLOAT or op == PUSH_BOUND or op == PUSH_EVENT:
                event = locate(plan[at + A_SOURCE], plan[at + A_ARG], row, pool)
                column = plan[at + A_COLUMN]
                event -= pool[M_BASE]
                if op == PUSH_BOUND:
                    pool[base_ints + tag] = 1 if event + pool[M_BASE] >= 0 else 0
                    if event + pool[M_BASE] == NOT_BOUND:
                        pool[tag] = ABSENT
                elif op == PUSH_EVENT:
                    pool[base_ints + tag] = event if event + pool[M_BASE] >= 0 else -1
                elif event + pool[M_BASE] < 0:
                    pool[tag] = ABSENT
                elif op == PUSH_INT:
                    pool[base_ints + tag] = ints[(FIRST_COLUMN + column) * n + event]
                    if _is_null(pool[M_INT_NULLS], column, event, n, ints, nulls):
                        pool[tag] = NULL
                else:
                    reals[base_reals + tag] = floats[column * n + event]
                    if _is_null(pool[M_FLOAT_NULLS], column, event, n, ints, nulls):
                        pool[tag] = NULL
            elif op == PUSH_INT_CONST:
                pool[base_ints + tag] = argument
            elif op == PUSH_FLOAT_CONST:
                reals[base_reals + tag] = reals[argument]
            elif op == PUSH_NULL:
                pool[tag] = NULL
            elif op == PUSH_ABSENT:
                pool[tag] = ABSENT
            else:
                _push_register(at, tag, row, plan, pool, reals)
        elif op == AND or op == OR or op == OR_OF_IN:
            tag -= 1
            _combine(op, tag, base_ints, pool)
        elif op == NOT:
            pool[base_ints + tag] = 1 - pool[base_ints + tag]
        elif op == EMPTY_AS_NULL:
            if pool[tag] == ABSENT and locate(plan[at + A_SOURCE], plan[at + A_ARG], row, pool) == EMPTY:
                pool[tag] = NULL
        elif op == IS_NULL or op == IS_NOT_NULL:
            if pool[tag] != ABSENT:
                pool[base_ints + tag] = 1 if (pool[tag] == NULL) == (op == IS_NULL) else 0
                pool[tag] = VALUE
        elif op == TO_FLOAT:
            value = float(pool[base_ints + tag])
            reals[base_reals + tag] = value / reals[argument] if argument >= 0 else value
        elif op == DISTANCE:
            tag -= 3
            worst = max(max(pool[tag], pool[tag + 1]), max(pool[tag + 2], pool[tag + 3]))
            pool[tag] = worst
            if worst == VALUE:
                dx = reals[base_reals + tag] - reals[base_reals + tag + 2]
                dy = reals[base_reals + tag + 1] - reals[base_reals + tag + 3]
                reals[base_reals + tag] = sqrt(dx * dx + dy * dy)
        elif op == HOST:  # it reads its operands from the stack, and writes its result over the first
            tag -= plan[at + A_SOURCE] - 1
            call_host(pool[M_HOST], argument, tag)
        elif op >= FIRST_UNARY:
            if pool[tag] == VALUE:
                _unary(op, argument, tag, base_ints + tag, base_reals + tag, pool, reals)
        elif op >= LEAST_INT:
            tag -= 1
            _choose(op, tag, base_ints + tag, base_reals + tag, pool, reals)
        else:
            tag -= 1
            worst = max(pool[tag], pool[tag + 1])
            pool[tag] = worst
            if worst == VALUE:
                _binary(op, argument, tag, base_ints + tag, base_reals + tag, pool, reals)
    if pool[tag] == ABSENT:
        return ABSENT
    return 1 if pool[tag] == VALUE and pool[base_ints + tag] == 1 else 0


@kernel(entry=True)
def holds_at_large(
    at: int,
    row_id: int,
    row: int,
    unused: int,
    unused_too: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
) -> int:
    """Whether a condition of several instructions, or over each element of some loops (an odometer), holds: 1 or 0.

    Args:
        at: where the condition lies in ``plan``.
        row_id, row: as in `predicates.holds`.
    """
    first, last, n = plan[at + CODE_FROM], plan[at + CODE_TO], plan[at + N_ITERATED]
    wheels = plan[P_ITERATED] + plan[at + ITERATED_FROM] * WHEEL_WIDTH
    combination = plan[at + COMBINATION]
    if combination >= 0:
        combination += plan[P_COMBINATIONS]
        if waits(combination, row, plan, pool):
            return 1
    begin_turning(n, wheels, combination, row_id, plan, pool)
    while True:
        if combination < 0 or counts(n, wheels, combination, row_id, row, plan, pool):
            if _stack(first, last, row, plan, pool, reals, ints, floats, nulls) == 0:
                return 0
        if not turn_on(n, wheels, combination, row_id, plan, pool):
            return 1
