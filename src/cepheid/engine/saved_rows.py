"""The partial matches of a pool as tables, and back.

Rows name events by their places among those that are saved beside them, and states by their numbers. Each register is a
column, named by what it holds: the number of its element, and that of the column of values that it comes from. Such
numbers mean the same in plans of one fingerprint only; snapshots of others are refused.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler.columns import KernelEvents
from cepheid.compiler.load import rekey_kernel, relinkers
from cepheid.compiler.registers import AnyRegister, Count, Iteration, Passed, Slot, Tally, Value
from cepheid.compiler.requests import Register, Request
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.compaction import hang, link_fields, room_for, runs_of
from cepheid.engine.pool import Pool
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.kernels import hook_layout as h
from cepheid.kernels import layout as k


def fingerprint(compiled: CompiledPlan) -> str:
    """A digest of all that the numbers in saved rows refer to: they fit the plans in which it is the same.

    These are the states, the registers, the columns of values, and the lists that rows are in.
    """
    automaton, requests = compiled.automaton, compiled.requests
    states = [
        (automaton.variables[state.element].variable, [automaton.edges[edge].target for edge in state.edges])
        for state in automaton.states
    ]
    names = sorted(_name(register) for register in compiled.registers)
    columns = [[_request(column) for column in kept] for kept in (requests.ints, requests.floats)]
    meant: tuple[object, ...] = (states, names, columns, len(link_fields(compiled.plan)))
    if compiled.hooks is not None:
        meant = (*meant, repr(compiled.hooks))
    if automaton.joins is not None:  # the events that are kept are numbered by its steps
        meant = (*meant, str(automaton.joins.evaluation))
    return blake2b(repr(meant).encode(), digest_size=16).hexdigest()


def _request(column: Request) -> str:
    # The order of a set of texts is another in each process.
    return repr((column.expression, column.type, column.shape, sorted(column.variables), column.step))


def _name(register: AnyRegister) -> str:
    """A register by what it holds, in numbers of the plan."""
    if isinstance(register, Iteration):
        return f"iteration of group {register.group}"
    # The ends of the gap of a NOT are numbered as the NOTs are; all others belong to elements.
    number = f"{register.element}"
    match register:
        case Slot(which=which):
            return f"{which} {number}"
        case Count():
            return f"count of {number}"
        case Passed():
            return f"whether {number} was passed"
        case Value(column=column):
            return f"value {column} of {number}"
        case Tally(function=function, column=column, shape=shape):
            return f"{function} of {column} of {number} as {shape}"


def saved_rows(compiled: CompiledPlan, pool: Pool, events: KernelEvents | None) -> tuple[Any, Any]:
    """The partial matches, and the events that NOTs may ask for, each as a pyarrow Table.

    Args:
        compiled: the plan.
        pool: as `compaction.compact` has left it.
        events: those that it left.
    """
    plan, words = compiled.plan, pool.pool
    n, width = int(words[k.M_HEAD]), int(plan[k.P_ROW_WIDTH])
    fields = words[words[k.M_ROWS] :][: n * width].reshape(n, width)
    run_field, registers = int(plan[k.P_RUN_FIELD]), int(plan[k.P_REGISTERS])
    columns = {
        "extends": fields[:, k.PARENT],
        "event": fields[:, k.EVENT],
        "state": fields[:, k.STATE] & k.STATE_MASK,
    }
    for number, field in enumerate(link_fields(compiled.plan)):
        columns[f"waits in list {number}"] = (fields[:, field] != k.UNLINKED).astype(np.int64)
    if run_field >= 0:
        columns["start"] = fields[:, run_field]
        waits = np.zeros(n, np.int64)
        hanging = runs_of(words)[:, k.RUN_ROW]
        while (hanging := hanging[hanging >= 0]).size:
            waits[hanging] = 1
            hanging = fields[hanging, run_field + 1]
        columns["waits for the deadline"] = waits
    for register, number in compiled.registers.items():
        name = _name(register)
        own = fields[:, registers + number]
        column = _coded(register)
        if isinstance(register, Value):
            assert column is not None
            own = _events_with(events, column, own)
        columns[name] = own
        for word, at in enumerate(_further(register)):
            value = fields[:, registers + number + at]
            columns[f"{name}, word {word}"] = value if column is None else _events_with(events, column, value)
    arrays = {name: array_of(np.ascontiguousarray(values)) for name, values in columns.items()}
    for name, field in _for_policy(compiled, pool).items():
        arrays[name] = array_of(np.ascontiguousarray(fields[:, field]))
    reals = pool.reals_of_rows()[:n]
    for number in range(reals.shape[1]):
        arrays[f"sum {number}"] = array_of(np.ascontiguousarray(reals[:, number]))
    n_kept = int(words[k.M_KEPT_HEAD])
    kept = words[words[k.M_KEPT] :][: n_kept * k.KEPT_WIDTH].reshape(n_kept, k.KEPT_WIDTH)
    negated = {"event": k.KEPT_EVENT, "time": k.KEPT_TIME, "of": k.KEPT_BUFFER}
    kept_table = pa.table({name: array_of(np.ascontiguousarray(kept[:, at])) for name, at in negated.items()})
    return pa.table(arrays), kept_table


def restored_rows(compiled: CompiledPlan, pool: Pool, events: KernelEvents, rows: Any, negated: Any) -> None:
    """Fill an empty pool with what `saved_rows` gave, over the same events."""
    plan = compiled.plan
    n, width = rows.num_rows, int(plan[k.P_ROW_WIDTH])
    saved = {name: numpy_of(rows.column(name).combine_chunks()) for name in rows.column_names}
    fields = np.full((n, width), k.UNLINKED, np.int64)
    run_field, registers = int(plan[k.P_RUN_FIELD]), int(plan[k.P_REGISTERS])
    times = events.ints[k.TIME_COLUMN * events.n :][: events.n]
    fields[:, registers:] = 0
    fields[:, k.PARENT], fields[:, k.EVENT] = saved["extends"], saved["event"]
    lengths, starts = np.ones(n, np.int64), times[fields[:, k.EVENT]].copy()
    for row in np.flatnonzero(fields[:, k.PARENT] >= 0):  # a parent comes before those that extend it
        lengths[row] = lengths[fields[row, k.PARENT]] + 1
        starts[row] = starts[fields[row, k.PARENT]]
    fields[:, k.START] = starts
    fields[:, k.STATE] = saved["state"] | (lengths << k.LENGTH_SHIFT)
    for number, field in enumerate(link_fields(compiled.plan)):
        fields[saved[f"waits in list {number}"] != 0, field] = k.NO_ROW
    runs = np.full((0, k.RUN_WIDTH), k.NO_ROW, np.int64)
    if run_field >= 0 and n:
        fields[:, run_field], fields[:, run_field + 1] = saved["start"], k.NO_ROW
        runs = np.full((int(saved["start"].max()) + 1, k.RUN_WIDTH), k.NO_ROW, np.int64)
        runs[fields[:, run_field], k.RUN_START] = starts
        hang(fields, runs, np.flatnonzero(saved["waits for the deadline"]), run_field)
    for register, number in compiled.registers.items():
        name, column = _name(register), _coded(register)
        own = saved[name]
        fields[:, registers + number] = _values_of(events, column, own) if isinstance(register, Value) else own
        for word, at in enumerate(_further(register)):
            value = saved[f"{name}, word {word}"]
            fields[:, registers + number + at] = value if column is None else _values_of(events, column, value)
    for name, field in _for_policy(compiled, pool).items():
        fields[:, field] = saved[name]
    kept = np.zeros((negated.num_rows, k.KEPT_WIDTH), np.int64)
    kept[:, k.KEPT_GROUP] = -1  # plans with NOT of a group hold nothing from step to step
    for name, at in {"event": k.KEPT_EVENT, "time": k.KEPT_TIME, "of": k.KEPT_BUFFER}.items():
        kept[:, at] = numpy_of(negated.column(name).combine_chunks())
    header = pool.pool[: k.POOL_HEADER].copy()
    header[k.M_CAPACITY] = room_for(n, pool)
    header[k.M_RUN_CAPACITY] = room_for(len(runs), pool) if run_field >= 0 else 1
    header[k.M_KEPT_CAPACITY] = room_for(len(kept), pool) if plan[k.P_N_BUFFERS] > 0 else 1
    header[k.M_HEAD], header[k.M_RUN_HEAD], header[k.M_KEPT_HEAD] = n, len(runs), len(kept)
    pool.pool = words = pool.laid_out(header)
    pool.reals = pool.new_reals(int(header[k.M_CAPACITY]))
    reals = pool.reals_of_rows()
    for number in range(reals.shape[1]):
        reals[:n, number] = saved[f"sum {number}"]
    for place, content in ((k.M_ROWS, fields), (k.M_RUNS, runs), (k.M_KEPT, kept)):
        words[words[place] :][: content.size] = content.reshape(-1)
    pool.set_events(events)
    rekey_kernel()(plan, words, events.ints, events.nulls)
    relink, relink_kept = relinkers()
    relink(plan, words)
    relink_kept(words)


def _for_policy(compiled: CompiledPlan, pool: Pool) -> dict[str, int]:
    """The field of a row that a policy needs, by what it holds; none where there is no policy."""
    if compiled.hooks is None or not len(pool.for_policy):
        return {}
    hooks = compiled.plan[compiled.plan[k.P_HOOKS] :]
    wanted = compiled.hooks.wanted
    return {"pair": int(hooks[h.H_PAIR])} if wanted.observe or hooks[h.H_FIRST] >= 0 else {}


def _further(register: AnyRegister) -> range:
    """The words of an aggregate after its count."""
    if not isinstance(register, Tally) or register.function == "count" or register.shape.register is Register.FLOAT:
        return range(0)
    return range(1, 3 if register.function == "sum" else 2)


def _coded(register: AnyRegister) -> int | None:
    """The column whose values a register holds, which may be codes of one batch; None for what is a number for good."""
    if isinstance(register, Value) or (isinstance(register, Tally) and register.function in ("min", "max")):
        return register.column
    return None


def _column(events: KernelEvents, column: int) -> k.Ints:
    return events.ints[(k.FIRST_COLUMN + column) * events.n :][: events.n]


def _events_with(events: KernelEvents | None, column: int, values: k.Ints) -> k.Ints:
    """For each value, an event that has it in a column; -1 where none has, which is where nothing was taken."""
    if events is None:
        return np.full(len(values), -1, np.int64)
    codes, first = np.unique(_column(events, column), return_index=True)
    place = np.minimum(np.searchsorted(codes, values), len(codes) - 1)
    return np.where(codes[place] == values, first[place], -1)


def _values_of(events: KernelEvents, column: int | None, having: k.Ints) -> k.Ints:
    assert column is not None
    return np.where(having >= 0, _column(events, column)[having], 0)
