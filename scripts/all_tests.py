#!/usr/bin/env python3
"""Runs all tests, the slow ones too, some of those on Spark again with the oldest PySpark, and the papers' claims.

They are cut into parts, which lie in one row: at its one end what runs in this process, at its other what runs on
Spark, whose Java would else be there twice. Two parts run at a time, one from each end, until the row is empty: both
processors work to the end, whichever end takes longer. What measures latencies runs last, alone.

While a part runs, the lines that tell how far it is are passed on; all else that it says follows when it ends, and is
kept in build/ci/PART.txt. The end tells how long each part took, and what failed: then the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "ci"
PYTHON = str(ROOT / ".venv" / "bin" / "python")
N_AT_A_TIME = 2
LONGEST_END_S = 20.0
TELL_S = 60.0
LANES = {0: "first end", 1: "other end", None: "alone"}

DURATIONS = ("--durations=12", "--durations-min=5")
PAIRS = "tests/properties/test_pairs.py"
SPARK = ("tests/spark", "tests/kafka")
ELSEWHERE = ("tests/mutants", "tests/properties", *SPARK, "tests/architecture")
"""What has a part of its own; architecture is tested by `make check`. All the other tests are one part."""


@dataclass(frozen=True)
class Part:
    """A command, and its name."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """What became of a part."""

    part: Part
    code: int
    lane: int | None
    from_s: float
    to_s: float


def run_of(name: str, *paths: str, without: Sequence[str] = (), named: str = "") -> Part:
    """A part that is a run of pytest, of tests so named, which tells what took the longest."""
    ignored = [word for path in without for word in ("--ignore", path)]
    return Part(name, (PYTHON, "-m", "pytest", *DURATIONS, "-k", named, *paths, *ignored))


def figure(paper: str) -> Part:
    """A part that is the quick run of a paper's figures."""
    out = OUT / "figures" / paper
    return Part(f"figures-{paper}", (PYTHON, "-m", f"benchmarks.figures.{paper}", "--quick", "--out", str(out)))


ROW = (
    run_of("everything-else", "tests", without=ELSEWHERE),
    run_of("properties", "tests/properties", without=[PAIRS]),
    run_of("pairs-in-python", PAIRS, named="plain_python"),
    figure("probslack"),  # from here on what is short, where the ends are to meet
    figure("inev"),
    run_of("pairs", PAIRS, named="not plain_python"),
    run_of("mutants", "tests/mutants"),
    Part("oldest-pyspark", (str(ROOT / "scripts" / "oldest-pyspark.sh"), "-m", "oldest", *DURATIONS, *SPARK)),
    run_of("kafka", "tests/kafka"),
    run_of("spark-streams", "tests/spark/streams"),
    run_of("spark", "tests/spark", without=["tests/spark/streams"]),
)
ALONE = (figure("apam"),)
"""What compares latencies with each other: anything beside it would be measured, too."""

FAR = re.compile(r"\[ *\d+%\]$|^collected ")
FAILED = re.compile(r"^(FAILED|ERROR|NOT SO)\b")


