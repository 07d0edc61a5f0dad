"""A streaming query tells of every micro-batch, once, whenever Spark's listener hears of it."""

from __future__ import annotations

import json
from threading import Timer
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from cepheid.spark import stream_query
from cepheid.spark.stream_query import Progress, StreamRun

RUN = "run 1"


def report(batch: int) -> Any:
    """What Spark tells of a micro-batch."""
    return SimpleNamespace(runId=RUN, json=json.dumps({"batchId": batch, "sources": []}))


class Spark:
    """A session whose query has ended, and tells its listener of some of its micro-batches."""

    def __init__(self, heard: list[int], recent: list[int]) -> None:
        self._heard, self._recent = heard, recent
        self.streams = self
        self.listener: Any = None
        self.listens = False

    def addListener(self, listener: Any) -> None:
        self.listener, self.listens = listener, True

    def removeListener(self, listener: Any) -> None:
        assert listener is self.listener
        self.listens = False

    def query(self) -> Any:
        def awaited() -> None:
            for number in self._heard:
                self.listener.onQueryProgress(SimpleNamespace(progress=report(number)))

        return SimpleNamespace(
            runId=RUN,
            isActive=False,
            awaitTermination=awaited,
            recentProgress=[report(number) for number in self._recent],
        )


def stream_run(spark: Spark, told: list[Progress]) -> StreamRun:
    """A run of the query."""
    rows = MagicMock()
    writer = rows.writeStream.foreachBatch.return_value.option.return_value.queryName.return_value
    writer.start.side_effect = spark.query
    session: Any = spark
    return StreamRun(
        session, rows, write=lambda *_: None, told=told.append, checkpoint="there", trigger={}, name="a query"
    )


@pytest.mark.parametrize("heard", [[], [4], [4, 5, 6]])
def test_what_the_listener_did_not_hear_is_told_at_the_end(heard: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_query, "LONGEST_TELLING_S", 0.1)
    told: list[Progress] = []
    stream_run(Spark(heard, [4, 5, 6]), told).wait(lambda: None)
    assert [progress.batch for progress in told] == [4, 5, 6]


def test_the_end_waits_for_the_listener() -> None:
    spark, told = Spark([], [4]), list[Progress]()
    run = stream_run(spark, told)
    listened: list[bool] = []

    def late() -> None:
        spark.listener.onQueryProgress(SimpleNamespace(progress=report(4)))
        listened.append(spark.listens)
        spark.listener.onQueryTerminated(SimpleNamespace(runId=RUN))

    timer = Timer(0.2, late)
    timer.start()
    run.wait(lambda: None)
    timer.join()
    assert listened == [True]
    assert not spark.listens
    assert [progress.batch for progress in told] == [4]
