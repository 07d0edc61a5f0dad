"""What a bucket keeps from one micro-batch to the next: bytes in Spark's state store, and the matcher made of them.

The bytes are the truth. They begin with a mark and the version of their format; then stand a JSON text, which says
for which query they were written and how far the clock has come, and the snapshot of the matcher
(`cepheid.engine.snapshot`), each with its length. Nothing in them is pickled.

A worker keeps the matchers that it has used last beside the tokens of the bytes that they were written to. One is
used again where Spark hands over those very bytes; else, after a failure or on another worker, it is made of them.
Spark gives a task to whichever worker is free, so a bucket goes from one to the next; what it leaves behind is
forgotten as soon as the worker can tell that the bucket was called elsewhere.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.engine.stream import Stream
from cepheid.engine.streams import Streams
from cepheid.errors import DataError
from cepheid.spark.streams.clock import Clock

MAGIC = b"cepheid bucket "
VERSION = 1
_LENGTH_BYTES = 8

WARM_BYTES = 256 * 1024 * 1024
"""Of matchers that a worker keeps for the next micro-batch, beside the state in Spark's store."""


@dataclass(frozen=True)
class Kept:
    """What the bytes of a bucket say.

    Attributes:
        asked: the query and what else the bytes depend on, by name.
        token: given to these bytes alone.
        clock: how far the stream has come.
        snapshot: of the matcher.
    """

    asked: Mapping[str, str]
    token: str
    clock: Clock
    snapshot: bytes


def written(kept: Kept) -> bytes:
    """The state of a bucket as bytes."""
    said = {"asked": dict(kept.asked), "token": kept.token, "clock": kept.clock.said()}
    parts = [MAGIC, VERSION.to_bytes(2, "little")]
    for content in (json.dumps(said).encode(), kept.snapshot):
        parts += [len(content).to_bytes(_LENGTH_BYTES, "little"), content]
    return b"".join(parts)


def read(state: bytes) -> Kept:
    """What `written` was given.

    Raises:
        DataError: these bytes are something else, or of a version that is not known here.
    """
    start = len(MAGIC) + 2
    if state[: len(MAGIC)] != MAGIC:
        raise DataError(
            "the state in the checkpoint is not one that cepheid wrote", remedy="use a checkpoint of this query alone"
        )
    version = int.from_bytes(state[len(MAGIC) : start], "little")
    if version != VERSION:
        raise DataError(
            f"the state in the checkpoint has the format {version}, and this version of cepheid reads {VERSION}",
            remedy="go on with the version of cepheid that made the checkpoint, or start with a new checkpointLocation",
        )
    contents = []
    for _ in range(2):
        end = start + _LENGTH_BYTES
        start = end + int.from_bytes(state[start:end], "little")
        contents.append(state[end:start])
    if start != len(state):
        raise DataError("the state in the checkpoint is cut off", remedy="start with a new checkpointLocation")
    said = json.loads(contents[0])
    return Kept(said["asked"], said["token"], Clock.from_said(said["clock"]), contents[1])


def require_same(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse to go on under a checkpoint of another query.

    Args:
        before: what the checkpoint was made with.
        now: what is asked for.

    Raises:
        DataError: they differ; says in what.
    """
    for what in (*now, *(name for name in before if name not in now)):
        value = now.get(what)
        if before.get(what) != value:
            old = before.get(what)
            then = f"without {what}" if old is None else f"with {what} {old}"
            today = (
                f"without {what}" if value is None else f"with {value}" if old is not None else f"with {what} {value}"
            )
            raise DataError(
                f"the checkpoint was made {then}, and the stream runs {today} now: what it has kept means nothing "
                "there",
                remedy="start with a new checkpointLocation, or go on with what the checkpoint was made with",
            )


class WarmStreams:
    """The matchers that a worker has used last, by operator and bucket."""

    def __init__(self, most_bytes: int = WARM_BYTES) -> None:
        """Start empty.

        Args:
            most_bytes: how much they may hold together; those used longest ago are forgotten first.
        """
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[bytes, int], _Warm] = OrderedDict()
        self._batches: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def begin(self, run: bytes, batch: int) -> None:
        """Hear of a micro-batch with packs, which go to all buckets: what is older than the one before is outdated.

        Args:
            run: the operator.
            batch: the number of the micro-batch.
        """
        before = self._batches.get(run)
        if batch == before:
            return
        self._batches[run] = batch
        # In the micro-batch before every bucket was called, here or elsewhere, and was written anew.
        # After a failure an earlier one comes again; then the tokens tell what is of use.
        if before is not None:
            for key in [key for key, warm in self._kept.items() if key[0] == run and warm.batch < before]:
                del self._kept[key]

    def take(self, run: bytes, bucket: int, token: str) -> Stream | Streams | None:
        """Take out the matcher of a bucket; None where there is none whose state has this token."""
        kept = self._kept.pop((run, bucket), None)
        return kept.stream if kept is not None and kept.token == token else None

    def put(self, run: bytes, bucket: int, token: str, stream: Stream | Streams) -> None:
        """Keep a matcher for the next micro-batch."""
        self._kept[run, bucket] = _Warm(token, stream, stream.n_bytes, self._batches.get(run, -1))
        while sum(warm.n_bytes for warm in self._kept.values()) > self._most_bytes:
            self._kept.popitem(last=False)


@dataclass(frozen=True)
class _Warm:
    token: str
    stream: Stream | Streams
    n_bytes: int
    batch: int


WARM = WarmStreams()
"""Those of this process."""


def described(query: str, **others: Any) -> dict[str, str]:
    """What a state depends on, as texts by name; names are shown in errors."""
    return {"the query": query, **{name.replace("_", " "): str(value) for name, value in others.items()}}
