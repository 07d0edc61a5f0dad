"""The three experiments of the paper: their streams, their query, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.calibration import measured
from cepheid.engine.sampling import Sampler
from cepheid.engine.session import prepare
from cepheid.engine.trials import arrangements, tried_on
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.plan.between import pattern_of
from cepheid.plan.evaluation import asked_for
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation, Options
from cepheid.policies.evaluation.choice import Hysteresis
from cepheid.ports.evaluation import Decision, Sampled, Trial

QUERY = Path(__file__).parents[3] / "workloads" / "papers" / "apam_figure3.cep"
TYPES = "ABCDE"
N_VALUES = 10_000
N_SAMPLE, A_DECISION = 10_000, 10
"""Events of a sample; samples from one decision to the next."""

N_TRIED = N_SAMPLE * A_DECISION
"""Events on which plans are tried before a decision: those since the one before."""


@dataclass(frozen=True)
class Experiment:
    """One of the experiments of Table 2.

    Attributes:
        number: its number.
        selectivities: of the conditions between A and B, B and C, C and D, D and E.
        order: the optimal matching order, as the paper gives it.
        ahead_of_lazy: how many times lower than ZStream's the paper's latency is at 100 events a second.
        ahead_of_eager: how many times lower than SASE's it is at the higher rates, at most.
        n_decisions: after so many the chosen plan is taken, in a quick run: where eager and lazy wait for bursts alike,
            it takes more of them to tell the better one.
        n_parts: streams on which services are measured, in a quick run.
    """

    number: int
    selectivities: tuple[float, float, float, float]
    order: str
    ahead_of_lazy: float
    ahead_of_eager: float
    n_decisions: int
    n_parts: int


EXPERIMENTS = (
    Experiment(1, (0.008, 0.006, 0.004, 0.002), "EDCBA", 27.94, 361.48, 2, 1),
    Experiment(2, (0.002, 0.004, 0.006, 0.008), "ABCDE", 5.71, 1.0, 6, 4),
    Experiment(3, (0.006, 0.002, 0.004, 0.008), "BCDAE", 5.51, 60.09, 2, 1),
)


def stream(experiment: Experiment, n: int, seed: int) -> Any:
    """A stream of the five types, uniformly mixed, as a pyarrow Table.

    That x < y holds with probability s: x is uniform over 0 to 9,999, y over as many values as make it exact.
    """
    random = np.random.default_rng(seed)
    kinds = random.integers(0, len(TYPES), n)
    columns = {"timestamp": np.arange(n), "type": np.array(list(TYPES))[kinds], "eID": np.arange(n)}
    for number, selectivity in enumerate(experiment.selectivities):
        values = np.zeros(n, np.int64)
        for kind, most in ((number, N_VALUES), (number + 1, round(2 * N_VALUES * selectivity) + 1)):
            values[kinds == kind] = random.integers(0, most, np.count_nonzero(kinds == kind))
        columns[f"attr{number + 1}"] = values
    return pa.table(columns)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The query over a stream."""

    bound: BoundQuery
    batch: EventBatch

    def first(self, n: int) -> Prepared:
        """The same with the first events alone."""
        return replace(self, batch=self.part(0, n))

    def part(self, start: int, n: int) -> EventBatch:
        """Some of the events."""
        batch = read_events(self.batch.table.slice(start, n), self.batch.schema)
        return replace(batch, numbers=np.arange(start, start + n))


def prepared(experiment: Experiment, n: int, seed: int) -> Prepared:
    """The query of the experiments over a stream."""
    table = stream(experiment, n, seed)
    schema = schema_of(table, time="timestamp", time_unit="us", type="type")
    return Prepared(bind(parse(QUERY.read_text(encoding="utf-8")), schema), read_events(table, schema))


class Choice:
    """The plan that is chosen at a rate, by what was sampled and tried of a stream that goes on at it for a while.

    A trial takes as long at any rate: each is made once.

    Attributes:
        stream: the events by which it is chosen.
    """

    def __init__(self, experiment: Experiment, n_decisions: int) -> None:
        """Take the samples.

        Args:
            experiment: which.
            n_decisions: after so many with trials the plan is taken.
        """
        n_samples = 1 + A_DECISION * n_decisions
        self.stream = prepared(experiment, N_SAMPLE * n_samples, seed=experiment.number)
        self._pattern = pattern_of(self.stream.bound, kernel="chain", at_once=False)
        sampler = Sampler(prepare(self.stream.bound))
        self._samples: list[Sampled] = []
        for number in range(n_samples):
            sampler.add(self.stream.part(number * N_SAMPLE, N_SAMPLE), N_SAMPLE)
            self._samples.append(sampler.sample())
        self._trials: dict[tuple[int, str, int], Trial | None] = {}

    def at(self, rate_per_s: float, *, by_model: bool = False) -> Decision:
        """What is decided at last.

        Args:
            rate_per_s: events a second, of all types.
            by_model: by the cost model alone, without trials.
        """
        # Choosing takes place beside the stream, and what it costs is measured by itself: here, no time passes.
        options = Options(sampling_period_events=N_SAMPLE, hysteresis=Hysteresis(0.0), clock=lambda: 0.0)
        chooser = AdaptiveEvaluation(self._pattern, measured, options)
        decision = None
        for number, sampled in enumerate(self._samples):
            elapsed_us = max(1, round(sampled.n_events / rate_per_s * 1e6))
            trial = None if by_model or not number else self._trial(number)
            found = chooser.decide(replace(sampled, elapsed_us=elapsed_us, trial=trial), "eager")
            decision = found or decision
        assert decision is not None
        return decision

    def _trial(self, number: int) -> Callable[[str], Trial | None]:
        """What tries plans on the events before a sample's end: round after round, as they are made."""
        rounds = Counter[str]()

        def once_more(plan: str) -> Trial | None:
            key = number, plan, rounds[plan]
            rounds[plan] += 1
            if key not in self._trials:
                bound = self.stream.bound
                batch = self.stream.part((number + 1) * N_SAMPLE - N_TRIED, N_TRIED)
                self._trials[key] = tried_on(prepare(bound, evaluation=asked_for(bound, plan)), arrangements(batch))
            return self._trials[key]

        return once_more


def plan_text(plan: str) -> str:
    """A plan as the paper writes it: ``/d c b a`` is /EDCBA, as an event of E starts the joins; eager is ABCDE/."""
    if plan == "eager":
        return f"{TYPES}/"
    eager, lazy = plan.split("/")
    return f"{eager.replace(' ', '')}/{TYPES[-1]}{lazy.replace(' ', '')}"
