#!/usr/bin/env python3
"""Prints what SPARK_SUBMIT_OPTS is to be where each Spark lives for a minute, as in tests: what it is, and more.

Java compiles fast and little then, collects on one thread, and maps the classes of Spark from an archive in build/java,
where they lie as they are in memory, in place of reading them from some hundred jars. A small program took 19 s of the
processor's time in place of 55. The archive fits one Java and one PySpark; where there is none it is made, by a small
program: about a minute, and more beside other work. Where it cannot be made, that is told, and the options are those
without it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "build" / "java"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LONGEST_S = 600
QUERY = "PATTERN SEQ(Order o, NOT Payment p) WHERE SAME[id] WITHIN 3 s RETURN o.id AS id"


def archive() -> Path:
    """Where the archive for the Java and the PySpark of this process lies."""
    import pyspark

    key = f"{os.environ.get('JAVA_HOME')} {pyspark.__file__} {pyspark.__version__}"
    return FOLDER / f"spark-{pyspark.__version__}-{hashlib.sha256(key.encode()).hexdigest()[:8]}.jsa"


def make(path: Path) -> None:
    """Run `work` with a Java that writes the classes it has loaded to an archive when it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        options = {
            "SPARK_SUBMIT_OPTS": f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={made}",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [sys.executable, __file__, "--work", folder]
        try:
            ran = subprocess.run(
                command, env={**os.environ, **options}, capture_output=True, text=True, timeout=LONGEST_S, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"Java made no archive of Spark's classes within {LONGEST_S} s", file=sys.stderr)
            return
        if ran.returncode or not made.is_file():
            print(f"Java makes no archive of Spark's classes: {(ran.stdout + ran.stderr)[-2000:]}", file=sys.stderr)
            return
        made.replace(path)


def work(folder: str) -> None:
    """Load the classes that tests need: a batch job, a stream, workers in Python."""
    from pyspark.sql import SparkSession

    import cepheid as cep

    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    for name, value in (
        ("ui.enabled", "false"),
        ("driver.bindAddress", "127.0.0.1"),
        ("driver.host", "127.0.0.1"),
        ("sql.warehouse.dir", f"{folder}/warehouse"),
    ):
        builder = builder.config(f"spark.{name}", value)
    spark = builder.getOrCreate()
    java = spark.sparkContext._gateway.proc
    rows = spark.range(100).selectExpr(
        "timestamp_seconds(id) AS ts", "IF(id % 3 = 0, 'Order', 'Payment') AS kind", "id % 5 AS id"
    )
    rows.write.json(f"{folder}/events")
    rows.write.parquet(f"{folder}/table")
    table = spark.read.parquet(f"{folder}/table")
    cep.detect(table, QUERY, time="ts", type="kind", order="id").write.parquet(f"{folder}/found")
    stream = spark.readStream.schema(rows.schema).json(f"{folder}/events")
    found = cep.detect(stream, QUERY, time="ts", type="kind", order="id", watermark="1 second", partitions=2)
    writer = found.writeStream.format("parquet").option("path", f"{folder}/stream")
    writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start().awaitTermination()
    assert spark.read.parquet(f"{folder}/stream").count()
    spark.stop()
    java.stdin.close()
    java.wait(LONGEST_S)


def main() -> None:
    """Print the options."""
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
        return
    path = archive()
    if not path.is_file():
        print("Java makes an archive of Spark's classes, once: a minute or two", file=sys.stderr)
        make(path)
    shared = [f"-XX:SharedArchiveFile={path}"] if path.is_file() else []
    given = filter(None, [os.environ.get("SPARK_SUBMIT_OPTS")])
    print(" ".join([*given, SHORT_LIVED, *shared]))  # of two archives Java takes the last


if __name__ == "__main__":
    main()
