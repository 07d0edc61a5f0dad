"""What is measured: queries with a window to be filled in, the beginnings of their patterns, and what grows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from benchmarks.engine.rules import N_RULES, rules
from benchmarks.stream import SEED, stream


@dataclass(frozen=True)
class Case:
    """A workload of `benchmarks.engine.workloads` in any window.

    Attributes:
        query: its text, with ``{window}`` (ms), ``{slide}``.
        beginnings: the same for what a match is before it is whole: a partial match is a match of one of them.
        loops: a match is also what is left of it without its last events, from two events on; they are as many as it
            has further events. No two matches begin with the same event.
        n_rules: it is a set of so many rules (`benchmarks.engine.rules`), and has no query of its own.
    """

    query: str
    beginnings: tuple[str, ...]
    loops: bool = False
    n_rules: int = 0

    def texts(self, window_ms: int) -> tuple[dict[str, str], ...]:
        """The queries by name, and their beginnings, with a window."""
        if self.n_rules:
            return tuple(rules(self.n_rules, n_elements=n, window=f"{window_ms} ms") for n in (3, 1, 2))
        return tuple({"": t.format(window=window_ms, slide=window_ms // 10)} for t in (self.query, *self.beginnings))


def _within(policy: str, pattern: str, *beginnings: str) -> Case:
    query, *rest = (f"PATTERN {p} WHERE SAME[key] WITHIN {{window}} ms POLICY {policy}" for p in (pattern, *beginnings))
    return Case(query, tuple(rest))


def _strict(pattern: str, *conditions: str) -> str:
    where = " AND ".join(("SAME[key]", *conditions))
    return f"PATTERN {pattern} WHERE {where} WITHIN {{window}} ms POLICY strict"


def _sliding(pattern: str, *conditions: str) -> str:
    where = " AND ".join(("SAME[key]", *conditions))
    return f"PATTERN {pattern} WHERE {where} WINDOW {{window}} ms SLIDE {{slide}} ms POLICY any"


CASES = {
    "W6": _within(
        "any",
        "AND(A a, B b, C c)",
        *("SEQ(A a)", "SEQ(B b)", "SEQ(C c)", "AND(A a, B b)", "AND(A a, C c)", "AND(B b, C c)"),
    ),
    "W7": _within(
        "any",
        "SEQ(E s, ANY(2, A a, B b, C c, D d))",
        *("SEQ(E s)", "SEQ(E s, ANY(1, A a, B b, C c, D d))"),
    ),
    "W8": _within("next", "SEQ(A a, B b, NOT C c)", "SEQ(A a)", "SEQ(A a, B b)"),
    "W9": replace(_within("next", "(SEQ(A a, B b))+", "SEQ(A a)"), loops=True),
    "W10": Case(
        _sliding("SEQ(A a, B b, C c)", "a.v1 < b.v1", "b.v1 < c.v1"),
        (_sliding("SEQ(A a)"), _sliding("SEQ(A a, B b)", "a.v1 < b.v1")),
    ),
    "W12": Case("", (), n_rules=N_RULES),
    "W1strict": Case(
        _strict("SEQ(A a, B b, C c)", "a.v1 < b.v1", "b.v1 < c.v1"),
        (_strict("SEQ(A a)"), _strict("SEQ(A a, B b)", "a.v1 < b.v1")),
    ),
}
"""By the name of the workload."""


@dataclass(frozen=True)
class Setting:
    """A stream and a window.

    Attributes:
        n_events: length of the stream.
        n_keys: keys.
        window_ms: the window; an event a millisecond on average.
    """

    n_events: int
    n_keys: int
    window_ms: int


AXES = {
    "window": tuple(Setting(10_000, 100, 100 * factor) for factor in (1, 10, 100)),
    "keys": tuple(Setting(10_000, 10 * factor, 1000) for factor in (1, 10, 100)),
    "length": tuple(Setting(10_000 * factor, 100, 1000) for factor in (1, 10, 100)),
}
"""What grows -> the settings: once, tenfold, a hundredfold."""


def events(setting: Setting) -> pa.Table:
    """The stream of a setting."""
    table = stream(setting.n_events)
    keys = np.random.default_rng(SEED).integers(0, setting.n_keys, setting.n_events).astype(np.int32)
    return table.set_column(table.column_names.index("key"), "key", pa.chunked_array([pa.array(keys)]))
