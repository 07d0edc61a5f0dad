"""The part of a matcher that a slack policy has a say in."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from cepheid.engine.slack import SlackWatch, warning_of, watch_of
from cepheid.engine.slack_report import SlackReport
from cepheid.engine.turns import in_turn
from cepheid.errors import DataError, level_outside
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.given_times import clock_us, moment_us
from cepheid.language.bound import BoundQuery
from cepheid.ports.slack import AskedSlack


class Watched(ABC):
    """A stream whose windows a slack policy may close."""

    lock: threading.RLock
    _options: dict[str, Any]
    _watermark_us: int
    _slack: AskedSlack | None
    _received: str | None
    _watch: SlackWatch | None

    @abstractmethod
    def _moved(self, watermark_us: int) -> Any:
        """Move the watermark, and give what is decided."""

    @abstractmethod
    def _known(self) -> Any:
        """The stream, where its columns are known."""

    def _begin_watch(self, bounds: Sequence[BoundQuery]) -> None:
        if self._slack is not None:
            unit = self._options["time_unit"]
            self._watch = watch_of(self._slack, bounds, received=self._received, received_unit=unit)

    def _watermarks(self, batch: EventBatch) -> Int64Array | None:
        """The watermark when each event came; None where it moves by the events alone."""
        return None if self._watch is None else self._watch.take(batch, clock_us())

    def _moved_by(self, watch: SlackWatch) -> Any:
        if said := warning_of(watch):
            warnings.warn(said, stacklevel=level_outside())
        return self._moved(watch.watermark_us)

    @in_turn
    def tick(self, now: datetime | np.datetime64 | str | int | float | None = None) -> Any:
        """Let time go on without an event: with a `cepheid.Slack`, windows may be closed because nothing came.

        Args:
            now: by the clock of receptions; None for the clock of this machine.

        Returns:
            The matches that are decided by now and were not before.

        Warns:
            UserWarning: windows were closed because a source had been silent for too long.

        Raises:
            DataError: ``slack=`` is no `cepheid.Slack`; ``now`` is no time, or as of ``advance``.
        """
        if self._slack is None:
            raise DataError("windows are not closed by the clock", remedy="give slack=cep.Slack.probabilistic(...)")
        if self._watch is None:  # nothing was pushed
            return self._moved(self._watermark_us)
        self._watch.until(clock_us() if now is None else moment_us(now, self._options["time_unit"]))
        return self._moved_by(self._watch)

    def slack_report(self) -> SlackReport:
        """What a `cepheid.Slack` did: how many windows miss events, how long they stayed open, what was learned.

        Raises:
            DataError: nothing was pushed yet, and no schema was given; or ``slack=`` is no `cepheid.Slack`.
        """
        with self.lock:
            self._known()
            if self._watch is None:
                raise DataError("nothing is learned of delays", remedy="give slack=cep.Slack.probabilistic(...)")
            return self._watch.report
