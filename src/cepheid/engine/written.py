"""What a kernel has written, in terms of the batch, and its order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import KernelEvents
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.decisions import decisions
from cepheid.engine.matches import Matches
from cepheid.engine.order import distinct, first_of_each, varying_order
from cepheid.engine.pool import Pool
from cepheid.engine.skipping import Kept, kept_matches
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray
from cepheid.kernels import layout as k

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Written:
    """Matches, and what is told beside them, of varying length, in no order that means anything.

    Attributes:
        compiled: the plan.
        events: what the kernel saw.
        positions, taken: (m,): the positions of the events in the batch, and the variables that they bind, one match
            after the other.
        starts: (n + 1,): where each begins.
        decided: (n,): when each was decided, or its window closed: us, the greatest int64 for the end of the input.
        deciders: (n,): positions of the events that decided, or -1.
        kinds: (n,): `TIMED_OUT` or `NOT_LEFT` of `kernels.layout` for what is told beside matches, greater for matches.
        windows: (n,): the number of the sliding window of each, or None.
        partitions: (n,): the code of the partition and the window of each, where windows slide or matches are skipped;
            else, or where all are in one, None.
        rests_on: (n,): the cell of each, of a plan that postpones; else None.
    """

    compiled: CompiledPlan
    events: KernelEvents
    positions: Ints
    taken: Ints
    starts: Ints
    decided: Ints
    deciders: Ints
    kinds: Ints
    windows: Ints | None
    partitions: Ints | None
    rests_on: Ints | None = None

    def matches(self) -> Matches:
        """The matches in their order (SEMANTICS 7.2)."""
        return self.kept()[0]

    def kept(self, barred: BoolArray | None = None) -> tuple[Matches, Kept | None]:
        """The same, and what AFTER MATCH has to say of them; None where it is not there.

        Args:
            barred: see `engine.skipping.kept_matches`.
        """
        automaton = self.compiled.automaton
        of_matches = self._chosen(np.flatnonzero(self.kinds > k.TIMED_OUT)) if automaton.tells_timed_out else self
        order = of_matches._order(ambiguous=automaton.graph and (automaton.ambiguous or automaton.scattered))
        kept = None
        if automaton.skips:
            kept = kept_matches(
                self.compiled,
                order,
                of_matches.partitions,
                of_matches.positions,
                of_matches.taken,
                of_matches.starts,
                of_matches.decided,
                of_matches.deciders,
                of_matches.windows,
                barred,
            )
            order = kept.numbers
            of_matches = replace(of_matches, decided=kept.decided)
        if automaton.bound.window.one_match:
            assert of_matches.partitions is not None
            order = first_of_each(of_matches.partitions, order)
        return of_matches._in_order(order), kept

    def timed_out(self) -> Matches:
        """The partial matches that timed out, each once, in the same order (SEMANTICS 7.3)."""
        left = np.flatnonzero(self.kinds == k.TIMED_OUT)
        if self.compiled.plan[k.P_TELLS] == k.TELLS_ALL:
            # Of rows that bind the same, one may have gone on that another could not.
            others = np.flatnonzero(self.kinds != k.TIMED_OUT)
            order = np.concatenate((others, left))
            new = distinct(self.positions, self.taken, self.starts, self.windows, order)
            left = left[new[len(others) :]]
        of_timed_out = self._chosen(left)
        return of_timed_out._in_order(of_timed_out._order(ambiguous=True))

    def _chosen(self, numbers: Ints) -> Written:
        """Some of them, by their numbers."""
        entries, starts = self._entries(numbers)
        return replace(
            self,
            positions=self.positions[entries],
            taken=self.taken[entries],
            starts=starts,
            decided=self.decided[numbers],
            deciders=self.deciders[numbers],
            kinds=self.kinds[numbers],
            windows=None if self.windows is None else self.windows[numbers],
            partitions=None if self.partitions is None else self.partitions[numbers],
        )

    def _entries(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Where the events of some lie, one after the other, and where each then begins."""
        lengths = np.diff(self.starts)[numbers]
        offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        return np.repeat(self.starts[numbers] - offsets[:-1], lengths) + np.arange(offsets[-1]), offsets

    def _order(self, *, ambiguous: bool) -> Ints:
        automaton = self.compiled.automaton
        return varying_order(
            self.positions,
            self.taken,
            self.starts,
            self.decided,
            self.deciders,
            self.windows,
            scattered=automaton.graph or automaton.sliding or automaton.counts_events or automaton.skips,
            ambiguous=ambiguous,
        )

    def _in_order(self, order: Ints) -> Matches:
        entries, offsets = self._entries(order)
        variables = variables_of(self.compiled)
        rests = None if self.rests_on is None else self.rests_on[order]
        bound = variables[self.taken[entries]]
        found = Matches(offsets, self.positions[entries], bound, self.decided[order], rests_on=rests)
        if self.events.windows is None or self.windows is None:
            return found
        begin = self.windows[order] * self.events.windows.slide
        return replace(found, window_start_us=begin, window_end_us=begin + self.events.windows.size)


