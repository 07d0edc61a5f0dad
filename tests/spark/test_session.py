"""Java is found, or its lack is told in words; the session has the settings that detect wants."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cepheid.errors import SetupError
from cepheid.spark.session import check_java, java_command, java_version, local_session, worker_sockets


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("no Java here", None),
    ],
)
def test_versions_are_read(said: str, version: int | None):
    assert java_version(said) == version


def fake_java(folder: Path, said: str) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    command.chmod(0o755)
    return command


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for Java")
def test_an_old_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    command = fake_java(tmp_path, 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_command() == str(command)
    with pytest.raises(SetupError, match=r"Java 17 or newer.*is Java 11") as error:
        check_java()
    assert "JAVA_HOME" in str(error.value)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for Java")
def test_a_java_that_says_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_java(tmp_path, "sorry")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match="says no version"):
        check_java()


def test_sockets_are_where_nobody_else_may_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = Path(worker_sockets()["spark.python.unix.domain.socket.dir"])
    assert folder.stat().st_mode & 0o077 == 0
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert worker_sockets() == {}
    assert not list(long.iterdir())


def test_a_wrong_java_home_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(SetupError, match="JAVA_HOME is"):
        check_java()


def test_a_machine_without_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="there is none") as error:
        check_java()
    assert "openjdk-17" in str(error.value)


def test_a_running_session_is_taken(spark):
    assert local_session(config={"spark.sql.shuffle.partitions": "4"}) is spark


def test_checkpoints_on_this_machine_have_no_checksums_beside_them(spark, tmp_path: Path):
    # The classes are named as this version of Spark has them; with Hadoop's own, each file would have a .crc.
    rate = spark.readStream.format("rate").load().writeStream.format("noop")
    rate.option("checkpointLocation", str(tmp_path)).trigger(once=True).start().awaitTermination()
    files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert "metadata" in files
    assert not [name for name in files if name.endswith(".crc")]
