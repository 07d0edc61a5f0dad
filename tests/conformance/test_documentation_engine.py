"""Every example in the definition of the language and beside it, on the compiled engine.

What the engine cannot run yet is skipped with the operator's name, and only for an operator that the one table of
refusals (`tests.conformance.refusals`) has a case for. So once an operator runs, its lines leave that table, and every
example here must run with it.
"""

from __future__ import annotations

import pytest

from tests.conformance.documented import documented_cases
from tests.conformance.engine_lines import expected, lines, local, timed_out
from tests.conformance.notation import Case
from tests.conformance.refusals import REFUSED, refusal

EXAMPLES = documented_cases()


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_example(case: Case):
    refused = refusal(case)
    if refused is not None:
        assert refused in set(REFUSED.values()), "refused, and no case in tests/conformance/cases.py is for that reason"
        pytest.skip(f"not yet: {refused}")
    assert lines(case) == expected(case.matches)
    if case.timed_out is not None:
        assert timed_out(case) == expected(case.timed_out)
    if case.rejected or case.returned is not None:
        result, names = local(case)
        assert result.rejected["row"].to_pylist() == [names.to_pylist().index(name) for name in case.rejected]
        if case.returned is not None:
            assert result.matches.to_pylist() == [dict(row) for row in case.returned]


def test_most_examples_run():
    n_refused = sum(refusal(case) is not None for case in EXAMPLES)
    assert 2 * n_refused < len(EXAMPLES)
