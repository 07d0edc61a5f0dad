"""ProbSlack's evaluation: ``python -m benchmarks.figures.probslack [--quick] [--seeds N] [--out FOLDER] [--spark]``.

Prints the paper's averages beside ours, draws figures like 6 to 13, and exits with 1 where a claim does not hold. The
quick run leaves out 12 and 13, which go through Spark.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.figures.cores import Tell
from benchmarks.figures.probslack import claims, compared, draw, experiments, on_spark, umts
from benchmarks.figures.probslack.runs import OURS, PAPER
from cepheid.errors import SetupError
from cepheid.spark.session import check_java


def main() -> int:
    """Run, print, draw; 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures.probslack", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed in place of fifty")
    parser.add_argument("--seeds", type=int, default=None, metavar="N", help="how many seeds")
    parser.add_argument("--out", type=Path, default=Path("figures"), metavar="FOLDER", help="where the figures go")
    parser.add_argument("--spark", action="store_true", help="figures 12 and 13 alone, those through Spark")
    given = parser.parse_args()
    seeds = range(given.seeds or (1 if given.quick else 50))
    begun = time.monotonic()

    def tell(what: str) -> None:
        print(f"  {time.monotonic() - begun:6.1f} s  {what}", file=sys.stderr, flush=True)

    given.out.mkdir(parents=True, exist_ok=True)
    if given.spark:
        return _on_spark(given.out, tell)
    found = experiments.evaluate(seeds, 1 if given.quick else 10, tell)
    every, by_f, by_delta, changing, held = found.every, found.by_f, found.by_delta, found.changing, found.held
    held_to = [
        *claims.of_all(every),
        *claims.of_constant(every),
        *claims.of_by_frequency(by_f),
        *claims.of_by_budget(by_delta),
        *claims.of_changing(changing),
        *claims.of_overhead(held),
        *claims.of_budget(every, "all streams"),
        *claims.of_budget(by_f, "BB over f"),
        *claims.of_budget(by_delta, "BB over δ"),
        *claims.of_budget(changing, "changing"),
    ]
    figures = [compared.rows_all(every), compared.rows_by_frequency(by_f), compared.rows_by_budget(by_delta)]
    figures.append(compared.rows_changing(changing))
    draw.bars(every, figures[0], given.out / "probslack_6_streams.png")
    draw.lines(by_f, "f", "stream BB, δ = 0.1", figures[1], given.out / "probslack_7_frequency.png")
    draw.lines(by_delta, "delta", "stream BB, f = 30 ms", figures[2], given.out / "probslack_8_budget.png")
    draw.course(found.series, found.changes, figures[3], given.out / "probslack_9_changing.png")
    traces = umts.traces()
    if traces is None:
        print(f"figures 10 and 11 are left out: {umts.FILE} is not in {umts.data_folder()} (CEPHEID_DATA names it)")
    else:
        if given.quick:
            traces = {name: events for name, events in traces.items() if name.startswith("d-1")}
        few = ((400, 1000), (0.1, 0.5)) if given.quick else (umts.FREQUENCIES, experiments.BUDGETS)
        real_f, real_delta = umts.evaluate(traces, tell, *few)
        for figure, runs in (("fig. 10", real_f), ("fig. 11", real_delta)):
            held_to += claims.of_umts(runs, figure)
            held_to += claims.of_budget(runs, figure)
        figures += [compared.rows_umts(real_f, "fig. 10"), compared.rows_umts(real_delta, "fig. 11")]
        for what, file in (("slack", "umts"), ("completion", "completion")):
            to_f, to_delta = (given.out / f"probslack_{number}_{file}.png" for number in (10, 11))
            draw.lines(real_f, "f", "phones over UMTS, δ = 0.2", figures[4], to_f, what=what)
            draw.lines(real_delta, "delta", "phones over UMTS, f = 400 ms", figures[5], to_delta, what=what)
    figures.append(compared.rows_overhead(held))
    _show([row for rows in figures for row in rows])
    print(compared.ORACLE_SAID)
    print()
    print("\n".join(compared.rows_estimators(by_f, by_delta)))
    print()
    print("\n".join(compared.lines_outages(experiments.outages())))
    print()
    missed = _judge(held_to)
    if not given.quick:
        missed |= _on_spark(given.out, tell)
    print(f"seeds: {len(seeds)}, {time.monotonic() - begun:.0f} s; figures in {given.out}")
    return missed


def _on_spark(out: Path, tell: Tell) -> int:
    if umts.traces() is None:
        print(f"figures 12 and 13 are left out: {umts.FILE} is not in {umts.data_folder()} (CEPHEID_DATA names it)")
        return 0
    try:
        check_java()
    except SetupError as error:
        print(f"figures 12 and 13 are left out: {error}")
        return 0
    by_f, by_delta = on_spark.through_spark(tell)
    title = "phones over UMTS, through Spark"
    rows_f, rows_delta = compared.rows_spark(by_f, "fig. 12"), compared.rows_spark(by_delta, "fig. 13")
    draw.lines(by_f, "f", f"{title}, δ = 0.1", rows_f, out / "probslack_12_spark.png", what="completion")
    draw.lines(by_delta, "delta", f"{title}, f = 400 ms", rows_delta, out / "probslack_13_spark.png", what="completion")
    _show([*rows_f, *rows_delta])
    return _judge([*claims.of_spark(by_f, "fig. 12"), *claims.of_spark(by_delta, "fig. 13")])


def _show(rows: list[compared.Row]) -> None:
    print(f"{'':<50}{'paper':>16}{PAPER:>26}{OURS:>28}")
    for row in rows:
        print(f"{row.what:<50}{row.paper:>16}{row.printed:>26}{row.ours:>28}")
    print()


def _judge(held_to: list[claims.Claim]) -> int:
    for claim in held_to:
        print(f"{'holds ' if claim.holds else 'FAILED'} {claim.what}: {claim.figures}")
    return 0 if all(claim.holds for claim in held_to) else 1


if __name__ == "__main__":
    sys.exit(main())
