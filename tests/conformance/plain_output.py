"""The columns of a query's output without RETURN, made anew in the plainest way (SEMANTICS 8).

Nothing here comes from the engine or from what it makes its output with: the columns are read off the tree of the
pattern, the values off the rows of the input, one match at a time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from cepheid.language import tree
from cepheid.language.bound import BoundQuery
from cepheid.language.printer import print_expression
from cepheid.testing.oracle import OracleEvent, OracleMatch
from cepheid.testing.oracle_expressions import Evaluator, OneEvent

EPOCH = dt.datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))

Row = Mapping[str, Any]


def named_elements(pattern: tree.Pattern, repeated: bool = False) -> Iterator[tuple[str, bool]]:
    """Each element that has a name and stands under no NOT, in the order of the text: its name, and if it repeats."""
    match pattern:
        case tree.Event(name=None) | tree.Not():
            return
        case tree.Event(name=str(name)):
            yield name, repeated
        case tree.Repeat(part=part, maximum=most):
            yield from named_elements(part, repeated or most != 1)
        case _:
            for part in pattern.parts:
                yield from named_elements(part, repeated)


def time_of(microseconds: int) -> dt.datetime:
    """A time as it comes out."""
    return EPOCH + dt.timedelta(microseconds=microseconds)


def plain_row(bound: BoundQuery, found: OracleMatch, row_of: Mapping[OracleEvent, Row]) -> dict[str, Any]:
    """One match as the row that it must be, without its ``match_id``.

    Args:
        bound: the query; its RETURN does not count.
        found: the match.
        row_of: the row of the input that each event is.
    """
    events = [event for _, event in found.bindings]
    row: dict[str, Any] = {"first_time": time_of(events[0].time), "last_time": time_of(events[-1].time)}
    if found.window is not None:
        in_events = bound.window.size_events is not None
        row["window_start"], row["window_end"] = found.window if in_events else map(time_of, found.window)
    for part in bound.partition:
        name = part.path[-1] if isinstance(part, tree.Attribute) else print_expression(part)
        row[name] = Evaluator(bound.types, bound.catalog, {}).value(part, OneEvent(events[0]))
    for name, is_loop in dict(named_elements(bound.query.pattern)).items():
        taken = [dict(row_of[event]) for variable, event in found.bindings if variable == name]
        if not is_loop:
            row[name] = taken[0] if taken else None
        else:
            # Nothing taken on the branch that was taken is an empty array; on another branch there is none.
            row[name] = taken if taken or name in found.empty else None
    return row


def plain_rows(
    bound: BoundQuery, matches: Sequence[OracleMatch], row_of: Mapping[OracleEvent, Row]
) -> list[dict[str, Any]]:
    """The rows of all matches, in their order."""
    return [plain_row(bound, found, row_of) for found in matches]


def written(rows: Sequence[Row]) -> list[str]:
    """Rows as texts, to be compared: NaN is NaN, and -0.0 is not 0.0."""
    return [repr(dict(row)) for row in rows]
