"""Trials of plans: which are tried, what they came to, and what is kept of them as long as the stream stays alike.

Ours. How long queues grow depends on windows that hold many partial matches. They are rare, and the mean latency hangs
on them: in the paper's second experiment, at 240,000 events a second, a tenth of the time has three quarters of all
waiting for the eager plan. So one trial does not always name the better plan, and what several say is added up.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isfinite, isinf, sqrt

import numpy as np
from numpy.typing import NDArray

from cepheid.policies.evaluation.cost_model import Estimate
from cepheid.ports.evaluation import Trial
from cepheid.stats.queueing import utilization, waits_s

NEAR, FAR, MOST_TRIED = 3.0, 10.0, 4
"""Tried are plans that the cost model takes for so many times as slow as the best, at most; the running one, too, and
the eager and the lazy plan, unless it takes them for `FAR` times as slow; and of all these, so many."""

LEADS = 3
"""A plan that is not among those that are tried joins them when the cost model took it for the best so many times. The
selectivities of one window say little: where a condition holds for few values, none of them may be in it."""

IDLE = 0.05
"""Up to such a utilization of the best plan, its events hardly wait, and plans whose last events are served late cannot
be better; beyond, how long they wait is what the cost model knows least, so that service times alone tell what is near.
"""

FEWEST_ENDS = 20
"""Events that end a match in all trials, from which on latency is that of these; else it is that of all that might."""

FEWEST_ROUNDS, MOST_ROUNDS, AGREE = 2, 4, 1.1
"""Plans are tried in turns, and of each event the least time counts: another process may run during an event, and may
slow a whole run down by half, or all of a while by two thirds, and one plan more than another: plans that keep much are
slow where others use the caches. Rounds end when the usual events of each plan take nearly what they took in the
fastest of the trials before, or in the first trial its two fastest runs nearly the same; so many at most.
"""

OUT = 3.0
"""A plan that takes so many times as long as another in the first round, for an event and for one that ends a match, is
tried in no other: nothing slows a plan down by so much."""

N_PLAYED = 2
"""Times that the arrivals of a trial are played through: waits hang on the services far more than on these."""

MOST_KEPT = 16
"""Of the trials of the same plans on a stream that stays alike, the last ones are kept."""

ALIKE, ALIKE_SERVICE = 1.25, 4.0
"""A stream is another one when events come so many times as fast as in the trials before, or the inverse; or when
some plan takes so many times as long for them: bursts alone may double that of a trial."""


def shortlist(estimates: Mapping[str, Estimate], current: str) -> list[str]:
    """The plans of which trials are made: the best by latency and by service rate, the one that runs, and near ones.

    With them the eager and the lazy plan, between which all others lie: they are those whose times the cost model knows
    best, and one of them is seldom far from the best plan.

    Args:
        estimates: by the cost model.
        current: the plan that runs.
    """
    latency = {text: one.waiting_s + one.final_service_s for text, one in estimates.items()}
    service = {text: one.mean_service_s for text, one in estimates.items()}
    least = (min(latency.values()), min(service.values()))
    idle = min(estimates.values(), key=lambda one: one.waiting_s + one.final_service_s).utilization <= IDLE
    near = [text for text in estimates if service[text] <= NEAR * least[1]]
    if idle:
        near = [text for text in near if latency[text] <= NEAR * least[0]]
    by_eagerness = sorted(estimates, key=lambda text: len(estimates[text].plan.lazy))
    also = [text for text in (current, by_eagerness[0], by_eagerness[-1]) if text in estimates]
    also = [text for text in also if service[text] <= FAR * least[1]]
    ordered = sorted(near, key=(latency if idle else service).__getitem__)
    return list(dict.fromkeys([*leaders(estimates), *also, *ordered]))[:MOST_TRIED]


def leaders(estimates: Mapping[str, Estimate]) -> list[str]:
    """The best plan by latency, and the best by service rate, which may be the same."""
    by_latency = min(estimates, key=lambda text: estimates[text].latency_s)
    by_service = min(estimates, key=lambda text: estimates[text].mean_service_s)
    return list(dict.fromkeys([by_latency, by_service]))


def in_turns(
    trial: Callable[[str], Trial | None], names: Sequence[str], usual_s: Mapping[str, float] | None = None
) -> dict[str, Trial] | None:
    """What plans take in a few rounds, in each of which each is tried once; None where one cannot be tried.

    What is out of the question after the first round (`OUT`) is not tried in the others.

    Args:
        trial: runs a plan once.
        names: the plans, as `Settings` takes them.
        usual_s: what usual events took in trials before, by plan, where it is known: see `Trial.usual_s`.
    """
    found: dict[str, Trial] = {}
    means: dict[str, list[float]] = {name: [] for name in names}
    usual, near = usual_s or {}, list(names)
    for number in range(MOST_ROUNDS):
        for name in near:
            one = trial(name)
            if one is None:
                return None
            found[name] = one if name not in found else found[name].least(one)
            means[name] = sorted((*means[name], one.mean_s))
        if not number:
            near = _near(found)
        if all(
            len(means[name]) >= FEWEST_ROUNDS
            and (
                found[name].usual_s <= AGREE * usual[name]
                if name in usual
                else means[name][1] <= AGREE * means[name][0]
            )
            for name in near
        ):
            break
    return found


def _near(found: Mapping[str, Trial]) -> list[str]:
    took = {name: np.array([one.mean_s, one.ending_s]) for name, one in found.items()}
    return [name for name, of in took.items() if not any((OUT * other <= of).all() for other in took.values())]


@dataclass(frozen=True)
class Sums:
    """Of some events: how many they are, how long they waited together, and were served; seconds."""

    n: int
    waited_s: float
    served_s: float


@dataclass(frozen=True)
class Played:
    """What a trial of a plan came to, in sums that can be added up over trials.

    Attributes:
        n: events.
        usual_s: see `Trial`.
        served_s, squared_s2: their services together, and the squares of these.
        ends: of those that ended a match.
        final: of those that might have.
    """

    n: int
    usual_s: float
    served_s: float
    squared_s2: float
    ends: Sums
    final: Sums


def played(trial: Trial, rate_per_s: float, n_warm: int, seed: int, alike: float = 1.0) -> Played:
    """The waits of a queue with the services of a trial and arrivals at random, and what else counts of it.

    Args:
        trial: of the plan.
        rate_per_s: events that arrive in a second.
        n_warm: the first events of each run, which found the window not full, do not count.
        seed: of the arrivals: the same for all plans that are compared.
        alike: the share of the events, the last ones of each run, that came since the rate jumped: before, a window
            held another number of them.
    """
    n = len(trial.services_s) // trial.n_runs
    n_alike = max(round(n * alike), 1)
    late = np.tile(np.arange(n) >= n - n_alike + min(n_warm, n_alike // 2), trial.n_runs)
    services_s = trial.services_s[late]
    waits = np.zeros(len(services_s))
    if not np.isfinite(services_s).all():
        waits[:] = inf
    elif rate_per_s > 0:
        for arrivals in _arrivals(len(services_s), seed):
            waits += waits_s(services_s, arrivals / rate_per_s) / N_PLAYED

    def sums(which: NDArray[np.bool_]) -> Sums:
        return Sums(int(np.count_nonzero(which)), float(waits[which].sum()), float(services_s[which].sum()))

    return Played(
        n=len(services_s),
        usual_s=trial.usual_s,
        served_s=float(services_s.sum()),
        squared_s2=float(np.square(services_s).sum()),
        ends=sums(trial.ends[late]),
        final=sums(trial.final[late]),
    )


@lru_cache(maxsize=1)
def _arrivals(n: int, seed: int) -> NDArray[np.float64]:
    """When events arrive that come at random, one in a second; shape (N_PLAYED, n). The next plan asks for the same."""
    return np.cumsum(np.random.default_rng(seed).standard_exponential((N_PLAYED, n)), axis=1)


def tried(estimate: Estimate, trials: Sequence[Played]) -> Estimate:
    """An estimate with what trials took, and how long events waited in them.

    Args:
        estimate: of the cost model.
        trials: of the plan, at least one.
    """
    n = sum(one.n for one in trials)
    mean = sum(one.served_s for one in trials) / n
    ended = sum(one.ends.n for one in trials) >= FEWEST_ENDS
    counted = [one.ends if ended else one.final for one in trials]
    n_counted = sum(one.n for one in counted)
    waiting, final = 0.0, estimate.final_service_s
    if n_counted:
        waiting = sum(one.waited_s for one in counted) / n_counted
        final = sum(one.served_s for one in counted) / n_counted
    if utilization(estimate.arrival_rate_per_s, mean) >= 1:
        waiting = inf
    squared = sum(one.squared_s2 for one in trials) / n
    return replace(
        estimate,
        mean_service_s=mean,
        deviation_s=inf if isinf(mean) else sqrt(max(squared - mean * mean, 0.0)),
        waiting_s=waiting,
        final_service_s=final,
    )


class Evidence:
    """What trials of the same plans came to, one after the other, while the stream stayed alike.

    A trial that shows another stream than those before begins anew: what they came to is forgotten.
    """

    def __init__(self) -> None:
        """Begin with no trial."""
        self._estimates: dict[str, Estimate] = {}
        self._rates: deque[float] = deque(maxlen=MOST_KEPT)
        self._trials: deque[dict[str, Played]] = deque(maxlen=MOST_KEPT)
        self._found: dict[str, Estimate] = {}
        self._leads: Counter[str] = Counter()
        self._n = 0

    def clear(self) -> None:
        """Forget all trials."""
        self._estimates.clear()
        self._found.clear()
        self._leads.clear()
        self._rates.clear()
        self._trials.clear()

    def goes_on(self, rate_per_s: float, current: str) -> bool:
        """Whether another trial of these plans would say more of the same stream; where not, all is forgotten.

        Args:
            rate_per_s: events that come in a second, now.
            current: the plan that runs.
        """
        if self._rates:
            ratio = rate_per_s / (sum(self._rates) / len(self._rates))
            if current in self._estimates and 1 / ALIKE <= ratio <= ALIKE:
                return True
        self.clear()
        return False

    def names(self, leading: Sequence[str], current: str) -> list[str]:
        """The plans that are tried now: those before, and with them one that has been the best often enough.

        Where these are more than `MOST_TRIED`, the one that did worst is left out from now on.

        Args:
            leading: the best ones by the cost model, now; see `leaders`.
            current: the plan that runs.
        """
        self._leads.update(leading)
        new = [text for text in leading if text not in self._estimates and self._leads[text] == LEADS]
        names = [*self._estimates, *new]
        while new and len(names) > MOST_TRIED:
            others = [text for text in self._found if text in names and text != current]
            names.remove(max(others, key=self._took))
        return names

    def usual_s(self) -> dict[str, float]:
        """By plan, what its usual events took in the fastest trial: see `Trial.usual_s`."""
        known = [(text, [trial[text].usual_s for trial in self._trials if text in trial]) for text in self._estimates]
        return {text: min(usual_s) for text, usual_s in known if usual_s}

    def add(
        self, estimates: Mapping[str, Estimate], trials: Mapping[str, Trial], n_warm: int, alike: float = 1.0
    ) -> dict[str, Estimate]:
        """Add a trial of each plan.

        Args:
            estimates: of the cost model, of all plans that it knows now.
            trials: by plan.
            n_warm, alike: see `played`.

        Returns:
            By plan, what all trials say of it.
        """
        rate = next(iter(estimates.values())).arrival_rate_per_s
        self._estimates = {text: one for text, one in self._estimates.items() if text in trials}
        for text in trials:  # a plan whose order the cost model now takes for another is tried as it was
            self._estimates[text] = estimates.get(text) or replace(self._estimates[text], arrival_rate_per_s=rate)
        found = {text: played(trial, rate, n_warm, self._n, alike) for text, trial in trials.items()}
        if any(self._is_other(text, one) for text, one in found.items()):
            self._rates.clear()
            self._trials.clear()
        self._n += 1
        self._rates.append(rate)
        self._trials.append(found)
        n_of = {text: sum(text in trial for trial in self._trials) for text in found}
        self._found = {text: self._tried(text, n) for text, n in n_of.items()}
        most = max(n_of.values())
        first = [text for text, n in n_of.items() if n == most]
        best = min(first, key=self._took)
        self._found |= {text: self._compared(text, best, n) for text, n in n_of.items() if n < most}
        return dict(self._found)

    def _took(self, text: str) -> tuple[float, float]:
        """What plans are ordered by: where events wait without end, by what they are served in."""
        return self._found[text].latency_s, self._found[text].mean_service_s

    def _tried(self, text: str, n_last: int) -> Estimate:
        return tried(self._estimates[text], [trial[text] for trial in [*self._trials][-n_last:]])

    def _compared(self, text: str, best: str, n: int) -> Estimate:
        """What a plan that came later and was in `n` trials would have taken, had it been there from the beginning.

        Bursts are bursts to all plans: what the best of those that were there takes in all its trials, over what it
        takes in the common ones, is taken for the same of the new one.
        """
        found, whole, common = self._found[text], self._found[best], self._tried(best, n)
        if not common.mean_service_s or not common.latency_s:
            return found  # a clock that tells nothing of so short times
        latency, service = whole.latency_s / common.latency_s, whole.mean_service_s / common.mean_service_s
        if not (isfinite(latency) and latency > 0):
            latency = service
        return replace(
            found,
            mean_service_s=found.mean_service_s * service,
            waiting_s=found.waiting_s * latency,
            final_service_s=found.final_service_s * latency,
        )

    def _is_other(self, text: str, one: Played) -> bool:
        before = [trial[text] for trial in self._trials if text in trial]
        if not before:
            return False
        mean = sum(trial.served_s for trial in before) / sum(trial.n for trial in before)
        return not mean / ALIKE_SERVICE <= one.served_s / one.n <= mean * ALIKE_SERVICE
