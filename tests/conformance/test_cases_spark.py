"""Every case that the engine runs, through Spark: all of them in one job, their matches as sets.

Elements without a name have no column. Not held here, because a batch has neither: lateness (late events are left out
beforehand) and decision points; a case whose watermark stops before the end of its events' windows is
named in `NEEDS_A_STREAM`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.language.parser import parse
from cepheid.testing.harness import ORDER, SOURCE, table_of
from cepheid.testing.oracle import match
from tests.conformance.cases import CASES
from tests.conformance.engine_lines import on_time
from tests.conformance.notation import Case, stream
from tests.conformance.refusals import REFUSED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NEEDS_A_STREAM = {
    "S11 the watermark has not come so far",
    "S21 a greedy loop waits for the watermark",
}
"""Cases whose answer is that of a watermark which has not come to the end; a batch is always at its end."""

pytestmark = pytest.mark.slow

RUN = [case for case in CASES if case.name not in REFUSED and case.name not in NEEDS_A_STREAM]

NAME = "name of the event"


def _pair(variable: str, element: Column) -> Column:
    from pyspark.sql import functions as sql

    return sql.concat(sql.lit(f"{variable}="), element[NAME])


def rows(spark: SparkSession, case: Case) -> DataFrame:
    """A row for each match of a case: the case's name, and ``variable=event`` for each pair, sorted."""
    from pyspark.sql import functions as sql

    events = on_time(case)
    bound = case.bound()
    table, _ = table_of(events, bound.schema)
    names = stream(case.events).names
    frame = spark.createDataFrame(table.append_column(NAME, pa.array([names[e] for e in events], pa.string())))
    # The pairs are read off the default output.
    query = replace(parse(case.query), returns=())
    found = cep.detect(frame, query, time="ts", time_unit="s", type="kind", order=[ORDER, SOURCE], catalog=case.catalog)
    pairs = []
    for name, variable in bound.variables.items():
        if variable.negated or name.startswith("#"):
            continue
        column = found[f"`{name}`"]
        taken = column if variable.loop else sql.when(column.isNotNull(), sql.array(column))
        pairs.append(sql.transform(sql.coalesce(taken, sql.array()), partial(_pair, name)))
    return found.select(
        sql.lit(case.name).alias("case"),
        sql.array_sort(sql.concat(*pairs, sql.array().cast("array<string>"))).alias("pairs"),
    )


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Counter[tuple[str, tuple[str, ...]]]:
    every = reduce(lambda a, b: a.unionByName(b), [rows(spark, case) for case in RUN])
    return Counter((row["case"], tuple(row["pairs"])) for row in every.collect())


@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_case(case: Case, found: Counter[tuple[str, tuple[str, ...]]]):
    names = stream(case.events).names
    expected = Counter(
        tuple(sorted(f"{variable}={names[event]}" for variable, event in one.bindings if variable[0] != "#"))
        for one in match(case.bound(), on_time(case), stores=case.stores).matches
    )
    assert expected.total() == len(case.matches)
    assert Counter({pairs: n for (name, pairs), n in found.items() if name == case.name}) == expected
