"""INEv's evaluation: ``python -m benchmarks.figures.inev [--quick] [--runs N] [--only FIGURE ...] [--out FOLDER]``.

Prints the paper's claims beside what comes out here, draws figures like 4 to 12, and exits with 1 where a claim
does not hold. Without ``--quick`` the case studies of Table 3 are among them, where their data is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.figures.inev.many import Evaluation

FIGURES = (4, 5, 6, 7, 8, 9, 10, 11, 12)


def main() -> int:
    """Measure, print, draw; 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.inev", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="6 runs in place of 50, and the small figures only")
    parser.add_argument("--runs", type=int, default=None, metavar="N", help="so many runs")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="FOLDER", help="where the figures go")
    parser.add_argument("--only", type=int, nargs="+", choices=FIGURES, default=FIGURES, metavar="FIGURE", help="these")
    given = parser.parse_args()
    begun = time.monotonic()

    def tell(what: str) -> None:
        print(f"  {time.monotonic() - begun:6.1f} s  {what}", file=sys.stderr, flush=True)

    evaluation = Evaluation(given.runs or (6 if given.quick else 50), given.out, tell, quick=given.quick)
    told = 0
    figures = [getattr(evaluation, f"figure{figure}") for figure in given.only]
    if not given.quick and set(given.only) == set(FIGURES):
        figures.append(evaluation.table3)
    for figure in figures:
        figure()
        # A whole run takes an hour: what a figure shows is told when it is there.
        for claim in evaluation.claims[told:]:
            print(f"{claim.state:<7} {claim.figure:<4} {claim.paper}: {claim.ours}", flush=True)
        told = len(evaluation.claims)
    return 1 if any(claim.state == "FAILED" for claim in evaluation.claims) else 0


if __name__ == "__main__":
    sys.exit(main())
