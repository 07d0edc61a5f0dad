"""Run by tests in a process of its own, which may be killed: a stream from one folder to another."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.spark.session import LOCAL_FILES, worker_sockets

COLUMNS = {"time": "ts", "type": "kind", "time_unit": "ms", "order": "id"}
QUERY = (
    "PATTERN SEQ(A a, B+ b, NOT C c) WHERE SAME[key] AND b.v > 20 WITHIN 20 ms "
    "RETURN a.id AS a, count(b.id) AS n, a.key AS key"
)
SCHEMA = "id long, ts long, kind string, key long, v long"


def main() -> None:
    """Go on from the checkpoint until all files are read."""
    folder, master = Path(sys.argv[1]), sys.argv[2]
    spark = (
        SparkSession.builder.master(master)
        .config(map={**LOCAL_FILES, **worker_sockets()})  # as `cepheid run` writes its checkpoints
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    matches = cep.detect(frame, QUERY, watermark="4 ms", partitions=4, **COLUMNS)
    writer = matches.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    query = writer.format("parquet").option("path", str(folder / "out")).start()
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main()
