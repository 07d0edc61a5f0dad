"""A query put together from matches of its projections: inputs that bind several variables at once.

    one = project(bound, ["a", "c"])              # SEQ(A a, C c) of SEQ(A a, B b, C c), with what reads only a and c
    found = run(one, batch_of_a_and_c)             # at one site
    joiner = Joiner(bound, {"ac": ["a", "c"], "b": ["b"]})
    joiner.push("ac", partial_matches_of(one, batch_of_a_and_c, found))       # or read_partial_matches(table, schema)
    joiner.push("b", single_events("b", batch_of_b))
    joiner.advance(watermark_us)                   # what comes from now on ends later than this; None: nothing comes
    found = joiner.matches()                       # those that are new since the last call
    found.table()                                  # as cep.match gives them
    found.partial_matches()                        # of a query that is a projection itself: input of another joiner

The result is that of the query over all events in one place, whatever the parts are, however often and in whichever
order their partial matches arrive, and however they are cut into pushes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheid.engine.event_store import EventStore
from cepheid.engine.gaps import broken, decisions_of
from cepheid.engine.join_events import JoinEvents, Rows
from cepheid.engine.join_parts import Part, parts_of_query
from cepheid.engine.join_rows import JoinStep, joined, n_equalities
from cepheid.engine.joiner_snapshot import packed_joiner, unpacked_joiner
from cepheid.engine.loops_put_back import put_back, with_roles
from cepheid.engine.matches import Matches, no_matches
from cepheid.engine.narrowing import chosen
from cepheid.engine.order import varying_order
from cepheid.engine.output import assemble
from cepheid.engine.partial_matches import PartialMatches, partial_matches_of
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.snapshot import events_of_table, table_of_events
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.plan.projection import split

MIN_FORGOTTEN = 256
"""Events that can be forgotten before they are, at the least: it costs a look at all that is held."""


@dataclass(frozen=True, eq=False)
class JoinedMatches:
    """Matches that a joiner put together.

    Attributes:
        bound: the query.
        batch: the events that they are made of, in order.
        matches: positions in ``batch``; in the order of SEMANTICS 7.2 among themselves.
    """

    bound: BoundQuery
    batch: EventBatch
    matches: Matches

    def __len__(self) -> int:
        return len(self.matches)

    def table(self, *, source: str = "") -> Any:
        """The columns of RETURN, or the default ones, as a pyarrow Table; see `engine.output.assemble`.

        Raises:
            DataError: no events have come yet, so nothing is known of the types of their columns.
        """
        if not self.batch.table.num_columns:
            raise DataError("no events have come yet", remedy="ask for the table when there are matches")
        return assemble(self.bound, self.batch, self.matches, source=source)

    def partial_matches(self) -> PartialMatches:
        """The same as input for another joiner; of a query without Kleene variables, such as a projection."""
        return partial_matches_of(self.bound, self.batch, self.matches)


class Joiner:
    """Joins partial matches of the parts of a query to matches of the query.

    Attributes:
        bound: the query.
        watermark_us: how far the inputs have come, us.
        n_late: partial matches that ended at or before the watermark when they arrived; they are in no match.
        n_refused: partial matches that are none: they do not satisfy what the query says of their variables.
    """

    def __init__(
        self, bound: BoundQuery, parts: Mapping[str, Collection[str]], *, settings: Settings = DEFAULTS
    ) -> None:
        """Start with nothing.

        Args:
            bound: the query, or a projection of one; its parameters replaced by values. Its schema names the columns of
                an order key.
            parts: name of each input -> the variables that its rows bind. They may overlap. One variable is a part of
                which all events may be pushed as they are: types and conditions are tested here. Several are a part
                whose rows are matches of ``project(bound, variables)``; variables under NOT that are named with others
                say that its rows have been tested for this NOT. All variables under one NOT alone are the part with
                the events that the NOT looks for; a NOT that no part tests needs it.
            settings: caps, for the matches of queries with Kleene variables.

        Raises:
            NotSupportedError: the query cannot be split (`plan.projection.not_split_because`), or a condition of a NOT
                reads a Kleene variable as a whole.
            QueryError: the parts leave a variable or a NOT out, or one of them is no projection.
            SchemaError: the events have no order key.
        """
        self.watermark_us = BEFORE_ALL_US
        self.n_late = self.n_refused = 0
        self.bound = bound
        self._settings = settings
        self._query = split(bound)
        self._parts, self._gaps = parts_of_query(bound, self._query, parts)
        self._store = EventStore(bound.schema)
        self._roles = with_roles(bound) if self._query.loops else None
        # Rows of all positive variables, where loops are to be put back: they wait for further events of these.
        self._rows = np.zeros((0, len(self._query.positive)), np.int64)
        self._waiting = no_matches()
        window = bound.window
        self._longest_us = None if window.within_us is None else window.within_us - window.exclusive

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that matches bind, in the order of the text."""
        return self._query.positive

    @property
    def n_events(self) -> int:
        """Distinct events that are held."""
        return len(self._store)

    @property
    def n_rows(self) -> int:
        """Partial matches that are held, those of several parts put together not counted."""
        return sum(len(part) for part in self._parts.values())

    @property
    def n_waiting(self) -> int:
        """Matches that wait for the watermark, as a NOT may still break them."""
        return len(self._waiting)

    def push(self, part: str, partial: PartialMatches) -> None:
        """Take in partial matches of a part; those that came before are passed over.

        Args:
            part: its name.
            partial: rows that bind all its variables (and no others), with their events.

        Raises:
            ValueError: there is no such part, or the rows bind other variables.
            SchemaError, DataError: the events do not fit the schema, or two have one order key.
        """
        known = self._parts.get(part)
        if known is None:
            raise ValueError(f"there is no part {part!r}; the parts are {', '.join(self._parts)}")
        if set(partial.variables) != set(known.variables):
            raise ValueError(
                f"the part {part!r} binds {', '.join(known.variables)}; "
                f"these partial matches bind {', '.join(partial.variables) or 'nothing'}"
            )
        positions = partial.positions[:, [partial.variables.index(name) for name in known.variables]]
        late = (
            partial.batch.time_us[positions].max(axis=1) <= self.watermark_us if len(positions) else np.zeros(0, bool)
        )
        if late.any():
            self.n_late += int(np.count_nonzero(late))
            positions = positions[~late]
        if not len(positions):
            return
        used, of_entry = np.unique(positions, return_inverse=True)
        slots = self._store.add(partial.batch, used)
        known.add(slots[of_entry.reshape(positions.shape)])

    def advance(self, watermark_us: int | None) -> None:
        """Say how far all inputs have come.

        Args:
            watermark_us: all partial matches whose last event is not after this time have been pushed; None: all there
                are. It may not go back, which changes nothing.
        """
        self.watermark_us = max(self.watermark_us, AFTER_ALL_US if watermark_us is None else watermark_us)

    def matches(self) -> JoinedMatches:
        """The matches that can be told by now and were not told before.

        A match is told when all its parts have come; where a NOT that no part has tested could still break it, when the
        watermark has reached the end of its gap.

        Raises:
            CapacityError: of a query with Kleene variables, more partial matches would be held than may be.
        """
        if len(self._store):
            events = JoinEvents(self.bound, self._store)
            self._settle(events)
            found = self._new_matches(events)
            found = _together(self._waiting, decisions_of(events, self._gaps, found))
            self._waiting, found = self._decided(events, found)
        else:
            found = no_matches()
        told = self._told(found)
        self._forget()
        return told

    # --- snapshots ------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """All that is held, to go on from; it is logical and versioned, as that of a Matcher."""
        if len(self._store):
            self._settle(JoinEvents(self.bound, self._store))
        rows = {name: (part.old_rows, part.new_rows) for name, part in self._parts.items()}
        said = {"watermark_us": self.watermark_us, "n_late": self.n_late, "n_refused": self.n_refused}
        events = table_of_events(self._store.batch)
        return packed_joiner(self.bound, self._variables(), said, events, rows, self._rows, self._waiting)

    @classmethod
    def restored(
        cls,
        bound: BoundQuery,
        parts: Mapping[str, Collection[str]],
        snapshot: bytes,
        *,
        settings: Settings = DEFAULTS,
    ) -> Joiner:
        """A joiner that goes on from a snapshot.

        Args:
            bound, parts, settings: as when it was made.
            snapshot: what `snapshot` returned.

        Raises:
            DataError: these bytes are no snapshot, or that of another query or of other parts.
        """
        joiner = cls(bound, parts, settings=settings)
        said, events, rows, joiner._rows, joiner._waiting = unpacked_joiner(bound, joiner._variables(), snapshot)
        joiner.watermark_us, joiner.n_late, joiner.n_refused = (
            said["watermark_us"],
            said["n_late"],
            said["n_refused"],
        )
        batch = events_of_table(events, bound.schema)
        if batch is not None and batch.table.num_columns:  # without, none had come
            joiner._store.add(batch, np.arange(len(batch)))
        for name, (old, new) in rows.items():
            joiner._parts[name].restore(old, new)
        return joiner

    def _variables(self) -> dict[str, tuple[str, ...]]:
        return {name: part.variables for name, part in self._parts.items()}

    def _settle(self, events: JoinEvents) -> None:
        for part in self._parts.values():
            self.n_refused += part.settle(events)

    # --- joining ------------------------------------------------------------------------------------

    def _new_matches(self, events: JoinEvents) -> Matches:
        """Matches at least one of whose parts is new, as slots by rank; NOTs are not tested."""
        rows = self._new_rows(events)
        if self._roles is not None:
            n_before = len(self._rows)
            self._rows = np.concatenate((self._rows, rows))
            new = np.arange(n_before, len(self._rows))
            found = put_back(self._roles, self._query, self._store, self._rows, new, self._settings)
            names = list(self.bound.variables)
            numbers = np.array([names.index(name) for name in self._roles.variables], np.int16)
            return replace(found, variables=numbers[found.variables])
        return rows_as_matches(self.bound, self._query.positive, events, rows)

    def _new_rows(self, events: JoinEvents) -> Int64Array:
        """Rows of all positive variables that new rows of parts lead to, each once."""
        parts = [part for part in self._parts.values() if not part.negated]
        found = []
        for i, part in enumerate(parts):
            others = {p.name: p.rows if j < i else p.old_rows for j, p in enumerate(parts) if j != i}
            if len(part.new_rows) and all(len(rows) for rows in others.values()):
                rows = self._joined(events, part, {name: others[name] for name in others})
                if len(rows):
                    found.append(np.stack([rows.columns[name] for name in self._query.positive], axis=1))
        for part in self._parts.values():
            part.grow_old()
        return np.concatenate(found) if found else np.zeros((0, len(self._query.positive)), np.int64)

    def _joined(self, events: JoinEvents, first: Part, others: Mapping[str, Int64Array]) -> Rows:
        """The rows of all parts that hold one of the new rows of the first."""
        left = events.rows(first.variables, first.new_rows)
        waiting = {name: self._parts[name] for name in others}
        tested = set(first.conjuncts)
        while waiting and len(left):
            bound = frozenset(left.columns)
            part = max(waiting.values(), key=lambda p: (*self._links(bound, p), -len(others[p.name])))
            del waiting[part.name]
            right = events.rows(part.variables, others[part.name])
            after = bound | frozenset(part.variables)
            conjuncts = [c for c in self._query.conjuncts if set(c.variables) <= after and c not in tested]
            conjuncts = [c for c in conjuncts if c not in part.conjuncts]
            tested.update(conjuncts, part.conjuncts)
            step = JoinStep(
                before=tuple(pair for pair in self._query.before if _across(pair, bound, after, part)),
                apart=tuple(pair for pair in self._query.apart if _across(pair, bound, after, part)),
                conjuncts=tuple(conjuncts),
            )
            left = _made(left, right, list(joined(events, left, right, step)))
        return left

    def _links(self, bound: frozenset[str], part: Part) -> tuple[int, int, int]:
        """How much a part is tied to what is bound: by shared variables, by equalities, by order."""
        own = frozenset(part.variables)
        after = bound | own
        new = [c for c in self._query.conjuncts if set(c.variables) <= after and not set(c.variables) <= bound]
        n_ordered = sum((a in bound and b in own) or (b in bound and a in own) for a, b in self._query.before)
        return len(bound & own), n_equalities(bound, own, new), n_ordered

    # --- what is told, and when ---------------------------------------------------------------------

    def _decided(self, events: JoinEvents, found: Matches) -> tuple[Matches, Matches]:
        """Those that wait on, and those that nothing can break any more."""
        if not self._gaps or not len(found):
            return no_matches(), found
        kept = np.ones(len(found), np.bool_)
        waits = np.zeros(len(found), np.bool_)
        for gap in self._gaps:
            known = gap.ends_us(events, found) <= self.watermark_us
            waits |= ~known
            ready = np.flatnonzero(known & kept)
            if len(ready):
                subset = np.zeros(len(found), np.bool_)
                subset[ready] = True
                kept[ready] = ~broken(events, gap, self._parts[gap.part].rows, chosen(found, subset))
        return chosen(found, waits & kept), chosen(found, kept & ~waits)

    def _told(self, found: Matches) -> JoinedMatches:
        """The matches over a batch of their own events, in order."""
        batch, positions = self._store.in_order(found.positions)
        if not len(found):
            return JoinedMatches(self.bound, batch, found)
        deciders = positions[found.offsets[1:] - 1]
        if any(gap.is_trailing for gap in self._gaps):
            deciders = np.full(len(found), -1, np.int64)  # the time decides
        order = varying_order(
            positions,
            found.variables.astype(np.int64),
            found.offsets,
            found.decided_us,
            deciders,
            scattered=True,
            ambiguous=False,
        )
        lengths = np.diff(found.offsets)[order]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        entries = np.repeat(found.offsets[order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        told = Matches(offsets, positions[entries], found.variables[entries], found.decided_us[order])
        return JoinedMatches(self.bound, batch, told)

    # --- forgetting -----------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget what can be in no match that is not told yet: what began a window or more before the watermark."""
        if self.watermark_us == AFTER_ALL_US:
            last_us = AFTER_ALL_US
        elif self._longest_us is None or self.watermark_us == BEFORE_ALL_US:
            return
        else:
            last_us = self.watermark_us - self._longest_us
        times = self._store.batch.time_us
        n_old = int(np.count_nonzero(times <= last_us))
        if n_old < max(1 if last_us == AFTER_ALL_US else MIN_FORGOTTEN, len(times) // 2):
            return
        for part in self._parts.values():
            part.forget(times, last_us)
        self._rows = self._rows[times[self._rows].min(axis=1) > last_us]
        slots = [part.rows.reshape(-1) for part in self._parts.values()]
        new = self._store.keep(np.unique(np.concatenate([*slots, self._rows.reshape(-1), self._waiting.positions])))
        for part in self._parts.values():
            part.renumber(new)
        self._rows = new[self._rows]
        waiting = self._waiting
        self._waiting = Matches(waiting.offsets, new[waiting.positions], waiting.variables, waiting.decided_us)


def _across(pair: tuple[str, str], bound: frozenset[str], after: frozenset[str], part: Part) -> bool:
    """Whether a pair of variables is tested when a part joins what is bound: by neither of them alone."""
    return set(pair) <= after and not set(pair) <= bound and not set(pair) <= set(part.variables)


def _made(left: Rows, right: Rows, pairs: list[tuple[Int64Array, Int64Array]]) -> Rows:
    """Rows of what is bound on the left and on the right."""
    nothing = np.zeros(0, np.int64)
    one = np.concatenate([nothing, *(one for one, _ in pairs)])
    other = np.concatenate([nothing, *(other for _, other in pairs)])
    columns = {name: slots[other] for name, slots in right.columns.items()}
    columns |= {name: slots[one] for name, slots in left.columns.items()}
    return Rows(
        columns,
        np.minimum(left.first_us[one], right.first_us[other]),
        np.maximum(left.last_us[one], right.last_us[other]),
    )


def rows_as_matches(bound: BoundQuery, variables: tuple[str, ...], events: JoinEvents, rows: Int64Array) -> Matches:
    """Rows that bind each variable once as matches, whose positions are slots in the order of the events."""
    n, width = rows.shape
    if not n:
        return no_matches()
    order = np.argsort(events.ranks[rows], axis=1)
    names = list(bound.variables)
    numbers = np.array([names.index(name) for name in variables], np.int16)
    ordered = np.take_along_axis(rows, order, axis=1)
    return Matches(
        offsets=np.arange(0, n * width + 1, width, dtype=np.int64),
        positions=ordered.reshape(-1),
        variables=numbers[order].reshape(-1),
        decided_us=events.batch.time_us[ordered[:, -1]],
    )


def _together(one: Matches, other: Matches) -> Matches:
    """The matches of both."""
    if not len(one) or not len(other):
        return other if not len(one) else one
    return Matches(
        np.concatenate((one.offsets, other.offsets[1:] + one.offsets[-1])),
        np.concatenate((one.positions, other.positions)),
        np.concatenate((one.variables, other.variables)),
        np.concatenate((one.decided_us, other.decided_us)),
    )
