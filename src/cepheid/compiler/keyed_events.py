"""The events of a batch for the kernel of chains whose events all have one key: their columns where they lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import constant_holds, evaluated, partition_codes, plain_ints, shaped
from cepheid.compiler.fit import fits_by_type
from cepheid.compiler.keyed import Keyed, keyed_of
from cepheid.compiler.requests import PARTITION, TIME, Request, detached
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import holds
from cepheid.events.batch import EventBatch
from cepheid.kernels import keyed as g
from cepheid.language.tree import Call, walk
from cepheid.plan.automaton import Automaton

FEWEST_EVENTS = 20_000
"""Fewer are not worth the loading of a kernel of their own."""

MOST_KEYS = 1 << 16
"""Each has room of its own, so they may not lie further apart."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KeyedEvents:
    """Events for the kernel.

    Attributes:
        table: the plan, as `kernels.keyed` says.
        fits: uint8, (n_events,): the elements that each event fits, as bits.
        columns: int64: where the columns lie, as `kernels.keyed` says.
        sources: the columns, which have to be kept as long as the kernel reads them.
        least: the least key.
        n_keys: how many there are from the least to the greatest.
        n: number of events that fit some element.
        null_keys: positions of events with NULL in SAME, which are in no partition.
    """

    table: Ints
    fits: NDArray[np.uint8]
    columns: Ints
    sources: tuple[NDArray[Any], ...]
    least: int
    n_keys: int
    n: int
    null_keys: Ints

    @property
    def has_gaps(self) -> bool:
        """Whether there are events that may not come between two steps."""
        return bool(self.table[g.G_HAS_GAPS])


def keyed_events_of(compiled: CompiledPlan, batch: EventBatch) -> KeyedEvents | None:
    """The events of a batch.

    Returns:
        None where the kernel is not for them: a plan that is no such chain, few events, NULL or text in what
        conditions between events read, keys that lie far apart, functions of users.

    Raises:
        DataError: a value does not fit a machine word.
    """
    keyed = keyed_plan(compiled, len(batch))
    if keyed is None or batch.time_us[0] == g.DEAD:
        return None
    partition, valid = _partition(compiled, batch)
    requests = compiled.without_gaps[0].requests
    wanted = (() if keyed.key is None else (keyed.key,)) + keyed.values
    sources: list[NDArray[Any]] = []
    for number in wanted:
        source = _source(compiled, batch, requests.ints[number], partition)
        if source is None:
            return None
        sources.append(source)
    least, n_keys = 0, 1
    if keyed.key is not None:
        least = int(sources[0].min())
        n_keys = int(sources[0].max()) - least + 1
        if n_keys > MOST_KEYS:
            return None
    sources.insert(0, np.ascontiguousarray(batch.time_us))
    fits = _fits(compiled, batch)
    if valid is not None:
        fits[~valid] = 0
    places = [(s.__array_interface__["data"][0], s.dtype.itemsize) for s in sources]
    if keyed.key is None:
        places.insert(g.KEY, (0, 0))
    return KeyedEvents(
        table=keyed.table,
        fits=fits,
        columns=np.array(places, np.int64).reshape(-1),
        sources=tuple(sources),
        least=least,
        n_keys=n_keys,
        n=int(np.count_nonzero(fits)),
        null_keys=np.zeros(0, np.int64) if valid is None else np.flatnonzero(~valid),
    )


def keyed_plan(compiled: CompiledPlan, n_events: int) -> Keyed | None:
    """The plan for the kernel, as far as that can be told without a look at the events: see `keyed_events_of`.

    Args:
        compiled: the plan.
        n_events: in the batch.
    """
    if compiled.hooks is not None or n_events < FEWEST_EVENTS or len(compiled.automaton.elements) > g.FIT_BITS:
        return None
    plain, gaps = compiled.without_gaps
    if plain.chain is None or not _simple(compiled.automaton):
        return None
    keyed = keyed_of(plain.plan, plain.chain, gaps)
    if keyed is None or not any(gaps) or keyed.key is None or plain.requests.ints[keyed.key] == PARTITION:
        return keyed
    # An equality of elements is the key: what comes between them is of no partition, and breaks a NOT for all keys.
    return None


def _simple(automaton: Automaton) -> bool:
    """Whether all is known of an event before it is taken, and windows are spans of time."""
    if automaton.sliding or automaton.counts_events or automaton.two_clocks or automaton.skips:
        return False
    functions = automaton.bound.catalog.functions
    conditions = [c.expression for element in automaton.elements for c in element.conditions]
    nodes = (node for condition in conditions for node in walk(condition))
    return not any(isinstance(node, Call) and node.function in functions for node in nodes)


def _partition(compiled: CompiledPlan, batch: EventBatch) -> tuple[Ints | None, NDArray[np.bool_] | None]:
    """The partition of each event, and where there is one (None: everywhere)."""
    by = compiled.automaton.partition
    if not by:
        return None, None
    plain = plain_ints(batch, by[0]) if len(by) == 1 else None
    if plain is not None:
        return plain, None
    return partition_codes([evaluated(compiled, batch, expression) for expression in by])


def _source(compiled: CompiledPlan, batch: EventBatch, request: Request, partition: Ints | None) -> NDArray[Any] | None:
    """The values of a request for all events: int64 or int32; None where some are NULL, or are texts."""
    values: NDArray[Any] | None
    if request.expression is None:
        values = {PARTITION: partition, TIME: batch.time_us}[request]
    elif request.shape.text or request.variables:
        return None
    else:
        values = plain_ints(batch, request.expression) if request.is_plain_int else None
        if values is None:
            values, valid = shaped(evaluated(compiled, batch, request.expression), request)
            if valid is not None and not valid.all():
                return None
    assert values is not None
    return np.ascontiguousarray(values, values.dtype if values.dtype == np.int32 else np.int64)


def _fits(compiled: CompiledPlan, batch: EventBatch) -> NDArray[np.uint8]:
    """The elements that each event fits, as bits: uint8, (n,)."""
    automaton = compiled.automaton
    if any(not constant_holds(compiled, c.expression) for c in automaton.constants):
        return np.zeros(len(batch), np.uint8)
    fits = fits_by_type(automaton.elements, batch)
    for element in automaton.elements:
        for conjunct in element.conditions:
            held = holds(evaluated(compiled, batch, detached(conjunct.expression)))
            fits &= ~np.where(held, 0, 1 << element.index).astype(np.uint8)
    return fits
