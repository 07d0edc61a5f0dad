"""Where the parts of an automaton stand: states in columns, edges on tracks, so that no text meets another.

Each state has a column, by the longest way to it from the initial state, and a row. Between two columns lies a gap.
An edge to the next column runs on a track of its gap: a stretch of its own height, on which its label and predicates
stand. An edge that leads further (or back) runs below everything. Loops stand above their state.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from cepheid.plan.draw.lettering import cut, width_px
from cepheid.plan.explanation import Edge, EdgeKind, Explanation, State

RADIUS = 26.0
LABEL_PX = 13.0
PREDICATE_PX = 11.0
LINE_PX = 15.0
"""Distance between the base lines of predicates."""
BEND = 34.0
"""Room on either side of a track in which an edge bends from its state to the track."""
LOOP_RISE = 34.0
N_MAX_LABEL = 34
N_MAX_PREDICATE = 38
TRACK_SPACE = 20.0


@dataclass(frozen=True)
class Caption:
    """The text of an edge: a label above its line, predicates below it.

    Attributes:
        numbers: for each predicate its number in the table of predicates, or None.
    """

    label: str
    predicates: tuple[str, ...]
    numbers: tuple[int | None, ...]

    @property
    def width(self) -> float:
        """Of the widest line of text, numbers of predicates included."""
        predicates = [
            width_px(text, PREDICATE_PX, mono=True) + (20.0 if number else 0.0)
            for text, number in zip(self.predicates, self.numbers, strict=True)
        ]
        return max([width_px(self.label, LABEL_PX, bold=True), *predicates])

    @property
    def above(self) -> float:
        """Height needed above the line."""
        return LABEL_PX + 8.0

    @property
    def below(self) -> float:
        """Height needed below the line."""
        return 8.0 + LINE_PX * len(self.predicates)


@dataclass
class Track:
    """An edge and the height at which it runs; the layout sets all but the first two.

    Attributes:
        y: of its line.
        leaves, arrives: of an edge that runs below, how far beside the middle of its states; beyond their radius
            where it has to pass states that stand below.
    """

    edge: Edge
    caption: Caption
    y: float = 0.0
    leaves: float = 0.0
    arrives: float = 0.0


@dataclass
class Layout:
    """Where everything stands, in pixels, from the upper left corner of the automaton.

    Attributes:
        at: state -> the centre of its circle.
        tracks: the edges to the next column, guards included; drawn in their gap.
        far: the edges that lead elsewhere; drawn below.
        loops: the loops, drawn above their state.
    """

    width: float = 0.0
    height: float = 0.0
    at: dict[int, tuple[float, float]] = field(default_factory=dict)
    tracks: list[Track] = field(default_factory=list)
    far: list[Track] = field(default_factory=list)
    loops: list[Track] = field(default_factory=list)


def lay_out(explanation: Explanation) -> Layout:
    """Places for the states and edges of ``explanation``."""
    numbers = {row.text: index for index, row in enumerate(explanation.predicates, start=1)}
    columns = _columns(explanation)
    layout = Layout()
    for edge in explanation.drawn:
        track = Track(edge, _caption(edge, numbers))
        if edge.kind is EdgeKind.LOOP:
            layout.loops.append(track)
        elif columns[edge.target] == columns[edge.source] + 1 or edge.kind is EdgeKind.NEGATED:
            layout.tracks.append(track)
        else:
            layout.far.append(track)
    _place_columns(layout, explanation.states, columns)
    _place_rows(layout, explanation.states, columns)
    _place_far(layout)
    return layout


def _caption(edge: Edge, numbers: dict[str, int]) -> Caption:
    label = cut(edge.label, N_MAX_LABEL)
    if edge.kind is EdgeKind.SKIP:
        label = label or "nothing taken"
    if edge.policy and not label.startswith(f"{edge.policy} "):
        label = f"{edge.policy} {label}"
    return Caption(
        label,
        tuple(cut(p, N_MAX_PREDICATE) for p in edge.predicates),
        tuple(numbers.get(p) for p in edge.predicates),
    )


def _columns(explanation: Explanation) -> dict[int, int]:
    """The longest way to each state over the edges that lead to a state further on in `Explanation.states`."""
    position = {state.id: index for index, state in enumerate(explanation.states)}
    columns = dict.fromkeys(position, 0)
    for state in explanation.states:
        for edge in explanation.edges:
            onward = position[edge.source] < position[edge.target]
            if edge.source == state.id and onward and edge.kind is not EdgeKind.NEGATED:
                columns[edge.target] = max(columns[edge.target], columns[state.id] + 1)
    return columns


def _place_columns(layout: Layout, states: tuple[State, ...], columns: dict[int, int]) -> None:
    """Place the columns: a gap is as wide as its widest caption, and loops of neighbours do not meet."""
    n_columns = max(columns.values(), default=0) + 1
    gap = [0.0] * n_columns
    for track in layout.tracks:
        gap[columns[track.edge.source]] = max(gap[columns[track.edge.source]], track.caption.width)
    half_loop = [0.0] * n_columns
    for track in layout.loops:
        column = columns[track.edge.source]
        half_loop[column] = max(half_loop[column], track.caption.width / 2)
    xs = [max(RADIUS, half_loop[0])]
    for column in range(1, n_columns):
        pitch = 2 * RADIUS + 2 * BEND + max(gap[column - 1], 40.0)
        xs.append(xs[-1] + max(pitch, half_loop[column - 1] + half_loop[column] + 24.0))
    last = n_columns - 1
    layout.width = xs[last] + max(RADIUS, half_loop[last])
    if any(columns[track.edge.source] == last for track in layout.tracks):  # a guard after the last state
        layout.width = max(layout.width, xs[last] + RADIUS + 2 * BEND + gap[last])
    for state in states:
        layout.at[state.id] = (xs[columns[state.id]], 0.0)


def _place_rows(layout: Layout, states: tuple[State, ...], columns: dict[int, int]) -> None:
    """Place the rows and tracks: rows far enough apart for what stands between and above them."""
    rows: dict[int, int] = {}
    filled: dict[int, int] = defaultdict(int)
    for state in states:
        rows[state.id] = filled[columns[state.id]]
        filled[columns[state.id]] += 1
    n_rows = max(rows.values(), default=0) + 1
    rise = [RADIUS + 6.0] * n_rows
    for track in layout.loops:
        needed = RADIUS + LOOP_RISE + track.caption.above + LINE_PX * len(track.caption.predicates)
        rise[rows[track.edge.source]] = max(rise[rows[track.edge.source]], needed)
    by_lane: dict[tuple[int, int], list[Track]] = defaultdict(list)
    for track in layout.tracks:
        source, target = track.edge.source, track.edge.target
        row = rows[source] if track.edge.kind is EdgeKind.NEGATED else max(rows[source], rows[target])
        by_lane[columns[source], row].append(track)
    for lane in by_lane.values():
        # The straight edge first, guards below it.
        lane.sort(key=lambda t: (t.edge.kind is EdgeKind.NEGATED, rows[t.edge.source] != rows[t.edge.target]))
    fall = [RADIUS + 6.0] * n_rows
    for (_, row), lane in by_lane.items():
        depth = sum(t.caption.below for t in lane) + sum(t.caption.above + TRACK_SPACE for t in lane[1:])
        fall[row] = max(fall[row], depth)
        rise[row] = max(rise[row], lane[0].caption.above)
    y = 0.0
    centre = []
    for row in range(n_rows):
        y += rise[row]
        centre.append(y)
        y += fall[row] + 16.0
    layout.height = y - 16.0
    for state in states:
        layout.at[state.id] = (layout.at[state.id][0], centre[rows[state.id]])
    for (_, row), lane in by_lane.items():
        y = centre[row]
        for index, track in enumerate(lane):
            if index:
                y += track.caption.above + TRACK_SPACE
            track.y = y
            y += track.caption.below


def _place_far(layout: Layout) -> None:
    """Edges that skip columns or lead back, each on a line of its own below; the short ones above the long ones."""
    layout.far.sort(key=lambda t: abs(layout.at[t.edge.source][0] - layout.at[t.edge.target][0]))
    for track in layout.far:
        layout.height += track.caption.above + 10.0
        track.y = layout.height
        layout.height += track.caption.below
        left, right = sorted((layout.at[track.edge.source][0], layout.at[track.edge.target][0]))
        # A caption wider than its line would leave the picture.
        layout.width = max(layout.width, (left + right) / 2 + track.caption.width / 2)
    _place_ports(layout)


def _place_ports(layout: Layout) -> None:
    """Where edges that run below leave and reach their states, so that they do not cross there."""
    ends: dict[int, list[tuple[float, Track, bool]]] = defaultdict(list)
    for track in layout.far:
        source, target = track.edge.source, track.edge.target
        rightward = layout.at[target][0] > layout.at[source][0]
        # Seen from a state: those from its left first, the upper ones outside; then those from its right.
        ends[source].append((-track.y if rightward else track.y - 1e6, track, True))
        ends[target].append((track.y - 1e6 if rightward else -track.y, track, False))
    for state, state_ends in ends.items():
        state_ends.sort(key=lambda end: end[0])
        x, y = layout.at[state]
        is_over_another = any(other_x == x and other_y > y for other_x, other_y in layout.at.values())
        for index, (order, track, is_source) in enumerate(state_ends):
            offset = (index - (len(state_ends) - 1) / 2) * min(11.0, 1.6 * RADIUS / len(state_ends))
            if is_over_another:
                # Past the states below, on the side from which the edge comes or to which it goes.
                offset = RADIUS + 7.0 + min(6.0, 24.0 / len(state_ends)) * index
                offset = -offset if order < -5e5 else offset
            if is_source:
                track.leaves = offset
            else:
                track.arrives = offset
