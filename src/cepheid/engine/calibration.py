"""What work costs on this machine: small random streams are run through the kernels and timed."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from cepheid.compiler.columns import events_of
from cepheid.compiler.keyed_events import FEWEST_EVENTS, keyed_events_of
from cepheid.compiler.load import cache_folder, chain_kernel, is_compiled, kernels, keyed_kernel, runs_compiled
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.keyed import step_keyed
from cepheid.engine.pool import Pool
from cepheid.engine.session import prepare
from cepheid.engine.settings import MAX_PARTIAL_MATCHES
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events, schema_of
from cepheid.kernels import layout as k
from cepheid.kernels.jit import ENABLED
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.plan.evaluation import asked_for
from cepheid.ports.calibration import Measured

N_EVENTS, N_TIMES = (4_000, 15) if ENABLED else (120, 1)
N_VALUES = 10_000
"""Values of the left side of a comparison; the right side has so many that it holds as often as is wanted."""

N_KEYED_EVENTS = 2 * FEWEST_EVENTS

KINDS = ("chain", "lazy", "general", "keyed")
"""Kernels that are measured: `advance_chain`, `advance_lazy`, and for the first `advance` or `advance_keyed`."""


@dataclass(frozen=True)
class Design:
    """A stream and a pattern.

    Attributes:
        plan: the evaluation plan.
        window: events in a window, of all types.
        shares: type -> its share of the events, in the order of the pattern.
        less, equal: pair of neighbours -> how often ``<``, or ``=``, holds between them.
        same: with SAME, how often two events have the same key.
        n_events: the length of the stream.
    """

    plan: str
    window: int
    shares: Mapping[str, float]
    less: Mapping[str, float] = field(default_factory=dict)
    equal: Mapping[str, float] = field(default_factory=dict)
    same: float | None = None
    n_events: int = N_EVENTS

    def events(self) -> pa.Table:
        """The stream: an event a microsecond."""
        random = np.random.default_rng(7)
        names, n = list(self.shares), self.n_events
        types = random.choice(len(names), n, p=list(self.shares.values()))
        columns = {"at": np.arange(n), "type": np.array(names)[types]}
        if self.same is not None:
            columns["key"] = random.integers(0, round(1 / self.same), n)
        for pair in (*self.less, *self.equal):
            left, right = (types == names.index(name) for name in tuple(pair))
            values = np.zeros(n, np.int64)
            if pair in self.less:
                values[left] = random.integers(0, N_VALUES, left.sum())
                values[right] = random.integers(0, round(2 * N_VALUES * self.less[pair]) + 1, right.sum())
            else:
                either = left | right
                values[either] = random.integers(0, round(1 / self.equal[pair]), either.sum())
            columns[f"v_{pair}"] = values
        return pa.table(columns)

    def query(self) -> str:
        """The pattern."""
        compared = [(pair, "<") for pair in self.less] + [(pair, "=") for pair in self.equal]
        conditions = [f"{pair[0]}.v_{pair} {operator} {pair[1]}.v_{pair}" for pair, operator in compared]
        told = [*(["SAME[key]"] if self.same is not None else []), *conditions]
        where = f" WHERE {' AND '.join(told)}" if told else ""
        elements = ", ".join(f"{name} {name}" for name in self.shares)
        return f"PATTERN SEQ({elements}){where} WITHIN {self.window} us POLICY any"

    def measured(self, kernel: str, service_s: float) -> Measured:
        """What a run of it says."""
        return Measured(
            kernel=kernel,
            plan=self.plan,
            variables=tuple(self.shares),
            n_in_window={name: share * self.window for name, share in self.shares.items()},
            equal={(pair[0], pair[1]): share for pair, share in self.equal.items()},
            less={(pair[0], pair[1]): share for pair, share in self.less.items()},
            same=self.same,
            service_s=service_s,
        )


def _even(names: str) -> dict[str, float]:
    return dict.fromkeys(names, 1 / len(names))


EAGER = (
    Design("A/", 8, _even("AB"), {"AB": 0.0}),
    Design("A/", 600, _even("AB"), {"AB": 0.0}),
    Design("A/", 100, _even("AB"), {"AB": 0.2}),
    Design("A B/", 600, _even("ABC"), {"AB": 0.01, "BC": 0.0}),
    Design("A B/", 300, _even("ABC"), {"AB": 0.04, "BC": 0.002}),
    Design("A B/", 400, _even("ABC"), {}, {"AB": 0.01, "BC": 0.005}),
    Design("A B/", 500, _even("ABC"), {"AB": 0.004}, {"BC": 0.01}),
    Design("A/", 300, {"A": 0.8, "B": 0.2}, {"AB": 0.02}),
)
KEYED = tuple(
    replace(one, n_events=N_KEYED_EVENTS)
    for one in (
        Design("A/", 8, _even("AB"), same=0.01),
        Design("A/", 2_000, _even("AB"), {"AB": 0.0}, same=0.02),
        Design("A/", 2_000, _even("AB"), {"AB": 0.2}, same=0.02),
        Design("A/", 500, {"A": 0.8, "B": 0.2}, same=0.02),
        Design("A B/", 1_000, _even("ABC"), {"AB": 0.04, "BC": 0.002}, same=0.05),
        Design("A B/", 200, _even("ABC"), same=0.01),
        Design("A B/", 600, _even("ABC"), {"AB": 0.01, "BC": 0.0}, same=0.2),
    )
)
"""All their events have one key, and no step more than one comparison."""

LAZY = (
    Design("/B A", 400, {"A": 0.5, "B": 0.49, "C": 0.01}, {"AB": 0.01, "BC": 0.01}),
    Design("/B A", 400, {"A": 0.5, "B": 0.49, "C": 0.01}, {}, {"AB": 0.01, "BC": 0.01}),
    Design("/B A", 600, _even("ABC"), {"AB": 0.005, "BC": 0.005}),
    Design("/B A", 600, _even("ABC"), {"AB": 0.02, "BC": 0.02}),
    Design("/B A", 300, {"A": 0.2, "B": 0.2, "C": 0.6}, {"AB": 0.05, "BC": 0.0}),
    Design("/B A", 600, _even("ABC"), {}, {"AB": 0.01, "BC": 0.01}),
    Design("/B A", 60, {"A": 0.2, "B": 0.2, "C": 0.6}, {}, {"AB": 0.001, "BC": 0.2}),
    Design("/A B", 200, _even("ABC"), {"AB": 0.0, "BC": 0.01}),
    Design("A/B", 200, _even("ABC"), {"AB": 0.0, "BC": 0.01}),
    Design("B/A", 600, _even("ABC"), {"AB": 0.005, "BC": 0.005}),
    Design("A B/C", 300, _even("ABCD"), {"AB": 0.04, "BC": 0.0, "BD": 0.004}),
    Design("A B/C", 600, _even("ABCD"), {"AB": 0.005, "CD": 0.01}, {"BD": 0.02}),
)
"""They differ in what they do most: wait, walk, make partial matches, look up by a hash or a range, join."""


def measured(kernel: str) -> tuple[Measured, ...]:
    """What an event takes in each of some streams, with one of the kernels of `KINDS`.

    It is measured once for a machine and a version of the kernels, in a fifth of a second, and then kept in the folder
    for machine code; where there is no such folder, once for each process. What is kept is read without a look at the
    kernels: choosing a plan loads none that is not run.

    Args:
        kernel: one of `KINDS`.

    Returns:
        What was measured; nothing as long as there is no machine code for the kernel.
    """
    found = _kept(kernel)
    if found is None:
        if ENABLED and not _is_ready(kernel):
            return ()
        found = _measured_once(kernel)
    return found


_found: dict[str, tuple[Measured, ...]] = {}


def _kept(kernel: str) -> tuple[Measured, ...] | None:
    """What this process, or one before it, has measured; None where that is still to be done."""
    if kernel not in _found:
        path = _path(kernel)
        times = None if path is None else _read(path, _designs(kernel))
        if times is None:
            return None
        _found[kernel] = _told(kernel, times)
    return _found[kernel]


def _path(kernel: str) -> Path | None:
    folder = cache_folder() if ENABLED else None
    return None if folder is None else folder / f"calibration.{kernel}.json"


def _designs(kernel: str) -> tuple[Design, ...]:
    return {"lazy": LAZY, "keyed": KEYED}.get(kernel, EAGER)


def _told(kernel: str, times: list[float]) -> tuple[Measured, ...]:
    return tuple(design.measured(kernel, time_s) for design, time_s in zip(_designs(kernel), times, strict=True))


def _is_ready(kernel: str) -> bool:
    """Whether the kernel is machine code; where it is none yet, that is asked for."""
    if kernel == "chain":
        return is_compiled(chain_kernel())
    if kernel == "keyed":
        # Each is asked for, whether or not another one is there.
        return None not in [keyed_kernel(n) for n in sorted({len(design.shares) for design in KEYED})]
    design = (LAZY if kernel == "lazy" else EAGER)[0]
    table = design.events()
    bound = bind(parse(design.query()), schema_of(table, time="at", time_unit="us", type="type"))
    needs = prepare(bound, evaluation=asked_for(bound, design.plan)).needs
    kernels(needs)
    return runs_compiled(needs, chain=False)


def _measured_once(kernel: str) -> tuple[Measured, ...]:
    designs, path = _designs(kernel), _path(kernel)
    times = list(_times_s(kernel, designs))
    if path is not None:
        _write(path, designs, times)
    _found[kernel] = _told(kernel, times)
    return _found[kernel]


def _read(path: Path, designs: tuple[Design, ...]) -> list[float] | None:
    """What was measured before; None where nothing was, or something else."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(said, dict) or said.get("designs") != _named(designs):
        return None
    times: list[float] = said["times_s"]
    return times