class Run:
    """Parts that run, two at a time.

    Attributes:
        done: those that have ended.
    """

    def __init__(self, row: Sequence[Part], n_all: int, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.done: list[Done] = []
        self._row, self._all, self._n_all = deque(row), threading.Lock(), n_all
        self._start_s = time.monotonic()
        self._running: dict[Part, subprocess.Popen[str]] = {}
        self._stopped = False

    def run(self) -> None:
        """Run what is in the row."""
        lanes = [threading.Thread(target=self._lane, args=(number,)) for number in range(N_AT_A_TIME)]
        for lane in lanes:
            lane.start()
        told_s = time.monotonic()
        while any(lane.is_alive() for lane in lanes):
            time.sleep(0.2)
            if time.monotonic() - told_s >= TELL_S:
                told_s = time.monotonic()
                with self._all:
                    names = " and ".join(part.name for part in self._running)
                self.say(f"== {minutes(told_s - self._start_s)}  {names} go on")

    def alone(self, part: Part) -> None:
        """Run one, with nothing beside it."""
        self._one(part, None)

    def stop(self) -> None:
        """End all that runs as Ctrl-C would, so that it ends what it started; what takes long is killed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
        self._stopped = True
        for how in (signal.SIGINT, signal.SIGKILL):
            with self._all:
                for process in self._running.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, how)
            until = time.monotonic() + LONGEST_END_S
            while self._running and time.monotonic() < until:
                time.sleep(0.1)

    def say(self, text: str) -> None:
        """Print lines that belong together."""
        with self._all:
            print(text, flush=True)

    def _lane(self, number: int) -> None:
        while True:
            with self._all:
                if not self._row or self._stopped:
                    return
                part = self._row.popleft() if number == 0 else self._row.pop()
            self._one(part, number)

    def _one(self, part: Part, lane: int | None) -> None:
        from_s, held = time.monotonic() - self._start_s, []
        with self._all:
            if self._stopped:
                return
            process = subprocess.Popen(
                part.command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running[part] = process
        self.say(f"== {minutes(from_s)}  {part.name} begins: tail -f build/ci/{part.name}.txt")
        with (OUT / f"{part.name}.txt").open("w", encoding="utf-8") as file:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                file.flush()
                if FAR.search(line.rstrip()):
                    self.say(f"{part.name}: {line.rstrip()}")
                else:
                    held.append(line.rstrip("\n"))
        code = process.wait()
        to_s = time.monotonic() - self._start_s
        with self._all:
            del self._running[part]
            self.done.append(Done(part, code, lane, from_s, to_s))
            n_done = len(self.done)
        became = "is green" if code == 0 else f"FAILED (exit code {code})"
        took = minutes(to_s - from_s)
        told = f"== {minutes(to_s)}  {part.name} {became} after {took}; {n_done} of {self._n_all} parts"
        self.say("\n".join([f"== what {part.name} said", *held, told]))


def minutes(seconds: float) -> str:
    """As minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 60:2d}:{whole % 60:02d}"


def summary(done: Sequence[Done]) -> str:
    """A table of what took how long, and after it what failed."""
    lines = ["", f"{'part':<18} {'from':>6} {'to':>6} {'took':>6}  where"]
    for one in sorted(done, key=lambda one: (list(LANES).index(one.lane), one.from_s)):
        lines.append(
            f"{one.part.name:<18} {minutes(one.from_s):>6} {minutes(one.to_s):>6} "
            f"{minutes(one.to_s - one.from_s):>6}  {LANES[one.lane]}" + ("" if one.code == 0 else "  FAILED")
        )
    for one in done:
        if one.code:
            said = (OUT / f"{one.part.name}.txt").read_text(encoding="utf-8").splitlines()
            found = [line for line in said if FAILED.match(line)] or said[-5:]
            lines += ["", f"FAILED: {one.part.name}, exit code {one.code}; all of it in build/ci/{one.part.name}.txt"]
            lines += [f"  {line}" for line in found]
    return "\n".join(lines)


def main() -> int:
    """Exit with 1 where a part failed."""
    names = [part.name for part in (*ROW, *ALONE)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(names)}")
    asked = list(dict.fromkeys(parser.parse_args().parts)) or names
    unknown = set(asked) - set(names)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    (OUT / "figures").mkdir(parents=True, exist_ok=True)

    java = subprocess.run(
        [PYTHON, str(ROOT / "scripts" / "spark_java.py")], stdout=subprocess.PIPE, text=True, check=True
    )
    # With CI set, what cannot be had (Kafka, Java) is a failure rather than skipped.
    environment = {"CI": "true", **os.environ, "PYTHONUNBUFFERED": "1", "SPARK_SUBMIT_OPTS": java.stdout.strip()}
    run = Run([part for part in ROW if part.name in asked], len(asked), environment)

    def ended(*_: object) -> None:
        run.stop()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, ended)
    try:
        run.run()
        for part in ALONE:
            if part.name in asked:
                run.alone(part)
    except KeyboardInterrupt:
        run.stop()
        return 130
    run.say(summary(run.done))
    green = {one.part.name for one in run.done if one.code == 0}
    failed = [name for name in asked if name not in green]  # what did not even run is none that is green
    run.say(f"\n{len(failed)} of {len(asked)} parts FAILED: {', '.join(failed)}" if failed else "\nall parts are green")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
