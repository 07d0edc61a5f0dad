"""The folder that machine code is kept in."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from cepheid.compiler.load import cache_folder
from cepheid.errors import SetupError


def test_only_the_owner_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(tmp_path / "made" / "here"))
    folder = cache_folder()
    assert folder is not None
    for made in (folder, folder.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(shared))
    with pytest.raises(SetupError, match="can be written by others") as error:
        cache_folder()
    assert "chmod 700" in str(error.value)


def test_no_folder_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(occupied))
    with pytest.warns(RuntimeWarning, match="machine code is not kept"):
        assert cache_folder() is None


def test_the_folder_is_named_after_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(tmp_path))
    first = cache_folder()
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read_bytes(path) + b"# edited")
    assert cache_folder() != first


def test_that_warning_names_the_line_outside_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    monkeypatch.setenv("CEPHEID_CACHE_DIR", str(occupied))
    with pytest.warns(RuntimeWarning) as caught:
        cache_folder()
    assert caught[0].filename == __file__
