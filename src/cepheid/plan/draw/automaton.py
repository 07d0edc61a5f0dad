"""The automaton on a canvas: circles, arrows, loops, guards."""

from __future__ import annotations

import math

from cepheid.plan.draw.canvas import BLUE, BLUE_FILL, GREEN, GREEN_FILL, INK, MUTED, PAPER, RED, Canvas
from cepheid.plan.draw.layout import BEND, LABEL_PX, LINE_PX, LOOP_RISE, PREDICATE_PX, RADIUS, Layout, Track
from cepheid.plan.draw.lettering import cut, n_cells, width_px
from cepheid.plan.explanation import EdgeKind, Explanation, State

LABEL_RISE = 7.0
"""How far a label stands above its line."""


def draw_automaton(canvas: Canvas, explanation: Explanation, layout: Layout, *, left: float, top: float) -> None:
    """Draw states and edges with the upper left corner of ``layout`` at (``left``, ``top``)."""
    at = {state: (x + left, y + top) for state, (x, y) in layout.at.items()}
    # Lines may cross; the texts that stand on them come after all of them.
    captions = Canvas()
    for track in layout.far:
        _far(canvas, captions, track, at, top)
    for track in layout.tracks:
        if track.edge.kind is EdgeKind.NEGATED:
            _guard(canvas, captions, track, at, top)
        else:
            _forward(canvas, captions, track, at, top)
    for track in layout.loops:
        _loop(canvas, captions, track, at)
    canvas.extend(captions)
    for state in explanation.states:
        _state(canvas, state, *at[state.id])


def _state(canvas: Canvas, state: State, x: float, y: float) -> None:
    stroke, fill = (GREEN, GREEN_FILL) if state.accepting else (BLUE, BLUE_FILL)
    if state.initial:
        stroke, fill = INK, PAPER
    canvas.circle(x, y, RADIUS, fill=fill, stroke=stroke, width=1.8)
    if state.accepting:
        canvas.circle(x, y, RADIUS - 4.0, fill="none", stroke=stroke, width=1.2)
    label = state.label or ("start" if state.initial else "")
    shown = cut(label, 7)
    size = 14.0 if n_cells(shown) <= 4 else 12.0 if n_cells(shown) <= 5 else 9.5
    canvas.text(x, y + size * 0.35, shown, size=size, fill=stroke, anchor="middle", bold=True, tip=label)


def _forward(canvas: Canvas, captions: Canvas, track: Track, at: dict[int, tuple[float, float]], top: float) -> None:
    (x1, y1), (x2, y2), y = at[track.edge.source], at[track.edge.target], track.y + top
    x1, x2 = x1 + RADIUS, x2 - RADIUS - 2.0
    stroke = MUTED if track.edge.kind is EdgeKind.SKIP else INK
    if y1 == y == y2:
        d = f"M{x1:.1f},{y:.1f} L{x2:.1f},{y:.1f}"
    else:
        a, b, half = x1 + BEND, x2 - BEND, BEND / 2
        d = (
            f"M{x1:.1f},{y1:.1f} C{x1 + half:.1f},{y1:.1f} {a - half:.1f},{y:.1f} {a:.1f},{y:.1f} "
            f"L{b:.1f},{y:.1f} C{b + half:.1f},{y:.1f} {x2 - half:.1f},{y2:.1f} {x2:.1f},{y2:.1f}"
        )
    canvas.path(d, stroke=stroke, dashed=track.edge.kind is EdgeKind.SKIP)
    _caption(captions, track, (x1 + x2) / 2, y, colour=stroke)


def _guard(canvas: Canvas, captions: Canvas, track: Track, at: dict[int, tuple[float, float]], top: float) -> None:
    (x1, y1), y = at[track.edge.source], track.y + top
    # Leaves the circle below the arrow that goes on, so that the two do not start as one line.
    x1, y1 = x1 + RADIUS * 0.78, y1 + RADIUS * 0.62
    bend = x1 + BEND * 0.9
    text = bend + 8.0
    end = text + max(track.caption.width, 40.0) + 4.0
    canvas.path(
        f"M{x1:.1f},{y1:.1f} C{x1 + 14:.1f},{y1 + 12:.1f} {bend - 16:.1f},{y:.1f} {bend:.1f},{y:.1f} "
        f"L{end:.1f},{y:.1f}",
        stroke=RED,
        dashed=True,
        head=False,
    )
    canvas.circle(end + 8.0, y, 8.0, fill=PAPER, stroke=RED)
    canvas.path(f"M{end + 5:.1f},{y - 3:.1f} l6,6 m0,-6 l-6,6", stroke=RED, head=False)
    _caption(captions, track, (text + end) / 2, y, colour=RED)


