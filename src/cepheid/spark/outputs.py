"""The outputs of a query, or of a set of queries, as DataFrames (SEMANTICS 7.3)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Observation

from cepheid.engine.outputs import LATE, MATCHES, POLICY_NAMES, REJECTED, TIMED_OUT, Outputs
from cepheid.engine.session import prepare
from cepheid.engine.settings import Settings
from cepheid.errors import QueryError
from cepheid.language.bound import BoundQuery
from cepheid.spark import batch
from cepheid.spark.frames import Events
from cepheid.spark.query_sets import Detected, detect_set
from cepheid.spark.rejected import rejected
from cepheid.spark.replay import Replay
from cepheid.spark.timed_out import timed_out


class DetectedOutputs(dict[str, Outputs]):
    """Name of a query -> its outputs.

    Queries whose matches come from one pass share persisted rows: `unpersist` gives their memory back.
    """

    def __init__(self, found: Mapping[str, Outputs], matches: Detected | None) -> None:
        """Put results together.

        Args:
            found: name -> outputs.
            matches: the matches of the set, where they were asked for.
        """
        super().__init__(found)
        self._matches = matches

    def unpersist(self) -> None:
        """See `Detected.unpersist`."""
        if self._matches is not None:
            self._matches.unpersist()


def detect_outputs(
    events: Events,
    bound: BoundQuery,
    asked: frozenset[str],
    n_partitions: int | None,
    observation: Observation | None,
    settings: Settings,
    replay: Replay | None = None,
) -> Outputs:
    """The outputs of a bound query that are asked for, each found in a pass of its own when it is used.

    Args:
        events, bound, asked, n_partitions, observation, settings: see `cepheid.spark.detect.detect`.
        replay: where ``events`` are those that came on time: what found them.

    Raises:
        NotSupportedError: the engine cannot tell what times out.
    """
    if TIMED_OUT in asked:
        prepare(bound, timed_out=True)
    matches = None
    if MATCHES in asked:
        matches = batch.detect(events, bound, n_partitions=n_partitions, observation=observation, settings=settings)
    return Outputs(
        matches=matches,
        timed_out=timed_out(events, bound, n_partitions, settings) if TIMED_OUT in asked else None,
        rejected=rejected(events, bound) if REJECTED in asked else None,
        **_replayed(replay, asked),
    )


def _replayed(replay: Replay | None, asked: frozenset[str]) -> dict[str, DataFrame]:
    """What a replay of the events tells of them."""
    if replay is None:
        return {}
    return {name: replay.output(name) for name in (LATE, *POLICY_NAMES) if name in asked}


def detect_outputs_of_set(
    events: Events,
    bounds: Mapping[str, BoundQuery],
    asked: frozenset[str],
    n_partitions: int | None,
    observation: Observation | None,
    settings: Settings,
    replay: Replay | None = None,
) -> DetectedOutputs:
    """The same for each query of a set; those that are spread alike share a pass for their matches."""
    told = _replayed(replay, asked)  # of all queries together
    matches = None
    if MATCHES in asked:
        matches = detect_set(events, bounds, n_partitions=n_partitions, observation=observation, settings=settings)
    found = {}
    for name, bound in bounds.items():
        try:
            others = detect_outputs(events, bound, asked - {MATCHES}, n_partitions, None, settings)
        except QueryError as error:
            raise error.located(bound.text, bound.origin or name) from None
        found[name] = Outputs(None if matches is None else matches[name], others.timed_out, others.rejected, **told)
    return DetectedOutputs(found, matches)
