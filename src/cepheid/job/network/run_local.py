"""All sites of a plan as processes of this machine, against a broker: started, fed, watched, counted, compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cepheid.connectors.kafka_topics import Topics, records_by_topic
from cepheid.connectors.locations import expand_variables
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.errors import DataError, SetupError
from cepheid.job.network.centralized import centralized_ids, events_in
from cepheid.job.network.deploy import load_deployed
from cepheid.job.network.load import NetworkJob
from cepheid.job.network.sites import all_topics, programs
from cepheid.network.cost import sent_rate
from cepheid.spark.sites.messages import events_as_json, read_message
from cepheid.spark.sites.program import SiteProgram
from cepheid.spark.sites.site import END

MOST_STARTS = 6
"""A site that fails is started again so often before that is taken for more than a passing fault."""


@dataclass(frozen=True)
class Carried:
    """What went over a link in one direction.

    Attributes:
        way: from a site to its neighbour.
        n_rows: different messages with events.
        n_again: of these, those that were written once more, after a failure.
        n_announced: announcements of how far an output has come.
        expected: messages that the plan expects over the same time.
    """

    way: tuple[str, str]
    n_rows: int
    n_again: int
    n_announced: int
    expected: float


@dataclass(frozen=True)
class LocalReport:
    """What the sites did.

    Attributes:
        matches: query -> ids of the matches that its sinks wrote.
        centralized: query -> those of one engine over all events; None where the events are not known.
        carried: what went over links.
        n_central: messages that all events at one site would have been; None where the events are not known.
        n_rejected: records that were no events or came too late.
    """

    matches: Mapping[str, frozenset[str]]
    centralized: Mapping[str, frozenset[str]] | None
    carried: tuple[Carried, ...]
    n_central: int | None
    n_rejected: int

    @property
    def n_messages(self) -> int:
        """On all links."""
        return sum(one.n_rows for one in self.carried)

    @property
    def is_equal(self) -> bool:
        """The sites found what one engine finds."""
        return self.centralized is None or dict(self.centralized) == dict(self.matches)


@dataclass
class SiteProcess:
    """A site's job as a process.

    Attributes:
        path: of its job file.
        log: where it writes what it says.
        n_starts: how often it was started.
    """

    path: Path
    log: Path
    n_starts: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def is_running(self) -> bool:
        """It is, as far as the system can tell."""
        return self._process is not None and self._process.poll() is None

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start it, or start it again: it goes on from its checkpoint."""
        self.n_starts += 1
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cepheid", "network", "site", str(self.path)],
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for who started it, who then stops it
            )

    def ask_to_end(self) -> None:
        """Let it finish its batch."""
        if self.is_running and self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it and all that it started, as a power cut would."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)

    def ended(self, timeout_s: float) -> bool:
        """Wait for its end; False where it does not come."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text("utf-8", "replace")[-2000:] if self.log.exists() else ""


class LocalNetwork:
    """The sites of a deployed plan on this machine.

    Attributes:
        job, graph: what was deployed.
        programs: site -> what it does.
        sites: site -> its process.
        topics: of the broker.
    """

    def __init__(self, folder: Path, servers: str | None = None) -> None:
        """Read a folder that `deploy` wrote, connect to the broker, and make the topics that there are not.

        Args:
            folder: of the jobs.
            servers: of the broker; those of the network file by default.

        Raises:
            CepheidError: the folder holds no jobs, or no broker answers.
        """
        self.job, self.graph = load_deployed(folder)
        self.programs: dict[str, SiteProgram] = programs(self.job, self.graph)
        self.topics = Topics(servers or expand_variables(self.job.model.deploy.servers))
        self.topics.create(all_topics(list(self.programs.values())))
        self.sites = {
            name: SiteProcess(folder / f"{name}.toml", folder / "logs" / f"{name}.log") for name in self.programs
        }
        self._ended: set[tuple[str, str]] = set()

    def start(self, say: Callable[[str], None], *, longest_s: float = 90.0) -> None:
        """Start all sites, one after the other: so many Java processes at once keep each other from starting.

        Args:
            say: takes a line for each site.
            longest_s: the next one is started after that at the latest.
        """
        for name, site in self.sites.items():
            site.start()
            until = time.monotonic() + longest_s
            while site.is_running and f"the site {name} reads" not in site.last_words() and time.monotonic() < until:
                time.sleep(0.2)
            say(f"the site {name} runs" if site.is_running else f"the site {name} has ended:\n{site.last_words()}")

    def feed(self, table: Any, *, end: bool = True) -> int:
        """Put events in the topics of their sites, each topic in the order of the table.

        Args:
            table: a pyarrow Table of events.
            end: say behind them that no more will come.

        Returns:
            How many.

        Raises:
            DataError: an event arises at a site that has no source.
        """
        return self.topics.write(self._records(table, end=end))

    def _records(self, table: Any, *, end: bool) -> Iterator[tuple[str, bytes]]:
        site, columns = self.job.model.events.site, self.job.columns
        names = list(dict.fromkeys([*columns.names, site]))
        chosen = table.select(names)
        places = chosen.column(site).to_pylist()
        own = events_as_source(chosen.select(columns.names).cast(columns), self.job)
        for place, value in zip(places, own, strict=True):
            program = self.programs.get(str(place))
            if program is None or program.topics.source is None:
                raise DataError(
                    f"an event arises at {place}, which is no source of any type of the queries",
                    remedy="leave such events out, or name the site as a source",
                )
            yield program.topics.source, value
        if end:
            yield from ((p.topics.source, END) for p in self.programs.values() if p.topics.source is not None)

    def revive(self, say: Callable[[str], None]) -> None:
        """Start sites again that have ended by themselves.

        Raises:
            SetupError: one did so too often.
        """
        for name, site in self.sites.items():
            if site.is_running or not site.n_starts:
                continue
            if site.n_starts >= MOST_STARTS:
                raise SetupError(
                    f"the site {name} has ended {site.n_starts} times; it said last:\n{site.last_words()}",
                    remedy=f"see {site.log}",
                )
            say(f"the site {name} has ended, and goes on from its checkpoint")
            site.start()

    def wait(self, say: Callable[[str], None], timeout_s: float | None = None) -> bool:
        """Wait until every sink has said that nothing more will come; False where ``timeout_s`` is over before.

        Raises:
            SetupError: a site ends again and again.
        """
        reader = self.topics.reader([next(iter(self.programs.values())).topics.progress])
        wanted = {
            (name, one.name)
            for name, program in self.programs.items()
            for stage in program.stages
            for one in stage.evaluations
            if one.name
        }
        until = None if timeout_s is None else time.monotonic() + timeout_s
        n_told = -1
        try:
            while True:
                for _, record in reader.more():
                    said = json.loads(record.value or b"{}")
                    if said.get("until") == AFTER_ALL_US:
                        self._ended.add((said["site"], said["query"]))
                n_done = len(self._ended & wanted)
                if n_done != n_told:
                    say(f"{n_done} of {len(wanted)} evaluations of queries at their sites are done")
                    n_told = n_done
                if n_done == len(wanted):
                    return True
                if until is not None and time.monotonic() > until:
                    return False
                self.revive(say)
                time.sleep(1.0)
        finally:
            reader.close()

    def stop(self, timeout_s: float = 60.0) -> None:
        """End all sites between two batches; those that do not in time at once, and what any of them left."""
        for site in self.sites.values():
            site.ask_to_end()
        until = time.monotonic() + timeout_s
        for site in self.sites.values():
            site.ended(max(0.1, until - time.monotonic()))
            site.kill()  # one that was asked while Spark started has ended and left its Java

    def report(self, table: Any | None = None) -> LocalReport:
        """What went over the links, and what was found.

        Args:
            table: the events that were fed, to compare with.
        """
        first = next(iter(self.programs.values())).topics
        ways = {topic: (name, to) for name, p in self.programs.items() for to, topic in p.topics.to_links.items()}
        found = records_by_topic(self.topics, [*ways, *first.matches.values(), first.rejected])
        matches = {
            query: frozenset((record.key or b"").decode() for record in found[topic])
            for query, topic in first.matches.items()
        }
        events = None if table is None else events_in(self.job, table)
        n_windows = 0.0
        if events is not None and len(events):
            n_windows = float(events.time_us[-1] - events.time_us[0]) / self.job.planned[0].window_us
        expected = self._expected()
        carried = []
        for topic, way in ways.items():
            values = [record.value or b"" for record in found[topic]]
            read = [(value, read_message(value)) for value in values]
            rows = [value for value, message in read if message.row is not None]
            carried.append(
                Carried(
                    way=way,
                    n_rows=len(set(rows)),
                    n_again=len(rows) - len(set(rows)),
                    n_announced=len(values) - len(rows),
                    expected=n_windows * expected.get(way, 0.0),
                )
            )
        return LocalReport(
            matches=matches,
            centralized=None if events is None else centralized_ids(self.job, events),
            carried=tuple(carried),
            n_central=None if table is None else self._n_central(table),
            n_rejected=len(found[first.rejected]),
        )

    def _expected(self) -> dict[tuple[str, str], float]:
        """Direction -> messages in one window, as the plan expects them."""
        found: dict[tuple[str, str], float] = {}
        for vertex in self.graph.vertices:
            for node, before in vertex.ways.items():
                way = (str(before), str(node))
                found[way] = found.get(way, 0.0) + sent_rate(self.graph, vertex)
        return found

    def _n_central(self, table: Any) -> int:
        """Messages on all links if every event of the workload's types went to the site where that costs least."""
        network, events = self.graph.workload.network, self.job.model.events
        counts: dict[str, int] = {}
        kinds = table.column(events.type).to_pylist()
        for kind, site in zip(kinds, table.column(events.site).to_pylist(), strict=True):
            if kind in self.graph.workload.types:
                counts[site] = counts.get(site, 0) + 1
        return min(sum(n * network.distance(site, node) for site, n in counts.items()) for node in network.nodes)


def events_as_source(table: Any, job: NetworkJob) -> Iterable[bytes]:
    """Events as they stand in topics of sources: JSON objects, times in ISO 8601.

    Args:
        table: a pyarrow Table with the columns of the network.
        job: the network.
    """
    import pyarrow as pa

    stamps = {field.name for field in table.schema if pa.types.is_timestamp(field.type)}
    texts = {name: [_iso(value) for value in table.column(name).to_pylist()] for name in stamps}
    for number, row in enumerate(events_as_json(table)):
        yield json.dumps({**row, **{name: texts[name][number] for name in stamps}}, ensure_ascii=False).encode()


def _iso(value: Any) -> str | None:
    return None if value is None else value.isoformat()
