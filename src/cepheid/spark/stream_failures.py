"""What Spark's failures of streams mean to who runs the job."""

from __future__ import annotations

import re

from cepheid.errors import CepheidError, DataError, SetupError

_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"UnknownTopicOrPartitionException|This server does not host this topic-partition|UNKNOWN_TOPIC",
        "a topic of the job is not there (any more)",
        "make the topic; where it was made anew its records are others, so give the job a new checkpoint, too",
    ),
    (
        r"KAFKA_DATA_LOSS|Partitions? .*(have|has) been deleted|some data may have been lost|failOnDataLoss",
        "records that the job had still to read are gone from Kafka: {}",
        "Kafka deleted them, or the topic was made anew; keep records for longer than the job may stand still. "
        "To go on without them set failOnDataLoss to false under [source.options]",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "the disk of the checkpoint or of the files is full",
        "make room and run the job again: it goes on with the batch that it could not finish",
    ),
    (
        r"No resolvable bootstrap urls|Failed to construct kafka consumer|Failed to create new KafkaAdminClient",
        "Kafka cannot be reached: {}",
        "correct servers = under [source] or [sink], or start the broker",
    ),
    (
        r"Timed out waiting for a node assignment|TimeoutException|Failed to update metadata",
        "Kafka did not answer in time: {}",
        "start the broker and run the job again: it goes on where it stopped, and nothing is lost",
    ),
    (
        r"Permission denied|is not writable|AccessDeniedException",
        "a folder of the job cannot be written: {}",
        "give the user of the job the right to write there",
    ),
    (
        r"STREAMING_STATEFUL_OPERATOR_NOT_MATCH|STATE_STORE_\w*SCHEMA|number of state store partitions",
        "the checkpoint was written for another query: {}",
        "give the job a new checkpoint, or go on with the query that it was written for",
    ),
)

_OUR_ERROR = re.compile(r"cepheid\.errors\.(\w+): (.*?)(?=\n\s*\n|\n\s*at |\Z)", re.DOTALL)


def explained(error: BaseException) -> CepheidError | None:
    """What a failure of Spark means; None where that is not known.

    Args:
        error: of Spark, or one of cepheid's own.
    """
    if isinstance(error, CepheidError):
        return error
    said = str(error)
    if found := _OUR_ERROR.search(said):
        message, _, remedy = found[2].partition("\n  -> ")
        return DataError(message.strip(), remedy=remedy.split("\n")[0].strip() or None)
    for pattern, message, remedy in _KNOWN:
        if found := re.search(pattern, said):
            return SetupError(message.format(_line_of(said, found.start())), remedy=remedy)
    return None


def in_words(error: Exception) -> CepheidError:
    """The same; what is not known is told by its first line."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return explained(error) or DataError(
        f"Spark ended the stream: {_line_of(first, 0)}",
        remedy="its log stands above; CEPHEID_TRACEBACK=1 shows where it came from. The job goes on where it stopped",
    )


_LONGEST_BEFORE = 120


def _line_of(text: str, at: int) -> str:
    """The line around a place, without what stands at its ends, and from there on where much stands before it."""
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    begin = at if at - begin > _LONGEST_BEFORE else begin
    line = text[begin : end if end >= 0 else len(text)].strip(" :\t\r")
    return line if len(line) <= 300 else line[:297] + "..."
