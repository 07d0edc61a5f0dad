"""INEv's evaluation: ``python -m benchmarks.figures.inev [--quick] [--runs N] [--out FOLDER]``.

Prints the paper's claims beside what comes out here, draws figures like 4 to 10 and 12a, and exits with 1 where a claim
does not hold. Without ``--quick`` the case studies of Table 3 are among them, where their data is there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.figures.inev import case_studies, draw
from benchmarks.figures.inev import experiments as inev

SKEWS = (1.1, 1.3, 1.5, 2.0)
SCALES = (0.1, 0.01)
RING = "20 sites in a ring, unbounded Zipf"


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what came out.

    Attributes:
        figure: of the paper.
        paper: its claim.
        ours: what was measured.
        holds: whether it does; None for a number that is shown and not asserted, as the text beside it says why.
    """

    figure: str
    paper: str
    ours: str
    holds: bool | None


class Evaluation:
    """The runs, one figure after the other.

    Attributes:
        claims: found so far.
    """

    def __init__(self, n_runs: int, out: Path, tell: Callable[[str], None], *, quick: bool) -> None:
        self.seeds = range(n_runs)
        # Plans for many queries take seconds each.
        self.few = range(2 if quick else max(2, n_runs // 5))
        self.skews = (1.1, 2.0) if quick else SKEWS
        self.out, self.tell, self.quick = out, tell, quick
        self.claims: list[Claim] = []

    def claim(self, figure: str, paper: str, ours: str, holds: bool | None) -> None:
        """Note a claim."""
        self.claims.append(Claim(figure, paper, ours, holds))

    def caption(self, what: str, n_runs: int | None = None) -> str:
        """The caption of a figure."""
        return f"{what}; {RING}, {len(self.seeds) if n_runs is None else n_runs} runs"

    def figure4(self) -> None:
        """Push-pull operator placement."""
        for part, at_most_one in (("b", False),) if self.quick else (("a", True), ("b", False)):
            ours, theirs = inev.against_push_pull(self.skews, self.seeds, at_most_one=at_most_one)
            often = "at most one event a window" if at_most_one else "rates as drawn"
            draw.lines(
                [ours, theirs],
                self.out / f"figure4{part}.png",
                title=self.caption(f"4{part}: one query of 6 types, {often}"),
                x="event skew",
            )
            if not at_most_one:
                gap = theirs.at(1.1) / max(ours.at(1.1), 1e-300)
                self.claim(
                    "4b",
                    "with several events of a type in a window, push-pull saves next to nothing, INEv much",
                    f"skew 1.1: push-pull {theirs.at(1.1):.3g}, INEv {ours.at(1.1):.3g}",
                    theirs.at(1.1) > 0.9 and gap > 100,
                )
            else:
                self.claim(
                    "4a",
                    "with at most one, both are similar",
                    f"skew 2: push-pull {theirs.at(2.0):.3g}, INEv {ours.at(2.0):.3g}",
                    None,
                )
        self.tell("figure 4")

    def figure5(self) -> None:
        """Lower bound, and time."""
        found = [line for scale in SCALES for line in inev.closeness(self.skews, scale, self.seeds)]
        draw.lines(found, self.out / "figure5a.png", title=self.caption("5a: one query of 6 types"), x="event skew")
        sizes = (4, 5, 6, 7) if self.quick else (4, 5, 6, 7, 8)
        times = inev.times(sizes, self.few)
        draw.scatter(
            times,
            self.out / "figure5b.png",
            title=self.caption("5b: one query of 4 to 8 types", len(self.few)),
            x="suitable projections",
            y="seconds of CPU time",
        )
        most, seconds = max(times)
        self.claim("5b", "230 projections in at most 20 s", f"{most} projections in {seconds:.2g} s", seconds <= 20.0)
        self.tell("figure 5")

    def figure6(self) -> None:
        """Sensitivity."""
        by_scale = {scale: inev.ratios(self.skews, inev.with_skew, scale, self.seeds) for scale in SCALES}
        draw.lines(
            list(by_scale.values()),
            self.out / "figure6a.png",
            title=self.caption("6a: one query of 7 types"),
            x="event skew (exponent of the Zipf distribution of rates)",
        )
        for scale, line in by_scale.items():
            medians = line.medians()
            self.claim(
                "6a",
                "skew decides, up to eight orders of magnitude",
                f"medians at skew {', '.join(map(str, self.skews))}, selectivities up to {scale}: "
                + ", ".join(f"{value:.2g}" for value in medians),
                medians[0] < medians[-1] and max(max(v) for v in line.points.values()) <= 1.0,
            )
        self.claim(
            "6a",
            "heavy tails save eight orders",
            f"least ratio of a run: {min(min(v) for v in by_scale[0.01].points.values()):.2g}, "
            f"median at skew 1.1: {by_scale[0.01].at(1.1):.2g}",
            by_scale[0.01].at(1.1) <= 1e-6,
        )
        least = inev.least_ratios(2.0, 0.01, self.seeds)
        self.claim(
            "6a",
            "a median of at most 10^-6 at skew 2",
            f"{by_scale[0.01].at(2.0):.2g}: most rates are 1 there (Zipf with exponent 2), and the lower bound of "
            f"section 7.2 has the median {np.median(least):.2g}",
            None,
        )
        if self.quick:
            self.tell("figure 6a")
            return
        axes = (
            ("b", (5, 10, 20, 30, 50), inev.with_size, "sites"),
            ("c", (0.1, 0.3, 0.5, 0.7, 1.0), inev.with_node_ratio, "event node ratio"),
            ("d", (2, 3, 4, 6, 8), inev.with_out_degree, "average degree"),
        )
        for part, values, settings, name in axes:
            found = [inev.ratios(values, settings, scale, self.seeds) for scale in SCALES]
            where = "random links" if part == "d" else "ring"
            draw.lines(
                found,
                self.out / f"figure6{part}.png",
                title=f"6{part}: one query of 7 types, skew 1.3, {where}, unbounded Zipf, {len(self.seeds)} runs",
                x=name,
            )
            self.tell(f"figure 6{part}")

    def figure7(self) -> None:
        """Loops and negation."""
        loops, nots = inev.kleene(self.seeds), inev.negation(self.seeds)
        draw.bars(loops, self.out / "figure7a.png", title=self.caption("7a: Kleene closure over a type, or none"))
        draw.bars(nots, self.out / "figure7b.png", title=self.caption("7b: a negated type, or none"))
        medians = {name: float(np.median(values)) for name, values in loops.items()}
        self.claim(
            "7a",
            "Kleene closure has no impact on costs",
            ", ".join(f"{name} {value:.3g}" for name, value in medians.items()),
            None,
        )
        medians = {name: float(np.median(values)) for name, values in nots.items()}
        self.claim(
            "7b",
            "negation restricts projections, and may cost more",
            ", ".join(f"{name} {value:.3g}" for name, value in medians.items()),
            None,
        )
        self.tell("figure 7")

    def figure8(self) -> None:
        """Many queries."""
        counts = (6, 15) if self.quick else (6, 10, 15, 25)
        found = []
        for n_queries in (5,) if self.quick else (5, 10, 20):
            found.append(inev.by_types(counts, n_queries, self.few))
            self.tell(f"figure 8a, {n_queries} queries")
        draw.lines(
            found,
            self.out / "figure8a.png",
            title=self.caption("8a: mixed workloads, selectivities up to 0.01", len(self.few)),
            x="event types",
        )
        five = found[0]
        self.claim(
            "8a",
            "more types, fewer conflicts: better ratios",
            f"5 queries: {five.at(counts[0]):.3g} with {counts[0]} types, {five.at(counts[-1]):.3g} with {counts[-1]}",
            max(max(v) for line in found for v in line.points.values()) <= 1.0,
        )

    def figure9(self) -> None:
        """Rates that change."""
        n_queries = 5 if self.quick else 15
        for part, scale in (("b", 0.1), ("d", 0.001)):
            if self.quick and part == "d":
                continue
            broken, mended = inev.swaps((0.0, 0.25, 0.5, 0.75, 1.0), scale, self.few, n_queries=n_queries)
            draw.lines(
                [broken, mended],
                self.out / f"figure9{part}.png",
                title=self.caption(f"9{part}: {n_queries} queries, 20 types, rates swapped", len(self.few)),
                x="part of the rates that are swapped",
            )
            worse = any(
                one > other
                for value in broken.points
                for one, other in zip(mended.points[value], broken.points[value], strict=True)
            )
            self.claim(
                f"9{part}",
                "repair largely mitigates what changes cost",
                f"all rates swapped: broken {broken.at(1.0):.3g}, repaired {mended.at(1.0):.3g}",
                not worse,
            )
        line = inev.variances((0.1, 0.3, 0.5), self.few, n_queries=n_queries)
        draw.lines(
            [line],
            self.out / "figure9e.png",
            title=self.caption(f"9e: {n_queries} queries, 20 types, rates vary", len(self.few)),
            x="variance of the rates",
            y="ratio over the ratio as planned",
            logarithmic=False,
        )
        self.claim(
            "9e",
            "at most 2.5 times the ratio",
            f"median {max(line.medians()):.3g}, most of a run {max(max(v) for v in line.points.values()):.3g}",
            max(line.medians()) <= 2.5,
        )
        self.tell("figure 9")

    def figure10(self) -> None:
        """Sharing, and the order of queries."""
        found = {5: inev.sharing(5, self.few)}
        if not self.quick:
            found |= {10: inev.sharing(10, self.few), 20: inev.sharing(20, self.few)}
        draw.bars(
            {str(n): values for n, values in found.items()},
            self.out / "figure10a.png",
            title=self.caption("10a: queries over 10 types, selectivities up to 0.01", len(self.few)),
            y="cost over that of a plan for each query alone",
        )
        for n, values in found.items():
            wanted = {5: 0.3, 20: 0.8}.get(n)
            gain = 1.0 - float(np.mean(values))
            if wanted is not None:
                self.claim("10a", f"sharing saves {wanted:.0%} ({n} queries)", f"{gain:.0%}", gain >= wanted)
        if not self.quick:
            deviations = inev.orders(10, 5, self.few)
            draw.bars(
                {"10": deviations},
                self.out / "figure10b.png",
                title=self.caption("10b: 10 queries over 15 types in 5 orders", len(self.few)),
                y="standard deviation of the ratio",
            )
            middle = float(np.median(deviations))
            self.claim(
                "10b",
                "the order of queries changes the ratio by a standard deviation below 0.001",
                f"median {middle:.2g}, most of a workload {max(deviations):.2g}",
                middle < 0.001,
            )
        self.tell("figure 10")

    def figure12(self) -> None:
        """Latency."""
        found = [inev.latencies(self.skews, xi, self.few) for xi in (0.01, 1.0)]
        draw.lines(
            found,
            self.out / "figure12a.png",
            title=self.caption("12a: 5 queries over 7 types", len(self.few)),
            x="event skew",
            y="latency over the centralized one, median",
        )
        most = max(max(v) for line in found for v in line.points.values())
        self.claim(
            "12a", "no plan takes longer than the centralized one", f"at most {most:.3g} of it", most <= 1 + 1e-9
        )
        self.tell("figure 12a")

    def table3(self) -> None:
        """Case studies."""
        for paper, ours, holds in case_studies.claimed(self.out, quick=self.quick):
            self.claim("T3", paper, ours, holds)
        self.tell("table 3")


def main() -> int:
    """Measure, print, draw; 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.inev", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="6 runs in place of 50, and the small figures only")
    parser.add_argument("--runs", type=int, default=None, metavar="N", help="so many runs")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="FOLDER", help="where the figures go")
    given = parser.parse_args()
    begun = time.monotonic()

    def tell(what: str) -> None:
        print(f"  {time.monotonic() - begun:6.1f} s  {what}", file=sys.stderr, flush=True)

    evaluation = Evaluation(given.runs or (6 if given.quick else 50), given.out, tell, quick=given.quick)
    for figure in (
        evaluation.figure4,
        evaluation.figure5,
        evaluation.figure6,
        evaluation.figure7,
        evaluation.figure8,
        evaluation.figure9,
        evaluation.figure10,
        evaluation.figure12,
        *(() if given.quick else (evaluation.table3,)),
    ):
        figure()
    for claim in evaluation.claims:
        state = {True: "holds", False: "FAILED", None: "shown"}[claim.holds]
        print(f"{state:<7} {claim.figure:<4} {claim.paper}: {claim.ours}")
    return 1 if any(claim.holds is False for claim in evaluation.claims) else 0


if __name__ == "__main__":
    sys.exit(main())
