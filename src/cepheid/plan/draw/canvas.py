"""SVG elements, written one after the other."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from cepheid.plan.draw.lettering import one_line

SANS = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

INK = "#1f2937"
MUTED = "#6b7280"
FAINT = "#e5e7eb"
PAPER = "#ffffff"
BLUE = "#1d4ed8"
BLUE_FILL = "#eff6ff"
GREEN = "#15803d"
GREEN_FILL = "#f0fdf4"
RED = "#b91c1c"
AMBER = "#92400e"
AMBER_FILL = "#fffbeb"
PURPLE = "#7e22ce"


class Canvas:
    """Collects elements; `document` wraps them in an SVG of the right size."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def circle(self, x: float, y: float, r: float, *, fill: str, stroke: str, width: float = 1.6) -> None:
        """A circle around (``x``, ``y``)."""
        self._parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}" fill="{fill}" stroke="{stroke}" stroke-width="{width}"/>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "none", radius: float = 6.0
    ) -> None:
        """A rectangle with round corners and its upper left one at (``x``, ``y``)."""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" '
            f'fill="{fill}" stroke="{stroke}"/>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, *, stroke: str, width: float = 1.0) -> None:
        """A straight line without an arrow."""
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'
        )

    def path(self, d: str, *, stroke: str, width: float = 1.6, dashed: bool = False, head: bool = True) -> None:
        """An open line; with ``head`` it ends in an arrow of its own colour."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        marker = f' marker-end="url(#head-{stroke.lstrip("#")})"' if head else ""
        self._parts.append(f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{width}"{dash}{marker}/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        fill: str = INK,
        anchor: str = "start",
        mono: bool = False,
        bold: bool = False,
        tip: str | None = None,
        halo: bool = False,
    ) -> None:
        """One line of text with its base line at ``y``.

        ``tip`` shows when a pointer rests on it; ``halo`` keeps it legible where lines cross it.
        """
        weight = ' font-weight="600"' if bold else ""
        place = (
            f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-family={quoteattr(MONO if mono else SANS)}{weight} xml:space="preserve"'
        )
        line = escape(one_line(text))
        if halo:
            # An element of its own: not every reader of SVG knows paint-order, and then the stroke hides the text.
            around = f'fill="{PAPER}" stroke="{PAPER}" stroke-width="4" stroke-linejoin="round" aria-hidden="true"'
            self._parts.append(f"<text {place} {around}>{line}</text>")
        title = f"<title>{escape(one_line(tip))}</title>" if tip else ""
        self._parts.append(f'<text {place} fill="{fill}">{title}{line}</text>')

    def extend(self, other: Canvas) -> None:
        """Add all that was drawn on ``other``, above what is here."""
        self._parts.extend(other._parts)

    def document(self, width: float, height: float, *, title: str) -> str:
        """The whole picture on white paper; ``title`` is what a screen reader says."""
        heads = "".join(
            f'<marker id="head-{colour.lstrip("#")}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            f'markerHeight="7" orient="auto-start-reverse"><path d="M0,0.8 L10,5 L0,9.2 z" fill="{colour}"/></marker>'
            for colour in (INK, MUTED, RED, PURPLE, BLUE)
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
            f"<title>{escape(one_line(title))}</title><defs>{heads}</defs>"
            f'<rect width="100%" height="100%" fill="{PAPER}"/>\n' + "\n".join(self._parts) + "\n</svg>\n"
        )
