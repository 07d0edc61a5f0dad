"""Sums over loops that leave int64 on the way: the engine's conditions and its RETURN are exact, as the oracle is."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from random import Random

import numpy as np
import pytest

from cepheid.compiler.machine_code import MachineFunction, assembled
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT, TIMESTAMP, DataType, Kind
from cepheid.kernels import jit
from cepheid.kernels.aggregates import _add_with_carry, float_of_sum
from cepheid.kernels.layout import Floats, Ints
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent

MOST, LEAST = 2**63 - 1, -(2**63)
DECIMAL = DataType(Kind.DECIMAL, precision=18, scale=2)
SCHEMA = Schema({"ts": TIMESTAMP, "kind": TEXT, "k": INT, "x": INT, "d": DECIMAL, "f": FLOAT}, time="ts", type="kind")
INTS = (MOST, LEAST, MOST, LEAST, 1, -1, 0, MOST - 1, LEAST + 1, 2**62, -(2**62), None)
DECIMALS = tuple(None if x is None else Decimal(max(min(x // 8, 10**18 - 1), 1 - 10**18)).scaleb(-2) for x in INTS)
FLOATS = (9.223372036854776e18, -9.223372036854776e18, 0.5, None)

WHOLE_SUMS = (
    "sum(b.x) IS NOT NULL",
    "sum(b.x) > 0",
    "sum(b.x) <= a.x",
    "sum(b.x) + 1 > a.x",
    "sum(b.d) IS NOT NULL",
    "sum(b.d) > a.d",
    "sum(b.d) >= a.x",
    "sum(b.d * 10.00) IS NULL",
)
MEANS = ("avg(b.x) >= a.x", "avg(b.x) < 0", "avg(b.d) > a.d", "avg(b.d) <= 0.5", "avg(b.x) > sum(b.x)")
RUNNING = ("b.x > sum(b.x)", "b.x <= avg(b.x)", "coalesce(sum(b.x), 0) <= 0", "b.d >= sum(b.d)")
QUERIES = (
    "PATTERN SEQ(A a, B+ b) WHERE {} WITHIN 9 s POLICY any",
    "PATTERN SEQ(A a, B+ b, C c) WHERE {} WITHIN 9 s",
    "PATTERN SEQ(A a, B* b, C c) WHERE {} WITHIN 9 s POLICY any",
    "PATTERN SEQ(A a, (B b, C c)+, D? e) WHERE {} WITHIN 9 s POLICY any",
    "PATTERN SEQ(A a, AND(B+ b, C c)) WHERE {} WITHIN 9 s POLICY any",
    "PATTERN SEQ(A a, B+ b, C c) WHERE {} WITHIN 6 EVENTS",
    "PATTERN SEQ(A a, B+ b) WHERE SAME[k] AND {} WINDOW 6 s SLIDE 2 s POLICY any",
    "PATTERN SEQ(A a, B{{2,4}} b, NOT(C c)) WHERE {} WITHIN 5 s POLICY next",
)
RETURNED = "\nRETURN sum(b.x) AS s, avg(b.x) AS m, sum(b.d) AS sd, avg(b.d) AS md, sum(b.f) AS sf"


def stream(random, n=9):
    """Events of all types, most of them B, whose numbers are near both ends of their types."""
    made = []
    for number in range(n):
        kind = "A" if number == 0 else random.choice("BBBBCD" if number % 4 else "AC")
        values = {"x": random.choice(INTS), "d": random.choice(DECIMALS), "f": random.choice(FLOATS), "k": 1}
        time = number * 700_000
        made.append(OracleEvent(time, (number,), "events", kind, {"ts": time, "kind": kind, **values}))
    return made


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_engine_equals_oracle_where_sums_leave_int64(query):
    random = Random(query)
    streams = [stream(random) for _ in range(6)]
    n_matches = n_conditions = 0
    for condition in (*WHOLE_SUMS, *MEANS, *RUNNING):
        text = query.format(condition) + RETURNED
        bound = bind(parse(text), SCHEMA, text=text)
        road = EngineRoad(bound)
        per_condition = 0
        for events in streams:
            found = road.answers(events)
            assert found == oracle_answers(bound, events), text
            per_condition += len(found)
        n_matches += per_condition
        n_conditions += per_condition > 0
    assert n_conditions >= 5
    assert n_matches >= 20


def matches(condition, *values):
    text = f"PATTERN SEQ(A a, B+ b, C c) WHERE {condition} WITHIN 1 h"
    kinds = ["A", *"B" * len(values), "C"]
    bound = bind(parse(text), SCHEMA, text=text)
    events = [
        OracleEvent(i, (i,), "events", kind, {"ts": i, "kind": kind, "x": x})
        for i, (kind, x) in enumerate(zip(kinds, (0, *values, 0), strict=True))
    ]
    found = EngineRoad(bound).answers(events)
    assert found == oracle_answers(bound, events)
    return len(found)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_may_come_back(sign):
    assert matches(f"sum(b.x) = {sign * MOST}", sign * MOST, sign, -sign)
    assert matches(f"sum(b.x) = {sign}", *[sign * MOST] * 5, *[-sign * MOST] * 5, sign)


def test_the_sum_itself_is_null_outside_int64():
    assert matches("sum(b.x) IS NULL", MOST, 1)
    assert matches("sum(b.x) IS NULL", LEAST, -1)
    assert not matches("sum(b.x) IS NULL", LEAST, 0)


def test_a_mean_is_exact_where_its_sum_is_none():
    assert matches(f"avg(b.x) = {float(MOST)!r}", MOST, MOST)
    assert matches(f"avg(b.x) = {float(LEAST)!r}", LEAST, LEAST, LEAST)


def test_running_sums_come_back_too():
    # `b.x >= -1` holds throughout; the sum before each element is outside int64 once, where it is NULL.
    assert matches("coalesce(sum(b.x), 7) >= 7", MOST, 1, -1, 5)


@jit.kernel(entry=True)
def nearest(pool: Ints, found: Floats) -> int:
    """The float that is nearest to a sum and its carry."""
    found[0] = float_of_sum(0, pool)
    return 0


@jit.kernel(entry=True)
def add(value: int, pool: Ints) -> int:
    """Add to a sum and its carry."""
    _add_with_carry(0, value, pool)
    return 0


def callable_here(kernel):
    """A kernel of this file, as machine code where this process makes some."""
    if not jit.COMPILING:
        return kernel
    compilable = kernel.compilable
    return MachineFunction(assembled(*compilable.compiled(), compilable.kinds, jit.OPTIMIZATION))


def test_a_sum_and_its_carry_become_the_nearest_float():
    compute = callable_here(nearest)
    random = Random(7)
    found = np.zeros(1, np.float64)
    for _ in range(3000):
        bits = random.randrange(64, 124)
        total = random.getrandbits(bits) | (1 << bits)
        if random.random() < 0.5:  # near a tie between two floats, or on it
            total = (total >> (bits - 53) << (bits - 53)) + (1 << (bits - 54)) + random.choice((-1, 0, 1))
        total *= random.choice((1, -1))
        low = (total + 2**63) % 2**64 - 2**63
        compute(np.array([low, (total - low) >> 64], np.int64), found)
        assert found[0] == float(total)


def test_a_step_never_leaves_int64():
    step = callable_here(add)
    random = Random(3)
    pool = np.zeros(2, np.int64)
    total = 0
    with np.errstate(all="raise"):
        for _ in range(2000):
            value = random.choice([x for x in INTS if x is not None])
            total += value
            step(value, pool)
            assert int(pool[1]) * 2**64 + int(pool[0]) == total


@pytest.mark.slow
@pytest.mark.skipif(jit.COMPILING or not jit.ENABLED, reason="they are tested so by another process")
@pytest.mark.parametrize("variables", [{"CEPHEID_JIT": "0"}, {jit.COMPILING_VARIABLE: "1"}], ids=["plain", "compiled"])
def test_the_same_without_and_with_compiled_kernels(variables: dict[str, str]):
    environment = {**os.environ, **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
