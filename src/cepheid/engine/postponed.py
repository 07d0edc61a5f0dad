"""A session that goes on where conditions wait for answers of remote stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.carried import CarriedSession
from cepheid.engine.held_back import HeldBack, Literals, without_rests
from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import narrowed
from cepheid.engine.open_predicates import OpenPredicates
from cepheid.engine.pool import Pool
from cepheid.engine.settings import Settings
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k
from cepheid.kernels import open_layout as o


class PostponedSession(CarriedSession):
    """One query over one stream; see `engine.incremental.Session`.

    Partial matches go on with predicates open. A match is told when all that it rests on is settled and is so, and
    after all that come before it in the order of matches: one whose answer never comes holds back those after it, until
    the end of the input, where all answers are waited for.
    """

    def __init__(self, compiled: CompiledPlan, settings: Settings) -> None:
        """Start at the beginning of a stream.

        Args:
            compiled: a plan that postpones, with no `engine.carrying.reason_not_carried`.
            settings: how much may be held.
        """
        super().__init__(compiled, settings)
        self._back = HeldBack()
        self._opened: OpenPredicates | None = self._new_predicates(self._pool)

    def _new_predicates(self, pool: Pool) -> OpenPredicates:
        opened = OpenPredicates(self._compiled, pool, self._remote, max(1, self._settings.max_open_predicates))
        opened.held = self._back.literals
        return opened

    @property
    def n_open_predicates(self) -> int:
        """Predicates that are not settled, and that a partial match or a match rests on."""
        return 0 if self._opened is None else self._opened.n_open

    @property
    def n_held_back(self) -> int:
        """Matches that wait for answers, and those that come after them."""
        return len(self._back)

    @property
    def n_bytes(self) -> int:
        """Bytes of partial matches, of the events that are kept, and of those of matches that are held back."""
        return super().n_bytes + self._back.n_bytes

    @property
    def settled_us(self) -> int:
        """See `engine.incremental.Session.settled_us`."""
        earliest = self._back.earliest_us
        return super().settled_us if earliest is None else min(super().settled_us, earliest - 1)

    def step(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """Move the watermark; see `engine.incremental.Session.step`."""
        if self._opened is not None:
            self._opened.poll()
        found = super().step(ready, watermark_us)
        if self._opened is None:  # another plan goes on, and waits for all answers
            if found is not None:
                self._back.add(*found, [()] * len(found[1]))
            return self._back.released()
        if watermark_us == AFTER_ALL_US:
            self._wait_for_all()
        self._back.settle(self._opened)
        return self._back.released()

    def _told(self, batch: EventBatch, matches: Matches) -> tuple[EventBatch, Matches] | None:
        """Hold matches back; what can be told is told at the end of the step."""
        if self._opened is None:
            return super()._told(batch, matches)
        assert matches.rests_on is not None
        literals: list[Literals] = [self._opened.open_literals(cell) for cell in matches.rests_on.tolist()]
        self._back.add(*narrowed(batch, without_rests(matches)), literals)
        return None

    def _wait_for_all(self) -> None:
        """Wait until all that matches rest on is settled.

        Raises:
            DataError: a store gives up.
        """
        assert self._opened is not None
        while True:
            self._back.settle(self._opened)
            literal = next(self._back.literals(), None)
            if literal is None:
                return
            self._opened.wait([self._opened.predicate_of(literal)])

    def compact(self) -> None:
        """Forget what nothing can come of any more, and the predicates that only that rested on."""
        if self._opened is None:
            super().compact()
            return
        if self.watermark_us == AFTER_ALL_US:
            self._wait_for_all()
        pool = self._pool
        super().compact()
        if self._pool is pool:
            self._back.settle(self._opened)
            self._opened.collect()
        else:
            self._opened = self._new_predicates(self._pool)

    def switch(self, compiled: CompiledPlan) -> None:
        """See `engine.incremental.Session.switch`; all that is open is waited for, and the other plan waits, too."""
        if self._opened is not None:
            self._opened.wait(self._opened.open_ones())
            self._back.settle(self._opened)
        self._opened = None
        super().switch(compiled)

    # --- snapshots --------------------------------------------------------------------------------------

    def saved(self) -> tuple[EventBatch | None, list[Any], dict[str, Any]]:
        """See `engine.incremental.Session.saved`."""
        if self._opened is None:
            return super().saved()
        self._opened.poll()
        held, tables, said = super().saved()
        said["open"] = self._opened.saved()
        rows, at, field = self._opened.rows()
        marks = self._marks_field()
        beside = pa.table(
            {
                "rests on": pa.array(
                    [list(self._opened.open_literals(cell) or ()) for cell in rows[at, field].tolist()],
                    pa.list_(pa.int64()),
                ),
                "mark": array_of(np.zeros(len(at), np.int64) if marks < 0 else np.ascontiguousarray(rows[at, marks])),
            }
        )
        return held, [*tables, beside, *self._back.saved()], said

    def restore(self, held: EventBatch | None, tables: list[Any], said: dict[str, Any], watermark_us: int) -> None:
        """See `engine.incremental.Session.restore`."""
        is_open = "open" in said
        own, beside = (tables[:-3], tables[-3:]) if is_open else (tables, [])
        super().restore(held, own, {name: what for name, what in said.items() if name != "open"}, watermark_us)
        assert self._opened is not None
        rows, at, field = self._opened.rows()
        rows[at, field] = o.NO_CELL
        if is_open:
            self._take_up(held, beside, said["open"])

    def _take_up(self, held: EventBatch | None, tables: list[Any], predicates: list[list[Any]]) -> None:
        """Let partial matches and matches rest on what they rested on."""
        assert self._opened is not None
        beside, events, matches = tables
        renamed = self._opened.restore(predicates)
        rows, at, field = self._opened.rows()
        if len(at):
            marks = self._marks_field()
            if marks >= 0:
                rows[at, marks] = numpy_of(beside.column("mark").combine_chunks())
            for place, literals in zip(at.tolist(), beside.column("rests on").to_pylist(), strict=True):
                cell = self._opened.cell_of([2 * renamed[one >> 1] + (one & 1) for one in literals])
                rows, _, _ = self._opened.rows()  # making room lays the pool out again
                rows[place, field] = cell
        schema = self._compiled.automaton.bound.schema if held is None else held.schema
        self._back.restore(events, matches, schema, renamed)

    def _marks_field(self) -> int:
        """The field that says what a run says of a row, or -1."""
        run_field = int(self._compiled.plan[k.P_RUN_FIELD])
        return run_field + 2 if run_field >= 0 and self._compiled.plan[k.P_MIXED] else -1
