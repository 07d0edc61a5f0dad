"""The order in which events came, and the watermark that follows them."""

from __future__ import annotations

import numpy as np
import pytest

from cepheid.engine.late_events import FollowedTime, in_arrival


@pytest.mark.parametrize("span", [1, 300, 1 << 16, (1 << 16) + 1, 1 << 33, 1 << 47, 1 << 49, 1 << 61])
def test_the_order_of_arrival_is_a_stable_one(span: int) -> None:
    rng = np.random.default_rng(1)
    received = np.concatenate((rng.integers(-span, span, 300), rng.integers(-span, span, 300) // 7 * 7))
    received = np.concatenate((received, received[:200]))
    assert in_arrival(received).tolist() == np.argsort(received, kind="stable").tolist()


def test_a_watermark_follows_the_greatest_time_however_the_stream_is_cut() -> None:
    times = np.array([10, 30, 12, 25, 40, 34])
    whole = FollowedTime(5).passed(times)
    assert whole[1:].tolist() == [4, 24, 24, 24, 34]
    parts = FollowedTime(5)
    assert (
        np.concatenate([parts.passed(times[a:b]) for a, b in [(0, 1), (1, 1), (1, 4), (4, 6)]]).tolist()
        == whole.tolist()
    )
