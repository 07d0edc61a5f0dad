"""Run by test_connect.py in a process of its own: a session of Spark Connect and one with a JVM exclude each other."""

from __future__ import annotations

import json
import sys

from pyspark.sql import Observation, SparkSession

from cepheid.errors import NotSupportedError
from cepheid.spark.detect import detect

ROWS = [(i, i * 10, "ABC"[i % 3], i // 3 % 4, i) for i in range(300)]
KEYED = "PATTERN SEQ(A a, B b, C c) WHERE SAME[k] AND a.v > 5 WITHIN 30 ms RETURN a.id AS a, c.id AS c"
UNKEYED = "PATTERN SEQ(A a, B b, C c) WHERE b.v > 5 WITHIN 30 ms RETURN a.id AS a, c.id AS c"


def main() -> None:
    """Print what was found, as JSON."""
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", sys.argv[1])
        .getOrCreate()
    )
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    frame = spark.createDataFrame(ROWS, ["id", "ts", "kind", "k", "v"])
    columns = {"time": "ts", "type": "kind", "time_unit": "ms", "order": "id"}
    observation = Observation("events")
    found = {
        "class": type(frame).__module__,
        "keyed": sorted(map(list, detect(frame, KEYED, observation=observation, **columns).collect())),
        "unkeyed": sorted(map(list, detect(frame, UNKEYED, **columns).collect())),
        "n_events": observation.get["n_events"],
    }
    kinds = {name: frame.where(frame.kind == name).drop("kind") for name in "ABC"}
    del columns["type"]
    found["by_type"] = sorted(map(list, detect(kinds, KEYED, **columns).collect()))
    try:
        detect(spark.readStream.format("rate").load(), "PATTERN SEQ(* a, * b) WITHIN 5 s", time="timestamp")
    except NotSupportedError as error:
        found["stream"] = error.message
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
