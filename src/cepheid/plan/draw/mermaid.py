"""An explanation as a Mermaid flowchart, for Markdown pages."""

from __future__ import annotations

from cepheid.plan.draw.lettering import one_line
from cepheid.plan.explanation import Edge, EdgeKind, Explanation, State


def to_mermaid(explanation: Explanation) -> str:
    """The automaton as a Mermaid ``flowchart LR``, with the query's facts as comments above it.

    Returns:
        The diagram, without a Markdown fence.
    """
    lines = ["flowchart LR"]
    for key, value in (
        ("policy", explanation.policy),
        ("window", explanation.window),
        ("same", ", ".join(explanation.partition)),
        ("after a match", explanation.skip),
    ):
        if value:
            lines.append(f"    %% {key}: {one_line(value)}")
    names = {state.id: f"s{index}" for index, state in enumerate(explanation.states)}
    lines.extend(f"    {names[state.id]}{_shape(state)}" for state in explanation.states)
    for index, edge in enumerate(explanation.drawn):
        lines.append("    " + _edge(edge, names, index))
    return "\n".join(lines) + "\n"


def _shape(state: State) -> str:
    label = _quoted(state.label or ("start" if state.initial else " "))
    if state.accepting:
        return f"((({label})))"
    return f"(({label}))"


def _edge(edge: Edge, names: dict[int, str], index: int) -> str:
    source, target = names[edge.source], names[edge.target]
    words = [edge.label, *edge.predicates]
    if edge.policy and not edge.label.startswith(f"{edge.policy} "):
        words.insert(0, edge.policy)
    label = _quoted(*(w for w in words if w))
    if edge.kind is EdgeKind.NEGATED:
        # A node of its own: the event that must not come leads to no state of the automaton.
        return f"{source} -.->|{label}| n{index}((✕))"
    if edge.kind is EdgeKind.SKIP:
        return f"{source} -.->|{_quoted(edge.label or 'nothing')}| {target}"
    return f"{source} -->|{label}| {target}"


def _quoted(*lines: str) -> str:
    """The lines in double quotes, with what Mermaid would read as markup written as entities."""
    entities = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "#": "#35;", "`": "#96;", "|": "#124;"}
    escaped = ("".join(entities.get(c, c) for c in one_line(line)) for line in lines)
    return '"' + "<br/>".join(escaped) + '"'
