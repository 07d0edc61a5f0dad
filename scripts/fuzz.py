"""Random queries and streams on the engine, held against the oracle, until the minutes are over or one differs.

Most pairs run the kernels as plain Python, which needs no compiler; a part runs them compiled. A counterexample is made
small and becomes a test in tests/properties/found.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILED_SHARE = 0.25
"""Of the time, where neither --jit nor --no-jit is given."""


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="stop after so long")
    parser.add_argument("--pairs", type=int, help="stop after so many pairs, in each process")
    parser.add_argument("--queries", type=int, help="stop after so many queries, in each process")
    parser.add_argument("--streams", type=int, default=10, help="streams for each query")
    parser.add_argument("--seed", type=int, help="the first process; the others count on from it")
    parser.add_argument("--jit", action=argparse.BooleanOptionalAction, help="only compiled kernels, or none of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--found", type=Path, default=ROOT / "tests/properties/found", help="folder of new tests")
    parser.add_argument("--coverage", type=Path, help="write what was counted to this file, as JSON")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def work(asked: argparse.Namespace) -> int:
    """One process: search, and write to ``asked.worker`` what was counted."""
    from cepheid.testing.fuzz import Search
    from cepheid.testing.reports import as_test, coverage_data
    from cepheid.testing.shrinking import shrunk

    search, start_s = Search(asked.seed, asked.streams), time.monotonic()
    counted, code = search.coverage, 0
    while time.monotonic() - start_s < asked.minutes * 60:
        if asked.pairs is not None and counted.n_pairs >= asked.pairs:
            break
        if asked.queries is not None and counted.n_queries >= asked.queries:
            break
        found = search.step()
        if found is not None:
            name, text = as_test(shrunk(found), f"seed {asked.seed}, {'compiled' if asked.jit else 'plain Python'}")
            asked.found.mkdir(parents=True, exist_ok=True)
            (asked.found / name).write_text(text, encoding="utf-8")
            print(f"\n{text}\nThe engine and the oracle differ: {asked.found / name}\n", flush=True)
            code = 1
            break
    seconds = time.monotonic() - start_s
    asked.worker.write_text(json.dumps({"seconds": seconds, "coverage": coverage_data(counted)}), encoding="utf-8")
    return code


def run(asked: argparse.Namespace, seed: int, jit: bool, minutes: float) -> tuple[int, list[dict]]:
    """``asked.jobs`` processes; their worst exit code, and what they counted."""
    environment = {**os.environ, "CEPHEID_JIT": "wait" if jit else "0"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for job in range(asked.jobs):
            report = Path(folder) / str(job)
            command = [sys.executable, __file__, "--worker", str(report), "--seed", str(seed + job)]
            command += ["--minutes", str(minutes), "--streams", str(asked.streams), "--found", str(asked.found)]
            command += ["--jit" if jit else "--no-jit"]
            for name in ("pairs", "queries"):
                if getattr(asked, name) is not None:
                    command += [f"--{name}", str(getattr(asked, name))]
            started.append((subprocess.Popen(command, env=environment), report))
        codes = [process.wait() for process, _ in started]
        return max(map(abs, codes)), [json.loads(report.read_text()) for _, report in started if report.exists()]


def main() -> int:
    """Exit with 1 where a pair differs; the seed that is printed repeats it."""
    asked = options()
    if asked.worker is not None:
        return work(asked)
    sys.path.insert(0, str(ROOT / "src"))
    from cepheid.testing.fuzz import Coverage
    from cepheid.testing.reports import coverage_from, coverage_table

    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    parts = [(False, asked.minutes * (1 - COMPILED_SHARE)), (True, asked.minutes * COMPILED_SHARE)]
    if asked.jit is not None:
        parts = [(asked.jit, asked.minutes)]
    total, code = Coverage(), 0
    for number, (jit, minutes) in enumerate(parts):
        first = seed + number * asked.jobs
        print(f"{'compiled' if jit else 'plain Python'}: --seed {first}", flush=True)
        worst, reports = run(asked, first, jit, minutes)
        code = max(code, worst)
        for report in reports:
            total.add(coverage_from(report["coverage"]))
        n_pairs = sum(report["coverage"]["n_pairs"] for report in reports)
        seconds = max((report["seconds"] for report in reports), default=0.0)
        print(f"{n_pairs} pairs in {seconds:.0f} s: {n_pairs / max(seconds, 1e-9):.0f} a second", flush=True)
        if code:
            break
    print(coverage_table(total))
    if asked.coverage is not None:
        from cepheid.testing.reports import coverage_data

        asked.coverage.write_text(json.dumps(coverage_data(total)), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
