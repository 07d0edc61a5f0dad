"""A cap on partial matches: what is found in spite of dropped ones is a match, and nothing is lost below the cap."""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cepheid.engine.session import Work, prepare, run_plan
from cepheid.engine.settings import Settings
from cepheid.errors import CapacityError, NotSupportedError
from cepheid.events.ingest import read_events
from cepheid.testing.harness import answers_of, table_of
from cepheid.testing.strategies import Example, Features, examples

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Of most examples so many starts share a time that nothing can be dropped, or the plan cannot.
FEW = settings(MANY, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def test_what_is_found_is_a_match() -> None:
    n_compared = n_dropped = 0

    @FEW
    @given(examples(Features.ENGINE), st.integers(1, 3))
    def compare(example: Example, most: int) -> None:
        nonlocal n_compared, n_dropped
        table, schema = table_of(example.events, example.bound.schema)
        batch = read_events(table, schema)
        work = Work()
        try:
            compiled = prepare(example.bound)
            found = run_plan(compiled, batch, work=work, settings=Settings(most, on_cap="drop oldest"))
        except (NotSupportedError, CapacityError):
            reject()
        whole = answers_of(example.bound, batch, run_plan(compiled, batch), None)
        left = answers_of(example.bound, batch, found, None)
        remaining = iter(whole)
        assert all(answer in remaining for answer in left), "they come in the order of all matches"
        assert work.n_dropped or left == whole
        n_compared += 1
        n_dropped += work.n_dropped > 0

    compare()
    assert n_compared >= 60
    assert n_dropped >= 1


@MANY
@given(examples(Features.ENGINE), st.integers(1, 6))
def test_an_error_or_all_matches(example: Example, most: int) -> None:
    table, schema = table_of(example.events, example.bound.schema)
    batch = read_events(table, schema)
    try:
        compiled = prepare(example.bound)
        found = run_plan(compiled, batch, settings=Settings(most))
    except (NotSupportedError, CapacityError):
        reject()
    left, whole = (answers_of(example.bound, batch, some, None) for some in (found, run_plan(compiled, batch)))
    assert left == whole
