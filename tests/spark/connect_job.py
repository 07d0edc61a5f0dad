"""Run by test_connect.py in a process of its own: a session of Spark Connect and one with a JVM exclude each other."""

from __future__ import annotations

import json
import sys

from pyspark.sql import Observation, SparkSession

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
    folder = sys.argv[1]
    frame.repartition(2).write.parquet(f"{folder}/stream")
    stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/stream")
    columns["type"] = "kind"
    # The files come in any order: an event may be later than all others.
    matches = detect(stream, KEYED, watermark="1 hour", partitions=2, **columns)
    writer = matches.writeStream.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    writer.format("parquet").option("path", f"{folder}/matches").start().awaitTermination()
    found["n_decided_at_first"] = spark.read.schema(matches.schema).parquet(f"{folder}/matches").count()
    last = spark.createDataFrame([(300, 10_000_000, "D", 0, 0)], frame.schema)
    last.write.mode("append").parquet(f"{folder}/stream")
    writer.format("parquet").option("path", f"{folder}/matches").start().awaitTermination()
    found["stream"] = sorted(map(list, spark.read.parquet(f"{folder}/matches").collect()))
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