def _named(designs: tuple[Design, ...]) -> list[str]:
    return [repr(asdict(design)) for design in designs]


def _write(path: Path, designs: tuple[Design, ...], times: list[float]) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"designs": _named(designs), "times_s": times}, file)
    os.replace(name, path)


def _times_s(kernel: str, designs: tuple[Design, ...]) -> Iterator[float]:
    """Of each stream, the time that an event takes once the window is full: that of its second half."""
    for design in designs:
        table = design.events()
        schema = schema_of(table, time="at", time_unit="us", type="type")
        bound = bind(parse(design.query()), schema)
        compiled = prepare(bound, evaluation=asked_for(bound, design.plan))
        half = design.n_events // 2
        halves = [read_events(part, schema) for part in (table.slice(0, half), table)]
        best = [float("inf"), float("inf")]
        for _ in range(N_TIMES):
            best = [min(time_s, _time_s(compiled, part, kernel)) for time_s, part in zip(best, halves, strict=True)]
        yield max(best[1] - best[0], 0.0) / (design.n_events - half)


def _time_s(compiled: CompiledPlan, batch: EventBatch, kernel: str) -> float:
    if kernel == "keyed":
        return _keyed_time_s(compiled, batch)
    events, pool = events_of(compiled, batch), Pool(compiled)
    pool.set_events(events)
    if kernel == "chain":
        step = partial(chain_kernel(), compiled.plan, compiled.chain, pool.pool, events.ints, pool.out)
    else:
        loaded = kernels(compiled.needs)
        arrays = (pool.reals, events.ints, events.floats, events.nulls, pool.out)
        step = partial(loaded.advance, compiled.plan, pool.pool, *arrays, *loaded.helpers)
    start = time.perf_counter()
    code = step()
    time_s = time.perf_counter() - start
    if code != k.DONE:
        raise RuntimeError(f"the kernel {kernel} stopped with {code} where everything has room")
    return time_s


def _keyed_time_s(compiled: CompiledPlan, batch: EventBatch) -> float:
    events, pool = keyed_events_of(compiled, batch), Pool(compiled)
    if events is None:
        raise RuntimeError("a stream for the kernel of one key is none for it")
    start = time.perf_counter()
    held = step_keyed(events, pool, MAX_PARTIAL_MATCHES)
    time_s = time.perf_counter() - start
    if held is None:
        raise RuntimeError("the kernel of one key stopped where everything has room")
    return time_s
