"""Decisions on evaluation plans as rows, for who watches a stream: which plan runs, and the numbers that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cepheid.ports.evaluation import Decision, PlanEstimate

PLAN_COLUMNS = pa.schema(
    [
        pa.field("bucket", pa.int64()),
        pa.field("query", pa.string()),
        pa.field("time_us", pa.int64()),
        pa.field("before", pa.string()),
        pa.field("plan", pa.string()),
        pa.field("switched", pa.bool_()),
        *(
            pa.field(f"{name}{when}", pa.float64())
            for when in ("_before", "")
            for name in ("waiting_s", "service_s", "events_per_s", "utilization")
        ),
        pa.field("tried", pa.bool_()),
        pa.field("told", pa.string()),
    ]
)
"""The columns of the output ``plans``: what was decided where and when (event time, us since the epoch); of the plan
before and of the one from then on, how long a last event waits (infinite where events come too fast) and is served,
events that are done in a second, and the share of time that is spent on them, NULL where that was not estimated;
whether the new plan was tried on the last events; and all of it, with rates and selectivities, in a sentence."""


def plans_table(bucket: int, decisions: Sequence[tuple[str | None, Decision]]) -> Any:
    """Decisions as a pyarrow Table with `PLAN_COLUMNS`.

    Args:
        bucket: of whose events they are.
        decisions: with the name of the query; None where there is one alone.
    """
    rows = []
    for query, decision in decisions:
        before, now = decision.of(decision.before), decision.of(decision.plan)
        of = (bucket, query, decision.time_us, decision.before, decision.plan, decision.switches)
        rows.append((*of, *_numbers(before), *_numbers(now), now is not None and now.tried, str(decision)))
    columns = zip(*rows, strict=True) if rows else [()] * len(PLAN_COLUMNS)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, PLAN_COLUMNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=PLAN_COLUMNS)


def _numbers(one: PlanEstimate | None) -> tuple[float | None, ...]:
    if one is None:
        return (None,) * 4
    return one.waiting_s, one.service_s, one.events_per_s, one.utilization
