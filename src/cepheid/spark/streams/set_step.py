"""What an executor does with one bucket where a set of queries is run: the queries of the bucket in one pass.

Queries whose events have one key are in the same buckets (a *group*): an event is read, put in order and kept back for
the watermark once for all of them. Another group has buckets of its own, and gets the events that it can take, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.engine.outputs import REJECTED, TIMED_OUT
from cepheid.engine.streams import Streams
from cepheid.events.batch import EventBatch
from cepheid.language.bound import BoundQuery
from cepheid.spark.rejected import reasons_of
from cepheid.spark.streams.step import BucketStep


def timed_out_of(name: str) -> str:
    """The output of what timed out of a query of a set, beside its matches, whose output has its name."""
    return f"{name}.{TIMED_OUT}"


@dataclass(frozen=True)
class SetStep(BucketStep):
    """Runs the queries of a group over the events of a bucket; runs on the executors.

    Attributes:
        queries: they, by name; `bound` is one of them.
        timed_out: what times out is told, too.
        is_first: of the groups this is the one that tells what is true of an event whatever its group: that it is late,
            where late events are shown, and that it cannot be read.
        shows_late: late events are shown, by the first group.
    """

    queries: tuple[tuple[str, BoundQuery], ...] = ()
    timed_out: bool = False
    is_first: bool = True
    shows_late: bool = False

    def new_stream(self) -> Streams:
        """What matches the events of a bucket, at the beginning."""
        return Streams(dict(self.queries), self.columns, self.settings, timed_out=self.timed_out)

    @property
    def bounds(self) -> tuple[BoundQuery, ...]:
        """The queries that are run."""
        return tuple(bound for _, bound in self.queries)

    def decided(self, stream: Any, reached_us: int) -> dict[str, Any]:
        """Output -> what is decided by now and was not before, as a table."""
        found: dict[str, Any] = stream.advance(reached_us)
        if self.timed_out:
            found = {**found, **{timed_out_of(name): table for name, table in stream.timed_out().items()}}
        return found

    def late(self, late: Any) -> Any:
        """The table for the output of late events, or None; else they are told in the log."""
        return super().late(late) if self.is_first or not self.shows_late else None

    def n_late_told(self, n_late: int) -> int:
        """Of the late events of this bucket those that count: where they are shown, each once."""
        return n_late if self.is_first or not self.shows_late else 0

    def reasons(self, batch: EventBatch) -> dict[int, tuple[str, str]]:
        """Why events are rejected, by their rows: those without a key by the groups that want it."""
        found: dict[int, tuple[str, str]] = {}
        for bound in self.bounds:
            found = {**reasons_of(bound.chain[-1], batch), **found}
        if not self.is_first:
            for row in batch.rejected.rows.tolist():
                found.pop(row, None)
        return found

    def rejected(self, batch: EventBatch) -> Any:
        """The table for the output of rejected events, or None; else they are told in the log."""
        return super().rejected(batch) if self.is_first or REJECTED in self.outputs else None


@dataclass(frozen=True)
class GroupedStep:
    """Runs the groups of a set, each in its buckets; runs on the executors.

    Attributes:
        steps: of the groups.
        group_of: label of a bucket -> the number of its group.
    """

    steps: tuple[SetStep, ...]
    group_of: Mapping[int, int]

    def __call__(self, run: bytes, bucket: int, payloads: Sequence[bytes], group: Any) -> Iterator[bytes]:
        """One bucket in one micro-batch; see `BucketStep`."""
        return self.steps[self.group_of[bucket]](run, bucket, payloads, group)