def _far(canvas: Canvas, captions: Canvas, track: Track, at: dict[int, tuple[float, float]], top: float) -> None:
    (x1, y1), (x2, y2), y = at[track.edge.source], at[track.edge.target], track.y + top
    turn = 10.0 if x2 > x1 else -10.0
    start, x1 = _port(x1, y1, track.leaves)
    end, x2 = _port(x2, y2, track.arrives, arrives=True)
    stroke = MUTED if track.edge.kind is EdgeKind.SKIP else INK
    canvas.path(
        f"M{start} L{x1:.1f},{y - 10:.1f} Q{x1:.1f},{y:.1f} {x1 + turn:.1f},{y:.1f} "
        f"L{x2 - turn:.1f},{y:.1f} Q{x2:.1f},{y:.1f} {x2:.1f},{y - 10:.1f} L{end}",
        stroke=stroke,
        dashed=track.edge.kind is EdgeKind.SKIP,
    )
    _caption(captions, track, (x1 + x2) / 2, y, colour=stroke)


def _port(x: float, y: float, beside: float, *, arrives: bool = False) -> tuple[str, float]:
    """Where an edge that runs below meets the circle around (``x``, ``y``), and where it runs straight down.

    Args:
        beside: how far beside the middle it runs down.
        arrives: it ends here, in an arrow, which needs room.

    Returns:
        The part of a path's ``d`` at the circle, without the command before it; and x of the line down.
    """
    radius, down = RADIUS + arrives, x + beside
    if abs(beside) <= RADIUS:
        return f"{down:.1f},{y + math.sqrt(RADIUS**2 - beside**2) + arrives:.1f}", down
    # It leaves the circle sideways and turns down beside it.
    x, y = x + math.copysign(radius * 0.8, beside), y + radius * 0.6
    circle, turn, line = f"{x:.1f},{y:.1f}", f"Q{down:.1f},{y + 2:.1f}", f"{down:.1f},{y + 14:.1f}"
    return f"{line} {turn} {circle}" if arrives else f"{circle} {turn} {line}", down


def _loop(canvas: Canvas, captions: Canvas, track: Track, at: dict[int, tuple[float, float]]) -> None:
    x, y = at[track.edge.source]
    dx, dy = RADIUS * 0.5, RADIUS * 0.87
    top = y - RADIUS - LOOP_RISE
    canvas.path(
        f"M{x - dx:.1f},{y - dy:.1f} C{x - 34:.1f},{top - 6:.1f} {x + 34:.1f},{top - 6:.1f} "
        f"{x + dx + 0.5:.1f},{y - dy - 2:.1f}",
        stroke=INK,
    )
    # All of it above the loop, the label uppermost and no line between.
    base = top - LINE_PX * len(track.caption.predicates) + 4.0
    _caption(captions, track, x, base, colour=INK, line_height=0.0)


def _caption(
    canvas: Canvas,
    track: Track,
    x: float,
    y: float,
    *,
    colour: str,
    line_height: float = LABEL_RISE + 4.0,
) -> None:
    caption, tips = track.caption, track.edge.predicates
    canvas.text(
        x,
        y - LABEL_RISE,
        caption.label,
        size=LABEL_PX,
        fill=colour,
        anchor="middle",
        bold=True,
        tip=track.edge.label,
        halo=True,
    )
    base = y - LABEL_RISE + line_height
    for text, number, tip in zip(caption.predicates, caption.numbers, tips, strict=True):
        base += LINE_PX
        width = width_px(text, PREDICATE_PX, mono=True)
        start = x - (width + (20.0 if number else 0.0)) / 2
        if number:
            badge(canvas, start + 7.0, base - 4.0, number)
            start += 20.0
        canvas.text(start, base, text, size=PREDICATE_PX, fill=MUTED, mono=True, tip=tip, halo=True)


def badge(canvas: Canvas, x: float, y: float, number: int) -> None:
    """The number of a predicate, in a small circle."""
    canvas.circle(x, y, 7.0, fill="#f3f4f6", stroke="#d1d5db", width=1.0)
    canvas.text(x, y + 3.2, str(number), size=9.0, fill=INK, anchor="middle", bold=True)
