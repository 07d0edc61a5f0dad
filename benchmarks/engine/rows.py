"""The lines of the result, and what they are held to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        workload: the workload, or which start is measured.
        engine: what ran.
        events_per_s: events of the stream by the best wall time.
        matches: how many were found.
        peak_rss_bytes: most resident memory of the process, the interpreter, its libraries and the events included;
            None for peers, which share the process of the engine.
        peer: what ``ratio`` compares with; empty where the row stands for itself.
        ratio: events/s of the engine to those of the peer, both measured in turn in one process: by the best CPU time,
            or, of a set of queries, by the best wall time.
        bar: the least ratio where there is a peer, the most seconds where there are seconds, else the least events/s;
            None where nothing is asked. With ``quick`` it is half of the bar in full (twice the seconds).
        n_events: length of the stream.
        events_per_cpu_s: events by the best CPU time, which other processes disturb less.
        seconds: median wall time, for starts; of single events, the time in which so many of them have been pushed.
        cpu_seconds: median CPU time, for starts.
        right: the right number of matches.
        quick: measured with ``--quick``.
        held_bytes, held_bytes_before: what was held after a quiet window, and what that has to be; for streams.
    """

    workload: str
    engine: str
    events_per_s: float | None
    matches: int | None
    peak_rss_bytes: int | None
    peer: str = ""
    ratio: float | None = None
    bar: float | None = None
    n_events: int | None = None
    events_per_cpu_s: float | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    right: int | None = None
    quick: bool = False
    held_bytes: int | None = None
    held_bytes_before: int | None = None

    def faults(self) -> list[str]:
        """What is not as it should be, in words."""
        name = f"{self.workload}, {self.engine}"
        found = []
        if self.right is not None and self.matches != self.right:
            found.append(f"{name}: {self.matches:,} matches, {self.right:,} are right")
        if self.held_bytes != self.held_bytes_before:
            found.append(
                f"{name}: {self.held_bytes:,} bytes are held after a quiet window, {self.held_bytes_before:,} before"
            )
        if self.bar is None:
            return found
        if self.ratio is not None:
            if self.ratio < self.bar:
                found.append(f"{name}: {self.ratio:.2f} times the speed of {self.peer}, the bar is {self.bar:.2f}")
        elif self.seconds is not None:
            if self.seconds > self.bar:
                found.append(f"{name}: {duration(self.seconds, 2)}, the bar is {duration(self.bar, 2)}")
        elif self.events_per_s is not None and self.events_per_s < self.bar:
            found.append(f"{name}: {self.events_per_s / 1e6:.2f} M events/s, the bar is {self.bar / 1e6:.2f} M")
        return found


HEADER = (
    f"{'workload':<26}{'engine':<18}{'events':>10}{'M events/s':>12}{'by CPU time':>13}{'matches':>14}"
    f"{'peak MB':>9}  {'compared with':<18}{'ratio':>7}{'bar':>9}"
)


def duration(seconds: float, digits: int = 3) -> str:
    """A length of time as text, of seconds with so many digits."""
    return f"{seconds:.{digits}f} s" if seconds >= 1e-3 else f"{1e6 * seconds:.1f} us"


def line(row: Row) -> str:
    """A row as text, below `HEADER`."""

    def millions(value: float | None) -> str:
        return "" if value is None else f"{value / 1e6:.2f}"

    if row.peer:
        bar = "" if row.bar is None else f"{row.bar:.2f}"
    elif row.seconds is not None:
        bar = "" if row.bar is None else duration(row.bar, 2)
    else:
        bar = millions(row.bar)
    rate = duration(row.seconds) if row.seconds is not None else millions(row.events_per_s)
    cpu = duration(row.cpu_seconds) if row.cpu_seconds is not None else millions(row.events_per_cpu_s)
    numbers = ["" if n is None else f"{n:,}" for n in (row.n_events, row.matches)]
    memory = "" if row.peak_rss_bytes is None else f"{row.peak_rss_bytes / 1e6:.0f}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    missed = "  <- missed" if row.faults() else ""
    return (
        f"{row.workload:<26}{row.engine:<18}{numbers[0]:>10}{rate:>12}{cpu:>13}"
        f"{numbers[1]:>14}{memory:>9}  {row.peer:<18}{ratio:>7}{bar:>9}{missed}"
    ).rstrip()
