"""Where random queries and streams take their choices from: Hypothesis, or a seed.

Hypothesis shrinks what it draws and remembers it, which costs more than running a small query. Whoever wants many
draws (`cepheid.testing.fuzz`) takes a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

_T = TypeVar("_T")


class Choices(Protocol):
    """Something that chooses."""

    def integer(self, least: int, most: int) -> int:
        """A number, both ends included; the least is the simplest."""

    def pick(self, options: Sequence[_T]) -> _T:
        """One of ``options``; the first is the simplest."""

    def permuted(self, options: Sequence[_T]) -> Sequence[_T]:
        """``options`` in any order."""


class Drawn:
    """Hypothesis chooses."""

    def __init__(self, draw: st.DrawFn) -> None:
        """Make it.

        Args:
            draw: of the strategy.
        """
        self._draw = draw

    def integer(self, least: int, most: int) -> int:
        """See `Choices`."""
        return least if least == most else self._draw(st.integers(least, most))

    def pick(self, options: Sequence[_T]) -> _T:
        """See `Choices`."""
        return options[0] if len(options) == 1 else self._draw(st.sampled_from(options))

    def permuted(self, options: Sequence[_T]) -> Sequence[_T]:
        """See `Choices`."""
        return self._draw(st.permutations(options))


class Seeded:
    """A seed decides."""

    def __init__(self, random: Random) -> None:
        """Make it.

        Args:
            random: its state is what comes next.
        """
        self._random = random

    def integer(self, least: int, most: int) -> int:
        """See `Choices`."""
        return self._random.randint(least, most)

    def pick(self, options: Sequence[_T]) -> _T:
        """See `Choices`."""
        return self._random.choice(options)

    def permuted(self, options: Sequence[_T]) -> Sequence[_T]:
        """See `Choices`."""
        return self._random.sample(options, len(options))
