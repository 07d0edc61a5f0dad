"""Decisions on evaluation plans that tasks of a batch take, told to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam

from cepheid.ports.evaluation import Chooser, ChooserFactory, Decision, Measure, Pattern, Sampled


class _Together(AccumulatorParam[list[Decision]]):
    """Lists one behind the other."""

    def zero(self, value: list[Decision]) -> list[Decision]:
        return []

    def addInPlace(self, value1: list[Decision], value2: list[Decision]) -> list[Decision]:
        return value1 + value2


@dataclass(frozen=True)
class TellingChoosers:
    """Makes what chooses in tasks, each of whose decisions the driver is told of; a `ports.evaluation.ChooserFactory`.

    A task that is done again, after a failure, tells again.

    Attributes:
        make: makes what chooses.
        told: Spark's accumulator of the decisions, in no particular order.
    """

    make: ChooserFactory
    told: Any

    @classmethod
    def of(cls, make: ChooserFactory, context: SparkContext) -> TellingChoosers:
        """For tasks of a session in this process."""
        return cls(make, context.accumulator([], _Together()))

    def __call__(self, pattern: Pattern, measure: Measure) -> Chooser:
        """What chooses for a pattern."""
        return _Telling(self.make(pattern, measure), self.told)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Of the tasks that are done; asked for on the driver."""
        return tuple(self.told.value)


class _Telling:
    def __init__(self, chooser: Chooser, told: Any) -> None:
        self._chooser, self._told = chooser, told

    def wants(self, time_us: int, n_events: int) -> bool:
        return self._chooser.wants(time_us, n_events)

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        decision = self._chooser.decide(sampled, current)
        if decision is not None:
            self._told.add([decision])
        return decision
