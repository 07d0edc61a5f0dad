"""Figure 1 of the INEv paper: the network, its queries, and the forwarding graphs of its Figure 3."""

from __future__ import annotations

from cepheid.network.model import EventNetwork
from cepheid.network.patterns import Primitive, interleaving, sequence
from cepheid.network.queries import NetworkQuery, Selectivities, Workload

EDGES = ((1, 2), (1, 3), (2, 7), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (5, 10), (7, 11), (9, 12))
SOURCES = {"A": (1,), "B": (3, 4, 5, 6, 7, 8, 9), "C": (2, 10, 12), "D": (6, 11)}
RATES = {"A": 1.0, "B": 100.0, "C": 400.0, "D": 60.0}

A, B, C, D = (Primitive(kind) for kind in "ABCD")
Q1 = NetworkQuery("q1", sequence((A, interleaving((B, C)))))
Q2 = NetworkQuery("q2", sequence((A, C, D)))

TREES = {
    ("A", 1): ((1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (5, 10), (7, 2), (7, 11), (9, 12)),
    ("SEQ(A, C)", 2): ((2, 7), (7, 6), (7, 11)),
    ("SEQ(A, C)", 10): ((10, 5), (5, 6), (6, 7), (7, 11)),
    ("SEQ(A, C)", 12): ((12, 9), (9, 8), (8, 7), (7, 6), (7, 11)),
}


def network(**rates: float) -> EventNetwork:
    """The network with these rates in place of `RATES`."""
    return EventNetwork(tuple(range(1, 13)), EDGES, SOURCES, {**RATES, **rates})


def workload(*queries: NetworkQuery, **rates: float) -> Workload:
    """Queries on it; one in 50 pairs of an A and a C fit together, and one in ten of the Cs is in such a pair."""
    pairs = {frozenset("AC"): 0.02, frozenset("AB"): 0.01, frozenset("AD"): 0.01}
    return Workload(network(**rates), queries, Selectivities(pairs, {("SEQ(A, C)", "C"): 0.01}))
