"""PySpark's daemon of Python workers, for sessions that cepheid starts: ``python -m cepheid.spark.worker_daemon``.

Where a job ends with an error, Spark may be gone while a worker still writes to it. That is no further error, and its
traceback would stand beside the line that says what is wrong.
"""

from __future__ import annotations

import sys
import traceback
from types import SimpleNamespace
from typing import Any

from pyspark import daemon


def print_exc() -> None:
    """As `traceback.print_exc`, but say nothing of a Spark that is gone."""
    if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
        traceback.print_exc()


def main() -> None:
    """Start workers until Spark ends."""
    changed: Any = daemon
    changed.traceback = SimpleNamespace(print_exc=print_exc, format_exc=traceback.format_exc)
    changed.manager()


if __name__ == "__main__":
    main()
