"""A plan as a picture: the sites and links, what is evaluated where, and what flows over each link."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np

from cepheid.network.flows import flows, placements, together
from cepheid.network.model import Node
from cepheid.network.planner import Plan
from cepheid.plan.draw.canvas import BLUE, BLUE_FILL, FAINT, GREEN, GREEN_FILL, INK, MUTED, Canvas
from cepheid.plan.draw.lettering import cut, width_px

_MARGIN = 30.0
_SIZE = 12.0
_LINE = 16.0
_N_CELLS = 46
"""The longest line in a box of a site."""

_WIDEST = 9.0
"""The width of the link that carries most."""


def plan_svg(plan: Plan, title: str) -> str:
    """A whole SVG document: the topology with placements above, the table of what flows below.

    Args:
        plan: any plan.
        title: what stands above it.
    """
    graph, network = plan.graph, plan.graph.workload.network
    of_links, of_sites = flows(graph), placements(graph)
    sources = {
        node: ", ".join(kind for kind in sorted(graph.workload.types) if node in network.sources[kind])
        for node in network.nodes
    }
    boxes = {node: _Box(str(node), sources[node], of_sites.get(node, ())) for node in network.nodes}
    width_box = max(box.width for box in boxes.values())
    height_box = max(box.height for box in boxes.values())
    places = _layout(plan)
    n_side = math.ceil(math.sqrt(len(boxes)))
    wide = max(640.0, n_side * (width_box + 70.0))
    tall = max(260.0, n_side * (height_box + 70.0))
    top = _MARGIN + 3 * _LINE
    at = {
        node: (
            _MARGIN + width_box / 2 + x * (wide - width_box),
            top + height_box / 2 + y * (tall - height_box),
        )
        for node, (x, y) in places.items()
    }
    canvas = Canvas()
    canvas.text(_MARGIN, _MARGIN, title, size=16.0, bold=True)
    canvas.text(_MARGIN, _MARGIN + 1.4 * _LINE, _summary(plan), size=_SIZE, fill=MUTED)
    rates = {frozenset(way): 0.0 for way in network.edges}
    for way, found in of_links.items():
        rates[frozenset(way)] += sum(flow.rate for flow in found)
    most = max(rates.values(), default=0.0)
    for one, other in network.edges:
        rate = rates[frozenset((one, other))]
        (x1, y1), (x2, y2) = at[one], at[other]
        # By logarithms: rates differ by orders of magnitude.
        width = 1.0 + _WIDEST * math.log1p(rate) / math.log1p(most) if rate and most else 1.0
        canvas.line(x1, y1, x2, y2, stroke=BLUE if rate else FAINT, width=width)
    for node, box in boxes.items():
        box.draw(canvas, *at[node])
    for one, other in network.edges:
        if rate := rates[frozenset((one, other))]:
            (x1, y1), (x2, y2) = at[one], at[other]
            canvas.text(
                (x1 + x2) / 2, (y1 + y2) / 2, _number(rate), size=11.0, fill=BLUE, anchor="middle", bold=True, halo=True
            )
    y = top + tall + 2 * _LINE
    canvas.text(_MARGIN, y, "messages in one window", size=_SIZE, bold=True)
    width = wide + 2 * _MARGIN
    for way, found in of_links.items():
        for number, (what, rate) in enumerate(together(found).items()):
            y += _LINE
            if number == 0:
                canvas.text(_MARGIN, y, f"{way[0]} → {way[1]}", size=_SIZE)
            canvas.text(_MARGIN + 300.0, y, _number(rate), size=_SIZE, anchor="end", fill=BLUE)
            canvas.text(_MARGIN + 316.0, y, what, size=_SIZE, mono=True)
            width = max(width, _MARGIN + 340.0 + width_px(what, _SIZE, mono=True))
    if not of_links:
        y += _LINE
        canvas.text(_MARGIN, y, "nothing goes over any link", size=_SIZE, fill=MUTED)
    return canvas.document(width, y + _MARGIN, title=title)


class _Box:
    """A site: its name, the types that arise there, and what is evaluated."""

    def __init__(self, name: str, sources: str, evaluated: tuple[str, ...]) -> None:
        self.name = cut(name, _N_CELLS)
        self.sources = cut(sources, _N_CELLS)
        self.evaluated = tuple(cut(text, _N_CELLS) for text in evaluated)
        texts = [width_px(self.name, 13.0, bold=True), width_px(self.sources, 11.0)]
        texts += [width_px(text, 11.0, mono=True) for text in self.evaluated]
        self.width = max(texts) + 20.0
        self.height = 12.0 + _LINE * (1 + bool(self.sources) + len(self.evaluated))

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        """Draw it around a point."""
        left, top = x - self.width / 2, y - self.height / 2
        fill, stroke = (GREEN_FILL, GREEN) if self.evaluated else (BLUE_FILL, BLUE)
        canvas.rect(left, top, self.width, self.height, fill=fill, stroke=stroke)
        line = top + 17.0
        canvas.text(x, line, self.name, size=13.0, anchor="middle", bold=True)
        if self.sources:
            line += _LINE
            canvas.text(x, line, self.sources, size=11.0, anchor="middle", fill=MUTED)
        for text in self.evaluated:
            line += _LINE
            canvas.text(x, line, text, size=11.0, anchor="middle", mono=True, fill=INK)


def _layout(plan: Plan) -> dict[Node, tuple[float, float]]:
    """Sites in the unit square, linked ones near each other."""
    topology = plan.graph.workload.network.topology
    if len(topology) == 1:
        return dict.fromkeys(topology, (0.5, 0.5))
    network = plan.graph.workload.network
    # Distances in hops by their two main directions, then loosened where sites lie on each other.
    squared = network.hops.astype(np.float64) ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, np.newaxis] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    main = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    main += np.random.default_rng(0).normal(0.0, 0.05, main.shape)
    start = {node: tuple(main[place]) for node, place in network.places.items()}
    found = nx.spring_layout(topology, pos=start, iterations=60, seed=0)
    xs = [float(place[0]) for place in found.values()]
    ys = [float(place[1]) for place in found.values()]

    def scaled(value: float, values: list[float]) -> float:
        low, high = min(values), max(values)
        return (value - low) / (high - low) if high - low > 1e-9 else 0.5

    return {node: (scaled(float(x), xs), scaled(float(y), ys)) for node, (x, y) in found.items()}


def _summary(plan: Plan) -> str:
    said = (
        f"{_number(plan.cost)} messages on all links in one window; all events at {plan.centralized.node}: "
        f"{_number(plan.centralized.cost)}; ratio {plan.ratio:.3g}; latency {plan.latency:.4g}"
    )
    return said + ("; the centralized plan" if plan.is_centralized else "")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
