"""The inputs of a joiner: which variables each binds, what its rows have to satisfy, and the rows themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from cepheid.engine.gaps import TestedGap
from cepheid.engine.join_events import NO_PARTITION, JoinEvents
from cepheid.errors import NotSupportedError, QueryError, SchemaError
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.plan.projection import Gap, Pair, Split, project
from cepheid.plan.references import references


@dataclass(eq=False)
class Part:
    """One input.

    Attributes:
        name: what it is called.
        variables: those that its rows bind, in the order of the text.
        negated: whether they stand under NOT.
        before, apart: see `plan.projection.Split`; of its variables.
        conjuncts: the conditions that read only its variables.
    """

    name: str
    variables: tuple[str, ...]
    negated: bool
    before: tuple[Pair, ...]
    apart: tuple[Pair, ...]
    conjuncts: tuple[Conjunct, ...]

    def __post_init__(self) -> None:
        nothing = np.zeros((0, len(self.variables)), np.int64)
        self.old_rows: Int64Array = nothing
        self.new_rows: Int64Array = nothing
        self._pushed: list[Int64Array] = []
        self._known: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.old_rows) + len(self.new_rows) + sum(len(rows) for rows in self._pushed)

    @property
    def rows(self) -> Int64Array:
        """All rows that are settled: those joined before, and the new ones."""
        return np.concatenate((self.old_rows, self.new_rows)) if len(self.new_rows) else self.old_rows

    def add(self, rows: Int64Array) -> None:
        """Take in rows of slots; those that are known are passed over when they are settled."""
        self._pushed.append(rows)

    def settle(self, events: JoinEvents) -> int:
        """Make new rows of those that were pushed: each once, and if it satisfies what speaks of its variables.

        Returns:
            How many do not.
        """
        if not self._pushed:
            return 0
        rows = np.ascontiguousarray(np.concatenate(self._pushed))
        self._pushed = []
        width = rows.shape[1] * rows.itemsize
        data = rows.tobytes()
        fresh = np.zeros(len(rows), np.bool_)
        for number in range(len(rows)):
            key = data[number * width : (number + 1) * width]
            if key not in self._known:
                self._known.add(key)
                fresh[number] = True
        rows = rows[fresh]
        fits = self._fit(events, rows)
        self.new_rows = np.concatenate((self.new_rows, rows[fits]))
        return int(np.count_nonzero(~fits))

    def _fit(self, events: JoinEvents, slots: Int64Array) -> BoolArray:
        """Where rows satisfy what the query says of their variables."""
        fits = np.ones(len(slots), np.bool_)
        if not len(slots):
            return fits
        rows = events.rows(self.variables, slots)
        for name in self.variables:
            fits &= events.takes(name, rows.columns[name])
        if events.partitions is not None:
            of_rows = events.partitions[slots]
            fits &= (of_rows == of_rows[:, :1]).all(axis=1) & (of_rows[:, 0] != NO_PARTITION)
        fits &= events.in_order(rows.columns, self.before, self.apart)
        fits &= events.in_window(rows.first_us, rows.last_us)
        for conjunct in self.conjuncts:
            at = np.flatnonzero(fits)
            if len(at):
                fits[at] = events.holds(conjunct, rows.take(at).columns, len(at))
        return fits

    def grow_old(self) -> None:
        """New rows have been joined."""
        self.old_rows = self.rows
        self.new_rows = self.new_rows[:0]

    def forget(self, times_us: Int64Array, last_us: int) -> None:
        """Forget rows that began at this time or before; all are old, or none of the new ones did."""
        self.old_rows = self.old_rows[times_us[self.old_rows].min(axis=1) > last_us]

    def renumber(self, new: Int64Array) -> None:
        """Bring rows to new slots."""
        self.restore(np.ascontiguousarray(new[self.old_rows]), self.new_rows)

    def restore(self, old_rows: Int64Array, new_rows: Int64Array) -> None:
        """Hold these rows, and no others."""
        self.old_rows, self.new_rows = old_rows, new_rows
        data, width = self.rows.tobytes(), len(self.variables) * self.rows.itemsize
        self._known = {data[at : at + width] for at in range(0, len(data), width)}


def parts_of_query(
    bound: BoundQuery, of_query: Split, parts: Mapping[str, Collection[str]]
) -> tuple[dict[str, Part], tuple[TestedGap, ...]]:
    """The parts, and the NOTs that none of them has tested.

    Raises:
        NotSupportedError, QueryError, SchemaError: see `engine.joiner.Joiner`.
    """
    if not bound.schema.order:
        raise SchemaError(
            "the events have no order key: nothing tells those of one site from those of another",
            remedy="name the columns that tell each event from all others with order=, the source among them",
        )
    made: dict[str, Part] = {}
    closed: set[Gap] = set()
    for name, variables in parts.items():
        project(bound, variables)  # says what is wrong with it
        positive = tuple(v for v in of_query.positive if v in variables)
        negated = tuple(v for v in bound.variables if v in variables and v not in of_query.positive)
        closed.update(gap for gap in of_query.gaps if positive and set(gap.negated) <= set(negated))
        own = positive or negated
        made[name] = Part(
            name=name,
            variables=own,
            negated=not positive,
            before=tuple(pair for pair in of_query.before if set(pair) <= set(own)),
            apart=tuple(pair for pair in of_query.apart if set(pair) <= set(own)),
            conjuncts=tuple(c for c in of_query.conjuncts if set(c.variables) <= set(own)),
        )
    lacking = [v for v in of_query.positive if not any(v in part.variables for part in made.values())]
    if lacking:
        raise QueryError(
            f"no part binds {', '.join(lacking)}", remedy="the parts have all variables that a match binds, together"
        )
    gaps = tuple(_tested(bound, of_query, gap, made) for gap in of_query.gaps if gap not in closed)
    return made, gaps


def _tested(bound: BoundQuery, of_query: Split, gap: Gap, parts: Mapping[str, Part]) -> TestedGap:
    """A NOT that is tested where the query is put together."""
    own = [part for part in parts.values() if part.negated and set(part.variables) == set(gap.negated)]
    if not own:
        raise QueryError(
            f"no part has tested that there is no {', '.join(gap.negated)}, and no part has the events that show it",
            remedy=f"add a part with {', '.join(gap.negated)} alone, or name them in a part with the neighbours of "
            "their NOT",
        )
    if len(own) > 1:
        raise QueryError(
            f"{own[0].name} and {own[1].name} are both the part with the events that a NOT looks for",
            remedy="push all of them to one part",
        )
    for conjunct in gap.conjuncts:
        for name, reference in references(conjunct.expression).items():
            others = reference.prev or reference.first or reference.last or reference.aggregated
            if name in of_query.loops and (others or not reference.single):
                raise NotSupportedError(
                    f"a condition of NOT {', '.join(gap.negated)} reads the loop {name} as a whole, which is "
                    "not tested where a query is put together from projections",
                    remedy="evaluate the query where all its events are",
                    text=bound.text,
                    origin=bound.origin,
                    span=bound.query.pattern.span,
                )
    return TestedGap(gap, own[0].name, of_query.loops)
