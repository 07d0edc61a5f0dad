"""Which queries of a set can take each of a few events, as they come one after the other in a stream.

`compiler.routes` makes tables for a batch, which many events are worth. Here each event is held against all elements of
all queries at once, by its type and by where its values lie among the constants of the queries (`compiler.scales`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.fit import codes_of_types
from cepheid.compiler.routes import Wanted, values_if_read
from cepheid.compiler.scales import Comparison, Ints, Path, Scale, scale_of
from cepheid.compiler.tables import CompiledPlan
from cepheid.events.batch import EventBatch

NO_PLACE = -1
"""The place of a value that is not there, which only elements take that do not ask for it."""

_ANYWHERE = (NO_PLACE, np.iinfo(np.int64).max)


class Sieve:
    """Plans of which no session needs an event that no element takes."""

    def __init__(self, plans: Sequence[CompiledPlan], events: EventBatch) -> None:
        """Look at the conditions of the plans.

        Args:
            plans: of each `compiler.routes.can_be_routed` is true.
            events: some of the stream; all others have attributes of the same types.
        """
        wanted = [Wanted(element) for plan in plans for element in plan.automaton.elements]
        n_elements = np.array([len(plan.automaton.elements) for plan in plans], np.int64)
        self._firsts = np.cumsum(n_elements) - n_elements
        names = sorted({name for one in wanted for name in one.element.types})
        self._codes = {name: code for code, name in enumerate(names, start=1)}
        self._of_type = np.zeros((len(wanted), len(names) + 1), np.bool_)
        for row, one in zip(self._of_type, wanted, strict=True):
            row[[self._codes[name] for name in one.element.types] or slice(None)] = True
        compared: dict[Path, list[Comparison]] = {}
        for one in wanted:
            for path, comparisons in one.comparisons.items():
                compared.setdefault(path, []).extend(comparisons)
        self._by_path: dict[Path, tuple[Scale, Ints]] = {}
        for path, all_comparisons in compared.items():
            column = values_if_read(events, path)
            scale = None if column is None else scale_of(column.type, all_comparisons)
            if scale is not None:
                bounds = [_bounds(scale, one.comparisons.get(path, ())) for one in wanted]
                self._by_path[path] = scale, np.array(bounds, np.int64)

    def takers(self, events: EventBatch) -> NDArray[np.bool_]:
        """The events that each plan can take, and some that it cannot: (plans, events)."""
        takes = self._of_type[:, codes_of_types(self._codes, events)]
        for path, (scale, bounds) in self._by_path.items():
            column = values_if_read(events, path)
            if column is None:
                continue
            places = scale.places(column)
            if column.valid is not None:
                places[~column.valid] = NO_PLACE
            takes &= (bounds[:, :1] <= places) & (places < bounds[:, 1:])
        found: NDArray[np.bool_] = np.logical_or.reduceat(takes, self._firsts, axis=0)
        return found


def _bounds(scale: Scale, comparisons: Sequence[Comparison]) -> tuple[int, int]:
    """The places that comparisons leave, those between them included: from one to before another."""
    told = [one for one in comparisons if one in scale.conditions]
    if not told:
        return _ANYWHERE
    ranges = scale.ranges(told)
    return (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else (0, 0)
