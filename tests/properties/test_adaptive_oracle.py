"""Plans that change at random while a stream runs, with snapshots between: at each watermark the oracle's matches."""

from __future__ import annotations

from random import Random

import pytest

from cepheid.engine.settings import Settings
from cepheid.engine.snapshot import unpacked
from cepheid.engine.stream import Stream
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery
from cepheid.testing.harness import answers_of, table_of
from cepheid.testing.oracle_events import OracleEvent, Watermark
from cepheid.testing.steps import Items, Step, oracle_steps
from tests.properties.test_adaptive import Restless
from tests.properties.test_evaluation_plans import IN_WINDOWS, bound_of, events_of

SECOND = 1_000_000


class Hasty(Restless):
    """Chooses after each step, however few events there were."""

    fewest = 1


HASTY = Settings(evaluation="adaptive", chooser=Hasty)


def steps_of(bound: BoundQuery, items: Items, random: Random) -> tuple[list[Step], set[str]]:
    """What a stream says whose plan is another one after each step; and the plans that ran.

    It goes on from snapshots, which are taken between a push and its step, and between a switch and the next event;
    it is also told to switch from outside, and to choose anew.
    """
    table, schema = table_of([item for item in items if isinstance(item, OracleEvent)], bound.schema)
    stream, plans, steps, n_pushed, n_arrived = Stream(bound, table.schema, HASTY), set[str](), list[Step](), 0, 0

    def disturb() -> None:
        nonlocal stream
        assert stream.adapting is not None
        plans.add(stream.adapting.plan)
        chance = random.random()
        if chance < 0.3:
            saved, before = stream.snapshot({}), stream.adapting.plan
            stream = Stream(bound, table.schema, HASTY)
            stream.restore(*unpacked(saved), schema)
            assert stream.adapting is not None
            assert stream.adapting.plan == before
        elif chance < 0.4:
            stream.switch(stream.plan_for("lazy"), Settings(evaluation="lazy"))
            stream.switch(stream.plan_for("adaptive"), HASTY)

    for item in [*items, Watermark(AFTER_ALL_US)]:
        if isinstance(item, OracleEvent):
            n_arrived += 1
            continue
        while n_pushed < n_arrived:
            n = min(random.randint(1, 3), n_arrived - n_pushed)
            stream.push(read_events(table.slice(n_pushed, n), schema))
            n_pushed += n
            disturb()
        found = stream.found(item.time)
        steps.append(Step(item.time, [] if found is None else answers_of(bound, *found, None)))
        disturb()
    return steps, plans


@pytest.mark.slow
@pytest.mark.parametrize("pattern", IN_WINDOWS.values(), ids=IN_WINDOWS)
def test_each_step_gives_what_the_oracle_gives(pattern: str):
    random, n_found, ran = Random(pattern), 0, set[str]()
    for _ in range(3):
        bound = bound_of(pattern)
        items: list[OracleEvent | Watermark] = []
        for i, event in enumerate(events_of(random, 24)):
            items.append(event)
            if i % 3 == 2:
                items.append(Watermark(event.time - random.randint(0, 2) * SECOND))
        wanted, _ = oracle_steps(bound, items)
        found, plans = steps_of(bound, items, random)
        assert found == wanted
        n_found += sum(len(step.answers) for step in wanted)
        ran |= plans
    assert n_found
    assert len(ran) > 1
