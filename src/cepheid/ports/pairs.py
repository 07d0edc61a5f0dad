"""What a policy can do where an event meets a partial match: keep the two apart, count what comes of it, take a break.

A *pair* is an event and a partial match that waits for such an event: for its type, and with the conditions on it
alone fulfilled; in the same partition, with an equal key where conditions give one, inside the window. An event that
could begin a partial match makes a pair with none (state 0 of the papers). The policy tells pairs apart by three
numbers, a *cell*: the type of the event, the state of the partial match, and the place of the event in the window, in
bins. (In hSPICE: T_e, S_γ, P_e.)

The place is the number of events of the partition that lie in the window before the event, whatever their types and
values: no filter, and nothing that was evaluated early or elsewhere, changes it. A window that slides begins at its
bound, so an event has one place in each of its windows, the same for all partial matches there. The window of WITHIN
begins with the first event of the partial match: an event has as many places as there are such events.

An event that is kept apart from a partial match qualifies for nothing that it waits for, as if a condition failed.
NOT, UNTIL and the windows see all events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Int64Array = NDArray[np.int64]


@dataclass(frozen=True)
class Wanted:
    """What a policy wants to be able to ask of the kernels; what it does not want costs nothing.

    Attributes:
        guard: to keep pairs apart (`Orders.guard`).
        observe: to know what comes of pairs (`Orders.observe`).
        work: to know how much work is done, and to be asked again after so much of it.
        n_bins: how many bins of places are told apart; the last one takes all that lies beyond it, too.
        bin_events: places in a bin, a power of two.
    """

    guard: bool = False
    observe: bool = False
    work: bool = False
    n_bins: int = 1
    bin_events: int = 1

    def __post_init__(self) -> None:
        if self.n_bins < 1:
            raise ValueError(f"n_bins is {self.n_bins}; one bin is the least")
        if self.bin_events < 1 or self.bin_events & (self.bin_events - 1):
            raise ValueError(f"bin_events is {self.bin_events}; it has to be a power of two")


@dataclass(frozen=True)
class Cells:
    """The cells of a query.

    Attributes:
        types: the event types, by number; None, the last one, stands for all others.
        states: of each state, the variable of the event that was taken last; None, the last one, is the state of what
            has taken none. Several states may have the same variable.
        n_bins, bin_events: see `Wanted`.
    """

    types: tuple[str | None, ...]
    states: tuple[str | None, ...]
    n_bins: int
    bin_events: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of a table by cell: (types, states, bins)."""
        return len(self.types), len(self.states), self.n_bins


@dataclass(frozen=True, eq=False)
class Guard:
    """Which pairs are kept apart: those of cells whose utility is not above the threshold.

    Attributes:
        utilities: int64, `Cells.shape`.
        threshold: that of hSPICE's Algorithm 1, u_th; below all utilities it lets everything through.
    """

    utilities: Int64Array
    threshold: int

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, int | np.integer) or not -(2**63) <= self.threshold < 2**63:
            raise ValueError(f"the threshold is {self.threshold!r}; it has to be an int64")


