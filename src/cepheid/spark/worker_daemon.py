"""PySpark's daemon of Python workers, for sessions that cepheid starts: ``python -m cepheid.spark.worker_daemon``.

Where a job ends with an error, Spark may be gone while a worker still writes to it. That is no further error, and its
traceback would stand beside the line that says what is wrong.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

from pyspark import daemon

_print_exc = traceback.print_exc


def print_exc(*arguments: Any, **named: Any) -> None:
    """As `traceback.print_exc`, but say nothing of a Spark that is gone."""
    if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
        _print_exc(*arguments, **named)


def main() -> None:
    """Start workers until Spark ends."""
    traceback.print_exc = print_exc
    daemon.manager()


if __name__ == "__main__":
    main()
