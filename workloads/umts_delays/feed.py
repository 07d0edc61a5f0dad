"""The reports into a folder, a file after the other, in the order in which the server received them.

CEPHEID_DATA=... python workloads/umts_delays/feed.py --folder workloads/umts_delays/reports --reports 2000 --every-s 1
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

FILE = "iot_late_arrivals_umts/ooo_umts_d1_d5.csv.gz"
NUMBERS = ("seq", "gts_detect_ms", "rts_server_ms")


def reports(file: Path) -> list[dict[str, Any]]:
    """All reports, by reception; those that were received in one millisecond by session, phone and number."""
    with gzip.open(file, "rt", newline="") as lines:
        rows = [{**row, **{name: int(row[name]) for name in NUMBERS}} for row in csv.DictReader(lines)]
    kept = [{name: row[name] for name in ("session", "device", *NUMBERS)} for row in rows]
    return sorted(kept, key=lambda row: (row["rts_server_ms"], row["session"], row["device"], row["seq"]))


def parts(events: Iterable[dict[str, Any]], n: int) -> Iterator[list[dict[str, Any]]]:
    """About so many events each, cut between two moments of reception."""
    part: list[dict[str, Any]] = []
    for event in events:
        if len(part) >= n and event["rts_server_ms"] != part[-1]["rts_server_ms"]:
            yield part
            part = []
        part.append(event)
    yield part


def write(folder: Path, number: int, part: Iterable[dict[str, Any]]) -> None:
    """One file, which is there as a whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{number:06}.jsonl"
    hidden.write_text("".join(json.dumps(event) + "\n" for event in part))
    hidden.rename(folder / hidden.name[1:])


def main() -> None:
    """Feed what the command line says."""
    parser = argparse.ArgumentParser(description="Feed reports into a folder.")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "reports")
    parser.add_argument("--reports", type=int, default=2_000, help="in a file")
    parser.add_argument("--every-s", type=float, default=0, help="seconds between two files")
    arguments = parser.parse_args()
    for number, part in enumerate(parts(reports(Path(os.environ["CEPHEID_DATA"]) / FILE), arguments.reports)):
        write(arguments.folder, number, part)
        time.sleep(arguments.every_s)


if __name__ == "__main__":
    main()
