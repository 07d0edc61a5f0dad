"""Java libraries that Spark does not bring, fetched by Maven and kept in the cache folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from xml.sax.saxutils import escape

from cepheid.compiler.load import cache_root
from cepheid.errors import SetupError

LONGEST_FETCH_S = 600
"""Seconds after which a fetch is given up."""

_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>cepheid</groupId><artifactId>libraries</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
  </dependency></dependencies>
</project>
"""


def fetched(artifact: str, *, without: Collection[str] = ()) -> list[Path]:
    """The jar of an artifact and all that it needs to run, from the cache folder or else by the command ``mvn``.

    Args:
        artifact: ``group:name:version``.
        without: names of jars, without their versions, that are there already and stay out.

    Raises:
        SetupError: there is no ``mvn``, or it cannot get the artifact.
    """
    folder = _folder(artifact)
    if not folder.is_dir():
        _fetch(artifact, folder)
    return sorted(jar for jar in folder.glob("*.jar") if name_of(jar) not in without)


def is_here(artifact: str) -> bool:
    """Whether the cache folder has an artifact."""
    return _folder(artifact).is_dir()


def _folder(artifact: str) -> Path:
    return cache_root() / "jars" / artifact.replace(":", "_")


def name_of(jar: Path) -> str:
    """The name of a jar without its version: ``kafka-clients`` of ``kafka-clients-3.9.2.jar``."""
    return re.sub(r"-\d[^/]*$", "", jar.name)


def _fetch(artifact: str, folder: Path) -> None:
    command = shutil.which("mvn")
    if command is None:
        raise SetupError(
            f"{artifact} is fetched by Maven, and there is no command mvn",
            remedy="install Maven (Debian and Ubuntu: apt-get install maven), or put the jars into " + str(folder),
        )
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as name:
        project = Path(name)
        (project / "pom.xml").write_text(_POM.format(*(escape(part) for part in artifact.split(":"))), "utf-8")
        call = [command, "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(
                [*call, f"-DoutputDirectory={project / 'jars'}"],
                cwd=project,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=LONGEST_FETCH_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SetupError(
                f"Maven did not get {artifact} within {LONGEST_FETCH_S} s", remedy="is Maven Central to be reached?"
            ) from None
        if done.returncode:
            raise SetupError(
                f"Maven cannot get {artifact}: {_reason(done.stdout)}",
                remedy="is Maven Central to be reached, and is there such a version?",
            )
        try:
            os.rename(project / "jars", folder)
        except OSError:
            if not folder.is_dir():  # another process was quicker
                raise


def _reason(said: str) -> str:
    """What Maven's first error says, without its colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    errors = [line.removeprefix("[ERROR]").strip() for line in plain.splitlines() if line.startswith("[ERROR]")]
    # The reason stands behind what Maven was doing, and names a place in the net that says nothing.
    parts = errors[0].removesuffix("-> [Help 1]").rsplit(": ", 1) if errors else ["it said nothing"]
    return parts[-1].split(" in central")[0].strip()
