"""What conditions are lowered to: code, and the tables that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheid.compiler.hosted import Hosted
from cepheid.kernels import layout as k


@dataclass
class Tables:
    """Code, constants, conditions with what they go over, and what the host computes, as they grow."""

    code: list[list[int]] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    conditions: list[list[int]] = field(default_factory=list)
    iterated: list[list[int]] = field(default_factory=list)
    hosted: list[Hosted] = field(default_factory=list)
    combinations: list[int] = field(default_factory=list)
    combination_fields: list[int] = field(default_factory=list)  # those of them that are registers

    def constant(self, value: float) -> int:
        """The place of a float constant."""
        self.floats.append(value)
        return len(self.floats) - 1

    def comparison(self, operands: Sequence[int]) -> list[int]:
        """Add the code of one comparison; its row of the table `conditions`.

        Args:
            operands: the instruction after `layout.COMPARE`.
        """
        self.code.append([k.COMPARE, *operands])
        return condition(len(self.code) - 1, len(self.code), fused=True)


def condition(first: int, last: int, n_iterated: int = 0, iterated_from: int = 0, *, fused: bool = False) -> list[int]:
    """A row of the table `conditions`.

    Args:
        first, last: its instructions.
        n_iterated, iterated_from: the loops whose elements it is tried on, as rows of the table `iterated`.
        fused: it is one comparison, and nothing is iterated.
    """
    return [first, last, int(fused), n_iterated, iterated_from, -1]
