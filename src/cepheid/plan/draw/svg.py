"""An explanation as one SVG picture: the automaton, its predicates, the facts of the query."""

from __future__ import annotations

from cepheid.plan.draw.automaton import draw_automaton
from cepheid.plan.draw.canvas import Canvas
from cepheid.plan.draw.layout import lay_out
from cepheid.plan.draw.tables import draw_facts, draw_predicates, draw_remarks
from cepheid.plan.explanation import Explanation

MARGIN = 28.0
MIN_WIDTH = 720.0
MAX_TEXT_WIDTH = 960.0
"""Wider than this the parts of a line are hard to tell to be one, however wide the automaton is."""
BLOCK_SPACE = 26.0


def to_svg(explanation: Explanation) -> str:
    """The automaton from left to right, the table of the predicates, and window, policy and the rest below.

    Returns:
        A whole SVG document of plain shapes and text: it needs no font, script or style sheet from elsewhere.
    """
    layout = lay_out(explanation)
    inner = max(layout.width, MIN_WIDTH)
    canvas = Canvas()
    y = MARGIN
    draw_automaton(canvas, explanation, layout, left=MARGIN + (inner - layout.width) / 2, top=y)
    y += layout.height + BLOCK_SPACE
    width = min(inner, MAX_TEXT_WIDTH)
    if explanation.predicates:
        y = draw_predicates(canvas, explanation.predicates, left=MARGIN, top=y, width=width) + BLOCK_SPACE
    y = draw_facts(canvas, explanation.facts, left=MARGIN, top=y, width=width)
    for kind, remarks in (("warning", explanation.warnings), ("note", explanation.notes)):
        if remarks:
            y = draw_remarks(canvas, kind, remarks, left=MARGIN, top=y + BLOCK_SPACE / 2, width=width)
    return canvas.document(inner + 2 * MARGIN, y + MARGIN, title=explanation.query)
