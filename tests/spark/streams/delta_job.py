"""Run by test_delta.py in a process of its own, which may be killed: a job from one Delta table to another."""

from __future__ import annotations

import sys
from pathlib import Path

from cepheid.job.load import load
from cepheid.job.streaming import run_stream
from cepheid.spark.connectors import delta_config
from cepheid.spark.delta import delta_writer
from cepheid.spark.session import local_session


def main() -> None:
    """Bring the files that are there into the table of events, then go on until all of them are read."""
    folder = Path(sys.argv[1])
    # Delta reads its own log by a job of Spark, of fifty tasks by default.
    config = {**delta_config({}), "spark.databricks.delta.snapshotPartitions": "1", "spark.driver.memory": "600m"}
    spark = local_session("delta", cores=2, shuffle_partitions=2, config=config)
    write = delta_writer(str(folder / "events"), "files")
    for number, file in enumerate(sorted((folder / "in").glob("*.parquet"))):
        if not (folder / "events" / "_delta_log" / f"{number:020}.json").exists():
            write(spark.read.parquet(str(file)), number)
    spark.stop()  # the job starts one of its own
    run_stream(load(folder / "job.toml"), print, print)


if __name__ == "__main__":
    main()
