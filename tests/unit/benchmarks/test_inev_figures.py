"""The claims of the figures of INEv hold in a quick run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.figures.inev.__main__ import main


@pytest.mark.slow
def test_claims_hold_and_the_figure_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["inev", "--quick", "--out", str(tmp_path)])
    assert main() == 0
    assert (tmp_path / "figure6a.png").stat().st_size > 10_000
