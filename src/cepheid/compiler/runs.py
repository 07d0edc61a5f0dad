"""Tables of plans for neighbouring events (`kernels.advance_strict`): runs, and ways in the order of preference."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.kernels import layout as k
from cepheid.plan.automaton import Automaton


def write_runs(
    automaton: Automaton,
    partition_column: int | None,
    ends: Sequence[tuple[int, int]],
    keys: list[list[int]],
    lists: list[list[int]],
    list_edges: list[int],
) -> list[tuple[int, int]]:
    """Write the list in which runs wait for the next event of their partition, and the ways of each state.

    Args:
        automaton: of a query that is strict throughout.
        partition_column: the column of the codes of SAME, or None.
        ends: of each state, its rows in the table `ends`.
        keys, lists, list_edges: the tables, which grow.

    Returns:
        of each state, its range in the table `list_edges`.
    """
    first_key = len(keys)
    if partition_column is not None:
        keys.append([k.FROM_HEADER, k.M_CURRENT, partition_column])
    lists.append([k.LINKS, 0, 0, 0, 0, 0, first_key, len(keys), -1, 0, 0, 0])
    ranges = []
    for state, (ends_from, _) in zip(automaton.states, ends, strict=True):
        first = len(list_edges)
        list_edges.extend(way if way >= 0 else way - ends_from for way in state.ways)
        ranges.append((first, len(list_edges)))
    return ranges


def run_state() -> list[int]:
    """The row of `states` for what is a run itself: it is in list 0, and takes nothing."""
    row = [0] * k.STATE_WIDTH
    row[k.FULL_REGISTER] = -1
    row[k.STATE_LISTS_TO] = 1
    row[k.TWIN] = -1
    return row
