"""What a plan takes on some events: they are run once more, beside the stream, by a kernel that reads the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from cepheid.compiler.columns import KernelEvents, events_of
from cepheid.compiler.load import kernels, paced_kernel, runs_compiled
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.pool import Pool
from cepheid.engine.session import matches_in
from cepheid.events.batch import EventBatch
from cepheid.events.reorder import taken
from cepheid.kernels import layout as k
from cepheid.kernels.jit import ENABLED
from cepheid.ports.evaluation import Trial


def trial(compiled: CompiledPlan, batch: EventBatch) -> Trial | None:
    """Run a plan over events once, and tell how long each took; of some runs, the least times are to be believed.

    Args:
        compiled: the plan.
        batch: the events, in order.

    Returns:
        What those of them took that the plan can take; None where the kernel for the plan reads no clock: where
        neither all is a chain nor variables wait, where conditions meet NULL in a chain, and where Python is called;
        or as long as there is no machine code for it.
    """
    if compiled.hosted or (compiled.chain is None and not compiled.needs.lazy):
        return None
    events = events_of(compiled, batch)
    if not events.n or (compiled.chain is not None and events.has_nulls):
        return None
    run = paced(compiled, events, np.zeros(events.n, np.int64))
    if run is None:
        return None
    pool, times = run
    found = matches_in(compiled, batch, events, pool.pool, pool.out)
    ends = np.zeros(len(batch), np.bool_)
    ends[found.positions[found.offsets[1:] - 1]] = True
    last = compiled.automaton.n_positive - 1
    fit = events.ints[k.FIT_COLUMN * events.n :][: events.n]
    return Trial(
        services_s=services_s(times),
        ends=ends if events.selected is None else ends[events.selected],
        final=(fit >> last) & 1 == 1,
    )


N_SHUFFLED = 2
"""Beside their own order, events are tried in so many others."""


def arrangements(batch: EventBatch) -> Iterator[EventBatch]:
    """Events in the order in which they came, and in others, drawn at random; times stay where they are.

    Where few events fit what they meet, windows with many partial matches are rare, and they are what makes events
    queue: in the order in which events came there may be none, or one that will hardly come again.

    Args:
        batch: its rows are its events.
    """
    yield batch
    random = np.random.default_rng(0)
    for _ in range(N_SHUFFLED):
        mixed = taken(batch, random.permutation(len(batch)))
        yield replace(mixed, time_us=batch.time_us, numbers=batch.numbers, places=batch.places)


def tried_on(compiled: CompiledPlan, batches: Iterable[EventBatch]) -> Trial | None:
    """What a plan takes on arrangements of the same events; None where `trial` gives none."""
    found: list[Trial] = []
    for batch in batches:
        one = trial(compiled, batch)
        if one is None:
            return None
        found.append(one)
    return Trial(
        services_s=np.concatenate([one.services_s for one in found]),
        ends=np.concatenate([one.ends for one in found]),
        final=np.concatenate([one.final for one in found]),
        n_runs=len(found),
    )


def services_s(times: k.Ints) -> k.Floats:
    """How long each event took, less what it takes to read the clock.

    Args:
        times: as the kernel wrote them; ns.
    """
    # Between the end of an event and the begin of the next one, the clock is read once.
    clock_ns = float(np.median(times[2::2] - times[1:-1:2])) if len(times) > 2 else 0.0
    taken: k.Floats = np.maximum(times[1::2] - times[::2] - clock_ns, 0.0) / 1e9
    return taken


def paced(compiled: CompiledPlan, events: KernelEvents, arrivals_ns: k.Ints) -> tuple[Pool, k.Ints] | None:
    """Step a plan over events with a kernel that waits for each, and reads the clock.

    Args:
        compiled: a chain, or a plan in which variables wait for the last event.
        events: as the plan sees them.
        arrivals_ns: when each arrives, by `time.perf_counter_ns`; what lies in the past has arrived.

    Returns:
        The pool; and when each event was begun and done, ns, two entries an event. None as long as there is no machine
        code for that.
    """
    chain = compiled.chain is not None
    step = paced_kernel(chain=chain)
    if step is None or not (chain or runs_compiled(compiled.needs, chain=False) or not ENABLED):
        return None
    pool = Pool(compiled)
    pool.set_events(events)
    # Written to before: the system hands out memory where it is touched first, 2 MB at a time, which takes it up to
    # some milliseconds, and would be in what an event took.
    times = np.full(2 * events.n, -1, np.int64)
    loaded = None if chain else kernels(compiled.needs)
    while True:
        if loaded is None:
            code = step(compiled.plan, compiled.chain, pool.pool, events.ints, pool.out, arrivals_ns, times)
        else:
            arrays = (pool.reals, events.ints, events.floats, events.nulls, pool.out)
            code = step(compiled.plan, pool.pool, *arrays, *loaded.helpers, arrivals_ns, times)
        if code == k.DONE:
            return pool, times
        pool.make_room(code)
