"""The part of a matcher that tells what it holds."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from cepheid.engine.gauge import Gauge
from cepheid.engine.stream import Stream
from cepheid.engine.streams import Streams
from cepheid.engine.turns import in_turn
from cepheid.errors import DataError


class Gauged(ABC):
    """A stream of one query, or of a set, of which can be told what is held."""

    lock: threading.RLock

    @abstractmethod
    def _known(self) -> Stream | Streams:
        """The stream, where its columns are known."""

    @in_turn
    def gauge(self, *, by_key: bool = False) -> Gauge:
        """What is held at the moment: partial matches, events, keys, timers and bytes; of a set, by all its queries.

        Args:
            by_key: for each value of SAME, too: ``keys`` of the gauge is a pyarrow Table. Not of a set.

        Raises:
            DataError: nothing was pushed yet, and no schema was given; or ``by_key`` of a set.
        """
        stream = self._known()
        if isinstance(stream, Stream):
            return stream.gauge(by_key=by_key)
        if by_key:
            raise DataError("the queries of a set have keys of their own", remedy="ask for gauges(by_key=True)")
        return stream.gauge()

    @in_turn
    def gauges(self, *, by_key: bool = False) -> dict[str, Gauge]:
        """What the queries of a set hold at the moment, by their names.

        The events that wait for the watermark are held once for all queries, and told with each.

        Args:
            by_key: see `gauge`.

        Raises:
            DataError: as of `gauge`; or the matcher has one query, which has no name.
        """
        stream = self._known()
        if isinstance(stream, Stream):
            raise DataError("the matcher has one query and no set", remedy="ask for gauge()")
        return stream.gauges(by_key=by_key)
