"""Events of a small power grid, made from a seed: ``python workloads/smart_grid/make_events.py --hours 3 --out FILE``.

A control room asks zones for less every few minutes. Meters of three sites report what a household uses, charging
points of two sites what a car takes, and a gateway hears some zones confirm a request within minutes.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

START = datetime(2025, 1, 15, 17, 0, tzinfo=UTC)
N_ZONES = 12
PER_HOUR = {"Request": 12.0, "Meter": 400.0, "Charging": 60.0}
"""Events of a type at each of its sources in an hour."""

SOURCES = {"Request": ("control",), "Meter": ("north", "east", "south"), "Charging": ("north", "south")}
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("site", pa.string()),
        ("number", pa.int64()),
        ("zone", pa.int64()),
        ("kw", pa.float64()),
    ]
)


def events(hours: float, seed: int = 1) -> list[dict[str, Any]]:
    """Events by time; those of one site are numbered in their order."""
    rng = random.Random(seed)
    made = sorted(_made(hours, rng), key=lambda event: (event["ts"], event["site"], event["kind"]))
    numbers: dict[str, int] = {}
    for event in made:
        number = numbers.get(event["site"], 0)
        numbers[event["site"]] = number + 1
        event["number"] = number
    return made


def _made(hours: float, rng: random.Random) -> Iterator[dict[str, Any]]:
    for kind, sites in SOURCES.items():
        for site in sites:
            second = rng.expovariate(PER_HOUR[kind] / 3600)
            while second < hours * 3600:
                zone = rng.randrange(N_ZONES)
                yield _event(second, kind, site, zone, round(_kw(kind, rng), 3))
                if kind == "Request" and rng.random() < 0.5:
                    yield _event(second + rng.uniform(5, 300), "Confirm", "gateway", zone, 0.0)
                second += rng.expovariate(PER_HOUR[kind] / 3600)


def _kw(kind: str, rng: random.Random) -> float:
    match kind:
        case "Request":
            return rng.uniform(2.0, 3.0)
        case "Charging":
            return rng.choice((3.7, 7.4, 11.0)) * rng.uniform(0.9, 1.0)
        case _:
            return rng.lognormvariate(0.0, 0.8)


def _event(second: float, kind: str, site: str, zone: int, kw: float) -> dict[str, Any]:
    ts = START + timedelta(microseconds=round(second * 1e6))
    return {"ts": ts, "kind": kind, "site": site, "zone": zone, "kw": kw}


def table(hours: float, seed: int = 1) -> pa.Table:
    """The same as a pyarrow Table with the columns of `SCHEMA`."""
    return pa.Table.from_pylist(events(hours, seed), SCHEMA)


def main() -> None:
    """Write a file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a file, .parquet or .jsonl")
    given = parser.parse_args()
    from cepheid.connectors.writing import write_table

    made = table(given.hours, given.seed)
    write_table(made, given.out)
    print(f"{made.num_rows:,} events in {given.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
