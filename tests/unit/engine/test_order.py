"""The order of matches of one length, by NumPy where they are few and by a kernel where they are many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.engine import order


@st.composite
def emitted(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], int]:
    """Matches as a kernel may emit them: those of one last event together, in any order."""
    length = draw(st.integers(2, 4))
    matches: list[tuple[int, ...]] = []
    last = 0
    for _ in range(draw(st.integers(1, 4))):
        last += draw(st.integers(length, 40))
        group = draw(
            st.lists(
                st.lists(
                    st.integers(max(0, last - 40), last - 1), min_size=length - 1, max_size=length - 1, unique=True
                ),
                max_size=12,
            )
        )
        rows = list(dict.fromkeys((*sorted(events), last) for events in group))
        if draw(st.booleans()):
            rows.sort(reverse=draw(st.booleans()))
        matches.extend(rows)
    return matches, length


@pytest.mark.parametrize("few", [0, 100], ids=["kernel", "NumPy"])
@given(given_matches=emitted())
def test_ascending_events_within_the_event_that_decides(
    few: int, given_matches: tuple[list[tuple[int, ...]], int]
) -> None:
    matches, length = given_matches
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "FEW_MATCHES", few)
        patch.setattr(order, "FIRST_SLOTS", 2)
        found = order.in_order(np.array(matches, np.int64).reshape(-1), length)
    assert [tuple(row) for row in found.reshape(-1, length).tolist()] == sorted(matches, key=lambda m: (m[-1], m))


def test_many_matches_of_one_event() -> None:
    random = np.random.default_rng(11)
    rows = np.unique(np.sort(random.integers(0, 3_000, (20_000, 3)), axis=1), axis=0)
    rows[:, 2] = 3_000
    rows = np.unique(rows, axis=0)
    assert len(rows) > order.FEW_MATCHES
    found = order.in_order(random.permutation(rows).reshape(-1), 3)
    assert np.array_equal(found.reshape(-1, 3), rows)
