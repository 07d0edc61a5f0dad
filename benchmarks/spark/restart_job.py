"""Run by `benchmarks.spark.stream_restart` in a process of its own: a stream from its checkpoint until all is read.

Prints the seconds from the start of the query to its end, and the bytes of its state, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from cepheid.spark.detect import detect
from cepheid.spark.session import local_session

QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[key] AND a.v1 < b.v1 WITHIN 30 days RETURN a.id AS a, b.id AS b"
SCHEMA = "id long, type string, ts timestamp, key int, v1 int"


def main() -> None:
    """Go on with the files that are there."""
    folder = Path(sys.argv[1])
    spark = local_session("cepheid-restart", cores=2, memory="3g", shuffle_partitions=2)
    events = spark.readStream.schema(SCHEMA).parquet(str(folder / "in"))
    matches = detect(events, QUERY, time="ts", type="type", order="id", watermark="0 s", partitions=8)
    writer = matches.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    begin = time.perf_counter()
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    took_s = time.perf_counter() - begin
    operators = [p["stateOperators"][0] for p in query.recentProgress if p["stateOperators"]]
    state_bytes = max((int(one["memoryUsedBytes"]) for one in operators), default=0)
    print(json.dumps({"seconds": took_s, "state_bytes": state_bytes}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