def written(compiled: CompiledPlan, batch: EventBatch, events: KernelEvents, pool: k.Ints, out: k.Ints) -> Written:
    """The output of a kernel, of a plan whose matches vary in length."""
    n, m = int(pool[k.M_N_MATCHES]), int(pool[k.M_N_ENTRIES])
    starts = out[pool[k.M_OUT_OFFSETS] :][: n + 1]
    firsts, lasts = out[starts[:n]], out[starts[1:] - 1]
    kinds = out[pool[k.M_OUT_DECIDERS] :][:n]
    moments = out[pool[k.M_OUT_DECIDED] :][:n]
    decided, deciders, kinds = decisions(compiled.automaton, events, batch, firsts, lasts, moments, kinds)
    positions = out[:m]
    return Written(
        compiled,
        events,
        positions=positions if events.selected is None else events.selected[positions],
        taken=out[pool[k.M_OUT_ELEMENTS] :][:m],
        starts=starts,
        decided=decided,
        deciders=deciders,
        kinds=kinds,
        windows=None if events.windows is None else events.windows.numbers[firsts],
        partitions=None if events.partition is None else events.partition[firsts],
        rests_on=out[pool[k.M_OUT_CHAINS] :][:n] if compiled.automaton.postpones else None,
    )


def keep_matches(pool: Pool, kept: BoolArray) -> None:
    """Take the other matches out of the output of a kernel, of a plan whose matches vary in length.

    Args:
        pool: with the output.
        kept: (n,): by match.
    """
    if kept.all():
        return
    words, out = pool.pool, pool.out
    n, m = int(words[k.M_N_MATCHES]), int(words[k.M_N_ENTRIES])
    lengths = np.diff(out[words[k.M_OUT_OFFSETS] :][: n + 1])
    entries = np.repeat(kept, lengths)
    for place, chosen in ((0, entries), (int(words[k.M_OUT_ELEMENTS]), entries)):
        values = out[place:][:m][chosen]
        out[place:][: len(values)] = values
    for field in (k.M_OUT_DECIDED, k.M_OUT_DECIDERS, k.M_OUT_CHAINS):
        values = out[words[field] :][:n][kept]
        out[words[field] :][: len(values)] = values
    out[words[k.M_OUT_OFFSETS] + 1 :][: np.count_nonzero(kept)] = np.cumsum(lengths[kept])
    words[k.M_N_MATCHES], words[k.M_N_ENTRIES] = np.count_nonzero(kept), np.count_nonzero(entries)


def variables_of(compiled: CompiledPlan) -> NDArray[np.int16]:
    """For each positive element, the index of its variable in the order of the bound query."""
    automaton = compiled.automaton
    names = list(automaton.bound.variables)
    return np.array([names.index(e.variable) for e in automaton.variables if not e.negated], np.int16)
