"""Found at random (seed 20240132, plain Python)."""

from decimal import Decimal

from cepheid.testing.fuzz import require_same
from cepheid.testing.oracle_events import OracleEvent

QUERY = """
PATTERN  SEQ(B a, B b, ANY(2, C e, B*? f)+)
WHERE    a.k * f.k = a.d OR b.d + e.d = 2
POLICY   next
"""
EVENTS = [
    OracleEvent(
        0,
        (0,),
        "events",
        "B",
        {"ts": 0, "kind": "B", "k": 2, "x": 1, "f": 1.5, "d": Decimal("2.00"), "s": "a", "l": (1,)},
    ),
    OracleEvent(
        1000000,
        (1,),
        "events",
        "B",
        {"ts": 1000000, "kind": "B", "k": 1, "x": 1, "f": 1.5, "d": Decimal("1.50"), "s": "a", "l": (1,)},
    ),
    OracleEvent(
        2000000,
        (2,),
        "events",
        "C",
        {"ts": 2000000, "kind": "C", "k": 1, "x": 1, "f": 1.5, "d": Decimal("1.50"), "s": "a", "l": (1,)},
    ),
    OracleEvent(
        2000000,
        (3,),
        "events",
        "B",
        {"ts": 2000000, "kind": "B", "k": 1, "x": 1, "f": 1.5, "d": Decimal("1.50"), "s": "a", "l": (1,)},
    ),
]
# (variable, number of the event), bounds of the window, time of the decision, columns of RETURN
ORACLE = [((("a", 0), ("b", 1), ("e", 2), ("f", 3)), None, 9223372036854775807, ())]

# When this was found, the engine gave:
# []


def test_engine_gives_what_the_oracle_gives():
    require_same(QUERY, EVENTS, ORACLE)
