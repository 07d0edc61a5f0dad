"""A Spark session in this process, for jobs and commands that are not given one."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cepheid.errors import SetupError

_log = logging.getLogger("cepheid.spark")

LEAST_JAVA = 17
"""The oldest Java that Spark 4 runs on."""

ARROW_BATCH_ROWS = 64_000
"""Rows in one batch on their way to a Python worker; Spark's own default is 10,000."""

_LOGGING = Path(__file__).resolve().with_name("log4j2.properties")
"""How Spark's log is written: warnings, without those that come on every machine."""

LOCAL_FILES = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming."
    + ("" if pyspark.__version__.startswith("4.0.") else "checkpointing.")
    + "FileSystemBasedCheckpointFileManager",
}
"""Hadoop's files of this machine without checksums beside them: where it has no native library, it starts a process
(``chmod``) for each file and each checksum that it makes, some ten for a micro-batch of a stream."""

LONGEST_SOCKET_FOLDER = 65
"""Bytes: the system allows 107 in the path of a socket, and Spark adds 42."""

_INSTALL = (
    f"install a Java {LEAST_JAVA} or newer (for instance the package openjdk-17-jre-headless) and set JAVA_HOME to it"
)


def local_session(
    app_name: str = "cepheid",
    *,
    cores: int | None = None,
    memory: str | None = None,
    shuffle_partitions: int | None = None,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process, or take the session that runs in it.

    The settings that matter to `detect`: larger Arrow batches, no user interface and no bars of progress, the Python of
    this process on the executors, their daemon (`worker_daemon`), a warehouse outside the current folder, `LOCAL_FILES`
    and `worker_sockets`.

    Args:
        app_name: what the session is called.
        cores: how many cores it uses; default all.
        memory: memory of the JVM (``"4g"``); default Spark's own.
        shuffle_partitions: partitions of a shuffle; default twice the cores.
        config: further settings, which win over those above.

    Raises:
        SetupError: Java is missing, too old or cannot run Spark; says what to install.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        for key, value in (config or {}).items():
            active.conf.set(key, value)
        return active
    check_java()
    n_cores = cores or os.cpu_count() or 1
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # it would be drawn over what jobs say
        "spark.sql.shuffle.partitions": str(shuffle_partitions or 2 * n_cores),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH_ROWS),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / f"{app_name}-warehouse"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.python.daemon.module": "cepheid.spark.worker_daemon",
        **LOCAL_FILES,
        **worker_sockets(),
    }
    if memory is not None:
        settings["spark.driver.memory"] = memory
    # PySpark takes the interpreter of its workers from the environment, not from the session's settings.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name).master(f"local[{n_cores}]")
    for key, value in {**settings, **(config or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise SetupError(
            f"Spark's Java process ended before it was ready ({java_command()})",
            remedy="its message stands above; a Java without the module jdk.incubator.vector cannot run Spark: "
            + _INSTALL,
        ) from error


def worker_sockets() -> dict[str, str]:
    """Settings with which Java and the Python workers of this machine talk through sockets of the file system.

    Through those of the network, a short message after another waits for its acknowledgement, 40 ms: two or three times
    in each micro-batch of a stream. They are in a new folder that this user alone may enter, and which goes when this
    process ends. From PySpark 4.1 on; one before heeds them not.

    Returns:
        None of them where the system has no such sockets, or the path of the temporary folder is too long for them.
    """
    if not hasattr(socket, "AF_UNIX"):
        return {}
    folder = tempfile.mkdtemp(prefix="cepheid-")
    if len(os.fsencode(folder)) > LONGEST_SOCKET_FOLDER:
        os.rmdir(folder)
        _log.warning("no sockets of the file system, and so slower streams: the path of %s is too long", folder)
        return {}
    atexit.register(_remove, folder, os.getpid())
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": folder}


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # and no child of it, which ends sooner
        shutil.rmtree(folder, ignore_errors=True)


def java_command() -> str:
    """The Java that Spark starts: that of JAVA_HOME, else the one on the PATH.

    Raises:
        SetupError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home) / "bin" / ("java.exe" if os.name == "nt" else "java")
        if not command.is_file():
            raise SetupError(
                f"JAVA_HOME is {home!r}, where there is no Java", remedy=f"correct or unset JAVA_HOME, or {_INSTALL}"
            )
        return str(command)
    found = shutil.which("java")
    if found is None:
        raise SetupError("Spark needs Java, and there is none on this machine", remedy=_INSTALL)
    return found


def check_java() -> None:
    """Raise SetupError where the Java that Spark would start is missing or too old."""
    command = java_command()
    try:
        said = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        raise SetupError(f"{command} cannot be started: {error}", remedy=_INSTALL) from error
    version = java_version(said.stderr + said.stdout)
    if version is None:
        raise SetupError(f"{command} -version says no version of Java", remedy=_INSTALL)
    if version < LEAST_JAVA:
        raise SetupError(f"Spark needs Java {LEAST_JAVA} or newer, and {command} is Java {version}", remedy=_INSTALL)


def java_version(said: str) -> int | None:
    """The feature version in what ``java -version`` prints (8 for ``1.8.0_402``), or None."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if found is None:
        return None
    major = int(found.group(1))
    return int(found.group(2) or 0) if major == 1 else major
