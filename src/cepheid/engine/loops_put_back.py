"""Kleene variables put back: from rows that bind one event of each loop, the matches that bind sets of them.

Every event of a loop has to satisfy, with the single events of the match, all that the rows were joined on. So rows
that have the same single events are a *group*, and a match takes its events from one group. The engine runs over the
groups as over partitions, and tests what is about loops as a whole. (INEv, section 6.1: "the matches of q_KL are then
generated based on the matches of q_nKL at the sinks".)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from cepheid.engine.event_store import EventStore
from cepheid.engine.matches import Matches, no_matches
from cepheid.engine.narrowing import chosen
from cepheid.engine.session import run
from cepheid.engine.settings import Settings
from cepheid.events.arrow_memory import array_of, texts_of
from cepheid.events.column import BoolArray, Int64Array
from cepheid.events.ingest import read_events
from cepheid.events.types import INT, TEXT
from cepheid.language.bound import BoundQuery
from cepheid.language.structure import parts, with_parts
from cepheid.language.tree import Attribute, Event, Not, Pattern, Seq, Skip
from cepheid.plan.projection import Split

GROUP, ROLE = "#group", "#role"
"""Columns beside those of the events: no column that can be written in a query has such a name."""


def with_roles(bound: BoundQuery) -> BoundQuery:
    """The query over events that say in which group they are and which variable they are for; without NOT."""
    schema = bound.schema
    fields = {**schema.fields, GROUP: INT, ROLE: TEXT}
    group = Attribute(None, (GROUP,))
    return replace(
        bound,
        schema=replace(schema, fields=fields, type=ROLE, types=None, per_type={}),
        pattern=_with_roles(bound.pattern),
        variables={
            name: replace(variable, types=(name,)) for name, variable in bound.variables.items() if not variable.negated
        },
        conjuncts=tuple(conjunct for conjunct in bound.conjuncts if conjunct.negated is None),
        partition=(group,),
        skip=Skip(),
        returns=(),
        types={**bound.types, group: INT},
        identified=False,
    )


def _with_roles(pattern: Pattern) -> Pattern:
    if isinstance(pattern, Event):
        assert pattern.name is not None
        return replace(pattern, types=(pattern.name,))
    left = tuple(_with_roles(part) for part in parts(pattern) if not isinstance(part, Not))
    return left[0] if isinstance(pattern, Seq) and len(left) == 1 else with_parts(pattern, left)


def put_back(
    bound: BoundQuery, of_query: Split, store: EventStore, rows: Int64Array, new: Int64Array, settings: Settings
) -> Matches:
    """The matches with loops, at least one of whose rows is new; positions are slots, ascending by rank.

    Args:
        bound: made by `with_roles`.
        of_query: what the query says of its variables.
        store: the events.
        rows: int64, (n, k): rows of slots, each once, in the order of ``of_query.positive``.
        new: numbers of those that are new.
        settings: how much may be held.

    Raises:
        CapacityError: more partial matches would be held than may be.
    """
    loops = [i for i, name in enumerate(of_query.positive) if name in of_query.loops]
    single = [i for i, name in enumerate(of_query.positive) if name not in of_query.loops]
    groups = _numbers(rows[:, single])
    touched = np.zeros(int(groups.max(initial=-1)) + 1, np.bool_)
    touched[groups[new]] = True
    concerned = np.flatnonzero(touched[groups])
    if not len(concerned):
        return no_matches()
    # Each event once for each group and variable that it stands in.
    of_group = np.repeat(groups[concerned], rows.shape[1])
    of_variable = np.tile(np.arange(rows.shape[1]), len(concerned))
    entries = np.unique(np.stack((of_group, of_variable, rows[concerned].reshape(-1)), axis=1), axis=0)
    table = store.batch.table.take(array_of(np.ascontiguousarray(entries[:, 2])))
    table = table.append_column(GROUP, array_of(np.ascontiguousarray(entries[:, 0])))
    table = table.append_column(ROLE, texts_of(list(of_query.positive)).take(array_of(entries[:, 1].copy())))
    batch = read_events(table, bound.schema)
    found = run(bound, batch, settings=settings)
    of_match = entries[batch.rows_of(found.positions)]
    found = Matches(found.offsets, np.ascontiguousarray(of_match[:, 2]), found.variables, found.decided_us)
    is_new = np.zeros(len(rows), np.bool_)
    is_new[new] = True
    if len(loops) > 1:
        return chosen(found, _all_are_rows(bound, of_query, found, rows, is_new))
    # A group has a row for every event of a single loop, so what is left to ask is whether one of them is new.
    width = len(store)
    keys = groups * width + rows[:, loops[0]]
    order = np.argsort(keys)
    of_loop = np.flatnonzero(of_match[:, 1] == loops[0])
    wanted = of_match[of_loop, 0] * width + of_match[of_loop, 2]
    has_new = np.zeros(len(of_match), np.bool_)
    has_new[of_loop] = is_new[order[np.searchsorted(keys, wanted, sorter=order)]]
    if not len(found):
        return found
    return chosen(found, np.logical_or.reduceat(has_new, found.offsets[:-1]))


def _numbers(columns: Int64Array) -> Int64Array:
    """A number for each row, equal for equal ones; rows without columns are all equal."""
    if not columns.shape[1]:
        return np.zeros(len(columns), np.int64)
    _, numbers = np.unique(columns, axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64, copy=False)


def _all_are_rows(bound: BoundQuery, of_query: Split, found: Matches, rows: Int64Array, is_new: BoolArray) -> BoolArray:
    """Where every choice of one event for each loop of a match is a row, and at least one of them a new row."""
    names = list(bound.variables)
    own = {names.index(name): place for place, name in enumerate(of_query.positive)}
    kept = np.zeros(len(found), np.bool_)
    known = {row: number for number, row in enumerate(map(tuple, rows.tolist()))}
    variables, slots, new = found.variables.tolist(), found.positions.tolist(), is_new.tolist()
    for match, (begin, end) in enumerate(pairwise(found.offsets.tolist())):
        taken: list[list[int]] = [[] for _ in own]
        for entry in range(begin, end):
            taken[own[variables[entry]]].append(slots[entry])
        numbers = [known.get(choice) for choice in product(*taken)]
        kept[match] = None not in numbers and any(new[number] for number in numbers if number is not None)
    return kept
