"""Files as streams of plain bytes, whatever they are packed in."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from cepheid.errors import DataError, SetupError


@contextmanager
def reading(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of ``path``, unpacked where its name ends in ``.gz`` or ``.zip`` (of one file).

    Raises:
        SetupError: the file cannot be opened.
        DataError: it is not what its name says, or it ends too early.
    """
    try:
        with _opened(path) as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} cannot be unpacked: {error}", remedy="the file is damaged or not complete; get it again"
        ) from error
    except OSError as error:
        if not isinstance(error.errno, int):
            raise
        raise SetupError(f"{path} cannot be read: {error.strerror}", remedy="check the path and its rights") from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        with gzip.open(path, "rb") as unpacked:
            yield cast(IO[bytes], unpacked)
    elif suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            # macOS puts a folder of its own into the archives it makes.
            names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX/")]
            if len(names) != 1:
                raise DataError(f"{path} holds {len(names)} files, not one", remedy="unpack it and name the folder")
            with archive.open(names[0]) as unpacked_member:
                yield unpacked_member
    else:
        with path.open("rb") as plain:
            yield plain


class QuoteCount:
    """A stream of bytes that counts a character on its way through.

    pyarrow takes it for a file. An odd count of quotes is the sign of a quoted value that never ends.

    Attributes:
        n_bytes: bytes read so far.
        n_quotes: how often the character came.
    """

    def __init__(self, stream: IO[bytes], quote: bytes) -> None:
        self._stream = stream
        self._quote = quote
        self.n_bytes = 0
        self.n_quotes = 0
        self.closed = False

    def read(self, n_bytes: int | None = -1) -> Any:
        """Up to ``n_bytes`` bytes; all that are left for None or -1."""
        block = self._stream.read(-1 if n_bytes is None else n_bytes)
        self.n_bytes += len(block)
        self.n_quotes += block.count(self._quote)
        return block

    def readable(self) -> bool:
        """True, always."""
        return True

    def writable(self) -> bool:
        """False, always."""
        return False

    def seekable(self) -> bool:
        """False, always."""
        return False

    def close(self) -> None:
        """Nothing to do: whoever opened the stream closes it."""
        self.closed = True
