"""What becomes of a command whose standard output cannot be written."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from typer.core import TyperGroup

from cepheid.errors import CepheidError

READER_GONE = 141
"""The exit code where whoever read standard output stopped reading: that of a program ended by the signal SIGPIPE."""

_UNWRITABLE = {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class OutputError(Exception):
    """Standard output or standard error cannot be written.

    Not an OSError: typer makes an exit code of 1 of a broken pipe before anyone else sees it.

    Attributes:
        cause: what the system said.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause

    def leave(self) -> NoReturn:
        """End the process: in silence where the reader has seen enough, else with a message."""
        # What is still in the buffer would fail once more when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(self.cause.__context__, CepheidError):
            print(f"error: {self.cause.__context__}", file=sys.stderr)
            sys.exit(1)
        if self.cause.errno == errno.EPIPE:
            sys.exit(READER_GONE)
        print(
            f"error: the output cannot be written: {self.cause.strerror}\n"
            "  -> free space where standard output goes, or send it elsewhere",
            file=sys.stderr,
        )
        sys.exit(1)


class Commands(TyperGroup):
    """The commands, each of which has written all of its output when it ends, or raises `OutputError`."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the arguments; ``--help`` and ``--version`` answer here."""
        with _written():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command."""
        with _written():
            return super().invoke(*args, **kwargs)


@contextmanager
def _written() -> Iterator[None]:
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:  # closed by whoever started the process
                sys.stdout.flush()
    except OSError as error:
        # Faults of files have been told with their names where they came up.
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        raise OutputError(error) from error
    except SystemExit as left:
        # How rich leaves where the reader has.
        if isinstance(left.__context__, BrokenPipeError):
            raise OutputError(left.__context__) from left
        raise
