"""What Spark's checkpoint of a job says, and the note that tells which job it belongs to."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.connectors.writing import write_text
from cepheid.errors import JobError, SetupError

if sys.platform != "win32":
    import fcntl

_NOTE = "cepheid-job.json"
_LOCK = "cepheid-job.lock"


@dataclass(frozen=True)
class Resumed:
    """Where a job goes on.

    Attributes:
        done: the last batch that is done; None for none.
        begun: a batch that was begun after it and is done again; None for none.
        offsets: how far each source was read in the last batch that is done, as Spark writes it.
    """

    done: int | None
    begun: int | None
    offsets: tuple[Any, ...]

    def __str__(self) -> str:
        after = "nothing is done yet" if self.done is None else f"batch {self.done} is done"
        again = "" if self.begun is None else f", batch {self.begun} had begun and is done again"
        read = "; ".join(_written(offset) for offset in self.offsets)
        return f"{after}{again}" + (f"; read so far: {read}" if read else "")


def resumed(folder: Path) -> Resumed | None:
    """Where the query of this checkpoint goes on; None where there is none yet."""
    begun, done = _last(folder / "offsets"), _last(folder / "commits")
    if begun is None:
        return None
    offsets = () if done is None else _offsets(folder / "offsets" / str(done))
    return Resumed(done, begun if begun != done else None, offsets)


def query_id(folder: Path) -> str:
    """The id that Spark gave to the query of a checkpoint when it was started first.

    Raises:
        JobError: Spark has not written it.
    """
    try:
        return str(json.loads((folder / "metadata").read_text("utf-8"))["id"])
    except (OSError, ValueError, KeyError) as error:
        raise JobError(
            f"the checkpoint {folder} does not say which query it is of: {error}",
            remedy="give the job a new checkpoint",
        ) from error


@contextmanager
def held(folder: Path, origin: str) -> Iterator[None]:
    """Hold a checkpoint in a block: two jobs that go on from one would each write what the other does not know of.

    The system lets go of it when the process ends, whatever ends it. Where it has no such locks (Windows), Spark stops
    the job that comes second, when both have written the same batch.

    Args:
        folder: of the checkpoint.
        origin: the job file, for errors.

    Raises:
        JobError: another process holds it.
        SetupError: the folder cannot be made or written.
    """
    if sys.platform == "win32":
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"the checkpoint {folder} cannot be written: {error.strerror}",
            remedy="correct checkpoint = under [stream], or give the user of the job the right to write there",
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            who = lock.read().strip()
            raise JobError(
                f"the checkpoint {folder} is in use by another job" + (f", the process {who}" if who else ""),
                remedy="stop that one first, or give this job a checkpoint of its own",
                origin=origin,
            ) from None
        try:
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            _take_off_unfinished(folder)
        except OSError as error:
            raise SetupError(
                f"the checkpoint {folder} cannot be written: {error.strerror}",
                remedy="make room on its disk, or give the user of the job the right to write there",
            ) from error
        yield


def _take_off_unfinished(folder: Path) -> None:
    """Delete what Spark began to write into its logs when the disk was full or the power went.

    Nobody reads these files; but Spark refuses a checkpoint where one is left of the very first batch.
    """
    for log in ("offsets", "commits"):
        for unfinished in (folder / log).glob(".*.tmp"):
            unfinished.unlink()


def require_same(folder: Path, what: dict[str, str], origin: str) -> None:
    """Refuse a checkpoint of another job; note in a new one which job it is.

    Args:
        folder: of the checkpoint.
        what: the parts of the job that a checkpoint depends on, by name.
        origin: the job file, for errors.

    Raises:
        JobError: one of them is another than when the checkpoint was made, or it is none of a job.
        SetupError: the note cannot be written.
    """
    note = folder / _NOTE
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in what.items()}
    if not note.exists():
        if (folder / "offsets").exists():
            raise JobError(
                f"the checkpoint {folder} is one of Spark, and not of a job of cepheid",
                remedy="give the job a checkpoint of its own: a folder that is not there yet, or empty",
                origin=origin,
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_text(json.dumps(hashes, indent=1) + "\n", note)
        return
    try:
        before = json.loads(note.read_text("utf-8"))
    except ValueError:
        before = {}
    other = [name for name in hashes if before.get(name) != hashes[name]]
    if other:
        raise JobError(
            f"the checkpoint {folder} was made with {' and '.join(other)} of another form",
            remedy="give the job a new checkpoint (it then begins anew), or go on with the job as it was",
            origin=origin,
        )


def _last(folder: Path) -> int | None:
    numbers = [int(path.name) for path in folder.glob("*") if path.name.isdigit()]
    return max(numbers, default=None)


def _offsets(path: Path) -> tuple[Any, ...]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError:
        return ()  # Spark keeps the last hundred only
    read = []
    for line in lines[2:]:  # a version and what is true of the whole batch
        try:
            read.append(json.loads(line))
        except ValueError:
            read.append(line)
    return tuple(read)


def _written(offset: Any) -> str:
    if not isinstance(offset, dict):
        return str(offset)
    parts = []
    for name, value in offset.items():
        if isinstance(value, dict):  # topic -> partition -> offset
            parts += [f"{name}/{partition} to {number}" for partition, number in value.items()]
        else:
            parts.append(f"{name} {value}")
    return ", ".join(parts)
