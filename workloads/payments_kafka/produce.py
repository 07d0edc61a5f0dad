"""Card payments into a topic of Kafka, as they come in life: delayed, out of order, and some of them no payments.

python workloads/payments_kafka/produce.py --events 10000 --per-s 500
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

TOPIC = "payments"
LONGEST_DELAY_S = 20
PLACES = ("Lyon", "Oslo", "Paris", "Rome")
START = datetime(2024, 5, 1, tzinfo=UTC)


def payments(n_events: int, seed: int = 1, start: datetime = START, n_cards: int = 40) -> Iterator[dict[str, Any]]:
    """Events in the order in which they arrive: up to `LONGEST_DELAY_S` seconds after their time.

    Args:
        n_events: how many.
        seed: others for another seed.
        start: the time of the first.
        n_cards: cards that they are of.
    """
    draw = random.Random(seed)
    arriving = []
    moment = 0.0
    for number in range(n_events):
        moment += draw.expovariate(1.0)
        event = {
            "ts": (start + timedelta(seconds=moment)).isoformat(timespec="milliseconds"),
            "kind": "Denied" if draw.random() < 0.2 else "Payment",
            "card": f"c{draw.randrange(n_cards)}",
            "place": draw.choice(PLACES),
            "amount": round(draw.lognormvariate(3, 1), 2),
        }
        delay_s = draw.random() * LONGEST_DELAY_S if draw.random() < 0.2 else 0.0
        arriving.append((moment + delay_s, number, event))
    return (event for _, _, event in sorted(arriving, key=lambda item: item[:2]))


def main() -> None:
    """Produce what the command line says."""
    from confluent_kafka import Producer

    parser = argparse.ArgumentParser(description="Produce card payments.")
    parser.add_argument("--servers", default=os.environ.get("KAFKA_SERVERS", "127.0.0.1:9092"))
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--per-s", type=float, default=0, help="so many a second; default as fast as Kafka takes them")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    producer = Producer({"bootstrap.servers": arguments.servers})
    began = time.monotonic()
    # Their times are those of now, so that the latency that the job tells is one.
    for number, event in enumerate(payments(arguments.events, arguments.seed, datetime.now(UTC))):
        if arguments.per_s:
            time.sleep(max(0.0, began + number / arguments.per_s - time.monotonic()))
        value = b"{" if number % 1000 == 999 else json.dumps(event).encode()
        producer.produce(TOPIC, value, event["card"].encode())
        producer.poll(0)
    print(f"{arguments.events - producer.flush(60):,} events in {TOPIC}")


if __name__ == "__main__":
    main()
