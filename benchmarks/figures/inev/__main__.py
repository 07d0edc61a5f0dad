"""Figure 6a of INEv: ``python -m benchmarks.figures.inev [--quick] [--out FOLDER]``.

The transmission ratio of one query over seven types on 20 sites, by the skew of the rates: the smaller the exponent of
the Zipf distribution, the heavier its tail and the more a split saves. Prints medians beside the lower bound of section
7.2, draws ``figure6a.png``, and exits with 1 where a claim does not hold.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from cepheid.network.cost import lower_bound
from cepheid.network.generate import NetworkSettings, draw_network, draw_queries, draw_selectivities, type_names
from cepheid.network.planner import plan_workload
from cepheid.network.queries import Workload

SKEWS = (1.1, 1.3, 1.5, 2.0)
SCALES = (0.1, 0.01)
N_TYPES = 7


def ratios(skew: float, scale: float, n_runs: int) -> tuple[list[float], list[float]]:
    """(transmission ratio, lower bound over the centralized cost) of each drawn network."""
    found, least = [], []
    kinds = type_names(N_TYPES)
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        network = draw_network(NetworkSettings(n_types=N_TYPES, skew=skew), rng)
        queries = draw_queries(1, kinds, rng, n_types=(N_TYPES, N_TYPES))
        workload = Workload(network, queries, draw_selectivities(kinds, rng, scale))
        plan = plan_workload(workload)
        found.append(plan.ratio)
        least.append(lower_bound(workload, queries[0]) / plan.centralized.cost)
    return found, least


def main() -> int:
    """Measure, print, draw; 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.inev", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10 runs a point in place of 50")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="FOLDER", help="where the figure goes")
    given = parser.parse_args()
    n_runs = 10 if given.quick else 50
    print(f"{'skew':>6}{'selectivity':>13}{'median ratio':>15}{'bound, median':>15}   ({n_runs} runs)", flush=True)
    medians: dict[tuple[float, float], float] = {}
    wrong = []
    for scale in SCALES:
        for skew in SKEWS:
            found, least = ratios(skew, scale, n_runs)
            medians[skew, scale] = float(np.median(found))
            print(f"{skew:>6}{scale:>13}{medians[skew, scale]:>15.3g}{np.median(least):>15.3g}", flush=True)
            if max(found) > 1:
                wrong.append(f"skew {skew}, selectivity {scale}: a plan costs more than one site")
    for scale in SCALES:
        if not medians[1.1, scale] < medians[2.0, scale]:
            wrong.append(f"selectivity {scale}: a heavier tail of rates does not save more")
    if medians[1.1, 0.01] > 1e-6:
        wrong.append("the median at skew 1.1 and selectivity 0.01 is over 10^-6")
    draw(medians, n_runs, given.out)
    for fault in wrong:
        print(f"FAILED {fault}")
    return 1 if wrong else 0


def draw(medians: dict[tuple[float, float], float], n_runs: int, out: Path) -> None:
    """One line for each range of selectivities."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for scale in SCALES:
        axes.plot(SKEWS, [medians[skew, scale] for skew in SKEWS], marker="o", label=f"selectivities up to {scale}")
    axes.set_yscale("log")
    axes.set_xlabel("exponent of the Zipf distribution of rates (event skew)")
    axes.set_ylabel("transmission ratio, median")
    axes.set_title(f"One query of 7 types, 20 sites in a ring, unbounded Zipf, {n_runs} runs", fontsize=10)
    axes.legend()
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "figure6a.png", dpi=120, bbox_inches="tight")
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
