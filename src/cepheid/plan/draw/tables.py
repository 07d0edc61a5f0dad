"""What stands below the automaton: the table of the predicates, the facts, warnings and notes."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.plan.draw.automaton import badge
from cepheid.plan.draw.canvas import AMBER, AMBER_FILL, BLUE, FAINT, GREEN, GREEN_FILL, INK, MUTED, PURPLE, RED, Canvas
from cepheid.plan.draw.lettering import MONO_CELL, SANS_CELL, width_px, wrap
from cepheid.plan.explanation import PredicateClass, PredicateRow

SIZE = 12.0
HEAD_SIZE = 10.5
LINE = 17.0
PAD = 7.0
"""Room above and below the text of a row."""

COLOURS = {
    PredicateClass.SINGLE: GREEN,
    PredicateClass.CROSS: BLUE,
    PredicateClass.AGGREGATE: PURPLE,
    PredicateClass.PARTITION: MUTED,
    PredicateClass.NEGATED: RED,
    PredicateClass.REMOTE: AMBER,
}


def draw_predicates(canvas: Canvas, rows: Sequence[PredicateRow], *, left: float, top: float, width: float) -> float:
    """Number, predicate, class, and where it is tested; long texts are wrapped.

    Returns:
        y of the lower edge.
    """
    where_width = max(width_px(row.where, SIZE) for row in rows) + 24.0
    class_width = max(width_px(row.class_.value, SIZE) for row in rows) + 28.0
    text_width = max(width - 34.0 - class_width - where_width, 200.0)
    n_max = max(int((text_width - 12.0) / (SIZE * MONO_CELL)), 10)
    x_text, x_class, x_where = left + 34.0, left + 34.0 + text_width, left + 34.0 + text_width + class_width
    for x, head in ((x_text, "PREDICATE"), (x_class, "CLASS"), (x_where, "TESTED")):
        canvas.text(x, top + HEAD_SIZE, head, size=HEAD_SIZE, fill=MUTED, bold=True)
    y = top + HEAD_SIZE + 7.0
    for number, row in enumerate(rows, start=1):
        canvas.line(left, y, left + width, y, stroke=FAINT)
        lines = wrap(row.text, n_max)
        height = LINE * len(lines) + 2 * PAD - 4.0
        base = y + PAD + SIZE - 2.0
        badge(canvas, left + 14.0, base - 4.0, number)
        for index, line in enumerate(lines):
            canvas.text(x_text, base + index * LINE, line, size=SIZE, mono=True)
        colour = COLOURS[row.class_]
        canvas.circle(x_class + 4.0, base - 4.0, 4.0, fill=colour, stroke="none", width=0.0)
        canvas.text(x_class + 14.0, base, row.class_.value, size=SIZE, fill=colour)
        if row.pushed:
            canvas.rect(x_where - 6.0, base - SIZE, width_px(row.where, SIZE) + 12.0, LINE, fill=GREEN_FILL)
        canvas.text(x_where, base, row.where, size=SIZE, fill=GREEN if row.pushed else INK)
        y += height
    canvas.line(left, y, left + width, y, stroke=FAINT)
    return y


def draw_facts(canvas: Canvas, facts: Sequence[tuple[str, str]], *, left: float, top: float, width: float) -> float:
    """Name and value, one below the other; facts without a value are left out.

    Returns:
        y of the lower edge.
    """
    shown = [(name, value) for name, value in facts if value]
    x_value = left + max(width_px(name, SIZE) for name, _ in shown) + 20.0
    n_max = max(int((left + width - x_value) / (SIZE * MONO_CELL)), 10)
    y = top
    for name, value in shown:
        lines = wrap(value, n_max)
        canvas.text(left, y + SIZE, name, size=SIZE, fill=MUTED)
        for line in lines:
            canvas.text(x_value, y + SIZE, line, size=SIZE, mono=True)
            y += LINE
        y += 3.0
    return y


def draw_remarks(canvas: Canvas, kind: str, remarks: Sequence[str], *, left: float, top: float, width: float) -> float:
    """Warnings in an amber box, notes in a grey one.

    Returns:
        y of the lower edge.
    """
    fill, ink = (AMBER_FILL, AMBER) if kind == "warning" else ("#f9fafb", INK)
    n_max = int((width - 100.0) / (SIZE * SANS_CELL))
    wrapped = [wrap(remark, n_max) for remark in remarks]
    n_lines = sum(len(lines) for lines in wrapped)
    height = n_lines * LINE + 2 * PAD
    canvas.rect(left, top, width, height, fill=fill, stroke=FAINT)
    base = top + PAD + SIZE
    indent = width_px(kind, SIZE) + 22.0
    for lines in wrapped:
        canvas.text(left + 12.0, base, kind, size=SIZE, fill=ink, bold=True)
        for line in lines:
            canvas.text(left + 12.0 + indent, base, line, size=SIZE, fill=ink)
            base += LINE
    return top + height
