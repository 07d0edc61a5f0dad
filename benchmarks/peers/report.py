"""The table of peers, and what is wrong in it."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_FLINK, LEAST_FLINK_DENSE = 100.0, 500.0


def bar_of(peer: str, workload: str) -> float | None:
    """How many times as fast as a peer the engine has to be; None where nothing is asked."""
    if peer != "Flink CEP":
        return None
    return LEAST_FLINK_DENSE if workload.endswith("d") else LEAST_FLINK


@dataclass(frozen=True)
class Row:
    """A peer on a workload.

    Attributes:
        workload, peer: which.
        n_events: length of its stream, a prefix of the workload's.
        n_matches: how many it found there.
        events_per_cpu_s: by the CPU time of its process.
        events_per_s: by wall time.
        ratio: the engine's events a second of CPU time, on the workload's whole stream, to the peer's; None for the
            engine.
        bar: the least ratio; None where nothing is asked.
        wrong: in what its matches differ from the right ones; empty where they do not.
    """

    workload: str
    peer: str
    n_events: int
    n_matches: int
    events_per_cpu_s: float
    events_per_s: float
    ratio: float | None = None
    bar: float | None = None
    wrong: str = ""

    def faults(self) -> list[str]:
        """What is not as it should be, in words."""
        found = [f"{self.workload}, {self.peer}: {self.wrong}"] if self.wrong else []
        if self.ratio is not None and self.bar is not None and self.ratio < self.bar:
            found.append(f"{self.workload}: {self.ratio:.0f} times the speed of {self.peer}, the bar is {self.bar:.0f}")
        return found


HEADER = (
    f"{'workload':<10}{'peer':<19}{'events':>10}{'matches':>11}{'K events/s by CPU':>19}{'by wall':>10}"
    f"{'cepheid is':>13}{'bar':>6}"
)


def line(row: Row) -> str:
    """A row as text, below `HEADER`."""
    ratio = "" if row.ratio is None else f"{row.ratio:,.{1 if row.ratio < 100 else 0}f} x"
    bar = "" if row.bar is None else f"{row.bar:.0f}"
    fault = f"  <- {'wrong' if row.wrong else 'missed'}" if row.faults() else ""
    return (
        f"{row.workload:<10}{row.peer:<19}{row.n_events:>10,}{row.n_matches:>11,}{_thousands(row.events_per_cpu_s):>19}"
        f"{_thousands(row.events_per_s):>10}{ratio:>13}{bar:>6}{fault}"
    ).rstrip()


def _thousands(events_per_s: float) -> str:
    thousands = events_per_s / 1e3
    return f"{thousands:,.{0 if thousands >= 100 else 2}f}"
