"""The states and steps of `plan.graph`, before their tests are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cepheid.plan.closings import Case
from cepheid.plan.terms import Term, Way


class Key(NamedTuple):
    """What tells states apart: what is left, and the variable bound last; and whether a loop has been left for good."""

    term: Term
    last: int
    left: bool = False


@dataclass
class Step:
    """An edge before its tests are known."""

    source: Key | None
    before: Term
    way: Way
    target: Key
    number: int
    case: Case
    other_case: bool = False  # the next step is the same way, in another case


@dataclass
class Node:
    """A state before its tests are known."""

    key: Key
    number: int
    steps: list[Step] = field(default_factory=list)
    twin: Key | None = None
    surely: frozenset[int] | None = None  # variables that are bound on every way here; None: no way found yet
