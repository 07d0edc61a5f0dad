"""An LALR(1) parser over tables that Lark makes from ``grammar.lark``.

Lark turns the grammar into tables, which takes longer than any query takes to parse. So the tables are
kept in ``grammar.json`` beside the grammar, and this module reads and runs them; Lark itself is imported
only where the grammar has changed since. ``python -m cepheid.language.lalr`` writes the file anew.
"""

from __future__ import annotations

import json
import os.path
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from cepheid.language.lexer import Token

GRAMMAR = os.path.join(os.path.dirname(__file__), "grammar.lark")
TABLES = os.path.join(os.path.dirname(__file__), "grammar.json")
STARTS = ("query", "condition", "sequence")

Action: TypeAlias = Callable[[list[Any]], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A production.

    Attributes:
        origin: the symbol that it makes.
        action: the name of the action that gets the children; None where the children are handed up as
            they are (Lark's inlined rules for ``*`` and ``+``).
        transparent: a single child takes the place of the action's result (Lark's ``?rule``).
        inlined: for each symbol on the right, whether its value is a list of children to splice in.
    """

    origin: str
    action: str | None
    transparent: bool
    inlined: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """What the parser does in each state.

    Attributes:
        rules: the productions.
        states: per state, symbol -> the next state (0 or more), or ``-1 - rule`` to reduce.
        start, end: start symbol -> its first state, and the state in which the input may end.
    """

    rules: tuple[Rule, ...]
    states: tuple[Mapping[str, int], ...]
    start: Mapping[str, int]
    end: Mapping[str, int]


class UnexpectedToken(Exception):
    """A token that no query can have in its place.

    Attributes:
        index: which token.
        expected: the terminals that could stand there.
    """

    def __init__(self, index: int, expected: frozenset[str]) -> None:
        super().__init__(index, expected)
        self.index = index
        self.expected = expected


def parse_tokens(tokens: Sequence[Token], start: str, actions: Mapping[str, Action]) -> Any:
    """What the actions make of ``tokens``.

    Args:
        tokens: all tokens, the last of type ``$END``.
        start: one of `STARTS`.
        actions: name -> function from the children (tokens and results of actions) to a result.

    Raises:
        UnexpectedToken: at the first token that cannot stand in its place.
    """
    tables = load()
    end = tables.end[start]
    stack = [tables.start[start]]
    values: list[Any] = []
    for index, token in enumerate(tokens):
        while True:
            step = tables.states[stack[-1]].get(token.type)
            if step is None:
                raise UnexpectedToken(index, _acceptable(tables, _states(tables, tokens[:index], start), end))
            if step >= 0:
                stack.append(step)
                values.append(token)
                break
            rule = tables.rules[-1 - step]
            n = len(rule.inlined)
            children = values[len(values) - n :]
            del values[len(values) - n :], stack[len(stack) - n :]
            values.append(_reduce(rule, children, actions))
            stack.append(tables.states[stack[-1]][rule.origin])
            if token.type == "$END" and stack[-1] == end:
                return values[-1]
    raise AssertionError("the tokens do not end with $END")


def _reduce(rule: Rule, children: list[Any], actions: Mapping[str, Action]) -> Any:
    if any(rule.inlined):
        # A list that grows from the left is nobody else's: it is added to, not copied at each step.
        flat: list[Any] = children[0] if rule.inlined[0] else [children[0]]
        for child, inlined in zip(children[1:], rule.inlined[1:], strict=True):
            if inlined:
                flat.extend(child)
            else:
                flat.append(child)
        children = flat
    if rule.action is None:
        return children
    if rule.transparent and len(children) == 1:
        return children[0]
    return actions[rule.action](children)


def _states(tables: Tables, tokens: Sequence[Token], start: str) -> list[int]:
    """The states after ``tokens``, all of which can stand in their places.

    Made anew, because a wrong token may have led to reductions before it was found to be wrong.
    """
    stack = [tables.start[start]]
    for token in tokens:
        while (step := tables.states[stack[-1]][token.type]) < 0:
            _unwind(tables, stack, step)
        stack.append(step)
    return stack


def _unwind(tables: Tables, stack: list[int], step: int) -> None:
    rule = tables.rules[-1 - step]
    del stack[len(stack) - len(rule.inlined) :]
    stack.append(tables.states[stack[-1]][rule.origin])


def _acceptable(tables: Tables, stack: list[int], end: int) -> frozenset[str]:
    """The terminals that can be shifted next: each is tried out, for the lookahead of a reduction may be too wide."""
    return frozenset(
        symbol for symbol in tables.states[stack[-1]] if not symbol.islower() and _shifts(tables, stack, symbol, end)
    )


def _shifts(tables: Tables, stack: list[int], symbol: str, end: int) -> bool:
    states = list(stack)
    while True:
        step = tables.states[states[-1]].get(symbol)
        if step is None:
            return False
        if step >= 0:
            return True
        _unwind(tables, states, step)
        if symbol == "$END" and states[-1] == end:
            return True


@lru_cache(maxsize=1)
def load() -> Tables:
    """The tables of the grammar, from ``grammar.json`` where it fits ``grammar.lark``, else by Lark."""
    data: dict[str, Any] = {}
    if os.path.exists(TABLES):
        with open(TABLES, encoding="utf-8") as file:
            data = json.load(file)
    if data.get("checksum") != _checksum():
        data = compile_grammar()
    return Tables(
        rules=tuple(Rule(o, a, t, tuple(map(bool, i))) for o, a, t, i in data["rules"]),
        states=tuple(data["states"]),
        start=data["start"],
        end=data["end"],
    )


def _checksum() -> int:
    """Of the grammar: tables that were made of another grammar do not fit."""
    with open(GRAMMAR, encoding="utf-8") as file:
        # Read as text: a checkout may have other line ends.
        return zlib.crc32(file.read().encode())


def compile_grammar() -> dict[str, Any]:
    """The tables that Lark makes of the grammar, as they stand in ``grammar.json``."""
    from lark import Lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class Unused(Lexer):
        """Tokens come from `cepheid.language.lexer`: Lark is not asked for any."""

        def __init__(self, _: object) -> None:
            pass

        def lex(self, _: object, __: object = None) -> Any:
            raise AssertionError("no text is parsed while tables are made")

    with open(GRAMMAR, encoding="utf-8") as file:
        text = file.read()
    made: Any = Lark(
        text,
        parser="lalr",
        lexer=Unused,
        start=list(STARTS),
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
    table = made.parser.parser._parse_table
    # Lark numbers states and rules as its sets come: here they are numbered as they are met, so that the same
    # grammar makes the same file.
    numbers: dict[Any, int] = {table.start_states[s]: i for i, s in enumerate(STARTS)}
    rules: dict[Any, int] = {}
    states: list[dict[str, int]] = []
    open_states = list(numbers)
    for state in open_states:
        row: dict[str, int] = {}
        for symbol, (action, to) in sorted(table.states[state].items(), key=lambda item: str(item[0])):
            if action is Shift:
                if to not in numbers:
                    numbers[to] = len(numbers)
                    open_states.append(to)
                row[str(symbol)] = numbers[to]
            else:
                row[str(symbol)] = -1 - rules.setdefault(to, len(rules))
        states.append(row)
    return {
        "checksum": _checksum(),
        "start": {s: numbers[table.start_states[s]] for s in STARTS},
        "end": {s: numbers[table.end_states[s]] for s in STARTS},
        "rules": [_plain(rule) for rule in rules],
        "states": states,
    }


def _plain(rule: Any) -> list[Any]:
    """One of Lark's rules as the fields of a `Rule`."""
    origin = str(rule.origin.name)
    action = None if origin.startswith("_") else str(rule.alias or origin)
    transparent = bool(rule.options.expand1) and not rule.alias
    return [origin, action, transparent, [int(not s.is_term and s.name.startswith("_")) for s in rule.expansion]]


def write() -> None:
    """Write ``grammar.json`` for the grammar as it stands."""
    data = compile_grammar()
    lines = [f'"{key}": {json.dumps(data[key])}' for key in ("checksum", "start", "end")]
    for key in ("rules", "states"):
        rows = ",\n".join(json.dumps(row, sort_keys=True) for row in data[key])
        lines.append(f'"{key}": [\n{rows}\n]')
    with open(TABLES, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
