"""Matches as the engine gives them: positions of events, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Matches:
    """Matches in the order of SEMANTICS 7.2.

    Attributes:
        offsets: int64, (n + 1,): the entries of match i are ``offsets[i]`` to before ``offsets[i + 1]``.
        positions: int64, (m,): the positions of the events in the sorted batch, ascending within a match.
        variables: int16, (m,): for each, the index of the variable in the order of ``BoundQuery.variables``.
        decided_us: int64, (n,): when each was decided, us; the greatest int64 for the end of the input.
        window_start_us, window_end_us: int64, (n,), where windows slide; else None.
        rests_on: int64, (n,): the cell of `kernels.open_layout` of each, of a plan that postpones; else None.
    """

    offsets: NDArray[np.int64]
    positions: NDArray[np.int64]
    variables: NDArray[np.int16]
    decided_us: NDArray[np.int64]
    window_start_us: NDArray[np.int64] | None = None
    window_end_us: NDArray[np.int64] | None = None
    rests_on: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, start: int, end: int) -> Matches:
        """Those from ``start`` to before ``end``."""
        low, high = int(self.offsets[start]), int(self.offsets[end])
        of_matches = (self.decided_us, self.window_start_us, self.window_end_us, self.rests_on)
        return Matches(
            self.offsets[start : end + 1] - low,
            self.positions[low:high],
            self.variables[low:high],
            *(None if values is None else values[start:end] for values in of_matches),  # type: ignore[arg-type]
        )


def no_matches(*, sliding: bool = False) -> Matches:
    """None at all; of windows that slide, with the bounds of none."""
    nothing = np.zeros(0, np.int64)
    bounds = nothing if sliding else None
    return Matches(np.zeros(1, np.int64), nothing, np.zeros(0, np.int16), nothing, bounds, bounds)


class RowMatches(Matches):
    """Matches that all bind the same variables, once each: a table of positions, and the rest when it is asked for."""

    def __init__(self, positions: NDArray[np.int64], variables: NDArray[np.int16], time_us: NDArray[np.int64]) -> None:
        """Make them.

        Args:
            positions: int64, (n * len(variables),), match after match.
            variables: int16, the index of the variable of each event of a match, in the order of the events.
            time_us: int64, the times of the events of the batch.
        """
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "_of_a_match", variables)
        object.__setattr__(self, "_time_us", time_us)

    def __len__(self) -> int:
        return len(self.positions) // len(self._of_a_match)

    _of_a_match: NDArray[np.int16]
    _time_us: NDArray[np.int64]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """See `Matches`."""
        return np.arange(0, len(self.positions) + 1, len(self._of_a_match), dtype=np.int64)

    @cached_property
    def variables(self) -> NDArray[np.int16]:
        """See `Matches`."""
        return np.tile(self._of_a_match, len(self))

    @cached_property
    def decided_us(self) -> NDArray[np.int64]:
        """See `Matches`: the time of the last event."""
        return self._time_us[self.positions[len(self._of_a_match) - 1 :: len(self._of_a_match)]]
