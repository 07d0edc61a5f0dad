"""Cuts between pieces of time, where moments are further apart than a bigint counts."""

from __future__ import annotations

from pyspark.sql import functions as F

from cepheid.spark.timecut import _apart


def test_moments_of_all_times(spark):
    moments = [-(2**63), -(2**63) + 5, 0, 2**63 - 1]
    frame = spark.createDataFrame([(moments,)], "moments array<bigint>")
    [row] = frame.select(_apart(F.col("moments"), 10).alias("kept")).collect()
    assert row["kept"] == [-(2**63), 0, 2**63 - 1]
