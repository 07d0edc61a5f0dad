"""An explanation as plain text, for a terminal."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from cepheid.plan.draw.lettering import n_cells, one_line, wrap
from cepheid.plan.explanation import Edge, EdgeKind, Explanation, State


def to_text(explanation: Explanation, *, width: int = 100) -> str:
    """The automaton from top to bottom, then the predicates and the facts of the query.

    Args:
        explanation: what to write.
        width: columns of the terminal; longer predicates and facts are wrapped.
    """
    parts = [_automaton(explanation), _predicates(explanation, width), _facts(explanation, width)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _automaton(explanation: Explanation) -> str:
    numbers = {row.text: index for index, row in enumerate(explanation.predicates, start=1)}
    following = dict(itertools.pairwise(state.id for state in explanation.states))
    labels = _labels(explanation.states)
    lines: list[str] = []
    for index, state in enumerate(explanation.states):
        lines.append(f"  {labels[state.id]}")
        edges = [edge for edge in explanation.drawn if edge.source == state.id]
        # What leads straight on comes last, next to its arrow.
        edges.sort(key=lambda e: (e.kind is not EdgeKind.LOOP, _leads_on(e, following)))
        is_last = index == len(explanation.states) - 1
        for edge in edges:
            lines.append("  " + (" " if is_last else "│") + "  " + _edge(edge, following, labels, numbers))
        if not is_last:
            lines.append("  ▼" if any(_leads_on(e, following) for e in edges) else "")
    return "\n".join(lines)


def _labels(states: Sequence[State]) -> dict[int, str]:
    """State -> what stands for it; of several with one name, all but the first are numbered."""
    labels: dict[int, str] = {}
    seen: Counter[str] = Counter()
    for state in states:
        name = one_line(state.label) or ("start" if state.initial else "·")
        seen[name] += 1
        if seen[name] > 1:
            name += f" #{seen[name]}"
        labels[state.id] = f"(({name}))" if state.accepting else f"({name})"
    return labels


def _leads_on(edge: Edge, following: dict[int, int]) -> bool:
    return edge.kind is EdgeKind.TAKE and following.get(edge.source) == edge.target


def _edge(edge: Edge, following: dict[int, int], labels: dict[int, str], numbers: dict[str, int]) -> str:
    label = one_line(edge.label)
    if edge.kind is EdgeKind.LOOP:
        text = f"↺ more of {label}"
    elif edge.kind is EdgeKind.NEGATED:
        text = f"✕ {label}"
    elif edge.kind is EdgeKind.SKIP:
        text = f"⤷ without an event to {labels[edge.target]}"
    elif _leads_on(edge, following):
        text = label
    else:
        text = f"{label}  → {labels[edge.target]}"
    if edge.policy and not label.startswith(f"{edge.policy} "):
        text = f"{edge.policy} {text}"
    tested = [f"[{numbers[p]}]" if p in numbers else one_line(p) for p in edge.predicates]
    return text + ("   if " + " ".join(tested) if tested else "")


def _predicates(explanation: Explanation, width: int) -> str:
    if not explanation.predicates:
        return ""
    head = ("", "predicate", "class", "tested")
    rows = [
        (f"[{number}]", one_line(row.text), row.class_.value, one_line(row.where))
        for number, row in enumerate(explanation.predicates, start=1)
    ]
    w0, w2, w3 = (max(n_cells(row[i]) for row in [head, *rows]) for i in (0, 2, 3))
    w1 = max(20, min(max(n_cells(row[1]) for row in [head, *rows]), width - w0 - w2 - w3 - 10))
    lines = []
    for number, text, class_, where in [head, *rows]:
        first, *rest = wrap(text, w1)
        lines.append(f"  {_pad(number, w0)}  {_pad(first, w1)}  {_pad(class_, w2)}  {where}".rstrip())
        lines.extend(f"  {' ' * w0}  {line}" for line in rest)
    return "\n".join(lines)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - n_cells(text))


def _facts(explanation: Explanation, width: int) -> str:
    facts = [(name, value) for name, value in explanation.facts if value]
    facts.extend(("warning", warning) for warning in explanation.warnings)
    facts.extend(("note", note) for note in explanation.notes)
    pad = max(len(name) for name, _ in facts)
    lines = []
    for name, value in facts:
        first, *rest = wrap(value, max(20, width - pad - 4))
        lines.append(f"  {name.ljust(pad)}  {first}")
        lines.extend(f"  {' ' * pad}  {line}" for line in rest)
    return "\n".join(lines)
