"""Random conditions over the variables of a random pattern, as text."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cepheid.testing.strategies_choices import Choices
from cepheid.testing.strategies_features import Features

COMPARISONS = ("<=", "<>", "=", "<", ">=", ">")

CONSTANTS: Mapping[str, tuple[str, ...]] = {
    "k": ("1", "2", "0"),
    "x": ("1", "0", "2", "3", "-1"),
    "f": ("1.5", "0.0", "2", "-1.5"),
    "d": ("1.5", "0.25", "2", "-1"),
    "s": ("'a'", "'b'", "''", "'ä'"),
}
"""Attribute -> constants that it is compared with."""

NUMBERS = ("x", "k", "f", "d")

FORMS: Mapping[str, tuple[str, ...]] = {
    "constant": ("{v}.{a} {o} {c}",),
    "cross": (
        "{v}.{a} {o} {w}.{a}",
        "{v}.{n} {o} {w}.{n}",
        "{v}.{n} {o} {w}.{m}",
        "{v}.{n} + {w}.{n} {o} 2",
        "{v}.{n} - {w}.{m} {o} 0",
        "{v}.{n} * {w}.{n} {o} {v}.{m}",
        "{v}.{n} / {w}.{m} {o} 1",
        "{v}.{n} % 2 {o} {w}.{m} % 2",
        "-{v}.{n} {o} {w}.{m}",
        "{w}.ts - {v}.ts {o} 2 seconds",
        "{v}.ts + 3 seconds {o} {w}.ts",
    ),
    "aggregate": (
        "count({p}) {o} 1",
        "count({p}.x) {o} 2",
        "{g}({p}.{n}) {o} 1",
        "{g}({p}.{n}) {o} 1.5",
        "{g}({p}.{n}) {o} {q}.{n}",
        "{g}({p}.{n}) {o} count({q})",
        "sum({p}.x * {p}.k) {o} {q}.x",
        "count({p}) {o} {q}.k",
    ),
    "running": (
        "{b}.{n} {o} {g}({b}.{n})",
        "count({b}) <= {b}.x + 1",
        "{b}.{n} {o} first({b}).{n}",
        "{b}.{n} {o} last({b}).{n}",
        "prev({b}).{n} {o} {g}({b}.{n})",
        "{b}.{n} - {q}.{n} {o} {g}({b}.{n})",
    ),
    "prev": (
        "{b}.{a} {o} prev({b}).{a}",
        "{b}.{n} - prev({b}).{n} {o} 1",
        "prev({b}).{n} {o} {q}.{n}",
    ),
    "first": (
        "first({b}).{a} {o} {q}.{a}",
        "last({b}).{a} {o} {q}.{a}",
        "first({b}).{a} {o} {c}",
        "last({b}).{a} {o} {c}",
        "first({b}).{n} {o} last({b}).{n}",
    ),
    "null": (
        "{v}.{a} IS NOT NULL",
        "{v}.{a} IS NULL",
        "({v}.{n} IS NULL OR {v}.{n} {o} {w}.{n})",
        "({w}.{n} {o} {v}.{n} OR {w}.{a} IS NOT NULL)",
        "{v}.{n} + {w}.{n} IS NULL",
    ),
    "three-valued": (
        "({v}.{n} {o} {w}.{n} AND {w}.{m} >= 0 OR {v}.{m} = {w}.{m})",
        "({v}.{n} {o} {w}.{n} OR {v}.x <> {w}.x AND {w}.f = {v}.f)",
        "NOT ({v}.{n} {o} {w}.{n} AND {v}.k <= {w}.k)",
    ),
    "function": (
        "abs({v}.x - {w}.x) {o} 1",
        "coalesce({v}.x, {w}.k, 0) {o} 1",
        "least({v}.x, {w}.k) {o} greatest({w}.x, 0)",
        "round({v}.f) {o} {w}.x",
        "floor({v}.d) {o} ceil({w}.f)",
        "sqrt({v}.f) {o} 1.5",
        "length({v}.s) {o} {w}.k",
        "{v}.x BETWEEN 0 AND 2",
        "{v}.x IN (1, 2, {w}.k)",
        "{v}.x NOT IN (3, {w}.k)",
        "{v}.s LIKE 'a%'",
        "{v}.s NOT LIKE '_'",
        "second({v}.ts) {o} second({w}.ts)",
        "sign({v}.f) {o} sign({w}.x)",
    ),
    "texts": (
        "concat({v}.s, {w}.s) {o} 'ab'",
        "concat({v}.s, {w}.s) {o} {q}.s",
        "starts_with({v}.s, {w}.s)",
        "NOT ends_with({v}.s, {w}.s)",
        "concat({v}.s, {w}.s) LIKE 'a%'",
        "concat({v}.s, {w}.s) NOT LIKE '_b'",
        "concat({v}.s, {w}.s) IN ('a', {w}.s, 'ab')",
        "{v}.s IN ('a', {w}.s)",
        "coalesce({v}.s, {w}.s) {o} 'a'",
        "length(concat({v}.s, {w}.s)) {o} {w}.x",
        "max({p}.s) {o} 'a'",
        "min({p}.s) {o} {q}.s",
    ),
    "lists": (
        "{v}.x IN {w}.l",
        "{v}.k NOT IN {w}.l",
        "{v}.x + {w}.x IN {v}.l",
        "({v}.x IN {w}.l OR {v}.k = 2)",
    ),
    "hosted": (
        "near({v}.x, {w}.k)",
        "NOT near({v}.x, {w}.x)",
        "(near({v}.x, {w}.k) OR {v}.s = {w}.s)",
        "near({v}.x, {v}.k)",
        "joined({v}.s, {w}.s) {o} {w}.s",
        "mean({v}.f, {w}.d) {o} {w}.x",
        "mean({v}.x, {w}.f) + {v}.x {o} 1.5",
        "later({v}.ts, {w}.ts - {v}.ts) {o} {w}.ts",
        "near(count({p}), {q}.x)",
        "near(max({p}.x), {q}.k)",
        "joined(min({p}.s), {q}.s) IS NOT NULL",
        "{v}.d + {w}.x {o} 2",
        "least({v}.d, {w}.x) {o} 1",
        "year({v}.ts + ({w}.ts - {v}.ts)) {o} 1970",
    ),
    "hosted loop": (
        "near(prev({b}).x, {b}.x)",
        "near({b}.x, count({b}))",
        "near(first({b}).x, last({b}).k)",
        "concat(prev({b}).s, {b}.s) <> {q}.s",
        "near({b}.x, {q}.x)",
    ),
    "loop under NOT": (
        "count({v}) {o} {p}.x",
        "{g}({v}.{n}) {o} {p}.{n}",
        "first({v}).{n} {o} {p}.{n}",
        "last({v}).s {o} {p}.s",
        "{v}.{n} - prev({v}).{n} {o} {p}.{n}",
        "{v}.{n} {o} {g}({v}.{n}) + {p}.{n}",
    ),
    "remote": (
        "{v}.x <= REMOTE levels[{w}.k].top",
        "{v}.x IN REMOTE levels[{w}.k].known",
        "{v}.x NOT IN REMOTE levels[{w}.k].known",
        "REMOTE pairs[{v}.k, {w}.k] >= 1",
        "REMOTE levels[2].top {o} {v}.x",
        "REMOTE levels[1].top {o} 2",
        "{g}(REMOTE levels[{p}.k].top) {o} {q}.x",
        "count(REMOTE pairs[{p}.x, {p}.k]) {o} {q}.x",
    ),
}
"""Kind of condition -> its forms. ``v w`` are variables, ``p q`` variables that are not negated, ``b`` a loop;
``a`` is an attribute and ``c`` a constant for it, ``n m`` are numbers, ``o`` compares, ``g`` aggregates."""


@dataclass(frozen=True)
class Name:
    """A variable as conditions see it.

    Attributes:
        name: as written.
        loop: it can have several elements.
        negated: it stands under NOT.
    """

    name: str
    loop: bool = False
    negated: bool = False


def condition(choices: Choices, names: Sequence[Name], features: Features) -> str:
    """One operand of AND."""
    positive = [name for name in names if not name.negated]
    some_loop = any(name.loop for name in positive)
    kinds = ["constant", "constant"]
    if Features.CROSS in features and len(names) > 1:
        kinds += ["cross"] * 4
    if Features.AGGREGATES in features:
        kinds += ["aggregate"] * 2 + ["running"] * some_loop
    if Features.PREV in features:
        kinds += ["prev"] * 2 * some_loop
    if Features.FIRST_LAST in features:
        kinds += ["first"] * 2 * some_loop
    if Features.LOGIC in features:
        kinds += ["or", "not", "null", "three-valued"]
    if Features.FUNCTIONS in features:
        kinds += ["function", "texts", "lists", "hosted"] + ["hosted loop"] * some_loop
    if Features.REMOTE in features:
        kinds += ["remote"] * 2
    kind = choices.pick(kinds)
    if kind in ("or", "not"):
        # Two negated variables in one condition are refused.
        simple = ["constant"]
        simple += ["cross"] if Features.CROSS in features and len(positive) > 1 else []
        simple += ["aggregate"] if Features.AGGREGATES in features else []
        inner = [_of_kind(choices, choices.pick(simple), positive) for _ in range(2 if kind == "or" else 1)]
        return f"({' OR '.join(inner)})" if kind == "or" else f"NOT ({inner[0]})"
    return _of_kind(choices, kind, names)


def condition_of_not(choices: Choices, names: Sequence[Name]) -> str:
    """A condition on a negated variable and, mostly, another one."""
    negated = choices.pick([name for name in names if name.negated])
    kind = choices.pick(["cross", "cross", "loop under NOT" if negated.loop else "cross", "constant"])
    return _of_kind(choices, kind, [negated, *(name for name in names if not name.negated)], negated)


def equal_keys(names: Sequence[Name]) -> list[str]:
    """One key for all events that must be there, as equalities of each with the next one."""
    single = [name.name for name in names if not name.negated and not name.loop]
    return [f"{one}.k = {other}.k" for one, other in pairwise(single)]


def _of_kind(choices: Choices, kind: str, names: Sequence[Name], subject: Name | None = None) -> str:
    """A condition of this kind; ``subject`` is its first variable, where given."""
    form = choices.pick(FORMS[kind])
    positive = [name for name in names if not name.negated]
    chosen: dict[str, str] = {}
    for _, letter, _, _ in string.Formatter().parse(form):
        if letter is None or letter in chosen:
            continue
        match letter:
            case "v":
                chosen[letter] = (subject or choices.pick(names)).name
            case "w":
                others = [name for name in positive if name.name != chosen.get("v")]
                chosen[letter] = choices.pick(others or positive).name
            case "p":
                chosen[letter] = choices.pick(positive).name
            case "q":
                taken = (chosen.get("p"), chosen.get("b"))
                others = [name for name in positive if name.name not in taken]
                chosen[letter] = choices.pick(others or positive).name
            case "b":
                chosen[letter] = choices.pick([name for name in positive if name.loop]).name
            case "a":
                chosen[letter] = choices.pick(tuple(CONSTANTS))
            case "c":
                chosen[letter] = choices.pick(CONSTANTS[chosen["a"]])
            case "n" | "m":
                chosen[letter] = choices.pick(NUMBERS)
            case "o":
                chosen[letter] = choices.pick(COMPARISONS)
            case _:
                chosen[letter] = choices.pick(("max", "min", "avg", "sum"))
    return form.format(**chosen)
