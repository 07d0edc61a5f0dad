"""How many partial matches a pattern may hold, from the rates of event types, or as a formula."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cepheid.language.bound import BoundQuery

_LOG10_SHOWN = 300.0
"""Powers of ten up to which a number is shown beside its formula: a float holds about 1e308."""


def n_in_window(bound: BoundQuery, types: Sequence[str], rates_per_s: Mapping[str, float] | None) -> float | None:
    """The expected number of events of ``types`` in one window, or None where it is not known.

    Args:
        bound: the query, for its window.
        types: event types; all that have a rate where empty.
        rates_per_s: event type -> events per second (λ), within one partition where the query has SAME.
    """
    if not rates_per_s or any(name not in rates_per_s for name in types):
        return None
    rate_per_s = sum(rates_per_s[name] for name in types) if types else sum(rates_per_s.values())
    window = bound.window
    spans_us = [us for us in (window.within_us, window.size_us) if us is not None]
    lengths = [rate_per_s * us / 1e6 for us in spans_us]
    total_per_s = sum(rates_per_s.values())
    counts = [n for n in (window.within_events, window.size_events) if n is not None]
    if total_per_s > 0:
        lengths.extend(n * rate_per_s / total_per_s for n in counts)
    return min(lengths) if lengths else None


def subsets(n: float | None, n_least: int, n_most: int | None) -> str:
    """In how many ways a loop takes a subset of ``n`` events, as text; ``n`` None gives the formula alone."""
    if n_most is not None:
        formula = f"about n^{n_most} / {n_most}!" if n_most > 1 else "n"
        if n is None:
            return formula
        total = sum(_choose(n, k) for k in range(max(1, n_least), n_most + 1))
        return f"about {total:.3g}"
    if n is None:
        return "2^n - 1" if n_least <= 1 else "about 2^n"
    shown = f"2^{n:.4g} - 1" if n_least <= 1 else f"about 2^{n:.4g}"
    log10 = n * math.log10(2)
    return f"{shown}, about {2.0**n:.2g}" if log10 <= _LOG10_SHOWN else shown


def _choose(n: float, k: int) -> float:
    """N over k for an expected number ``n``: how many subsets of k events there are."""
    result = 1.0
    for index in range(k):
        result *= max(0.0, n - index) / (index + 1)
    return result


def combinations(names: Sequence[str], counts: Sequence[float | None]) -> str:
    """How many ordered choices of one event per element a window holds, as text.

    Args:
        names: what each element takes, for the formula.
        counts: expected events of each in a window; None where unknown.
    """
    formula = " * ".join(f"n({name})" for name in names) + f" / {len(names)}!"
    known = [n for n in counts if n is not None]
    if len(known) < len(counts):
        return formula
    log10 = sum(math.log10(n) if n > 0 else -math.inf for n in known) - math.lgamma(len(known) + 1) / math.log(10)
    number = f"{10.0**log10:.3g}" if log10 <= _LOG10_SHOWN else f"10^{log10:.0f}"
    return f"{formula}, about {number}"
