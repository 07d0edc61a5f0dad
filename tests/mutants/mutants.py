"""The engine with one fault at a time: mutants, and whether the random pairs find them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "cepheid"
MOST_PAIRS = 12_000
LONGEST_S = 120.0


@dataclass(frozen=True)
class Mutant:
    """A fault: in ``file`` of the package, ``old``, which stands there once, becomes ``new``.

    Attributes:
        why: what is wrong then.
        features: what the queries that can show it have.
        tests: those that find it, from tests/properties, where random pairs of a query and a table go seldom or never.
    """

    file: str
    old: str
    new: str
    why: str
    features: Sequence[str] = ()
    tests: Sequence[str] = ()

    @property
    def name(self) -> str:
        return f"{self.file}: {self.why}"

    def source(self) -> str:
        """The text of the file with the fault."""
        text = (SOURCE / self.file).read_text(encoding="utf-8") if (SOURCE / self.file).is_file() else ""
        n_found = text.count(self.old)
        assert n_found == 1, (
            f"the mutant '{self.why}' is out of date: {self.file} has its old text {n_found} times, not once; "
            f"mend tests/mutants/mutants.toml: {self.old!r}"
        )
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """Those of mutants.toml."""
    with (HERE / "mutants.toml").open("rb") as file:
        return [
            Mutant(**{name: value if isinstance(value, str) else tuple(value) for name, value in entry.items()})
            for entry in tomllib.load(file)["mutant"]
        ]


@dataclass(frozen=True)
class Fate:
    """What became of a mutant; ``None`` for the engine as it is.

    Attributes:
        killed: a pair differed, or its engine failed or ran for ever.
        said: pairs that it took, or that tests were run.
    """

    mutant: Mutant | None
    killed: bool
    said: str
    seconds: float


def fate(mutant: Mutant | None, n_pairs: int = MOST_PAIRS, seed: int = 1) -> Fate:
    """Run random pairs, or tests, on a copy of the package with the fault, on kernels in plain Python."""
    start_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "cepheid"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (copy / mutant.file).write_text(mutant.source(), encoding="utf-8")
        command = [sys.executable, str(HERE / "hunt.py"), folder, str(seed), str(n_pairs), str(LONGEST_S)]
        command += [] if mutant is None else mutant.features
        if mutant is not None and mutant.tests:
            chosen = [f"tests/properties/{test}" for test in mutant.tests]
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *chosen]
            command += ["--override-ini", "pythonpath=."]  # not src: cepheid is the copy, which is on PYTHONPATH
        environment = {**os.environ, "PYTHONPATH": folder, "CEPHEID_JIT": "0"}
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start_s
    if ran.returncode not in (0, 1) or not ran.stdout.strip():
        raise RuntimeError(f"{mutant.name if mutant else 'the engine'} does not even load:\n{ran.stderr}")
    said = "tests" if mutant is not None and mutant.tests else f"{ran.stdout.split()[-1]} pairs"
    return Fate(mutant, ran.returncode == 1, said, seconds)


def fates(of: Sequence[Mutant]) -> list[Fate]:
    """What became of each, two at a time."""
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(fate, of))


def report(found: Sequence[Fate]) -> str:
    """One line for each mutant."""
    lines = [
        f"{'killed' if one.killed else 'SURVIVED':<9} {one.said:>12} {one.seconds:6.1f} s  "
        f"{one.mutant.name if one.mutant else 'no fault'}"
        for one in found
    ]
    return "\n".join([*lines, f"{sum(one.killed for one in found)} of {len(found)} mutants killed"])
