"""The evaluation of APAM: ``python -m benchmarks.figures.apam [--quick] [--out FOLDER]``.

Prints a table for each experiment and the paper's numbers beside ours, draws the figures, and exits with 1 where a
claim does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def main() -> int:
    """Measure, print, draw."""
    from benchmarks.engine.one_core import limit_arrow, pin

    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.apam")
    parser.add_argument("--quick", action="store_true", help="shorter streams and fewer rates: under two minutes")
    parser.add_argument("--out", type=Path, default=Path("figures/apam"), help="a folder for the figures")
    given = parser.parse_args()
    pin()
    limit_arrow()
    os.environ["CEPHEID_JIT"] = "wait"  # nothing is to run as plain Python until there is machine code
    from benchmarks.figures.apam.claims import faults, lines, summary
    from benchmarks.figures.apam.draw import draw, draw_rates
    from benchmarks.figures.apam.experiments import EXPERIMENTS
    from benchmarks.figures.apam.jump import faults_of_jump, jump, lines_of_jump
    from benchmarks.figures.apam.measure import measurements

    given.out.mkdir(parents=True, exist_ok=True)
    found = []
    for experiment in EXPERIMENTS:
        found.append(measurements(experiment, quick=given.quick))
        draw(found[-1], given.out / f"experiment{experiment.number}.png")
        print("\n".join(lines(found[-1])), flush=True)
    draw_rates(found, given.out / "rates.png")
    print("\n".join(summary(found)), flush=True)
    jumped = jump(quick=given.quick)
    print("\n".join(lines_of_jump(jumped)))
    wrong = [*faults(found), *faults_of_jump(jumped)]
    for fault in wrong:
        print(f"NOT SO: {fault}")
    print(f"figures in {given.out}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
