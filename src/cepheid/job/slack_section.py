"""What a job file may say of events that come late: ``[slack]``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cepheid.errors import CepheidError
from cepheid.job.section import Length, Name, Section
from cepheid.policies.slack.settings import Slack

SlackKind = Literal["probabilistic", "latency budget", "event driven", "fixed delay", "average delay", "ignore"]

_TAKES: dict[str, tuple[str, ...]] = {
    "probabilistic": (
        "miss_ratio",
        "max_latency",
        "per",
        "every",
        "fit",
        "period",
        "warm_up",
        "estimator",
        "spend",
        "resolution",
    ),
    "latency budget": ("mean_latency", "max_latency", "per", "every", "fit", "period", "warm_up", "resolution"),
    "event driven": ("max_latency", "per", "every"),
    "fixed delay": ("delay", "every"),
    "average delay": ("per", "every"),
    "ignore": ("every",),
}
_NEEDS = {"probabilistic": "miss_ratio", "latency budget": "mean_latency", "fixed delay": "delay"}
_MAKERS = {
    "probabilistic": Slack.probabilistic,
    "latency budget": Slack.latency_budget,
    "event driven": Slack.event_driven,
    "fixed delay": Slack.fixed_delay,
    "average delay": Slack.average_delay,
    "ignore": Slack.ignore,
}


class SlackSection(Section):
    """``[slack]``: windows are closed by when events were received, as `cepheid.Slack` says.

    Attributes:
        kind: which of its ways.
        received: the column that says when an event was received; numbers count in the unit of the time column.
        decisions: where each decision is written: a file, or of a stream a folder, of JSON lines.
        fitted: where the distributions are written that windows are closed by, in the same way.
        miss_ratio, mean_latency, delay, max_latency, per, every, fit, period, warm_up, estimator, spend, resolution: as
            `cepheid.Slack` takes them.
    """

    kind: SlackKind = "probabilistic"
    received: Name
    decisions: Name | None = None
    fitted: Name | None = None
    miss_ratio: Annotated[float, Field(ge=0, lt=1)] | None = None
    mean_latency: Length | None = None
    delay: Length | None = None
    max_latency: Length | None = None
    per: Name | None = None
    every: Length | None = None
    fit: Literal["jumping", "sliding"] | None = None
    period: Annotated[int, Field(ge=2)] | None = None
    warm_up: Annotated[int, Field(ge=2)] | None = None
    estimator: Literal["next event", "silence"] | None = None
    spend: bool | None = None
    resolution: Length | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> SlackSection:
        given = self._given()
        for name in given:
            if name not in _TAKES[self.kind]:
                raise ValueError(f'kind = "{self.kind}" takes no {name}; it takes {", ".join(_TAKES[self.kind])}')
        needed = _NEEDS.get(self.kind)
        if needed is not None and needed not in given:
            raise ValueError(f'kind = "{self.kind}" needs {needed}')
        try:
            _ = self.slack
        except CepheidError as error:
            raise ValueError(f"{error.message}; {error.remedy}") from None
        return self

    def _given(self) -> dict[str, object]:
        own = self.model_dump(exclude={"kind", "received", "decisions", "fitted"})
        return {name: value for name, value in own.items() if value is not None}

    @property
    def slack(self) -> Slack:
        """The same for the roads."""
        given = self._given()
        made: Slack = _MAKERS[self.kind](**given)  # type: ignore[operator]
        return made
