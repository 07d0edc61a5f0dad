"""Numbers with more digits than a float keeps are exact beside decimals in Spark's own plan, too."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import cepheid as cep
from cepheid.events.ingest import schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.spark.admission import admitted
from cepheid.spark.pushdown import Source

LONG = Decimal("90071992547409.93")
TABLE = pa.table(
    {
        "ts": pa.array([0, 1_000_000], pa.timestamp("us", "UTC")),
        "x": pa.array([LONG, 1], pa.decimal128(18, 2)),
        "w": pa.array([Decimal("92233720368547758.07"), 1], pa.decimal128(19, 2)),
        "f": [float(LONG), 1.0],
    }
)
HOLD = (
    "a.x = 90071992547409.93",
    "a.x IN (90071992547409.93)",
    "a.x > 2 AND NOT a.x <> 90071992547409.93",
    "a.x - 90071992547409.93 = 0",
    "a.x < 90071992547409.931 AND a.x > 90071992547409.929",
    "a.w = 92233720368547758.07",
    "a.f = 90071992547409.93",
)


@pytest.mark.parametrize("condition", HOLD)
def test_spark_keeps_the_digits(spark, condition):
    frame = spark.createDataFrame(TABLE)
    text = f"PATTERN * a WHERE {condition} RETURN a.x - 90071992547409.93 AS d"
    rows = cep.detect(frame, text, time="ts").collect()
    assert [row["d"] for row in rows] == [Decimal("0.00")]
    bound = bind(parse(text), schema_of(TABLE.schema, time="ts"), text=text)
    pushed = admitted(bound, Source(frame.schema))
    assert pushed is not None
    assert frame.where(F.coalesce(pushed, F.lit(False))).count() == 1