@dataclass(frozen=True, eq=False)
class Seen:
    """What has happened since the run began; all arrays are int64 and copies.

    A pair whose event can be taken for several variables is taken once for each. Where these are a loop and the element
    behind it that has the prefix ``any``, it meets twice, too; and under `next` there is a partial match for each
    branch of an OR. A partial match of which a NOT is broken for good waits for nothing, nor does one that lies further
    back than BETWEEN EACH allows; that the UNTIL of a loop has closed it, that it is full, or has taken too few to be
    left, is seen when an event would be taken. Under POLICY strict all partial matches of a start meet an event, also
    those that turn out not to be preferred, and of those with the same future one; there are no groups. Where variables
    wait for the last event, pairs are known when a match is put together, but for those at its beginning: ``dropped``
    has one for each match that was lost there. Nothing is observed there, as what would be counted is no longer a
    property of the query. A pair that the plan spares is neither processed nor taken, and its partial match is neither
    created nor expired: such a count tells how rare the last event is, not of what use the pair was, and would change
    with the plan in the middle of a stream. To know the pairs that the plan spares is to make the partial matches that
    it spares.

    Attributes:
        work: events read, and partial matches walked over, whether they met the event or not; 0 without `Wanted.work`.
        dropped: by cell, pairs that were kept apart one by one (0 without `Wanted.guard`).
        groups: by type and state, how often an event met the partial matches of one state and key, of which there was
            at least one; or none, where it could begin one. While pairs are observed, else only those dropped.
        groups_dropped: of these, how often it was kept apart from all of them without a look at any: so many pairs are
            missing in ``dropped`` as there were.
        processed: by cell, pairs that met (e ⊗ γ_s). This and what follows: while pairs are observed.
        taken: by cell, partial matches that pairs led to (e ∈ γ_s).
        completed: by cell, those of them that are a match or the beginning of at least one, so far.
        matched: by cell, the matches that they are, or are the beginnings of.
        created, extended: by state, the partial matches that reached it with their first event, and with a later one.
        expired: by state, those that waited for more when their window closed, also where a full loop would have taken
            none, or the next event ended a wait for it alone (a prefix ``strict``); not those that a cap drops. It is
            counted when their room is given back, which may be later.
        pairs: by state, pairs that met. This and the next: with `Wanted.work`.
        evaluated: by state, conditions that were evaluated for its partial matches, but for those on one event.
        ended: whether this is all: the input is at its end.
    """

    work: int
    dropped: Int64Array
    groups: Int64Array
    groups_dropped: Int64Array
    processed: Int64Array
    taken: Int64Array
    completed: Int64Array
    matched: Int64Array
    created: Int64Array
    extended: Int64Array
    expired: Int64Array
    pairs: Int64Array
    evaluated: Int64Array
    ended: bool


@dataclass(frozen=True, eq=False)
class Orders:
    """What is to be done from now on.

    Attributes:
        guard: which pairs are kept apart; None: as before, and at the start none. Needs `Wanted.guard`.
        n_work: ask again after so much work, at least 1; None for not before the end of the batch. Needs `Wanted.work`.
        observe: whether pairs are observed from now on; None: as before, and at the start not. Needs `Wanted.observe`.
            While they are not, that costs nothing, and nothing of it is counted. Each time it begins, it begins
            afresh: the partial matches that are there already count for the pairs that they meet (``processed`` and
            ``groups`` of `Seen`) and for what is made of them, and are neither completed nor matched nor expired.
    """

    guard: Guard | None = None
    n_work: int | None = None
    observe: bool | None = None

    def __post_init__(self) -> None:
        if self.n_work is not None and (not isinstance(self.n_work, int | np.integer) or self.n_work < 1):
            raise ValueError(f"n_work is {self.n_work!r}; it has to be a number, and at least 1")
        if self.observe is not None and not isinstance(self.observe, bool | np.bool_):
            raise ValueError(f"observe is {self.observe!r}; it has to be True or False, or None for what was before")


@runtime_checkable
class Remembers(Protocol):
    """A policy that a snapshot of a stream keeps something of."""

    def remembered(self) -> Mapping[str, object]:
        """What it goes on from, as JSON can say it."""
        ...

    def remember(self, said: Mapping[str, object]) -> None:
        """Go on from what `remembered` gave; `PairPolicy.begin` is called after this, also where it was before."""
        ...


class PairPolicy(Protocol):
    """A policy that is asked about pairs. The engine asks it between two pairs, and runs no pair meanwhile."""

    @property
    def wanted(self) -> Wanted:
        """What it wants; the same always."""
        ...

    def begin(self, cells: Cells) -> Orders:
        """A run begins."""
        ...

    def look(self, seen: Seen) -> Orders:
        """So much work is done as was asked for, or the run is at its end."""
        ...
