"""Environments of peers: made once, kept below a folder that git ignores, one for each list of requirements."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.peers.measured import Unavailable

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
N_LINES_SHOWN = 12


def run(what: str, command: Sequence[str | Path], remedy: str = "", *, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return what it prints.

    Args:
        what: what it is for, in the message.
        command: the program and its arguments.
        remedy: what would help.
        env: its environment; None for that of this process.

    Raises:
        Unavailable: it cannot be started, or fails; the message ends with what it said.
    """
    shown = " ".join(map(str, command))
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
    except OSError as error:
        raise Unavailable(_message(f"{what}: {shown}: {error}", remedy)) from error
    if done.returncode:
        said = "\n".join(f"  {line}" for line in (done.stdout + done.stderr).strip().splitlines()[-N_LINES_SHOWN:])
        raise Unavailable(_message(f"{what}: {shown} ended with {done.returncode} and said\n{said}", remedy))
    return done.stdout


def _message(text: str, remedy: str) -> str:
    return f"{text}\n-> {remedy}" if remedy else text


def kept(build: Path, name: str, made_of: Iterable[str]) -> tuple[Path, bool]:
    """The folder of an environment, empty unless it has been made before.

    Args:
        build: where environments are kept.
        name: begins the folder's name.
        made_of: what is in it; another list is another folder.

    Returns:
        The folder, and whether it is complete: then `complete` has been called on it.
    """
    key = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:12]
    folder = build / f"{name}-{key}"
    if (folder / "complete").exists():
        return folder, True
    # What a stopped run left may be broken anywhere.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder, False


def complete(folder: Path) -> None:
    """Say that everything is in the folder."""
    (folder / "complete").touch()


def virtual_environment(build: Path, name: str, requirements: Sequence[str], python: str = sys.executable) -> Path:
    """A Python with these packages and nothing else.

    Returns:
        Its program.

    Raises:
        Unavailable: the environment cannot be made, or a package is not to be had for this Python.
    """
    version = run(name, [python, "-c", "import sys; print(sys.version)"]).strip()
    folder, is_complete = kept(build, name, [version, *requirements])
    program = folder / "bin" / "python"
    if is_complete:
        return program
    print(f"{name}: a virtual environment in {folder}", file=sys.stderr, flush=True)
    pip = ["--without-pip"] if not requirements else []
    run(name, [python, "-m", "venv", *pip, folder], "Debian and Ubuntu: apt-get install python3-venv")
    if requirements:
        install = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        run(name, install, f"it needs a package index and wheels of {', '.join(requirements)} for Python {version}")
    complete(folder)
    return program


def locked(package: str) -> str:
    """The requirement that pins a package as requirements.lock does."""
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{package}=="):
            return line.split()[0]
    raise LookupError(f"requirements.lock does not name {package}")


def python_of(version: str) -> str:
    """A CPython of a version like ``3.13``.

    Looks at the variable PYTHON3_13 (of this version), at PATH, and at what pyenv has; else asks apt-get for it.

    Raises:
        Unavailable: there is none.
    """
    variable = f"PYTHON{version.replace('.', '_')}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = os.environ.get(variable)
    # A shim of pyenv lies on PATH also where the version is not chosen; then it fails.
    candidates = [named] if named else [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    for candidate in candidates:
        if _is_cpython(candidate, version):
            return candidate
    if not named and _installed(f"python{version}", f"python{version}-venv") and _is_cpython(candidates[0], version):
        return candidates[0]
    raise Unavailable(f"no CPython {version} among {', '.join(candidates)}\n-> install one, or name it with {variable}")


def _is_cpython(program: str, version: str) -> bool:
    told = "import ensurepip, sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([program, "-c", told], check=False, capture_output=True, text=True)
    except OSError:
        return False
    return done.stdout.split() == ["cpython", version]


def _installed(*packages: str) -> bool:
    """Install Debian packages where that may be done; whether it was."""
    return (
        subprocess.run([SCRIPTS / "apt-install.sh", *packages], check=False, stdout=subprocess.DEVNULL).returncode == 0
    )


def jdk() -> Path:
    """The home of a JDK of version 17 or newer.

    Raises:
        Unavailable: there is none, and none can be installed.
    """
    home = Path(run("Java", [SCRIPTS / "java.sh"]).strip())
    if (home / "bin" / "javac").exists():
        return home
    found = shutil.which("javac")
    if found is None and _installed("openjdk-17-jdk-headless"):
        found = str(home / "bin" / "javac") if (home / "bin" / "javac").exists() else shutil.which("javac")
    if found is None:
        raise Unavailable(f"{home} has no javac\n-> install a JDK of version 17 or newer, or set JAVA_HOME to one")
    return Path(found).resolve().parents[1]


def maven() -> str:
    """The program of Maven.

    Raises:
        Unavailable: it is not there, and cannot be installed.
    """
    found = shutil.which("mvn")
    if found is None and _installed("maven"):
        found = shutil.which("mvn")
    if found is None:
        raise Unavailable("mvn is not on PATH\n-> install Maven (Debian and Ubuntu: apt-get install maven)")
    return found
