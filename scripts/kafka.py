"""Apache Kafka on this machine: one broker without ZooKeeper (KRaft), its data in a folder of its own.

    python scripts/kafka.py                                  until Ctrl-C, on port 9092
    python scripts/kafka.py --topic payments:2 --topic found

It comes from Maven Central by ``mvn``, which is installed by apt-get where that may be used. Tests use `Broker`.
"""

from __future__ import annotations

import argparse
import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from cepheid.errors import SetupError
from cepheid.spark.maven import fetched

VERSION = "4.1.1"
ARTIFACT = f"org.apache.kafka:kafka_2.13:{VERSION}"
LONGEST_START_S = 60
_HERE = Path(__file__).resolve().parent

_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},{more_listeners}CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{more_advertised}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,FAR:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def jars() -> list[Path]:
    """The class path of a broker; Maven is installed where it is missing and may be.

    Raises:
        SetupError: there is no Maven, or it cannot get Kafka.
    """
    if shutil.which("mvn") is None:
        subprocess.run([_HERE / "apt-install.sh", "maven"], check=False)
    return fetched(ARTIFACT)


class Broker:
    """A broker that can be started, stopped and killed; what it holds survives all of these.

    Attributes:
        folder: for its data, settings and log.
        port: where clients find it, on 127.0.0.1.
    """

    def __init__(self, folder: Path, port: int | None = None, *, far: tuple[int, int] | None = None) -> None:
        """A broker that does not run yet.

        Args:
            folder: exists; empty, or that of an earlier broker.
            port: default any that is free.
            far: a second port to listen on, and the port that clients who come there are sent to: that of a proxy,
                which stands for the link between them and the broker.
        """
        self.folder = folder
        self.port = port or free_port()
        self._far = far
        self._settings = folder / "server.properties"
        self._java = ["java", "-Xmx512m", "-cp", os.pathsep.join(map(str, jars()))]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        """What clients call ``bootstrap.servers``."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            SetupError: it ends, or does not answer in time.
        """
        if not self._settings.exists():
            data = self.folder / "data"
            far = self._far
            said = _SETTINGS.format(
                port=self.port,
                controller_port=free_port(),
                data=data,
                more_listeners="" if far is None else f"FAR://127.0.0.1:{far[0]},",
                more_advertised="" if far is None else f",FAR://127.0.0.1:{far[1]}",
            )
            self._settings.write_text(said, "utf-8")
            name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            self._run(["kafka.tools.StorageTool", "format", "-t", name, "-c", str(self._settings)])
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for who started it, who then stops it
            )
        end = time.monotonic() + LONGEST_START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise SetupError(f"Kafka did not start on port {self.port}", remedy=f"see {self.folder / 'log'}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it as its operator would."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        self._end(signal.SIGKILL)

    def create(self, topic: str, n_partitions: int = 1) -> None:
        """Make a topic."""
        admin = self._admin()  # its answers come for as long as it lives
        for made in admin.create_topics([NewTopic(topic, n_partitions, 1)]).values():
            made.result()

    def delete(self, topic: str) -> None:
        """Take a topic away with all that is in it."""
        admin = self._admin()
        for gone in admin.delete_topics([topic]).values():
            gone.result()

    def _end(self, how: int) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})

    def _run(self, arguments: list[str]) -> None:
        done = subprocess.run(
            [*self._java, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SetupError(f"{arguments[0]} failed: {(done.stdout + done.stderr)[-500:]}")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False


def main() -> None:
    """Run a broker until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Run Apache Kafka on this machine until Ctrl-C.")
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--folder", type=Path, help="where it keeps its data; default one that is removed at the end")
    parser.add_argument("--topic", action="append", default=[], metavar="NAME[:PARTITIONS]", help="topics to make")
    arguments = parser.parse_args()
    made = None if arguments.folder else tempfile.mkdtemp(prefix="kafka-")
    folder = Path(made or arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        broker = Broker(folder, arguments.port)
        try:
            broker.start()
            for topic in arguments.topic:
                name, _, n_partitions = topic.partition(":")
                broker.create(name, int(n_partitions or 1))
            print(f"Kafka {VERSION} on {broker.servers}, data in {folder}; Ctrl-C ends it", flush=True)
            while True:
                signal.pause()
        finally:
            broker.stop()
    except KeyboardInterrupt:
        pass
    except SetupError as error:
        sys.exit(f"error: {error}")
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    main()
