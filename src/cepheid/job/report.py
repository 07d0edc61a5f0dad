"""What a job did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cepheid.engine.slack_report import SlackReport
from cepheid.ports.evaluation import Decision


@dataclass(frozen=True)
class Step:
    """Told to whoever watches a job: what it is doing now.

    Attributes:
        stage: ``"read"``, ``"match"`` or ``"write"``.
        text: a few words, such as the name of the file that is being read.
        done, total: how much of the stage is done, in units that mean nothing else; ``total`` is None if unknown.
    """

    stage: str
    text: str
    done: int = 0
    total: int | None = None


@dataclass(frozen=True)
class Report:
    """What a job did.

    Attributes:
        n_events: events that were read, those rejected left out.
        n_matches: matches, all of them, also where fewer were asked for.
        n_rejected: rows that could not be read as events.
        n_null_key: events with NULL in SAME, which are in no partition; None where the engine does not tell.
        n_bytes: read from files, after unpacking.
        read_s, match_s, write_s: seconds that each stage took.
        matches: an Arrow table of the matches in their order, perhaps only the first ones.
        rejected: an Arrow table of the rejected rows.
        engine: ``"local"`` or ``"spark"``.
        sink, rejected_sink: the files that were written, or None.
        timed_out_sink: the file of what timed out, or None.
        n_timed_out: how much timed out; None where it was not asked for.
        others: for each further query with a file of its own, its file and the number of its matches.
        warnings: sentences that the user should read.
        n_late: events that came too late; None where none can.
        late_sink: the file of those, or None.
        slack_report: what the slack policy of the job did; None without one.
        decisions: what was decided on evaluation plans, where they are chosen; on Spark, of each task.
    """

    n_events: int
    n_matches: int
    n_rejected: int
    n_null_key: int | None
    n_bytes: int
    read_s: float
    match_s: float
    write_s: float
    matches: Any
    rejected: Any
    engine: str
    sink: Path | None = None
    rejected_sink: Path | None = None
    timed_out_sink: Path | None = None
    n_timed_out: int | None = None
    warnings: tuple[str, ...] = field(default=())
    others: Mapping[str, tuple[Path, int]] = field(default_factory=dict)
    n_late: int | None = None
    late_sink: Path | None = None
    slack_report: SlackReport | None = None
    decisions: tuple[Decision, ...] = ()

    @property
    def seconds(self) -> float:
        """How long the job took, all stages together."""
        return self.read_s + self.match_s + self.write_s

    @property
    def events_per_s(self) -> float:
        """Events over the seconds of the whole job; 0 where it took none."""
        return self.n_events / self.seconds if self.seconds > 0 else 0.0
