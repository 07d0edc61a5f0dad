"""How the cost of an event grows: ``python -m benchmarks.figures.scaling [--quick] [--out FOLDER]``.

Prints a table, draws ``scaling.png``, and exits with 1 where the cost of a workload grows more than its work.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.engine.one_core import limit_arrow, pin


def main() -> int:
    """Measure, print, draw; 1 where something grows too fast."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.scaling", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="once and tenfold only")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="FOLDER", help="where the figure goes")
    given = parser.parse_args()
    pin()
    limit_arrow()
    from benchmarks.figures.scaling.cases import AXES, CASES
    from benchmarks.figures.scaling.draw import draw
    from benchmarks.figures.scaling.measure import faults, point

    print(f"{'workload':<10}{'grows':<8}{'by':>5}{'us an event':>13}{'work of it':>12}{'matches':>12}", flush=True)
    points = []
    for workload, case in CASES.items():
        for axis, settings in AXES.items():
            for exponent, setting in enumerate(settings[: 2 if given.quick else 3]):
                one = point(workload, case, axis, 10**exponent, setting)
                points.append(one)
                print(
                    f"{workload:<10}{axis:<8}{f'x{one.factor}':>5}{one.cost_us:>13.3f}{one.work:>12.2f}"
                    f"{one.n_matches:>12,}",
                    flush=True,
                )
    given.out.mkdir(parents=True, exist_ok=True)
    draw(points, given.out / "scaling.png")
    wrong = faults(points)
    for fault in wrong:
        print(f"FAILED {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
