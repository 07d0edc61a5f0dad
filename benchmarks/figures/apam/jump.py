"""A stream whose rate jumps fifty times up and back, in virtual time: fixed plans, and one that is chosen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.figures.apam.experiments import EXPERIMENTS, Prepared, prepared
from benchmarks.figures.apam.services import Floats, Services, measured_on
from cepheid.engine import calibration
from cepheid.engine.carried import CarriedSession
from cepheid.engine.sampling import MOST_RECENT, Sampler
from cepheid.engine.session import prepare
from cepheid.engine.settings import DEFAULTS
from cepheid.plan.between import pattern_of
from cepheid.plan.evaluation import asked_for
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation, Options
from cepheid.ports.evaluation import Decision, Trial
from cepheid.stats.queueing import waits_s

FACTOR = 50
FAST_UTILIZATION = 0.9
"""Of the eager plan, while events come fast."""

CHUNK = 200
"""Events between which the plan may change."""

WITHIN = 1.2


@dataclass(frozen=True)
class Part:
    """One of the three parts: slow, fast, slow; mean latencies in seconds, of the events that end a match."""

    name: str
    latency_s: dict[str, float]

    @property
    def ratio(self) -> float:
        """The adaptive one over the better fixed one."""
        return self.latency_s["adaptive"] / min(self.latency_s["eager"], self.latency_s["lazy"])


@dataclass(frozen=True)
class Jump:
    """The run: its parts, the switches with their times in virtual seconds, and what one took."""

    parts: tuple[Part, ...]
    switches: tuple[Decision, ...]
    switch_s: float


def jump(*, quick: bool) -> Jump:
    """Run it on the stream of the third experiment."""
    n = 180_000 if quick else 360_000
    stream = prepared(EXPERIMENTS[2], n, seed=7)
    lazy = "/D C B A"
    services = measured_on(stream, ("eager", lazy), 2)
    fast_per_s = FAST_UTILIZATION / services["eager"].mean_s
    third = n // 3
    gaps = np.random.default_rng(3).exponential(1 / fast_per_s, n)
    gaps[:third] *= FACTOR
    gaps[2 * third :] *= FACTOR
    arrivals = np.cumsum(gaps)
    switch_s = _switch_s(stream, lazy)
    own, decisions = _adaptive(stream, services, arrivals, switch_s)
    played = {"eager": services["eager"].service_s, "lazy": services[lazy].service_s, "adaptive": own}
    latencies = {name: waits_s(taken, arrivals) + taken for name, taken in played.items()}
    parts = []
    for number, name in enumerate(("slow", "fast", "slow again")):
        which = services["eager"].ends.copy()
        which[: number * third + (third // 3 if number == 0 else 0)] = False
        which[(number + 1) * third :] = False
        parts.append(Part(name, {plan: float(latency[which].mean()) for plan, latency in latencies.items()}))
    return Jump(tuple(parts), decisions, switch_s)


def _adaptive(
    stream: Prepared, services: Mapping[str, Services], arrivals: Floats, switch_s: float
) -> tuple[Floats, tuple[Decision, ...]]:
    """The services of the plans that are chosen on the way, a switch counted with the event before which it is.

    What a trial would take was measured before; of other plans than the two that are measured it says that they take
    for ever, so that they are not chosen.
    """
    own, plan, decisions = np.empty(len(arrivals)), "eager", list[Decision]()
    # The window counts events; choosing takes place beside the stream and is measured by itself.
    chooser = AdaptiveEvaluation(
        pattern_of(stream.bound, kernel="chain", at_once=False),
        calibration.measured,
        Options(clock=lambda: 0.0),
    )
    sampler = Sampler(prepare(stream.bound))
    for at in range(0, len(own), CHUNK):
        upto = min(at + CHUNK, len(own))
        own[at:upto] = services[plan].service_s[at:upto]
        part = stream.part(at, upto - at)
        sampler.add(replace(part, time_us=(1e6 * arrivals[at:upto]).astype(np.int64)), upto - at)
        if not chooser.wants(sampler.last_us, sampler.n_events):
            continue
        trial = partial(_trial, services, slice(max(0, upto - MOST_RECENT), upto))
        decision = chooser.decide(replace(sampler.sample(), trial=trial), plan)
        if decision is not None and decision.switches and decision.plan in services:
            plan = decision.plan
            decisions.append(decision)
            if upto < len(own):
                own[upto] = switch_s
    return own, tuple(decisions)


def _trial(services: Mapping[str, Services], recent: slice, plan: str) -> Trial:
    one = services.get(plan)
    if one is None:
        one = services["eager"]
        return Trial(np.full(len(one.service_s[recent]), np.inf), one.ends[recent], one.final[recent])
    return Trial(one.service_s[recent], one.ends[recent], one.final[recent])


def _switch_s(stream: Prepared, lazy: str) -> float:
    """What a switch takes: a pass over the events of a window."""
    compiled = prepare(stream.bound, evaluation=asked_for(stream.bound, lazy))
    took = []
    for _ in range(5):
        session = CarriedSession(prepare(stream.bound), DEFAULTS)
        session.step(stream.part(0, 4_000), 4_000)
        start = time.perf_counter()
        session.switch(compiled)
        took.append(time.perf_counter() - start)
    return min(took)


def lines_of_jump(found: Jump) -> Iterator[str]:
    """What happened."""
    yield f"A rate that jumps x{FACTOR} and back; a switch takes {1e3 * found.switch_s:.2f} ms"
    for part in found.parts:
        told = ", ".join(f"{name} {1e6 * latency:,.2f} us" for name, latency in part.latency_s.items())
        yield f"  {part.name}: {told}; {part.ratio:.2f} x the better fixed plan"
    for decision in found.switches:
        yield f"  at {decision.time_us / 1e6:.3f} s: {decision}"


def faults_of_jump(found: Jump) -> Iterator[str]:
    """Parts on which the adaptive plan is not near the better fixed one."""
    for part in found.parts:
        if part.ratio > WITHIN:
            yield f"{part.name}: the adaptive plan takes {part.ratio:.2f} times the better fixed one"
