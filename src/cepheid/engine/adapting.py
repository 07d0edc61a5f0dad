"""Goes from one evaluation plan to another while a query runs, as a policy chooses."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from cepheid.compiler.keyed_events import keyed_plan
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.calibration import measured
from cepheid.engine.matches import Matches
from cepheid.engine.sampling import Sampler
from cepheid.engine.session import Work, prepare, run, run_plan
from cepheid.engine.settings import Settings
from cepheid.errors import SetupError
from cepheid.events.batch import EventBatch
from cepheid.language.bound import BoundQuery
from cepheid.plan.between import pattern_of
from cepheid.plan.evaluation import ADAPTIVE, EAGER, asked_for, why_not_chosen
from cepheid.ports.evaluation import Chooser, Decision, RemembersStream

_log = logging.getLogger("cepheid.evaluation")

MOST_DECISIONS = 1_000
"""Of the decisions on a query, the last ones are kept."""


def chooser_of(compiled: CompiledPlan, settings: Settings, *, n_at_once: int | None = None) -> Chooser | None:
    """What chooses the evaluation plan of a query; None where none is to be chosen, or there is one only.

    Args:
        compiled: the plan that is eager.
        settings: with ``adaptive`` and its chooser.
        n_at_once: of a bounded input, its events; None for a stream. See `ports.evaluation.Pattern`.

    Raises:
        SetupError: nothing is there that chooses.
    """
    bound = compiled.automaton.bound
    if settings.evaluation != ADAPTIVE or why_not_chosen(bound) is not None or compiled.automaton.tells_timed_out:
        return None
    if settings.chooser is None:
        raise SetupError(
            "the evaluation is adaptive, and nothing chooses its plans",
            remedy="give Settings a chooser, or run the query with cep.match, cep.detect or a cep.Matcher",
        )
    kernel = "general" if compiled.chain is None else "chain"
    if n_at_once is not None and keyed_plan(compiled, n_at_once) is not None:
        kernel = "keyed"
    return settings.chooser(pattern_of(bound, kernel=kernel, at_once=n_at_once is not None), measured)


class Adapting:
    """Watches the stream of one query, and says with which plan to go on.

    Attributes:
        plan: the plan that runs, as `Settings` takes it.
        decisions: the last ones that were taken, those included that left the plan as it was.
    """

    def __init__(self, chooser: Chooser, compiled: CompiledPlan) -> None:
        """Begin with the eager plan.

        Args:
            chooser: what chooses.
            compiled: the eager plan.
        """
        self.plan = EAGER
        self.decisions: deque[Decision] = deque(maxlen=MOST_DECISIONS)
        self._untold: deque[Decision] = deque(maxlen=MOST_DECISIONS)
        self._chooser = chooser
        self._bound: BoundQuery = compiled.automaton.bound
        self._sampler = Sampler(compiled)

    def wants(self, time_us: int, n_events: int) -> bool:
        """Whether it is time for a sample, after so many events more, the last of them at a time."""
        return self._chooser.wants(time_us, self._sampler.n_events + n_events)

    def watched(self, seen: tuple[EventBatch, int]) -> None:
        """Take events that came, and choose later.

        Args:
            seen: the last of them, and how many they were.
        """
        self._sampler.add(*seen)

    def take_untold(self) -> list[Decision]:
        """The decisions since this was called before."""
        told = list(self._untold)
        self._untold.clear()
        return told

    def remembered(self) -> dict[str, Any]:
        """What a snapshot keeps, as JSON can say it: the plan, and what was learned of the stream."""
        chooser = self._chooser
        learned = chooser.remembered() if isinstance(chooser, RemembersStream) else None
        return {"plan": self.plan, "sample": self._sampler.remembered(), "chooser": _name(chooser), "learned": learned}

    def remember(self, said: Mapping[str, Any]) -> CompiledPlan | None:
        """Go on from what `remembered` gave.

        Returns:
            The plan from now on, where it is another one than the eager one.
        """
        self._sampler.remember(said["sample"])
        if isinstance(self._chooser, RemembersStream) and said["chooser"] == _name(self._chooser):
            self._chooser.remember(said["learned"])
        self.plan = said["plan"]
        asked = asked_for(self._bound, self.plan)
        return None if asked is None else prepare(self._bound, evaluation=asked)

    def stepped(self, ready: EventBatch | tuple[EventBatch, int], *, asked: bool = False) -> CompiledPlan | None:
        """Take the events of a step that is done, and choose where it is time to.

        Args:
            ready: the events, at least one; or the last of them, and how many they were.
            asked: `wants` has said that it is time.

        Returns:
            The plan from now on, where it is another one.
        """
        batch, n = ready if isinstance(ready, tuple) else (ready, len(ready))
        self._sampler.add(batch, n)
        if not asked and not self._chooser.wants(self._sampler.last_us, self._sampler.n_events):
            return None
        decision = self._chooser.decide(self._sampler.sample(), self.plan)
        if decision is None:
            return None
        self.decisions.append(decision)
        self._untold.append(decision)
        if not decision.switches:
            return None
        compiled = prepare(self._bound, evaluation=asked_for(self._bound, decision.plan))
        self.plan = decision.plan
        _log.info("%s", decision)
        return compiled


def _name(chooser: Chooser) -> str:
    return f"{type(chooser).__module__}.{type(chooser).__qualname__}"


def run_chosen(bound: BoundQuery, batch: EventBatch, *, work: Work | None = None, settings: Settings) -> Matches:
    """As `engine.session.run`, with a plan that is chosen where that is asked for."""
    if settings.evaluation != ADAPTIVE:
        return run(bound, batch, work=work, settings=settings)
    compiled, decision = decided(prepare(bound), batch, settings)
    if work is not None:
        work.decision = decision
    return run_plan(compiled, batch, work=work, settings=settings.eager)


def decided(compiled: CompiledPlan, batch: EventBatch, settings: Settings) -> tuple[CompiledPlan, Decision | None]:
    """The plan with which a bounded input is done fastest.

    Args:
        compiled: the eager plan.
        batch: the input.
        settings: with ``adaptive``.

    Returns:
        The plan, and the decision; None for that where there is no choice, or no event.
    """
    chooser = chooser_of(compiled, settings, n_at_once=len(batch))
    if chooser is None or not len(batch):
        return compiled, None
    sampler = Sampler(compiled, tries=False)
    sampler.add(batch, len(batch))
    decision = chooser.decide(sampler.sample(), EAGER) if chooser.wants(sampler.last_us, sampler.n_events) else None
    if decision is None or not decision.switches:
        return compiled, decision
    _log.info("%s", decision)
    bound = compiled.automaton.bound
    return prepare(bound, evaluation=asked_for(bound, decision.plan)), decision
