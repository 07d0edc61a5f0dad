"""An explanation as a picture (SVG), as a Mermaid diagram, and as plain text."""

from cepheid.plan.draw.mermaid import to_mermaid
from cepheid.plan.draw.svg import to_svg
from cepheid.plan.draw.text import to_text

__all__ = ["to_mermaid", "to_svg", "to_text"]
