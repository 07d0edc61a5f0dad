"""The workloads: a query each, how many matches it has in the stream, and how fast the engine has to be.

They run on `benchmarks.stream`: W0 to W10 on a million events with a hundred keys (or on the first 100,000 of them),
the dense ones on the first 100,000 with ten keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.engine.rules import rules

N_EVENTS = 1_000_000
N_EVENTS_QUICK = 100_000
N_EVENTS_DENSE = 100_000

_ALL = "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] WITHIN 1000 ms POLICY any"
_RISING = "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.v1 < b.v1 AND b.v1 < c.v1 WITHIN 1000 ms POLICY {policy}"
_JOINED = (
    "PATTERN SEQ(A a, B b, C c) WHERE a.key = b.key AND b.key = c.key AND b.price > 0.75 * a.price "
    "WITHIN 2000 ms POLICY any"
)
_LOOP = "PATTERN SEQ(A a, B+ b, C c) WHERE SAME[key] AND b.v1 > a.v1 WITHIN 1000 ms POLICY next"
_BOTH = "PATTERN AND(A a, B b, C c) WHERE SAME[key] WITHIN 1000 ms POLICY any"
_TWO_OF = "PATTERN SEQ(E s, ANY(2, A a, B b, C c, D d)) WHERE SAME[key] WITHIN 1000 ms POLICY any"
_NONE_AFTER = "PATTERN SEQ(A a, B b, NOT C c) WHERE SAME[key] WITHIN 1000 ms POLICY next"
_PAIRS = "PATTERN (SEQ(A a, B b))+ WHERE SAME[key] WITHIN 1000 ms POLICY next"
_SLIDING = (
    "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.v1 < b.v1 AND b.v1 < c.v1 WINDOW 1000 ms SLIDE 100 ms POLICY any"
)
_WITHOUT = "PATTERN SEQ(A a, NOT B b, C c) WHERE SAME[key] WITHIN 1000 ms POLICY {policy}"


@dataclass(frozen=True)
class Workload:
    """A query on the stream, or a set of them.

    Attributes:
        query: its text; empty for a set.
        n_matches: number of events -> number of matches that is right.
        bar_events_per_s: what the engine has to reach; None where there is no bar.
        dense: on the stream with ten keys.
        peers: also run what `benchmarks.peers` has for it; it has them for the query of W2.
        least_ratio: the least ratio of the engine's events/s to those of the best join in Polars; None for no bar. Of
            a set, to those of its queries run one by one.
        least_reference_ratio: the least ratio to the kernel by hand (`benchmarks.engine.reference_kernel`).
        queries: the texts of a set, by name; ``n_matches`` are those of all of them.
    """

    query: str
    n_matches: Mapping[int, int]
    bar_events_per_s: float | None = None
    dense: bool = False
    peers: bool = False
    least_ratio: float | None = None
    least_reference_ratio: float | None = None
    queries: Mapping[str, str] = field(default_factory=dict)

    def n_events(self, *, quick: bool) -> int:
        """The length of the stream."""
        if self.dense:
            return N_EVENTS_DENSE
        return N_EVENTS_QUICK if quick else N_EVENTS


def _counts(million: int, first: int) -> Mapping[int, int]:
    return {N_EVENTS: million, N_EVENTS_QUICK: first}


WORKLOADS: Mapping[str, Workload] = {
    "W0": Workload(_ALL, _counts(403_219, 40_580), 6e6),
    "W1": Workload(_RISING.format(policy="next"), _counts(31_507, 3_154), 15e6),
    "W1strict": Workload(_RISING.format(policy="strict"), _counts(1_332, 127)),
    "W2": Workload(
        _RISING.format(policy="any"),
        _counts(67_656, 6_846),
        15e6,
        peers=True,
        least_ratio=3.0,
        least_reference_ratio=0.5,
    ),
    "W3": Workload(_JOINED, _counts(1_005_013, 100_653), 6e6),
    "W4": Workload(_LOOP, _counts(73_181, 7_249), 6e6),
    "W5": Workload(_WITHOUT.format(policy="next"), _counts(98_168, 9_788), 15e6),
    "W5any": Workload(_WITHOUT.format(policy="any"), _counts(172_519, 17_378)),
    "W6": Workload(_BOTH, _counts(2_422_105, 242_350)),
    "W7": Workload(_TWO_OF, _counts(4_816_893, 478_668)),
    "W8": Workload(_NONE_AFTER, _counts(54_270, 5_369)),
    "W9": Workload(_PAIRS, _counts(173_020, 17_238)),
    "W10": Workload(_SLIDING, _counts(225_169, 23_051)),
    "W0d": Workload(_ALL, {N_EVENTS_DENSE: 4_028_558}, 0.5e6, dense=True),
    "W2d": Workload(
        _RISING.format(policy="any"),
        {N_EVENTS_DENSE: 665_953},
        3.1e6,
        dense=True,
        peers=True,
        least_reference_ratio=0.5,
    ),
    "W3d": Workload(_JOINED, {N_EVENTS_DENSE: 9_993_905}, dense=True),
    "W12": Workload("", _counts(93_712, 6_478), least_ratio=20.0, queries=rules()),
}
"""By name, in the order in which they run."""
