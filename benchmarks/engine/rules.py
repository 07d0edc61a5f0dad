"""A set of a hundred rules for `benchmarks.stream`, as rule sets are: each looks for few of the events.

Each rule is a sequence of three events of one key, of three types, with a condition on each event alone: an attribute
above, below or between constants. A condition leaves from a five-hundredth to a twentieth of the events of its type
(log-uniform), so a rule looks at one event in a hundred on average.
"""

from __future__ import annotations

import math
import random

N_RULES = 100
SEED = 12
LEAST, MOST = 0.002, 0.05
"""Bounds of the part of a type's events that a condition leaves."""

ATTRIBUTES = {"price": (1.0, 1000.0), "v1": (1, 100_000), "v2": (1, 100_000)}
"""Attribute -> its bounds; the values between are uniform."""


def rules(n_rules: int = N_RULES, seed: int = SEED, *, n_elements: int = 3, window: str = "60 s") -> dict[str, str]:
    """The texts of the rules, by name.

    Args:
        n_rules: how many.
        seed: the same seed draws the same rules.
        n_elements: only the first ones of each: what a match begins with.
        window: of each.
    """
    draw = random.Random(seed)
    return {f"rule {number}": _rule(draw, n_elements, window) for number in range(n_rules)}


def _rule(draw: random.Random, n_elements: int, window: str) -> str:
    types = draw.sample("ABCDE", 3)
    conditions = [_condition(draw, variable) for variable in "abc"]
    elements = [f"{kind} {variable}" for kind, variable in zip(types, "abc", strict=True)]
    where = " AND ".join(["SAME[key]", *conditions[:n_elements]])
    return f"PATTERN SEQ({', '.join(elements[:n_elements])}) WHERE {where} WITHIN {window} POLICY next"


def _condition(draw: random.Random, variable: str) -> str:
    part = math.exp(draw.uniform(math.log(LEAST), math.log(MOST)))
    attribute = draw.choice(list(ATTRIBUTES))
    low, high = ATTRIBUTES[attribute]
    width = part * (high - low)
    start = draw.uniform(low, high - width)

    def constant(value: float) -> str:
        return f"{value:.2f}" if attribute == "price" else str(round(value))

    read = f"{variable}.{attribute}"
    match draw.choice(("above", "below", "between")):
        case "above":
            return f"{read} > {constant(high - width)}"
        case "below":
            return f"{read} < {constant(low + width)}"
        case _:
            return f"{read} BETWEEN {constant(start)} AND {constant(start + width)}"
