"""Random queries, as text."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.testing.strategies_choices import Choices
from cepheid.testing.strategies_conditions import Name, condition, condition_of_not, equal_keys
from cepheid.testing.strategies_features import Features

MOST_NAMES = 6
"""Elements after which a pattern gets no further group or loop."""

DEEPEST = 3
"""Groups within groups."""


@dataclass
class Draft:
    """A pattern that grows.

    Attributes:
        choices: what decides.
        features: what may be used.
        policy: of the query.
        names: of the elements so far.
        repeated: how many loops of groups are around.
        negated: a NOT is around.
        depth: how many groups are around.
        bare: an operator is around under which no NOT may stand.
        known: names of an earlier branch of the OR around, which may stand in this one too.
    """

    choices: Choices
    features: Features
    policy: str
    names: list[Name] = field(default_factory=list)
    repeated: int = 0
    negated: bool = False
    depth: int = 0
    bare: int = 0
    known: list[Name] = field(default_factory=list)

    def has(self, feature: Features) -> bool:
        """True where ``feature`` may be used."""
        return feature in self.features

    def one_of(self, options: Sequence[str]) -> str:
        """One of ``options``."""
        return self.choices.pick(options)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.choices.integer(0, one_in - 1) == one_in - 1

    def sequence(self, n_most: int, n_least: int = 1, first: bool = True, last: bool = True) -> str:
        """``SEQ(...)``, and NOTs where they may stand.

        Args:
            n_most, n_least: of its parts; NOTs come on top.
            first, last: nothing stands before it, or after it.
        """
        parts: list[str] = []
        deep = self.depth > 0
        for index in range(self.choices.integer(n_least, n_most)):
            at_start = first and index == 0
            if self.may_negate(at_start) and self.chance((8 if at_start else 4) + 2 * deep):
                parts.append(self.negation())
            parts.append(self.part(at_start))
        if self.may_negate(last) and self.chance(5 + 2 * deep):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    def may_negate(self, at_end: bool) -> bool:
        """True where a NOT may stand here: at an end of the pattern, or in its middle."""
        return not self.bare and self.has(Features.NOT_ENDS if at_end else Features.NOT_MIDDLE)

    def negation(self) -> str:
        """``NOT ...``."""
        self.negated = True
        if self.has(Features.NOT_GROUP) and self.has(Features.UNTIL) and self.chance(3):
            text = f"NOT {self.closed_group()}"
        elif self.has(Features.NOT_GROUP) and self.chance(3):
            inner = self.one_of(["SEQ({}, {})", "AND({}, {})", "OR({}, {})", "ANY(1, {}, {})", "SEQ({}, {}+)"])
            if inner.endswith("+)"):
                text = f"NOT SEQ({self.element()}, {self.element(quantifier=self.one_of(['+', '*', '?']))})"
            else:
                text = f"NOT {inner.format(self.element(), self.element())}"
        elif self.has(Features.NOT_GROUP) and self.chance(5):
            text = f"NOT {self.element(quantifier=self.one_of(['+', '{2}', '{2,3}']))}"
        else:
            text = f"NOT {self.element()}"
        self.negated = False
        return text

    def closed_group(self) -> str:
        """A group with a loop that an event closes, often before its first."""
        group = self.one_of(
            ["{0}", "SEQ({0}, {1})", "AND({0}, {1})", "SEQ({1}, {0})", "SEQ({2}, {0})", "(SEQ({0}, {1})){3}"]
        )
        n_before = len(self.names)
        others = [self.element(quantifier=q) if n in group else "" for n, q in (("{1}", ""), ("{2}", "?"))]
        loop = self.element(quantifier=self.one_of(["+", "*", "{1,2}"]) if group != "{0}" else "+")
        own = [name.name for name in self.names[n_before:]]
        loop_of = own.pop()
        read = own + [name.name for name in self.names[:n_before] if not name.negated]
        return group.format(loop + self.until(loop_of, read), *others, self.one_of(["+", "{1,2}", "?"]))

    def part(self, first: bool) -> str:
        """An element, with a quantifier or not, or a group."""
        kinds = ["element"] * (6 if self.depth else 4)
        if self.has(Features.KLEENE):
            kinds += ["kleene"] * 3
        # A long pattern is enumerated for ever, and matches nothing.
        if len(self.names) < MOST_NAMES and self.depth < DEEPEST:
            for feature, kind in ((Features.AND, "AND"), (Features.OR, "OR"), (Features.ANY_OF, "ANY")):
                if self.has(feature):
                    kinds.append(kind)
            if self.has(Features.GROUPS) and self.repeated < 2:
                kinds += ["group"] if self.repeated else ["group", "group"]
        kind = self.one_of(kinds)
        if kind == "element":
            return self.element(self.prefix(first))
        if kind == "kleene":
            return self.kleene(self.prefix(first))
        self.depth += 1
        text = self.group(first) if kind == "group" else self.combined(kind, first)
        self.depth -= 1
        return text

    def combined(self, kind: str, first: bool) -> str:
        """``AND(...)``, ``OR(...)`` or ``ANY(k, ...)``."""
        if kind == "OR":
            n_before = len(self.names)
            one = self.inner(first)
            known = self.known
            self.known = self.names[n_before:] if self.chance(3) else []
            other = self.inner(first)
            self.known = known
            return f"OR({one}, {other})"
        self.bare += 1
        parts = [self.inner(first) for _ in range(2 if kind == "AND" else self.choices.integer(2, 3))]
        self.bare -= 1
        if kind == "AND":
            return f"AND({', '.join(parts)})"
        return f"ANY({self.choices.integer(1, 2)}, {', '.join(parts)})"

    def inner(self, first: bool) -> str:
        """A part of AND, OR or ANY."""
        kind = self.one_of(["element", "element", "element", "kleene", "sequence", "part"])
        if kind == "kleene" and self.has(Features.KLEENE):
            return self.kleene(self.prefix(first))
        if kind == "sequence" and self.has(Features.GROUPS):
            return self.sequence(2, 2, first=first, last=False)
        if kind == "part":
            return self.part(first)
        return self.element(self.prefix(first))

    def group(self, first: bool) -> str:
        """A group under a quantifier."""
        quantifier = self.quantifier(["+", "?", "{1,2}", "*", "{2}"], "")
        self.repeated += quantifier[0] != "?"
        self.bare += 1
        inner = self.sequence(2, first=first)
        if not inner.startswith("SEQ"):
            inner = f"({inner})"
        self.bare -= 1
        self.repeated -= quantifier[0] != "?"
        return f"({inner}){quantifier}"

    def prefix(self, first: bool) -> str:
        """A policy for one edge."""
        if first or not self.has(Features.PREFIXES) or not self.chance(4):
            return ""
        return self.one_of(["any ", "strict ", "next "])

    def element(self, prefix: str = "", quantifier: str = "") -> str:
        """One event."""
        loop = bool(self.repeated) or quantifier not in ("", "?")
        alike = [name for name in self.known if name.loop == loop]
        if alike and not self.negated and self.chance(2):
            name = alike[0].name
            self.known.remove(alike[0])
        else:
            name = string.ascii_lowercase[len(self.names)]
            self.names.append(Name(name, loop, self.negated))
        types = self.one_of(["A", "B", "C", "A", "B", "C", "(A | B)", "*"])
        return f"{prefix}{types}{quantifier} {name}"

    def kleene(self, prefix: str) -> str:
        """A variable with a quantifier."""
        quantifier = self.quantifier(["+", "*", "?", "{1,2}", "{2}", "{0,2}", "{2,}"], prefix)
        text = self.element(prefix, quantifier)
        if self.has(Features.UNTIL) and quantifier[0] in "+*{" and quantifier != "{2}" and self.chance(3):
            name = text.rpartition(" ")[2]
            text += self.until(name, [other.name for other in self.names if not other.negated and other.name != name])
        return text

    def until(self, name: str, others: Sequence[str]) -> str:
        """`` UNTIL ...`` of the loop of a variable, which may name others."""
        conditions = ["{0}.x = 2", "{0}.s = 'b'", "{0}.x > count({0})", "{0}.x < prev({0}).x"]
        if self.has(Features.CROSS) and others:
            conditions += ["{0}.x > {1}.x", "{0}.x = {1}.x OR {0}.x = 2", "{0}.x > count({1})"]
        if self.has(Features.REMOTE):
            conditions += ["{0}.x = REMOTE levels[1].top", "{0}.x IN REMOTE levels[{0}.k].known"]
            conditions += ["{0}.x > REMOTE levels[{1}.k].top"] * bool(others)
        other = self.one_of(others) if others else ""
        return f" UNTIL {self.one_of(conditions).format(name, other)}"

    def quantifier(self, options: Sequence[str], prefix: str) -> str:
        """A quantifier, reluctant where it may be."""
        quantifier = self.one_of(options)
        policy = prefix.strip() or self.policy
        return f"{quantifier}?" if policy != "any" and self.chance(4) else quantifier


def query_text(choices: Choices, features: Features) -> str:
    """The text of a query over `SCHEMA`; most can be bound."""
    policies = [
        policy
        for policy, feature in (("next", Features.NEXT), ("any", Features.ANY), ("strict", Features.STRICT))
        if feature in features
    ] or ["next"]
    draft = Draft(choices, features, choices.pick(policies))
    pattern = draft.sequence(3, 2 if draft.chance(2) else 1)
    clauses = [f"PATTERN {pattern}"]
    where = [f"SAME[{draft.one_of(SAME)}]"] if Features.SAME in features and draft.chance(4) else []
    where += [condition(choices, draft.names, features) for _ in range(choices.integer(0, 3))]
    if Features.KEYS in features and draft.chance(3):
        where += equal_keys(draft.names)
    if Features.CROSS in features and any(name.negated for name in draft.names) and draft.chance(2):
        where.append(condition_of_not(choices, draft.names))
    if where:
        clauses.append(f"WHERE {' AND '.join(where)}")
    clauses += _windows(draft)
    clauses.append(f"POLICY {draft.policy}")
    positive = [name.name for name in draft.names if not name.negated]
    if Features.SKIP in features and draft.chance(3):
        modes = ["PAST LAST", "TO NEXT", f"TO FIRST {positive[-1]}", f"TO LAST {draft.one_of(positive)}"]
        clauses.append(f"AFTER MATCH SKIP {draft.one_of(modes)}")
    if Features.RETURN in features and draft.chance(2):
        forms = ["{0}.x", "count({0})", "first({0}).s"]
        if Features.REMOTE in features:
            forms += ["REMOTE levels[first({0}).k].top", "max(REMOTE pairs[{0}.k, {0}.x])"]
        columns = [draft.one_of(forms).format(name) for name in positive]
        listed = ", ".join(f"{column} AS r{index}" for index, column in enumerate(columns))
        clauses.append(f"RETURN {listed}")
    return "\n".join(clauses)


SAME = ("k", "k", "k", "s", "k, s", "abs(x)", "f")
"""What SAME[...] holds."""


def _windows(draft: Draft) -> list[str]:
    clauses: list[str] = []
    n_least = len([name for name in draft.names if not name.negated])
    if draft.has(Features.SLIDING) and draft.chance(5):
        closed = draft.one_of(["", " CLOSED"])
        one = draft.one_of(["", "", " ONE MATCH PER WINDOW"])
        if draft.has(Features.EVENTS) and draft.chance(3):
            size = draft.choices.integer(n_least + 1, n_least + 4)
            return [f"WINDOW {size} EVENTS SLIDE {draft.choices.integer(1, 3)} EVENTS{closed}{one}"]
        size = draft.choices.integer(4, 8)
        return [f"WINDOW {size} s SLIDE {draft.choices.integer(2, size)} s{closed}{one}"]
    if draft.has(Features.EVENTS) and draft.chance(6):
        clauses.append(f"WITHIN {draft.choices.integer(n_least, n_least + 4)} EVENTS")
    elif draft.has(Features.WITHIN) and not draft.chance(6):
        exclusive = " EXCLUSIVE" if draft.has(Features.EXCLUSIVE) and draft.chance(4) else ""
        clauses.append(f"WITHIN {draft.choices.integer(3, 8)} s{exclusive}")
    if draft.has(Features.EACH) and draft.chance(5):
        unit = "EVENTS" if draft.has(Features.EVENTS) and draft.chance(3) else "s"
        clauses.append(f"BETWEEN EACH {draft.choices.integer(2, 4)} {unit}")
    return clauses
