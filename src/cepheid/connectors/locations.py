"""Where files are: paths, folders, globs, environment variables, files inside installed packages."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cepheid.errors import SetupError

FORMATS: Mapping[str, str] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""Format of a file by the ending of its name, without ``.gz`` or ``.zip``."""

COMPRESSIONS = (".gz", ".zip")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_PACKAGE = "package:"


def expand_variables(text: str, environment: Mapping[str, str] | None = None) -> str:
    """``text`` with ``${NAME}`` replaced from the environment; ``${NAME:-other}`` has ``other`` where it is not set.

    Raises:
        SetupError: a variable is not set.
    """
    environment = os.environ if environment is None else environment

    def value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if environment.get(name):
            return environment[name]
        if default is not None:
            return default
        raise SetupError(
            f"the environment variable {name} is not set, which the path {text!r} needs",
            remedy=f"set it, as in: {name}=/path/to/data cepheid run JOB.toml",
        )

    return _VARIABLE.sub(value, text)


def resolve(text: str, base: Path) -> str:
    """The path or glob that ``text`` stands for: variables replaced, ``~`` expanded, relative to ``base``.

    ``package:name/inside/file.csv`` is a file that an installed Python package brings; the package is not imported.

    Raises:
        SetupError: a variable is not set, a package is not installed, there is no such user, or it can be no path.
    """
    text = expand_variables(text)
    if "\0" in text:
        raise SetupError(f"the path {text!r} has a zero byte, as no path can", remedy="correct the path")
    if text.startswith(_PACKAGE):
        return _in_package(text.removeprefix(_PACKAGE))
    try:
        return os.path.normpath(base / Path(text).expanduser())
    except RuntimeError as error:
        raise SetupError(
            f"the path {text!r} begins with a home folder that is not known",
            remedy="write the whole path, or ./~name for a file of such a name",
        ) from error


def _in_package(text: str) -> str:
    package, _, inside = text.partition("/")
    if not package.isidentifier() or not inside:
        raise SetupError(
            f"{_PACKAGE + text!r} names no file of a package", remedy="write package:NAME/path/inside/it.csv"
        )
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # of __main__, which is no package
        spec = None
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    if not folders:
        raise SetupError(
            f"the Python package {package} is not installed, which brings the file {inside}",
            remedy=f"install it: pip install {package}",
        )
    return os.path.normpath(Path(folders[0]) / inside)


def list_files(path: str) -> list[Path]:
    """The files that ``path`` stands for: itself, all files of known formats in a folder, or what a glob finds.

    Files are ordered by their path; those whose name, or a folder of theirs below ``path``, begins with ``.`` or ``_``
    are left out, as other tools keep their own files there.

    Raises:
        SetupError: there is none, or the system does not let them be looked for.
    """
    with _looking(path):
        return _listed(path)


@contextmanager
def _looking(path: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = "" if error.filename in (None, str(path)) else f" ({error.filename})"
        raise SetupError(
            f"{path} cannot be looked into: {error.strerror or error}{where}", remedy="check the path and its rights"
        ) from error


def is_file(path: Path) -> bool:
    """True if ``path`` is a file, False if there is none.

    Raises:
        SetupError: the system does not tell, as it refuses the name or the way to it.
    """
    with _looking(path):
        return path.is_file()


def real_path(path: Path | str) -> Path:
    """``path`` without links; one that leads to itself stays as it is, and is told when it is opened."""
    return Path(os.path.realpath(path))


def _listed(path: str) -> list[Path]:
    place = Path(path)
    if place.is_file():
        return [place]
    if place.is_dir():
        found = [p for p in place.rglob("*") if p.is_file() and _is_shown(p.relative_to(place)) and format_of(p)]
        if not found:
            raise SetupError(
                f"the folder {path} holds no file of a known format",
                remedy=f"the endings are {', '.join(FORMATS)}, each also with {' or '.join(COMPRESSIONS)}",
            )
        return sorted(found)
    if glob.has_magic(path):
        found = [Path(p) for p in glob.glob(path, recursive=True) if Path(p).is_file()]
        found = [p for p in found if not p.name.startswith((".", "_"))]
        if not found:
            raise SetupError(
                f"no file matches {path}", remedy="check the path; it is relative to the job file's folder"
            )
        return sorted(found)
    raise SetupError(f"there is no file {path}", remedy="check the path; it is relative to the job file's folder")


def is_listed(file: Path, path: str) -> bool:
    """True if `list_files` finds ``file`` in ``path``, or would if it were there: links followed, globs as they are.

    Raises:
        SetupError: the system does not let them be looked for.
    """
    with _looking(path):
        return _is_listed(file, path)


def _is_listed(file: Path, path: str) -> bool:
    place, real = real_path(path), real_path(file)
    if place.is_dir():
        inside = real.is_relative_to(place) and _is_shown(real.relative_to(place))
        return inside and format_of(real) is not None
    if glob.has_magic(path):
        return any(real_path(found) == real for found in glob.glob(path, recursive=True))
    return place == real


def _is_shown(relative: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in relative.parts)


def format_of(path: Path) -> str | None:
    """The format that the name of ``path`` tells (a value of `FORMATS`), or None."""
    suffixes: Sequence[str] = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes = suffixes[:-1]
    return FORMATS.get(suffixes[-1]) if suffixes else None
