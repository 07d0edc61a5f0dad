"""A streaming job ends after the batch at hand when a signal comes, and at once when a second one does."""

from __future__ import annotations

import os
import signal

import pytest

from cepheid.job import streaming


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once(second: signal.Signals, monkeypatch: pytest.MonkeyPatch):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    called: list[object] = []
    with streaming.stopping(lambda: called.append("stop"), called.append) as asked:
        assert not asked.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert called == ["stop"]
        assert asked.is_set()
        os.kill(os.getpid(), second)  # at the same moment: `timeout` signals a process and its group
        assert called == ["stop"]
        monkeypatch.setattr(streaming, "SAME_S", 0.0)
        os.kill(os.getpid(), second)
        assert called == ["stop", second]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_the_end_at_once_is_told():
    process = os.fork()
    if not process:
        streaming._end_at_once(signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
