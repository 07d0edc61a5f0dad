"""Kernels with and without hooks, and what a policy may ask for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import load
from cepheid.engine.session import prepare, run_plan
from cepheid.errors import NotSupportedError
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.plan.evaluation import Evaluation
from cepheid.ports.pairs import Cells, Guard, Orders, Seen, Wanted

FLAGS = frozenset({"COUNTED", "GUARDED", "OBSERVED", "POSTPONES"})

CALLED_WITH_FLAGS = (
    ("advance", "advance"),
    ("advance_chain", "advance_chain"),
    ("advance_lazy", "advance_lazy"),
    ("advance_strict", "advance_strict"),
    ("advance_strict", "fire_strict"),
    ("endings", "fire"),
    ("endings", "accepts"),
    ("scattered", "fire_scattered"),
    ("conditions", "holds_at_large"),
    ("absences", "free_of"),
    ("aggregates", "tally_event"),
    ("absences", "keep_event"),
)


@pytest.mark.parametrize(("module", "name"), CALLED_WITH_FLAGS)
def test_kernels_have_variants_for_the_flags_that_are_read_in_them(module, name):
    plain = load.source_of(module, name, ())
    read = {flag for flag in FLAGS if load.source_of(module, name, (flag,)) is not plain}
    assert read == load._FLAGS_READ.get((module, name), frozenset())


TABLE = pa.table({"ts": [0, 1, 2], "kind": ["A", "B", "B"], "x": [1, 2, 3]})
SCHEMA = schema_of(TABLE, time="ts", time_unit="s", type="kind")


def bound_to(text: str) -> BoundQuery:
    return bind(parse(text), SCHEMA, text=text)


class Orderly:
    """Gives the same orders always."""

    def __init__(self, wanted: Wanted, orders: Orders) -> None:
        self.wanted = wanted
        self.orders = orders

    def begin(self, cells: Cells) -> Orders:
        return self.orders

    def look(self, seen: Seen) -> Orders:
        return self.orders


def test_a_plan_with_hooks_runs_without_a_policy():
    bound = bound_to("SEQ(A a, B b) POLICY any")
    assert len(run_plan(prepare(bound, wanted=Wanted(guard=True)), read_events(TABLE, SCHEMA))) == 2


def test_a_plan_must_be_prepared_for_the_policy():
    bound = bound_to("SEQ(A a, B b) POLICY any")
    policy = Orderly(Wanted(guard=True), Orders())
    for compiled in (prepare(bound), prepare(bound, wanted=Wanted(guard=True, n_bins=2))):
        with pytest.raises(ValueError, match="not prepared for a policy that wants"):
            run_plan(compiled, read_events(TABLE, SCHEMA), policy=policy)


@pytest.mark.parametrize(
    ("wanted", "orders", "message"),
    [
        (Wanted(), Orders(Guard(np.ones((3, 3, 1), np.int64), 0)), "does not want one"),
        (Wanted(guard=True), Orders(Guard(np.ones((3, 3), np.int64), 0)), r"int64 of shape \(3, 3, 1\)"),
        (Wanted(guard=True), Orders(Guard(np.ones((3, 3, 1)), 0)), "float64"),
        (Wanted(), Orders(n_work=1), "needs Wanted.work"),
        (Wanted(guard=True), Orders(observe=True), "does not want to"),
    ],
)
def test_orders_that_do_not_fit_are_refused(wanted, orders, message):
    compiled = prepare(bound_to("SEQ(A a, B b) POLICY any"), wanted=wanted)
    with pytest.raises(ValueError, match=message):
        run_plan(compiled, read_events(TABLE, SCHEMA), policy=Orderly(wanted, orders))


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        (lambda: Orders(n_work=0), "n_work is 0; .* at least 1"),
        (lambda: Orders(n_work=2.5), "n_work is 2.5"),
        (lambda: Orders(observe="yes"), "observe is 'yes'; it has to be True or False"),
        (lambda: Orders(observe=2), "observe is 2"),
        (lambda: Guard(np.ones((3, 3, 1), np.int64), 2**63), "threshold is 9223372036854775808; .* int64"),
        (lambda: Guard(np.ones((3, 3, 1), np.int64), 0.5), "threshold is 0.5"),
    ],
)
def test_orders_that_are_none_are_refused(orders, message):
    with pytest.raises(ValueError, match=message):
        orders()


def test_work_beyond_all_numbers_is_work_without_end():
    orders = Orders(n_work=2**70)
    compiled = prepare(bound_to("SEQ(A a, B b) POLICY any"), wanted=Wanted(work=True))
    assert len(run_plan(compiled, read_events(TABLE, SCHEMA), policy=Orderly(Wanted(work=True), orders))) == 2


def test_a_policy_gives_orders():
    compiled = prepare(bound_to("SEQ(A a, B b) POLICY any"), wanted=Wanted(work=True))
    with pytest.raises(TypeError, match="give Orders, and not None"):
        run_plan(compiled, read_events(TABLE, SCHEMA), policy=Orderly(Wanted(work=True), None))


def test_bins_are_powers_of_two():
    with pytest.raises(ValueError, match="power of two"):
        Wanted(bin_events=3)
    with pytest.raises(ValueError, match="n_bins is 0"):
        Wanted(n_bins=0)


def test_where_variables_wait_nothing_is_observed():
    bound = bound_to("SEQ(A a, B b) WITHIN 5 s POLICY any")
    with pytest.raises(NotSupportedError, match="wait for the last event"):
        prepare(bound, evaluation=Evaluation(eager=(), lazy=("a",)), wanted=Wanted(observe=True))


def test_there_are_no_more_cells_than_a_row_can_tell():
    bound = bound_to("SEQ(A a, B b) WITHIN 5 s POLICY any")
    with pytest.raises(NotSupportedError, match="make 9000000 cells, and a policy can tell 4194303 apart"):
        prepare(bound, wanted=Wanted(observe=True, n_bins=1_000_000))
