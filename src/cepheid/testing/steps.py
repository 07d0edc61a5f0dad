"""A stream in steps on the engine and on the oracle: what each says at each watermark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cepheid.engine.output import assemble
from cepheid.engine.settings import Settings
from cepheid.engine.snapshot import unpacked
from cepheid.engine.stream import Stream
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery
from cepheid.plan.evaluation import EAGER
from cepheid.testing.harness import LEFT, Answer, EngineRoad, answers_of, oracle_answers, table_of
from cepheid.testing.oracle_events import OracleEvent, Watermark

Items: TypeAlias = Sequence[OracleEvent | Watermark]


class Step(NamedTuple):
    """What is said when the watermark moves.

    Attributes:
        watermark_us: where it is now.
        answers: the matches that are decided by now and were not before; an event is known by its number in the order
            of arrival.
    """

    watermark_us: int
    answers: list[Answer]


def engine_steps(
    bound: BoundQuery,
    items: Items,
    pushes: Sequence[int],
    restored: Sequence[bool] = (False,),
    evaluations: Sequence[str] = (EAGER,),
    *,
    timed_out: bool = False,
) -> tuple[list[Step], list[int]]:
    """What the engine says of a stream.

    Args:
        bound: the query.
        items: events in the order of arrival, and watermarks among them.
        pushes: the events that lie between two watermarks come in pushes of these sizes, which are used in turn.

        restored: whether another stream goes on from a snapshot, after each push and each step; used in turn.
        evaluations: the evaluation plans with which the stream begins, and to which it switches after each push and
            each step, by itself or with the other stream; used in turn.
        timed_out: what times out is asked for, too; it stands behind the matches of a step, marked with `LEFT`.

    Returns:
        A step for each watermark, and one for the end; and the numbers of the late events.
    """
    events = [item for item in items if isinstance(item, OracleEvent)]
    table, schema = table_of(events, bound.schema)
    stream = Stream(bound, table.schema, Settings(evaluation=evaluations[0]), timed_out=timed_out)
    steps: list[Step] = []
    late: list[int] = []
    n_pushed, n_arrived, turn, n_done = 0, 0, 0, 0

    def done() -> None:
        nonlocal n_done, stream
        before, after = (evaluations[(n_done + i) % len(evaluations)] for i in (0, 1))
        if restored[n_done % len(restored)]:
            snapshot = stream.snapshot({})
            stream = Stream(bound, table.schema, Settings(evaluation=after), timed_out=timed_out)
            stream.restore(*unpacked(snapshot), schema)
        elif before != after:
            stream.switch(stream.plan_for(after), Settings(evaluation=after))
        n_done += 1

    def push(n: int) -> None:
        nonlocal n_pushed
        gone = stream.push(read_events(table.slice(n_pushed, n), schema))
        identities = [event.identity for event in events]
        for order, source in zip(*(gone.column(name).to_pylist() for name in schema.order), strict=True):
            late.append(identities.index((source, (order,))))
        n_pushed += n
        done()

    for item in [*items, Watermark(AFTER_ALL_US)]:
        if isinstance(item, OracleEvent):
            n_arrived += 1
            continue
        while n_pushed < n_arrived:
            push(min(pushes[turn % len(pushes)], n_arrived - n_pushed))
            turn += 1
        found = stream.found(item.time)
        answers = []
        if found is not None:
            output = assemble(bound, *found) if bound.query.returns else None
            answers = answers_of(bound, *found, output)
        if stream.left is not None:
            answers += [one._replace(returned=LEFT) for one in answers_of(bound, *stream.left, None)]
        steps.append(Step(item.time, answers))
        done()
    return steps, late


def oracle_steps(bound: BoundQuery, items: Items, *, timed_out: bool = False) -> tuple[list[Step], list[int]]:
    """The same of the oracle, which is asked once; stores hold what their sources do, which are mappings."""
    sources = {name: store.source for name, store in bound.catalog.stores.items()}
    stores = {name: source for name, source in sources.items() if isinstance(source, Mapping)}
    return _steps_of(items, lambda events: oracle_answers(bound, events, stores, timed_out=timed_out))


def batch_steps(bound: BoundQuery, items: Items) -> tuple[list[Step], list[int]]:
    """The same of the engine with all events that are on time in one batch."""
    return _steps_of(items, EngineRoad(bound).answers)


def _steps_of(items: Items, answered: Callable[[Sequence[OracleEvent]], list[Answer]]) -> tuple[list[Step], list[int]]:
    """What is said at each watermark, from what is said of all events that are on time."""
    steps: list[Step] = []
    late: list[int] = []
    numbers: list[int] = []
    on_time: list[OracleEvent] = []
    spans: list[tuple[int, int, int]] = []
    n_arrived, reached = 0, BEFORE_ALL_US
    for item in [*items, Watermark(AFTER_ALL_US)]:
        if isinstance(item, Watermark):
            now = max(reached, item.time)
            spans.append((item.time, reached, now))
            reached = now
            continue
        if item.time <= reached:
            late.append(n_arrived)
        else:
            on_time.append(item)
            numbers.append(n_arrived)
        n_arrived += 1
    answers = [
        answer._replace(bindings=tuple((name, numbers[i]) for name, i in answer.bindings))
        for answer in answered(on_time)
    ]
    for watermark, before, now in spans:
        steps.append(Step(watermark, [answer for answer in answers if before < answer.decided_us <= now]))
    return steps, late
