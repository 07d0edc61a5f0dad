"""Where the engine asks which evaluation plan to go on with, and what it tells of the stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cepheid.ports.calibration import Measured


class Form(Enum):
    """What a look-up can make of a condition on several variables."""

    EQUALITY = "a key: events are found by a hash"
    RANGE = "a range: events are found in the order of a value"
    OTHER = "nothing: it is tested on each"


@dataclass(frozen=True)
class Pattern:
    """A sequence that can be evaluated in several ways.

    Attributes:
        variables: in the order of the pattern; the last one ends its matches.
        conditions: on several variables each: which, and of what form.
        loops: variable -> the fewest and the most events (None: any number) that it takes.
        same: it has SAME.
        within_us, within_events: its window; at most one is set.
        kernel: the name of what evaluates all variables as their events arrive, for `calibration.Measured`.
        at_once: the events are all there: what counts is how many are done in a second, not how long each waits.
    """

    variables: tuple[str, ...]
    conditions: tuple[tuple[frozenset[str], Form], ...] = ()
    loops: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    same: bool = False
    within_us: int | None = None
    within_events: int | None = None
    kernel: str = "chain"
    at_once: bool = False


@dataclass(frozen=True, eq=False)
class Trial:
    """What a plan took on events that came, one after the other, in a trial beside the stream.

    Attributes:
        n_runs: it was tried on so many arrangements of the events, each from an empty window on; the arrays hold them
            one behind the other, and are as long for each.
        services_s: seconds for each event; shape (n,), float64.
        ends: which of them ended a match; shape (n,), bool.
        final: which of them might have; shape (n,), bool.
    """

    services_s: NDArray[np.float64]
    ends: NDArray[np.bool_]
    final: NDArray[np.bool_]
    n_runs: int = 1

    @property
    def usual_s(self) -> float:
        """The mean of the shorter three quarters of the services.

        Other than the mean of all, it hardly hangs on windows that hold many partial matches, which are rare: where it
        is another one than in a trial before, it is the machine that was faster or slower.
        """
        n = len(self.services_s) * 3 // 4
        return float(np.partition(self.services_s, n)[:n].mean()) if n else 0.0

    @property
    def mean_s(self) -> float:
        """The mean of all services."""
        return float(self.services_s.mean())

    @property
    def ending_s(self) -> float:
        """The mean of the events that ended a match; where there is none, of those that might; and else of all."""
        which = next((one for one in (self.ends, self.final) if one.any()), slice(None))
        return float(self.services_s[which].mean())

    def least(self, other: Trial) -> Trial:
        """This one with the lesser of both times of each event, where another trial was of the same plan and events."""
        return replace(self, services_s=np.minimum(self.services_s, other.services_s))


@dataclass(frozen=True)
class Sampled:
    """What was seen of a stream since the sample before.

    Attributes:
        until_us: the time of the last event, us.
        elapsed_us: event time since the last event of the sample before; of the first sample, since the first event.
        n_events: events that came, those included that no variable takes.
        shares: of each variable, the share of these that it can take, by a sample.
        held: of each condition, how many combinations of events fulfilled it, and how many were tried.
        same: how many pairs of events were of one partition, and how many were looked at; None without SAME.
        n_recent: of so many events, the last ones that came, one after the other, `trial` tells.
        trial: runs a plan over these; None where it cannot.
    """

    until_us: int
    elapsed_us: int
    n_events: int
    shares: tuple[float, ...]
    held: tuple[tuple[float, float], ...]
    same: tuple[float, float] | None = None
    n_recent: int = 0
    trial: Callable[[str], Trial | None] | None = None


@dataclass(frozen=True)
class PlanEstimate:
    """What a plan is expected to do.

    Attributes:
        plan: as `cepheid.Settings` takes it.
        waiting_s: how long an event that ends a match waits, on average; infinite where events come too fast.
        service_s: how long it is worked on.
        events_per_s: how many events are done in a second, at most (μ).
        utilization: ρ: the share of time that is spent on events.
        tried: it is what a trial took, not what the cost model says.
    """

    plan: str
    waiting_s: float
    service_s: float
    events_per_s: float
    utilization: float
    tried: bool = False


@dataclass(frozen=True)
class Decision:
    """What was decided on a plan, and why.

    Attributes:
        time_us: event time, us.
        before: the plan until then.
        plan: the plan from then on.
        estimates: of all plans that were compared.
        rates_per_s: events a second that each variable can take.
        selectivities: of the conditions, in the order of `Pattern.conditions`.
    """

    time_us: int
    before: str
    plan: str
    estimates: tuple[PlanEstimate, ...]
    rates_per_s: Mapping[str, float]
    selectivities: tuple[float, ...]

    @property
    def switches(self) -> bool:
        """Whether the plan changes."""
        return self.before != self.plan

    def of(self, plan: str) -> PlanEstimate | None:
        """The estimate of one of the plans that were compared."""
        return next((one for one in self.estimates if one.plan == plan), None)

    def __str__(self) -> str:
        """One line."""
        parts = []
        some_tried = any(one.tried for one in self.estimates)
        for name, plan in (("before", self.before), ("now", self.plan)):
            one = self.of(plan)
            if one is not None:
                # What a trial took and what the model says are not alike; where both stand there, it is said.
                of = plan if one.tried or not some_tried else f"{plan} (not tried)"
                said = (
                    f"{told_wait(one.waiting_s)}, is served in {told_time(one.service_s)}, {one.utilization:.0%} busy"
                )
                parts.append(f"{name} {of}: {said}")
        rates = ", ".join(f"{name} {rate:.3g}/s" for name, rate in self.rates_per_s.items())
        held = ", ".join(f"{share:.2g}" for share in self.selectivities)
        said = (
            f"evaluation plan {self.before} -> {self.plan}" if self.switches else f"evaluation plan {self.plan} stays"
        )
        return f"{said}; a last event {'; '.join(parts)}; rates {rates}" + (f"; conditions hold {held}" if held else "")


def told_wait(seconds: float) -> str:
    """A waiting time, for people."""
    return "waits without end" if seconds == float("inf") else f"waits {told_time(seconds)}"


def told_time(seconds: float) -> str:
    """A length of time, for people."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.3g} us"


class Chooser(Protocol):
    """Chooses between evaluation plans. It is asked between two steps of a stream."""

    def wants(self, time_us: int, n_events: int) -> bool:
        """Whether it is time for a sample.

        Args:
            time_us: of the last event, us.
            n_events: events since the sample before.
        """
        ...

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        """Take a sample, and choose; None where it is not time to choose.

        Args:
            sampled: what was seen.
            current: the plan that runs.
        """
        ...


@runtime_checkable
class RemembersStream(Protocol):
    """A `Chooser` that a snapshot of a stream keeps something of: what it has learned of the stream."""

    def remembered(self) -> Mapping[str, Any]:
        """What it goes on from, as JSON can say it; of the stream alone, and nothing of the machine."""
        ...

    def remember(self, said: Mapping[str, Any]) -> None:
        """Go on from what `remembered` gave, perhaps of an earlier version: what does not fit is not taken."""
        ...


Measure = Callable[[str], Sequence[Measured]]
"""Gives what was measured with a kernel, by its name."""

ChooserFactory = Callable[[Pattern, Measure], Chooser]
"""Makes what chooses for a pattern, on a machine; one that is to go to Spark's workers can be pickled."""
