"""What a set of queries gives on a stream: the outputs of each query by its name, all from one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from cepheid.engine.outputs import CLOSED, FITTED, HELD, LATE, MATCHES, PLANS, REJECTED, SLACK, Outputs
from cepheid.spark.outputs import DetectedOutputs
from cepheid.spark.query_sets import Detected
from cepheid.spark.streams.outputs import Tagged, rows_of
from cepheid.spark.streams.set_step import timed_out_of
from cepheid.spark.streams.unread import UNREAD


class DetectedStreams(Detected, Tagged):
    """Name of a query -> its matches, a streaming DataFrame.

    Each of them, used by itself, is a streaming query of its own, which runs the whole set again. `tagged` has the
    matches of all queries: ``output`` is the name of the query, and its columns are the struct of that name.
    """

    def __init__(self, tagged: DataFrame, columns: Mapping[str, Sequence[str]]) -> None:
        """Take tagged rows apart.

        Args:
            tagged: the rows of all queries.
            columns: name of a query -> the names of its columns.
        """
        super().__init__({name: rows_of(tagged, name, names) for name, names in columns.items()}, ())
        self.tagged, self.columns = tagged, columns


class DetectedStreamOutputs(DetectedOutputs, Tagged):
    """Name of a query -> its outputs ``matches`` and ``timed_out``; the others are of the stream.

    In `tagged`, the output of a query's matches has the name of the query, and that of what timed out is
    ``NAME.timed_out``; the others are called as they are: ``late``, ``rejected``, ``closed``,
    ``fitted``, ``slack``, ``held``, ``plans``.

    Attributes:
        late, rejected, closed, fitted, slack, held, plans: see `cepheid.Outputs`; None for one that was not asked
            for. An event without the key of SAME is rejected once for each group of queries that want another key, and
            ``column`` says which.
        unread: see `cepheid.spark.streams.outputs.StreamOutputs`.
    """

    def __init__(
        self, tagged: DataFrame, columns: Mapping[str, Sequence[str]], names: Sequence[str], asked: frozenset[str]
    ) -> None:
        """Take tagged rows apart.

        Args:
            tagged: the rows of all outputs.
            columns: output -> the names of its columns.
            names: of the queries.
            asked: the outputs that are asked for.
        """
        each = {name: rows_of(tagged, name, of) for name, of in columns.items()}
        super().__init__(
            {name: Outputs(each[name] if MATCHES in asked else None, each.get(timed_out_of(name))) for name in names},
            None,
        )
        self.tagged, self.columns = tagged, columns
        self.late: Any = each.get(LATE)
        self.rejected: Any = each.get(REJECTED)
        self.closed: Any = each.get(CLOSED)
        self.fitted: Any = each.get(FITTED)
        self.slack: Any = each.get(SLACK)
        self.held: Any = each.get(HELD)
        self.plans: Any = each.get(PLANS)
        self.unread: Any = each.get(UNREAD)
