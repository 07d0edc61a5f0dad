"""Sites without Spark and Kafka: topics are lists, a site reads what it has not read yet, and may fail between."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.spark.sites.messages import read_message
from cepheid.spark.sites.program import SiteProgram
from cepheid.spark.sites.site import END, Record, Site


@dataclass
class Kept:
    """What a site goes on from: Spark's checkpoint."""

    snapshot: bytes | None = None
    read: dict[str, int] = field(default_factory=dict)


class InMemory:
    """A network of sites.

    Attributes:
        topics: name -> (key, value) of its records.
    """

    def __init__(self, programs: Mapping[str, SiteProgram], seed: int, *, fails: float = 0.0) -> None:
        self.topics: dict[str, list[tuple[str | None, bytes]]] = {}
        self._programs = programs
        self._rng = random.Random(seed)
        self._fails = fails
        self._kept = {name: Kept() for name in programs}
        self._sites: dict[str, Site] = {}

    def feed(self, events: Iterable[Mapping[str, Any]], *, end: bool = True) -> None:
        """Put events in the topics of their sites."""
        for event in events:
            said = {name: value.isoformat() if name == "ts" else value for name, value in event.items()}
            topic = self._programs[event["site"]].topics.source
            assert topic is not None
            self.put(topic, json.dumps(said).encode())
        for program in self._programs.values():
            if end and program.topics.source is not None:
                self.put(program.topics.source, END)

    def put(self, topic: str, value: bytes, key: str | None = None) -> None:
        """Write a record."""
        self.topics.setdefault(topic, []).append((key, value))

    def run(self, without: Sequence[str] = ()) -> None:
        """Let sites work, one after the other in no order, until there is nothing left to read.

        Args:
            without: sites that do not run.
        """
        names = [name for name in self._programs if name not in without]
        while waiting := [name for name in names if self._unread(name)]:
            self._batch(self._rng.choice(waiting))

    def _unread(self, name: str) -> bool:
        read = self._kept[name].read
        return any(len(self.topics.get(t, ())) > read.get(t, 0) for t in self._programs[name].topics.read)

    def _batch(self, name: str) -> None:
        kept, program = self._kept[name], self._programs[name]
        records, read = [], dict(kept.read)
        for topic in program.topics.read:
            start, there = read.get(topic, 0), self.topics.get(topic, [])
            stop = self._rng.randint(start, len(there))
            records += [Record(topic, value, offset=start + i) for i, (_, value) in enumerate(there[start:stop])]
            read[topic] = stop
        if not records:
            return
        site = self._sites.get(name) or Site(program, kept.snapshot)
        written = site.process(records)
        failed = self._rng.random() < self._fails
        # One that fails has written some of it.
        for record in written[: self._rng.randint(0, len(written))] if failed else written:
            assert record.value is not None
            self.put(record.topic, record.value, record.key)
        if failed:
            self._sites.pop(name, None)
            return
        self._sites[name] = site
        self._kept[name] = Kept(site.snapshot(), read)

    def matches(self, topic: str) -> dict[str, Any]:
        """One match for each key; equal keys have equal matches."""
        found: dict[str, Any] = {}
        for key, value in self.topics.get(topic, ()):
            assert key is not None
            assert found.setdefault(key, value) == value
        return found

    def n_rows(self, topic: str) -> int:
        """Messages with rows on a link, those that came twice once."""
        values = {value for _, value in self.topics.get(topic, ())}
        return sum(read_message(value).row is not None for value in values)
