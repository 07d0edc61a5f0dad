"""W2 as a join in Polars: every match as a row of positions, in no particular order.

An equi-join cannot look for times within a window, so time is cut into buckets as wide as the window: two events
within the window lie in the same bucket or in neighbouring ones. Each event that is looked for is put into its own
bucket and into the one before; the join is on (key, bucket), and a filter keeps what is in order, in the window and
rising. So each match is found once: in the bucket of its first event.

`matches` is the fastest formulation that was found, `matches_plainly` the one that is written first. What was tried, on
a million events (and on 100,000 dense ones) with one thread of Polars 2.1 on an idle machine, in ms; the conversion
from Arrow is included, and the matches are only counted:

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

from typing import Any

WITHIN_MS = 1000
COLUMNS = ("type", "ts", "key", "v1")
ROWS = ("a_row", "b_row", "c_row")
_INT32_LIMIT = 2**31


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
    import polars as pl

    events = pl.DataFrame(table.select(COLUMNS))
    if not len(events):
        return pl.DataFrame(schema=dict.fromkeys(ROWS, pl.UInt32))
    last_ms, greatest_key = int(events["ts"][-1]), int(events["key"].to_numpy().max())
    n_buckets = last_ms // within_ms + 3
    if max(last_ms, (greatest_key + 1) * n_buckets) >= _INT32_LIMIT:
        raise ValueError("the events last too long, or have too many keys, for a join key of 32 bits")
    ts = pl.col("ts").cast(pl.Int32)
    # Buckets count from 1, so that the one before the first is still one of the same key.
    place = pl.col("key").cast(pl.Int32) * n_buckets + ts // within_ms + 1
    numbered = events.lazy().with_row_index("row")

    def of_type(letter: str) -> pl.LazyFrame:
        name = letter.lower()
        columns = {f"{name}_ts": ts, f"{name}_v1": pl.col("v1"), f"{name}_row": pl.col("row")}
        return numbered.filter(pl.col("type") == letter).select(place.alias("place"), **columns)

    return _joined(of_type("A"), of_type("B"), of_type("C"), ["place"], within_ms, engine="streaming")


def matches_plainly(table: Any, within_ms: int = WITHIN_MS) -> Any:
    """The same rows; joins on two columns, in Polars' default engine."""
    import polars as pl

    numbered = pl.DataFrame(table.select(COLUMNS)).lazy().with_row_index("row")

    def of_type(letter: str) -> pl.LazyFrame:
        name = letter.lower()
        columns = {f"{name}_ts": "ts", f"{name}_v1": "v1", f"{name}_row": "row"}
        place = (pl.col("ts") // within_ms).alias("place")
        return numbered.filter(pl.col("type") == letter).select("key", place, **columns)

    return _joined(of_type("A"), of_type("B"), of_type("C"), ["key", "place"], within_ms, engine="auto")


def _joined(a: Any, b: Any, c: Any, on: list[str], within_ms: int, *, engine: Any) -> Any:
    """Join the three on their place, the later ones also on the place before theirs."""
    import polars as pl

    def near(events: pl.LazyFrame) -> pl.LazyFrame:
        return pl.concat([events, events.with_columns(pl.col("place") - 1)])

    pairs = (
        a.join(near(b), on=on)
        .filter(
            (pl.col("a_row") < pl.col("b_row"))
            & (pl.col("a_v1") < pl.col("b_v1"))
            & (pl.col("b_ts") - pl.col("a_ts") <= within_ms)
        )
        .select(*on, "a_ts", "b_v1", "a_row", "b_row")
    )
    triples = pairs.join(near(c), on=on).filter(
        (pl.col("b_row") < pl.col("c_row"))
        & (pl.col("b_v1") < pl.col("c_v1"))
        & (pl.col("c_ts") - pl.col("a_ts") <= within_ms)
    )
    return triples.select(ROWS).collect(engine=engine)


def version() -> str:
    """Polars' version."""
    import polars as pl

    return str(pl.__version__)
