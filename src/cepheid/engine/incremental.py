"""Runs a plan over a stream that comes in parts: each match once, in the step in which it is decided."""

from __future__ import annotations

from typing import Any, Protocol

from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.carried import CarriedSession
from cepheid.engine.carrying import reason_not_carried
from cepheid.engine.matches import Matches
from cepheid.engine.postponed import PostponedSession
from cepheid.engine.rerun import RerunSession
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.errors import NotSupportedError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.ports.pairs import PairPolicy


class Session(Protocol):
    """One query over one stream.

    Attributes:
        watermark_us: all events up to this time have come.
    """

    watermark_us: int

    @property
    def compiled(self) -> CompiledPlan:
        """The plan."""

    @property
    def timed_out(self) -> tuple[EventBatch, Matches] | None:
        """What the last step found to have timed out (SEMANTICS 7.3), as `step` gives matches; only where asked for."""

    @property
    def settled_us(self) -> int:
        """All matches that are told from now on have their last event after this time, us."""

    @property
    def n_bytes(self) -> int:
        """Bytes of what is kept."""

    @property
    def n_dropped(self) -> int:
        """Partial matches that a cap made it forget."""

    @property
    def n_timers(self) -> int:
        """Starts with something that the time will decide."""

    @property
    def n_open_predicates(self) -> int:
        """Conditions that wait for answers of remote stores while partial matches go on."""

    @property
    def n_held_back(self) -> int:
        """Matches that wait for such an answer, and those that come after them."""

    @property
    def held(self) -> tuple[EventBatch, Int64Array] | None:
        """See `engine.gauge.Holder`."""

    def step(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """Move the watermark.

        Args:
            ready: the events between the watermark before and this one, in order; its rows are its events. None for
                none.
            watermark_us: the watermark now, us; not before the one before.

        Returns:
            The matches that are decided by now and were not before, and the batch that they point into; None where
            there are none.

        Raises:
            DataError: a value does not fit a machine word, or a registered function fails.
        """

    def switch(self, compiled: CompiledPlan) -> None:
        """Go on with another plan of the same query: no match is lost, and none comes twice."""

    def compact(self) -> None:
        """Forget what nothing can come of any more."""

    def saved(self) -> tuple[EventBatch | None, list[Any], dict[str, Any]]:
        """For a snapshot: the events that are kept, tables of what is known beside them, and what JSON can say."""

    def restore(self, held: EventBatch | None, tables: list[Any], said: dict[str, Any], watermark_us: int) -> None:
        """Go on, at the beginning of a stream, from what `saved` gave, and the watermark then.

        Raises:
            DataError: it was saved by another kind of session, or for another plan.
        """


def session(compiled: CompiledPlan, settings: Settings = DEFAULTS, policy: PairPolicy | None = None) -> Session:
    """A session at the beginning of a stream.

    Args:
        compiled: the plan, prepared for what the policy wants where there is one.
        settings: how much may be held.
        policy: looks at pairs of events and partial matches.

    Raises:
        NotSupportedError: partial matches are to be dropped, or a policy is to look at them, and that cannot be in such
            a plan.
        ValueError: the orders of the policy do not fit.
    """
    reason = reason_not_carried(compiled)
    if policy is None and compiled.automaton.postpones:
        return PostponedSession(compiled, settings)
    if policy is None:
        kind = CarriedSession if reason is None else RerunSession
        return kind(compiled, settings)
    if reason is not None:
        bound = compiled.automaton.bound
        raise NotSupportedError(
            f"no policy can look at pairs of events and partial matches of this query in a stream yet: {reason}",
            remedy="run the query without the policy, or over a table",
            text=bound.text,
            origin=bound.origin,
            span=bound.query.pattern.span,
        )
    return CarriedSession(compiled, settings, policy)
