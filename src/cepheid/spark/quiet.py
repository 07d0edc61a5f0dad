"""What Spark says of the end that it was asked for.

To end a stream between two micro-batches means to leave one that has only been planned. Spark tells of it as of any
that fails: tasks that were killed, an exception in a function that it called. Nobody needs to read that, and it stands
where users look for what is wrong.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pyspark.sql import SparkSession

_PY4J = logging.getLogger("py4j")


@dataclass
class _Before:
    """The levels of the logs before they were silenced; None while they are not."""

    spark: str | None = None
    py4j: int = logging.NOTSET


_before = _Before()


def silence(session: SparkSession) -> None:
    """Let Spark say nothing from now on, in this process: its stream is over."""
    if _before.spark is None:
        jvm = session.sparkContext._jvm
        assert jvm is not None, "a session in this process"
        _before.spark = str(jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString())
        _before.py4j = _PY4J.level
    session.sparkContext.setLogLevel("OFF")
    _PY4J.setLevel(logging.CRITICAL)


def end_silence(session: SparkSession) -> None:
    """Let Spark say what it said before `silence`: a stream begins."""
    if _before.spark is not None:
        session.sparkContext.setLogLevel(_before.spark)
        _PY4J.setLevel(_before.py4j)
        _before.spark = None
