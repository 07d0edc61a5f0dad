"""What a user sets for running queries: `cepheid.Settings`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from cepheid.errors import SetupError
from cepheid.plan.evaluation import ADAPTIVE, EAGER, LAZY
from cepheid.ports.evaluation import ChooserFactory

MAX_PARTIAL_MATCHES = 8_000_000
"""By default. Of plans with up to three variables, one takes 59 to 101 bytes (measured): less than a gigabyte."""

MAX_OPEN_PREDICATES = 10_000

OnCap = Literal["error", "drop oldest"]


@dataclass(frozen=True)
class Settings:
    """How much a query may hold, and what happens when it would hold more.

    A partial match counts from its last event to when nothing can come of it any more, and as long as one that goes
    on from it does: a loop that has taken a thousand events counts a thousand. The engine looks when the room for
    partial matches is full, which doubles, and does not let it grow while there are more than may be; so there can be
    almost twice as many.

    Attributes:
        max_partial_matches: partial matches that a query holds at once; on Spark, in each task.
        max_partial_matches_per_key: the same for each value of SAME; None for no such cap.
        on_cap: ``error`` stops with a `cepheid.errors.CapacityError`. ``drop oldest`` forgets the partial matches whose
            first events are the oldest, down to three quarters of the cap, and tells how many they were: the matches
            that are found are still matches, but some are missing, and which they are depends on how a stream is cut.
        evaluation: when the work is done; the matches are the same. ``eager``: as events arrive. ``lazy``: when an
            event arrives that may be the last of a match. Or both, for a sequence under POLICY any: ``"b c/d a"``
            extends partial matches with b and c as they arrive, and joins d and then a to them when the last event has
            come (`cepheid.plan.evaluation`). ``adaptive``: the plan is chosen, and changed, by what is seen of the
            stream. A query of FROM is eager, and so is what tells what timed out.
        chooser: with ``adaptive``, what chooses; None for `cepheid.policies.evaluation.adaptive.AdaptiveEvaluation`.
            On Spark it must be one that can be pickled.
        max_open_predicates: conditions on remote data that may wait for their answers at once, while partial matches go
            on; where one more would have to, the query waits for its answer. 0: it waits for each.
    """

    max_partial_matches: int = MAX_PARTIAL_MATCHES
    max_partial_matches_per_key: int | None = None
    on_cap: OnCap = "error"
    evaluation: str = EAGER
    chooser: ChooserFactory | None = None
    max_open_predicates: int = MAX_OPEN_PREDICATES

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            SetupError: one of them is no cap or no policy.
        """
        for name in ("max_partial_matches", "max_partial_matches_per_key"):
            value = getattr(self, name)
            if name == "max_partial_matches_per_key" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise SetupError(f"{name}={value!r} is not a number of partial matches", remedy="give 1 or more")
        most = self.max_open_predicates
        if not isinstance(most, int) or isinstance(most, bool) or most < 0:
            raise SetupError(f"max_open_predicates={most!r} is not a number of conditions", remedy="give 0 or more")
        if self.on_cap not in ("error", "drop oldest"):
            raise SetupError(
                f"on_cap={self.on_cap!r} is not a policy", remedy='use on_cap="error" or on_cap="drop oldest"'
            )
        if not isinstance(self.evaluation, str) or (
            self.evaluation not in (EAGER, LAZY, ADAPTIVE) and self.evaluation.count("/") != 1
        ):
            raise SetupError(
                f"evaluation={self.evaluation!r} is not an evaluation plan",
                remedy='use "eager", "lazy", "adaptive", or variables with one slash among them: "b c/d a"',
            )
        if self.chooser is not None and self.evaluation != ADAPTIVE:
            raise SetupError(
                f"a chooser is given, and evaluation={self.evaluation!r} leaves nothing to choose",
                remedy='use evaluation="adaptive" with it',
            )

    @property
    def eager(self) -> Settings:
        """The same, everything evaluated as events arrive."""
        return self.with_plan(EAGER)

    def with_plan(self, evaluation: str) -> Settings:
        """The same with another evaluation plan."""
        return replace(self, evaluation=evaluation, chooser=self.chooser if evaluation == ADAPTIVE else None)

    def choosing(self, chooser: ChooserFactory) -> Settings:
        """The same with what chooses, where that is asked for and not given."""
        return replace(self, chooser=chooser) if self.evaluation == ADAPTIVE and self.chooser is None else self


DEFAULTS = Settings()


def require_settings(settings: object) -> Settings:
    """What stands as ``settings=``.

    Raises:
        SetupError: it is not of `Settings`.
    """
    if not isinstance(settings, Settings):
        raise SetupError(
            f"settings={settings!r} is not a cep.Settings",
            remedy="give cep.Settings(max_partial_matches=...), or leave it out",
        )
    return settings
