"""ProbSlack (section 3 of the paper), what it leaves as future work, and an estimator that hears the silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cepheid.policies.slack.delays import DelayModel
from cepheid.policies.slack.sources import NONE_YET, Sources
from cepheid.ports.slack import Closing, Float64Array, Grid, Int64Array, Learned
from cepheid.stats.frequencies import Bins

Estimator = Literal["next event", "silence"]


@dataclass(frozen=True)
class Fitting:
    """How delays are learned.

    Attributes:
        period: events of a source that are learned from (T).
        warm_up: after so many of them the first model is made, and again whenever their number has doubled; with
            ``period``, as in the paper, none is made before the period is full.
        n_stretches: 1: the period jumps, as in the paper. Else it slides, in so many steps.
        estimator: ``next event`` is the paper's chance of a miss (`DelayModel.p_miss`), ``silence`` conditions it on
            the silence so far (`DelayModel.p_missing`).
    """

    period: int = 10_000
    warm_up: int = 256
    n_stretches: int = 1
    estimator: Estimator = "next event"

    @property
    def stretch(self) -> int:
        """Events of a stretch."""
        return max(1, self.period // self.n_stretches)


class ProbSlack:
    """Closes a window when the chance that an event is missing is within the budget.

    Deviations from the paper: the period is a number of events throughout (Listing 4 adds a time to one). With several
    sources the budget is divided among them, as the chance that any of them misses an event is at most the sum. Where
    an event that is late for one window is lost to those that overlap it, too, the budget is divided among these. The
    paper takes events to be received in the order in which they are generated. A source whose events overtake each
    other more often than once in `cepheid.policies.slack.sources.ORDERED` keeps a window open by how long ago that
    ended (`DelayModel.p_miss_after`).
    """

    def __init__(self, closing: Closing, fitting: Fitting) -> None:
        """Take what it may do.

        Args:
            closing: of ``Kind.LEARNED``; its budget is for all sources.
            fitting: how delays are learned.
        """
        self._closing = closing
        self._fitting = fitting
        self._sources = Sources(fitting.n_stretches)
        self._models: list[DelayModel | None] = []
        self._edges: dict[int, Int64Array] = {}
        self._waits: dict[int, tuple[DelayModel, float, Int64Array]] = {}  # with the budget that they are for
        self._settled: list[bool] = []  # whether a whole stretch was learned from
        self._share = 1.0
        self._grid = Grid(1, 1)

    @property
    def closing(self) -> Closing:
        """See `SlackPolicy`."""
        return self._closing

    @property
    def sources(self) -> Sources:
        """What was seen."""
        return self._sources

    @property
    def models(self) -> list[DelayModel | None]:
        """Of each source, what windows are closed by; None where nothing is learned yet."""
        return self._models

    def begin(self, grid: Grid) -> None:
        """See `SlackPolicy`."""
        self._sources.grid = self._grid = grid
        # Windows that miss one event of those that are late for an end: all that overlap.
        self._share = min(1.0, grid.slide / (grid.size + 1)) if grid.drops else 1.0

    def saw(self, sources: Int64Array, generated: Int64Array, received: Int64Array) -> None:
        """See `SlackPolicy`."""
        self._sources.saw(sources, generated, received)
        self._models += [None] * (len(self._sources.known) - len(self._models))
        self._settled += [False] * (len(self._sources.known) - len(self._settled))

    def learn(self, source: int) -> Learned:
        """See `SlackPolicy`."""
        own, fitting = self._sources.known[source], self._fitting
        if own.n_open >= fitting.stretch:
            self._models[source] = self._model(source)
            self._settled[source] = True
            own.end_stretch()
        elif not self._settled[source] and own.n_open >= fitting.warm_up:
            self._models[source] = self._model(source)
        patience = self._sources.give_up(source)
        next_at = fitting.stretch
        if not self._settled[source]:
            doubled = max(1, 2 * own.n_open)
            next_at = min(fitting.stretch, doubled if doubled >= fitting.warm_up or doubled < 32 else fitting.warm_up)
        model = self._models[source]
        ask_after = next_at - own.n_open
        if own.is_disordered:
            self._edges.pop(source, None)
            after = own.longest_delay
            if model is not None:
                after = model.wait_after(self._budget, self._grid.slide, own.mean_gap)
            return Learned(None, patience, patience, ask_after, after_end=after, sure_end=own.longest_delay)
        if model is None:
            return Learned(None, patience, patience, ask_after)
        self._edges[source] = model.edges(self._closing.latest)
        return Learned(self._edges[source], model.longest, max(patience, model.longest), ask_after)

    @property
    def _budget(self) -> float:
        """Of one source and end of a window."""
        budget = 0.0 if self._closing.allowance is not None else self._closing.budget
        return budget * self._share / len(self._sources.known)

    def _model(self, source: int) -> DelayModel | None:
        own = self._sources.known[source]
        gaps, delays = own.gaps.seen(), own.delays.seen()
        return DelayModel.of(gaps, delays) if len(gaps) and len(delays) else None

    def wait(self, source: int, edge: int) -> int:
        """See `SlackPolicy`."""
        model = self._models[source]
        assert model is not None
        latest, edges = self._closing.latest, self._edges[source]
        given_silence = self._fitting.estimator == "silence"
        if given_silence or (latest is None and model.is_small):
            number = int(np.searchsorted(model.gaps.least, edges[edge], "right")) - 1
            return int(self._waits_of(source, model, given_silence=given_silence)[number])
        by = None
        if latest is not None and edge + 1 < len(edges):
            by = int(edges[edge + 1]) - 1 + latest
        return model.wait(int(edges[edge]), self._budget, by=by)

    def _waits_of(self, source: int, model: DelayModel, *, given_silence: bool) -> Int64Array:
        """All waits of a model, found when the first is asked for."""
        budget = self._budget
        known = self._waits.get(source)
        if known is None or known[0] is not model or known[1] != budget:
            known = self._waits[source] = (model, budget, model.waits(budget, given_silence=given_silence))
        return known[2]

    def forget(self) -> None:
        """See `SlackPolicy`."""
        for number, source in enumerate(self._sources.known):
            source.forget()
            self._models[number], self._settled[number] = None, False

    def risk(self, lasts: Int64Array, ends: Int64Array, at: Int64Array) -> Float64Array:
        """See `SlackPolicy`: of several sources the chance that any of them misses an event."""
        none_missed = np.ones(len(ends))
        for number, model in enumerate(self._models[: lasts.shape[1]]):
            last = lasts[:, number]
            open_ = (last > NONE_YET) & (last <= ends)
            if model is None:
                none_missed[open_] = np.nan
            elif self._sources.known[number].is_disordered:
                heard = last > NONE_YET
                gap = self._sources.known[number].mean_gap
                none_missed[heard] *= 1 - model.p_miss_after((at - ends)[heard], self._grid.slide, gap)
            elif open_.any():
                ahead, elapsed = ends[open_] - last[open_], at[open_] - last[open_]
                given = self._fitting.estimator == "silence"
                chance = model.p_missing(ahead, elapsed) if given else model.p_miss(ahead, elapsed)
                none_missed[open_] *= 1 - chance
        return 1 - none_missed

    def fitted(self, source: int) -> tuple[Bins, Bins] | None:
        """See `SlackPolicy`."""
        model = self._models[source] if source < len(self._models) else None
        return None if model is None else (model.gaps, model.delays)

    def said(self) -> dict[str, Any]:
        """See `SlackPolicy`."""
        models = [None if model is None else model.said() for model in self._models]
        return {"sources": self._sources.said(), "models": models, "settled": list(self._settled)}

    def restore(self, said: dict[str, Any]) -> None:
        """See `SlackPolicy`."""
        self._sources.restore(said["sources"])
        self._models = [None if own is None else DelayModel.from_said(own) for own in said["models"]]
        self._settled = list(said["settled"])
        latest = self._closing.latest
        self._edges = {i: model.edges(latest) for i, model in enumerate(self._models) if model is not None}
