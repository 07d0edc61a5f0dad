"""Every case that the engine runs, through Spark: all of them in one job, what they give as sets.

Compared are the elements and the bounds of the window of each match with those of the oracle, and its ``match_id`` with
that of `cep.match`: so elements without a name, which have no column, are compared too. Of the documented examples,
those that say what RETURN gives, or what timed out, are compared likewise (with the time at which the window closed).
Not held here, because a batch has neither: lateness (late events are left out beforehand), and when a match is decided;
a case whose watermark stops before the end of its events' windows is left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.query import Query
from cepheid.testing.harness import ORDER, SOURCE, innermost, table_of
from cepheid.testing.oracle import OracleMatch, match
from tests.conformance.cases import CASES
from tests.conformance.documented import documented_cases
from tests.conformance.engine_lines import on_time
from tests.conformance.notation import Case, stream
from tests.conformance.refusals import REFUSED, refusal

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = pytest.mark.slow


def needs_a_stream(case: Case) -> bool:
    """Its answer is that of a watermark which has not come to the end; a batch is always at its end."""
    return len(match(case.bound(), on_time(case), stores=case.stores).matches) != len(case.matches)


CASES_RUN = [case for case in CASES if case.name not in REFUSED and not needs_a_stream(case)]
EXAMPLES = [case for case in documented_cases() if refusal(case) is None and case.watermark is None]
RETURNING = [case for case in EXAMPLES if case.returned is not None]
TIMED_OUT = [case for case in (*CASES, *EXAMPLES) if case.timed_out is not None and case.name not in REFUSED]

NAME = "name of the event"

Found = Counter[tuple[Any, ...]]
"""Rows, each a tuple that begins with the name of its case."""

Pairs = tuple[str, ...]
"""``variable=event`` for each element with a name, sorted."""


def options(case: Case) -> dict[str, Any]:
    return {"time": "ts", "time_unit": "s", "type": "kind", "order": [ORDER, SOURCE], "catalog": case.known}


def table(case: Case) -> Any:
    """The events of a case, with the name of each."""
    events, names = on_time(case), stream(case.events).names
    arrow, _ = table_of(events, innermost(case.bound()).schema)
    return arrow.append_column(NAME, pa.array([names[event] for event in events], pa.string()))


def without_return(case: Case) -> Query:
    """The query with the default output, off which elements are read."""
    return Query.of(replace(parse(case.query), returns=()))


# --- on Spark ---------------------------------------------------------------------------------------


def _pair(variable: str, element: Column) -> Column:
    from pyspark.sql import functions as sql

    return sql.concat(sql.lit(f"{variable}="), element[NAME])


def pairs_of(found: DataFrame, bound: BoundQuery) -> Column:
    from pyspark.sql import functions as sql

    pairs = []
    for name, variable in bound.variables.items():
        if variable.negated or variable.hidden:
            continue
        column = found[f"`{name}`"]
        taken = column if variable.loop else sql.when(column.isNotNull(), sql.array(column))
        pairs.append(sql.transform(sql.coalesce(taken, sql.array()), partial(_pair, name)))
    return sql.array_sort(sql.concat(*pairs, sql.array().cast("array<string>")))


def number(found: DataFrame, name: str) -> Column:
    """A column that may be missing, as a whole number: microseconds for times."""
    from pyspark.sql import functions as sql

    if name not in found.columns:
        return sql.lit(None).cast("long")
    column = found[name]
    return sql.unix_micros(column) if found.schema[name].dataType.typeName() == "timestamp" else column


def matches_on_spark(spark: SparkSession, case: Case) -> DataFrame:
    from pyspark.sql import functions as sql

    found = cep.detect(spark.createDataFrame(table(case)), without_return(case), **options(case))
    return found.select(
        sql.lit(case.name).alias("case"),
        found["match_id"],
        number(found, "window_start").alias("start"),
        number(found, "window_end").alias("end"),
        pairs_of(found, case.bound()).alias("pairs"),
    )


def returned_on_spark(spark: SparkSession, case: Case) -> DataFrame:
    from pyspark.sql import functions as sql

    found = cep.detect(spark.createDataFrame(table(case)), case.query, **options(case))
    values = sql.to_json(sql.struct(*found.columns), {"ignoreNullFields": "false"})
    return found.select(sql.lit(case.name).alias("case"), values.alias("values"))


def timed_out_on_spark(spark: SparkSession, case: Case) -> DataFrame:
    from pyspark.sql import functions as sql

    outputs = cep.detect(
        spark.createDataFrame(table(case)), without_return(case), outputs=("timed_out",), **options(case)
    )
    found = outputs.timed_out
    return found.select(
        sql.lit(case.name).alias("case"),
        number(found, "closed_time").alias("closed"),
        number(found, "window_start").alias("start"),
        number(found, "window_end").alias("end"),
        pairs_of(found, case.bound()).alias("pairs"),
    )


def collected(frames: Sequence[DataFrame]) -> Found:
    """The rows of all of them, in one job."""
    every = reduce(lambda one, other: one.unionByName(other), frames)
    return Counter(tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in every.collect())


@pytest.fixture(scope="module")
def matches(spark: SparkSession) -> Found:
    return collected([matches_on_spark(spark, case) for case in CASES_RUN])


@pytest.fixture(scope="module")
def returned(spark: SparkSession) -> Found:
    return collected([returned_on_spark(spark, case) for case in RETURNING])


@pytest.fixture(scope="module")
def timed_out(spark: SparkSession) -> Found:
    return collected([timed_out_on_spark(spark, case) for case in TIMED_OUT])


def of_case(found: Found, case: Case) -> Found:
    return Counter({row[1:]: n for row, n in found.items() if row[0] == case.name})


# --- what must come ---------------------------------------------------------------------------------


def named_pairs(case: Case, found: OracleMatch) -> Pairs:
    names = stream(case.events).names
    return tuple(sorted(f"{variable}={names[e]}" for variable, e in found.bindings if not variable.startswith("#")))


def in_this_process(case: Case) -> Iterator[tuple[str, Pairs]]:
    """The id and the pairs of each match that `cep.match` finds."""
    bound = case.bound()
    for row in cep.match(table(case), without_return(case), **options(case)).to_pylist():
        pairs = []
        for name, variable in bound.variables.items():
            if variable.negated or variable.hidden or row[name] is None:
                continue
            pairs += [f"{name}={element[NAME]}" for element in (row[name] if variable.loop else [row[name]])]
        yield row["match_id"], tuple(sorted(pairs))


@pytest.mark.parametrize("case", CASES_RUN, ids=lambda case: case.name)
def test_case(case: Case, matches: Found):
    got = of_case(matches, case)
    expected = match(case.bound(), on_time(case), stores=case.stores).matches
    assert Counter((row[3], row[1:3]) for row in got.elements()) == Counter(
        (named_pairs(case, one), one.window or (None, None)) for one in expected
    )
    assert Counter((row[0], row[3]) for row in got.elements()) == Counter(in_this_process(case))
    assert set(got.values()) <= {1}


@pytest.mark.parametrize("case", RETURNING, ids=lambda case: case.name)
def test_what_is_returned(case: Case, returned: Found):
    assert case.returned is not None
    got = [json.loads(row[0]) for row in of_case(returned, case).elements()]
    assert sorted(got, key=json.dumps) == sorted((dict(row) for row in case.returned), key=json.dumps)


@pytest.mark.parametrize("case", TIMED_OUT, ids=lambda case: case.name)
def test_what_timed_out(case: Case, timed_out: Found):
    expected = match(case.bound(), on_time(case), stores=case.stores).timed_out
    assert of_case(timed_out, case) == Counter(
        (one.decision_time, *(one.window or (None, None)), named_pairs(case, one)) for one in expected
    )
