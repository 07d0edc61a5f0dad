"""The workloads as joins in Polars: every match as a row of positions, in no particular order.

An equi-join cannot look for times within a window, so time is cut into buckets as wide as the window: two events
within the window lie in the same bucket or in neighbouring ones. Each event that is looked for is put into its own
bucket and into the one before; the join is on (key, bucket), and a filter keeps what is in order, in the window and
rising. So each match is found once: in the bucket of its first event.

`matches` is the fastest formulation that was found for W2 (the other workloads follow it), `matches_plainly` the one
that is written first. What was tried, on a million events (and on 100,000 dense ones) with one thread of Polars 2.1 on
an idle machine, in ms; the conversion from Arrow is included, and the matches are only counted:

==================================================  ======  =========
formulation                                             ms  dense, ms
==================================================  ======  =========
streaming engine, key and bucket in one int32           52         61
the same, the earlier event in two buckets              56         70
the same, columns computed before types are parted      54         64
the same, computed in int64                             56         62
the same, types parted in a step of its own         73-114      61-67
in-memory engine, key and bucket in one int32        94-97    125-145
==================================================  ======  =========

With two columns as the key the streaming engine took 32 % to 42 % longer. Buckets of a half, a quarter and a fifth of
the window (in-memory engine) took 24 %, 47 % and 58 % longer, and 6 % to 10 % less on dense events. Without buckets, by
binary search for the window of each event among rows sorted by key and time: 229 ms, dense 60 ms, both without the
conversion from Arrow. `join_where` took 14.6 s, dense 2.7 s.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import locked
from benchmarks.peers.python_peer import PythonPeer

WITHIN_MS, WITHIN_W3_MS = 1000, 2000
COLUMNS = ("type", "ts", "key", "v1")
ROWS = ("a_row", "b_row", "c_row")
_INT32_LIMIT = 2**31


class _Events:
    """The events of each type with their times, values, rows, and the place where a join looks for them."""

    def __init__(self, table: Any, within_ms: int, values: tuple[str, ...]) -> None:
        import polars as pl

        events = pl.DataFrame(table.select(["type", "ts", "key", *values]))
        last_ms, greatest_key = (int(events["ts"][-1]), int(events["key"].to_numpy().max())) if len(events) else (0, 0)
        n_buckets = last_ms // within_ms + 3
        if max(last_ms, (greatest_key + 1) * n_buckets) >= _INT32_LIMIT:
            raise ValueError("the events last too long, or have too many keys, for a join key of 32 bits")
        self.values = values
        self.ts = pl.col("ts").cast(pl.Int32)
        # Buckets count from 1, so that the one before the first is still one of the same key.
        self.place = pl.col("key").cast(pl.Int32) * n_buckets + self.ts // within_ms + 1
        self.numbered = events.lazy().with_row_index("row")

    def of_type(self, letter: str, *more: Any) -> Any:
        """Events of a type: the columns are those of the table with the type in front, and place."""
        import polars as pl

        name = letter.lower()
        columns = {f"{name}_ts": self.ts, f"{name}_row": pl.col("row")}
        columns |= {f"{name}_{value}": pl.col(value) for value in self.values}
        return self.numbered.filter(pl.col("type") == letter).select(self.place.alias("place"), *more, **columns)


def matches(table: Any, within_ms: int = WITHIN_MS) -> Any:
    """The matches of W2.

    Args:
        table: a pyarrow Table with type (string), ts (ms, ascending, not negative), key (integers, not negative) and
            v1; events of equal time are ordered by their row.
        within_ms: the window, closed.

    Returns:
        A Polars DataFrame with a_row, b_row and c_row: the rows of the events of each match.

    Raises:
        ValueError: (key, bucket) does not fit 32 bits.
    """
    events = _Events(table, within_ms, ("v1",))
    joined = _joined(events.of_type("A"), events.of_type("B"), events.of_type("C"), ["place"], within_ms, **_rising())
    return joined.collect(engine="streaming")


def matches_plainly(table: Any, within_ms: int = WITHIN_MS) -> Any:
    """The same rows; joins on two columns, in Polars' default engine."""
    import polars as pl

    numbered = pl.DataFrame(table.select(COLUMNS)).lazy().with_row_index("row")

    def of_type(letter: str) -> pl.LazyFrame:
        name = letter.lower()
        columns = {f"{name}_ts": "ts", f"{name}_v1": "v1", f"{name}_row": "row"}
        place = (pl.col("ts") // within_ms).alias("place")
        return numbered.filter(pl.col("type") == letter).select("key", place, **columns)

    on = ["key", "place"]
    return _joined(of_type("A"), of_type("B"), of_type("C"), on, within_ms, **_rising()).collect()


def _rising() -> dict[str, list[Any]]:
    import polars as pl

    return {"pair": [pl.col("a_v1") < pl.col("b_v1")], "triple": [pl.col("b_v1") < pl.col("c_v1")]}


def _near(events: Any) -> Any:
    """Events at their own place and at the one before."""
    import polars as pl

    return pl.concat([events, events.with_columns(pl.col("place") - 1)])


def _pairs(a: Any, b: Any, on: list[str], within_ms: int, pair: list[Any]) -> Any:
    import polars as pl

    order, time = pl.col("a_row") < pl.col("b_row"), pl.col("b_ts") - pl.col("a_ts") <= within_ms
    return a.join(_near(b), on=on).filter(order, *pair, time)


def _with_third(pairs: Any, c: Any, on: list[str], within_ms: int, triple: list[Any]) -> Any:
    import polars as pl

    order, time = pl.col("b_row") < pl.col("c_row"), pl.col("c_ts") - pl.col("a_ts") <= within_ms
    return pairs.join(_near(c), on=on).filter(order, *triple, time)


def _joined(a: Any, b: Any, c: Any, on: list[str], within_ms: int, pair: list[Any], triple: list[Any]) -> Any:
    """Join the three on their place, the later ones also on the place before theirs."""
    last = ["b_v1"] if triple else []
    pairs = _pairs(a, b, on, within_ms, pair).select(*on, "a_ts", *last, "a_row", "b_row")
    return _with_third(pairs, c, on, within_ms, triple).select(ROWS)


def _all(table: Any) -> Any:
    """W0."""
    events = _Events(table, WITHIN_MS, ())
    of_types = [events.of_type(letter) for letter in "ABC"]
    return _joined(*of_types, ["place"], WITHIN_MS, [], []).collect(engine="streaming")


def _next(table: Any) -> Any:
    """W1: of the pairs the one with the first b, then the first c."""
    import polars as pl

    events, on = _Events(table, WITHIN_MS, ("v1",)), ["place"]
    rising = _rising()
    pairs = _pairs(events.of_type("A"), events.of_type("B"), on, WITHIN_MS, rising["pair"])
    firsts = pairs.group_by("a_row").agg(
        pl.col("place").first(), pl.col("a_ts").first(), pl.col("b_row").min(), pl.col("b_v1").sort_by("b_row").first()
    )
    triples = _with_third(firsts, events.of_type("C"), on, WITHIN_MS, rising["triple"])
    found = triples.group_by("a_row").agg(pl.col("b_row").first(), pl.col("c_row").min())
    return found.collect(engine="streaming")


def _priced(table: Any) -> Any:
    """W3."""
    import polars as pl

    events = _Events(table, WITHIN_W3_MS, ("price",))
    of_types = [events.of_type(letter) for letter in "ABC"]
    pair = [pl.col("b_price") > 0.75 * pl.col("a_price")]
    return _joined(*of_types, ["place"], WITHIN_W3_MS, pair, []).collect(engine="streaming")


def _loop(table: Any) -> Any:
    """W4: of the pairs those with a b before the first c behind the first b."""
    import polars as pl

    events, key = _Events(table, WITHIN_MS, ("v1",)), pl.col("key")
    rising = _rising()["pair"]
    pairs = _pairs(events.of_type("A", key), events.of_type("B"), ["place"], WITHIN_MS, rising)
    pairs = pairs.select("key", "a_row", "a_ts", "b_row")
    firsts = pairs.group_by("a_row").agg(pl.col("key").first(), pl.col("a_ts").first(), pl.col("b_row").min())
    closed = _first_after(firsts, "b_row", events.of_type("C", key), "c_row")
    closed = closed.filter(pl.col("c_ts") - pl.col("a_ts") <= WITHIN_MS).select("a_row", "c_row")
    taken = pairs.join(closed, on="a_row").filter(pl.col("b_row") < pl.col("c_row"))
    found = taken.group_by("a_row").agg(pl.col("b_row").sort(), pl.col("c_row").first())
    return found.collect(engine="streaming")


def _without(table: Any) -> Any:
    """W5: the first c after a, where the first b after a comes later or never."""
    import polars as pl

    events, key = _Events(table, WITHIN_MS, ()), pl.col("key")
    of_types = {letter: events.of_type(letter, key).drop("place") for letter in "ABC"}
    pairs = _first_after(of_types["A"], "a_row", of_types["C"], "c_row")
    pairs = pairs.filter(pl.col("c_ts") - pl.col("a_ts") <= WITHIN_MS)
    seen = _first_after(pairs, "a_row", of_types["B"], "b_row")
    found = seen.filter(pl.col("b_row").is_null() | (pl.col("b_row") > pl.col("c_row"))).select("a_row", "c_row")
    return found.collect(engine="streaming")


def _first_after(left: Any, row: str, right: Any, other: str) -> Any:
    """The rows of ``left`` with the first of ``right`` behind theirs of the same key, or with none."""
    return left.sort(row).join_asof(
        right,
        left_on=row,
        right_on=other,
        by="key",
        strategy="forward",
        allow_exact_matches=False,
        coalesce=False,
        check_sortedness=False,
    )


FIND: dict[str, Callable[[Any], Any]] = {
    "W0": _all,
    "W1": _next,
    "W2": matches,
    "W3": _priced,
    "W4": _loop,
    "W5": _without,
    "W2d": matches,
}


def prepare(workload: str, events: Path) -> Callable[[], Callable[[], Any]]:
    """See `benchmarks.peers.child`."""
    from pyarrow import ipc

    with open(events.with_suffix(".arrow"), "rb") as file:
        table = ipc.open_file(file).read_all()
    return lambda: lambda: FIND[workload](table)


def digest(found: Any) -> tuple[int, int]:
    """See `benchmarks.peers.child`. Rows are ids."""
    import polars as pl

    flat = [column.explode() if column.dtype == pl.List else column for column in found.get_columns()]
    return len(found), sum(int(column.cast(pl.Int64).sum()) for column in flat)


def version() -> str:
    """Polars' version."""
    import polars as pl

    return str(pl.__version__)


PEER = PythonPeer(
    "Polars",
    module="polars_join",
    version=locked("polars").partition("==")[2],
    scope="from an Arrow table in memory, types as text, to a data frame of the matches' rows in any order",
    n_events={name: 100_000 if name == "W2d" else 1_000_000 for name in FIND},
    requirements=(locked("polars"), locked("pyarrow"), locked("numpy")),
)
