"""Matches as the engine gives them: positions of events, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    offsets: NDArray[np.int64]
    positions: NDArray[np.int64]
    variables: NDArray[np.int16]
    decided_us: NDArray[np.int64]
    window_start_us: NDArray[np.int64] | None = None
    window_end_us: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.decided_us)
