"""What a user sets: `cepheid.Slack`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cepheid.errors import SetupError
from cepheid.events.lengths import Length, length_us
from cepheid.policies.slack.baselines import Baseline
from cepheid.policies.slack.probabilistic import Estimator, Fitting, ProbSlack
from cepheid.ports.slack import Closing, Guard, Kind, SlackPolicy

Fit = Literal["jumping", "sliding"]
How = Literal["probabilistic", "latency budget", "event driven", "fixed delay", "average delay"]

RESOLUTION_US = 1_000
"""Of times, by default: the clocks of most sources are no finer, and a window is closed a millisecond late at most."""

DEFAULT_FITTING = Fitting()

N_STRETCHES = 10
"""In which a sliding fit slides. Chosen: what is held is at most a tenth older than it should be."""


@dataclass(frozen=True)
class Slack:
    """When windows may be closed, though events may still be on their way.

    Make one with `probabilistic`, `latency_budget`, `event_driven`, `ignore`, `fixed_delay` or `average_delay`. All of
    them go by two times of an event: when it was generated (``time=`` of the query), and when it was received.

    Attributes:
        how: which of them it is.
        miss_ratio: of windows that may miss an event (δ).
        max_latency_us: the greatest slack of a window, us; None for none.
        mean_latency_us: the greatest mean slack, us (Δ), of a latency budget.
        delay_us: of a fixed delay, us.
        per: the column that tells the sources of events apart; None where all events are of one source.
        every_us: from one end of a window to the next, us, where the query does not say.
        resolution_us: of the times, us.
        fitting: how delays are learned.
        spend: windows are given up at once while the miss ratio allows it.
    """

    how: How
    miss_ratio: float = 1.0
    max_latency_us: int | None = None
    mean_latency_us: int | None = None
    delay_us: int = 0
    per: str | None = None
    every_us: int | None = None
    resolution_us: int = RESOLUTION_US
    fitting: Fitting = DEFAULT_FITTING
    spend: bool = False

    @classmethod
    def probabilistic(
        cls,
        miss_ratio: float,
        *,
        max_latency: Length | None = None,
        per: str | None = None,
        every: Length | None = None,
        fit: Fit = "jumping",
        period: int = 10_000,
        warm_up: int = 256,
        estimator: Estimator = "next event",
        spend: bool = False,
        resolution: Length = "1 ms",
    ) -> Slack:
        """ProbSlack: a window is closed once the chance that it misses an event is within a budget.

        Args:
            miss_ratio: the ratio of windows that may miss an event, from 0 to below 1.
            max_latency: the longest that a window stays open after its end. It goes before the miss ratio.
            per: the column that tells the sources of events apart (a device, an event type): each is learned by itself.
            every: how often windows may be closed, where the query has no windows that slide; by default a tenth of
                WITHIN.
            fit: ``jumping`` learns from one period after the other, as in the paper; ``sliding`` always from the last.
            period: events of a source that are learned from (T).
            warm_up: after so many events the first model is made.
            estimator: ``next event``, the paper's, or ``silence``, which asks how likely the silence so far is, too: it
                misses far fewer events where these come regularly, and waits longer for those that are very late.
            spend: give windows up as soon as they begin, while the miss ratio allows it. The mean latency is the least
                then, and those windows miss nearly all of their events.
            resolution: times are rounded down to it.

        Raises:
            SetupError, SchemaError: a value does not do.
        """
        _require_ratio(miss_ratio)
        return cls(
            "probabilistic",
            miss_ratio=float(miss_ratio),
            max_latency_us=None if max_latency is None else length_us(max_latency, "max_latency"),
            per=per,
            every_us=None if every is None else _some(every, "every"),
            resolution_us=_some(resolution, "resolution"),
            fitting=_fitting(fit, period, warm_up, estimator),
            spend=spend,
        )

    @classmethod
    def latency_budget(
        cls,
        mean_latency: Length,
        *,
        max_latency: Length | None = None,
        per: str | None = None,
        every: Length | None = None,
        fit: Fit = "jumping",
        period: int = 10_000,
        warm_up: int = 256,
        resolution: Length = "1 ms",
    ) -> Slack:
        """The dual problem: as few misses as a mean latency allows. At no moment is the mean so far above it.

        A window that nothing is missing from is closed early and leaves its latency to others; one that an event may be
        missing from stays open as long as what is left allows.

        Args:
            mean_latency: how long after their ends windows may be closed on average (Δ).
            max_latency, per, every, fit, period, warm_up, resolution: see `probabilistic`.

        Raises:
            SetupError, SchemaError: a value does not do.
        """
        return cls(
            "latency budget",
            mean_latency_us=length_us(mean_latency, "mean_latency"),
            max_latency_us=None if max_latency is None else length_us(max_latency, "max_latency"),
            per=per,
            every_us=None if every is None else _some(every, "every"),
            resolution_us=_some(resolution, "resolution"),
            fitting=_fitting(fit, period, warm_up, "next event"),
        )

    @classmethod
    def event_driven(
        cls, *, max_latency: Length | None = None, per: str | None = None, every: Length | None = None
    ) -> Slack:
        """A window is closed when every source has sent an event from after its end (BL-ED)."""
        return cls(
            "event driven",
            max_latency_us=None if max_latency is None else length_us(max_latency, "max_latency"),
            per=per,
            every_us=None if every is None else _some(every, "every"),
        )

    @classmethod
    def fixed_delay(cls, delay: Length, *, every: Length | None = None) -> Slack:
        """A window is closed so long after its end, by the clock of the receiver."""
        delay_us = length_us(delay, "delay")
        return cls("fixed delay", delay_us=delay_us, every_us=None if every is None else _some(every, "every"))

    @classmethod
    def ignore(cls, *, every: Length | None = None) -> Slack:
        """A window is closed at its end, by the clock of the receiver (BL-IG)."""
        return cls("fixed delay", every_us=None if every is None else _some(every, "every"))

    @classmethod
    def average_delay(cls, *, per: str | None = None, every: Length | None = None) -> Slack:
        """A window is closed at its end and the mean delay of events so far; of sources, the greatest (BL-AD)."""
        return cls("average delay", per=per, every_us=None if every is None else _some(every, "every"))

    def policy(self, tick_us: int) -> SlackPolicy:
        """A policy for one stream, with ticks of so many us."""
        latest = None if self.max_latency_us is None else self.max_latency_us // tick_us
        if self.how == "fixed delay":
            return Baseline(Closing(Kind.DELAY, delay=-(-self.delay_us // tick_us)))
        if self.how == "average delay":
            return Baseline(Closing(Kind.MEAN_DELAY))
        if self.how == "event driven":
            return Baseline(Closing(Kind.EVENTS, latest=latest))
        if self.how == "latency budget":
            assert self.mean_latency_us is not None
            allowance = self.mean_latency_us // tick_us
            return ProbSlack(Closing(Kind.LEARNED, latest=latest, allowance=allowance), self.fitting)
        closing = Closing(Kind.LEARNED, latest=latest, guard=Guard.BUDGET, budget=self.miss_ratio, spends=self.spend)
        return ProbSlack(closing, self.fitting)


def _some(length: Length, name: str) -> int:
    us = length_us(length, name)
    if us == 0:
        raise SetupError(f"{name}={length!r} is no time at all", remedy="give a length of time above 0")
    return us


def _require_ratio(ratio: object) -> None:
    if not isinstance(ratio, int | float) or isinstance(ratio, bool) or not 0 <= ratio < 1:
        raise SetupError(
            f"miss_ratio={ratio!r} is not the ratio of windows that may miss an event",
            remedy="give a number from 0 to below 1: 0.01 lets one window in a hundred miss events",
        )


def _fitting(fit: object, period: object, warm_up: object, estimator: object) -> Fitting:
    for name, value, least in (("period", period, 2), ("warm_up", warm_up, 2)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise SetupError(f"{name}={value!r} is not a number of events", remedy=f"give {least} or more")
    if fit not in ("jumping", "sliding"):
        raise SetupError(f"fit={fit!r} is not a way of fitting", remedy='use fit="jumping" or fit="sliding"')
    if estimator not in ("next event", "silence"):
        raise SetupError(
            f"estimator={estimator!r} is not an estimator", remedy='use estimator="next event" or "silence"'
        )
    assert isinstance(period, int)
    assert isinstance(warm_up, int)
    n_stretches = 1 if fit == "jumping" else min(N_STRETCHES, period)
    return Fitting(period, min(warm_up, period), n_stretches, "silence" if estimator == "silence" else "next event")


def received_column(received: object, slack: object, *, replayed: bool = False) -> str | None:
    """The column that says when events were received, as it was given.

    Args:
        received: the name of the column, or None.
        slack: as it was given.
        replayed: the events are a table, which is replayed in the order of that column; a length of time will do, then.

    Raises:
        SetupError: it is no name, or nothing reads it.
    """
    if received is None:
        return None
    if not isinstance(received, str) or not received:
        raise SetupError(f"received={received!r} is not the name of a column", remedy="name one, or leave it out")
    if slack is None if replayed else not isinstance(slack, Slack):
        raise SetupError(
            f"received={received!r} is given, and no {'slack=' if replayed else 'cep.Slack'} reads it",
            remedy="give slack=cep.Slack.probabilistic(...), or leave received= out",
        )
    return received
