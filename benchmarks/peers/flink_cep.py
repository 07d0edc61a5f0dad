"""Flink CEP: `FlinkCep.java` on the jars of Maven Central, compiled by the JDK when its text changes.

Its own choices are those that were fastest: objects are reused, one processor has one collector (the serial one), state
lies on the heap. The program says how each workload is written.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.environments import complete, jdk, kept, maven, run
from benchmarks.peers.measured import Measured, Unavailable

VERSION = "2.3.0"
_ARTIFACTS = ("flink-cep", "flink-streaming-java", "flink-clients", "flink-connector-datagen")
_PROGRAM = Path(__file__).with_name("FlinkCep.java")
# Kryo and Flink's cleaner of closures look into classes of Java itself.
_OPENED = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util", "time")]
_JVM = ("-XX:+UseSerialGC", "-Xmx4g", *_OPENED)

_DEPENDENCY = (
    "<dependency><groupId>org.apache.flink</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmarks</groupId><artifactId>flink-peer</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""


@dataclass
class FlinkPeer:
    """See `benchmarks.peers.measured.Peer`.

    Attributes:
        keyed: whether the stream is partitioned by key.
        n_times, n_times_quick: how often a workload runs in one JVM; the best run counts, which is never an early one.
    """

    name: str
    scope: str
    n_events: Mapping[str, int]
    keyed: bool
    n_times: int
    n_times_quick: int
    version: str = VERSION
    _command: list[str] = field(default_factory=list, init=False)

    def make(self, build: Path) -> None:
        """Fetch the jars and compile the program."""
        home = jdk()
        pom = _POM.format("".join(_DEPENDENCY.format(name, VERSION) for name in _ARTIFACTS))
        folder, is_complete = kept(build, "flink_cep", [pom])
        jars = folder / "jars"
        if not is_complete:
            print(f"Flink CEP: jars in {jars}", file=sys.stderr, flush=True)
            (folder / "pom.xml").write_text(pom, encoding="utf-8")
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
            fetch = [maven(), "--quiet", "--batch-mode", "--file", folder / "pom.xml", *goal]
            run("Flink CEP", fetch, "Maven has to reach a repository that has Flink, or hold it already")
            complete(folder)
        text = _PROGRAM.read_bytes()
        version = run("Java", [home / "bin" / "javac", "-version"])
        classes = folder / f"classes-{hashlib.sha256(version.encode() + text).hexdigest()[:12]}"
        if not (classes / "FlinkCep.class").exists():
            run("Flink CEP", [home / "bin" / "javac", "-cp", f"{jars}/*", "-d", classes, _PROGRAM])
        self._command = [str(home / "bin" / "java"), *_JVM, "-cp", f"{classes}:{jars}/*", "FlinkCep"]

    def measure(self, workload: str, events: Path, *, quick: bool) -> Measured:
        """Run a workload in a JVM of its own."""
        n_times = self.n_times_quick if quick else self.n_times
        command = [
            *self._command,
            events.with_suffix(".csv"),
            workload,
            "keyed" if self.keyed else "unkeyed",
            str(n_times),
        ]
        runs = [Measured(**json.loads(line)) for line in run(self.name, command).splitlines()]
        counts = {(one.n_matches, one.sum_of_ids) for one in runs}
        if len(counts) != 1:
            raise Unavailable(f"{self.name} finds other matches of {workload} each time: {counts}")
        (n_matches, sum_of_ids) = counts.pop()
        return Measured(n_matches, sum_of_ids, min(one.wall_s for one in runs), min(one.cpu_s for one in runs))


_SCOPE = (
    "from event objects in memory through a local job of one task (serialised between source and pattern, reordered by "
    "watermark) to every match handed to a function that counts it; best run of a warm JVM, cluster start left out"
)
PEER = FlinkPeer(
    "Flink CEP",
    scope=_SCOPE + "; W3 is partitioned by hand, of W4's matches the longest ones are picked by hand",
    n_events={**dict.fromkeys(("W0", "W1", "W2", "W3", "W4", "W5"), 100_000), "W2d": 20_000},
    keyed=True,
    n_times=6,
    n_times_quick=3,
)
UNKEYED = FlinkPeer(
    "Flink CEP, no key",
    scope="the same with W3 as written, key equality among the conditions; so slow that its stream is one and a half "
    "windows long, which flatters it",
    n_events={"W3": 3_000},
    keyed=False,
    n_times=2,
    n_times_quick=1,
)
