"""Policies that look at pairs beside open predicates: what is counted does not depend on where the kernel pauses."""

from __future__ import annotations

from dataclasses import fields
from random import Random

import numpy as np
import pytest

from cepheid.engine import open_predicates
from cepheid.engine.session import prepare, run_plan
from cepheid.events.ingest import read_events
from cepheid.kernels.jit import ENABLED
from cepheid.ports.pairs import Seen, Wanted
from cepheid.testing.harness import little_room, table_of
from cepheid.testing.oracle_events import OracleEvent
from tests.properties.stub_policies import DropsCells
from tests.properties.stub_stores import after
from tests.properties.test_postponed import CASES, bound_to, drawn_events

# A variant of the kernels takes seconds to compile: `make test` runs this in plain Python.
pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

WANTED = Wanted(observe=True, work=True, n_bins=2, bin_events=2)
BY_THE_KERNEL = {f.name for f in fields(Seen)} - {"work"}
"""What is told of pairs; a row that is walked over again after a pause is work once more."""


def counted(
    text: str, events: tuple[OracleEvent, ...], *, room: int, n_work: int | None, delay: int
) -> dict[str, object]:
    """The matches, and what a policy was told of all pairs."""
    bound = bound_to(text, after(delay))
    policy = DropsCells(frozenset(), WANTED, n_work)
    compiled = prepare(bound, postpones=True, wanted=WANTED)
    table, schema = table_of(events, bound.schema)
    with little_room(room):
        matches = run_plan(compiled, read_events(table, schema), policy=policy)
    told = {name: np.asarray(getattr(policy.seen, name)).tolist() for name in BY_THE_KERNEL}
    return {"matches": matches.positions.tolist(), **told}


@pytest.mark.parametrize("delay", [0, 3, 1_000])
@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_a_pair_that_is_met_again_after_a_pause_is_counted_once(text: str, delay: int, monkeypatch: pytest.MonkeyPatch):
    """Also where one step of it was done and its room ran out before the next."""
    monkeypatch.setattr(open_predicates, "POLL_EVENTS", 1)
    for seed in range(4):
        events = drawn_events(Random(seed), 20, 30)
        without_pauses = counted(text, events, room=64, n_work=None, delay=delay)
        assert counted(text, events, room=1, n_work=None, delay=delay) == without_pauses
        assert counted(text, events, room=1, n_work=1, delay=delay) == without_pauses
