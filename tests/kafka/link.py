"""A link that can be cut: a proxy between clients and a broker."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading


class Link:
    """Carries bytes between who connects to its port and another port, while it is up.

    Attributes:
        port: where clients connect.
    """

    def __init__(self, to_port: int) -> None:
        """Listen.

        Args:
            to_port: on 127.0.0.1.
        """
        self._to = to_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self.port = int(self._listening.getsockname()[1])
        self._up = True
        self._ended = False
        self._other: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Nothing goes through, and who is connected is no more."""
        self._up = False

    def mend(self) -> None:
        """It carries again."""
        self._up = True

    def close(self) -> None:
        """End it."""
        self._ended = True
        self._thread.join(10)

    def _carry(self) -> None:
        while not self._ended:
            for key, _ in self._selector.select(0.1):
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if one is self._listening:
                    self._accept()
                elif one in self._other:
                    self._pass_on(one)
            if not self._up:
                for one in list(self._other):
                    self._drop(one)
        for one in list(self._other):
            self._drop(one)
        self._listening.close()

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        if not self._up:
            client.close()
            return
        try:
            broker = socket.create_connection(("127.0.0.1", self._to), 5)
        except OSError:
            client.close()
            return
        for one, other in ((client, broker), (broker, client)):
            self._other[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, one: socket.socket) -> None:
        try:
            data = one.recv(1 << 16)
            if data:
                self._other[one].sendall(data)
        except OSError:
            data = b""
        if not data:
            self._drop(one)

    def _drop(self, one: socket.socket) -> None:
        other = self._other.pop(one, None)
        for end in (one, other):
            if end is not None:
                self._other.pop(end, None)
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(end)
                end.close()
