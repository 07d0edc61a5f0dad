"""What the plan's words are in the tables that the kernels read."""

from __future__ import annotations

from cepheid.kernels import layout as k
from cepheid.plan.automaton import Accepting, Reads

MIRRORED = {k.LT: k.GT, k.LE: k.GE, k.GT: k.LT, k.GE: k.LE}
"""Comparators with their sides exchanged; the others stay."""

ACCEPT_CODES = {
    Accepting.NO: k.REJECTS,
    Accepting.AT_ONCE: k.ACCEPTS_AT_ONCE,
    Accepting.LATE: k.ACCEPTS_LATE,
    Accepting.ALSO: k.ACCEPTS_ALSO,
}

READS_CODES = {Reads.BETWEEN: 0, Reads.TO_CURRENT: k.READS_TO_CURRENT, Reads.CURRENT: k.READS_CURRENT}
