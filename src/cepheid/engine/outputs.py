"""What a query gives beside its matches (SEMANTICS 7.3): the outputs that can be asked for by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from cepheid.errors import SchemaError

MATCHES, TIMED_OUT, REJECTED = "matches", "timed_out", "rejected"
NAMES = (MATCHES, TIMED_OUT, REJECTED)

LATE = "late"
"""The output of a stream for events that came after the watermark."""

CLOSED = "closed"
"""The output that tells which windows a `cepheid.Slack` closed, and why."""

FITTED = "fitted"
"""The output that tells what a `cepheid.Slack` learned of gaps and delays."""

SLACK = "slack"
"""The output that tells in numbers what a `cepheid.Slack` did."""

POLICY_NAMES = (CLOSED, FITTED, SLACK)
"""The outputs that a `cepheid.Slack` has."""

HELD = "held"
"""The output of a stream that tells what it holds."""

PLANS = "plans"
"""The output of a stream that tells what was decided on its evaluation plan."""

STREAM_NAMES = (*NAMES, LATE, *POLICY_NAMES, HELD, PLANS)

TOLD = (MATCHES, TIMED_OUT)
"""The outputs of which each call to a `cepheid.Matcher` tells."""

NULL_KEY = "NULL in SAME: the event is in no partition"
"""Why an event without a key is rejected."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of a query that were asked for, a table or DataFrame each; None for one that was not.

    Attributes:
        matches: the matches, as without ``outputs=``.
        timed_out: what was left when its window closed before the pattern was complete: a row for each run (``next``),
            or each prefix of a match that nothing could be added to (``any``). Columns: ``first_time`` and
            ``last_time`` of its events, ``closed_time``, when its window closed (NULL: at the end of the input),
            the bounds of the window where windows slide, the attributes of SAME, and the variables as in the default
            output, NULL for those that no event has been taken for. RETURN has no say in them.
        rejected: events that could not be placed, with the reason: malformed ones (no time, a time that cannot be
            read, no type) and those with NULL in SAME, which are in no partition.
        late: the events that came when the watermark had passed them: of a stream, and of a table with ``slack=``.
        closed: with a `cepheid.Slack`, which windows were closed when, why, and with which chance of a miss
            (`cepheid.engine.slack_report.SlackReport.decisions`). Of a stream, with the ``bucket`` of keys.
        fitted: with a `cepheid.Slack`, by which distributions of gaps and delays windows are closed at the end
            (`cepheid.engine.slack_report.SlackReport.fitted`). Of a stream, with the ``bucket``: those of the sources
            that were learned anew in a micro-batch.
        slack: with a `cepheid.Slack`, what it did, in one row: ``n_windows`` that were closed, ``n_missed`` of them
            that are known to miss an event, the ``miss_ratio``, ``mean_slack_us``, ``n_late`` events, ``n_sources``,
            ``n_unreceived`` events without a time of reception, ``n_gave_up`` windows that were closed because a source
            was silent. Of a stream, a row for each ``bucket`` that was called in a micro-batch: what it did so far.
        held: of a stream on Spark, what each bucket of keys holds after a micro-batch in which it was called, for
            who watches the stream: ``bucket``; ``n_late`` events of the micro-batch that came too late;
            ``n_waiting`` events that wait for the watermark; ``n_partial_matches``; ``n_bytes``.
        plans: of a stream on Spark with ``evaluation="adaptive"``, what each bucket decided on its evaluation plan,
            with the numbers that led to it (`cepheid.engine.decided_plans.PLAN_COLUMNS`).
    """

    matches: Any = None
    timed_out: Any = None
    rejected: Any = None
    late: Any = None
    closed: Any = None
    fitted: Any = None
    slack: Any = None
    held: Any = None
    plans: Any = None


def asked_outputs(outputs: str | Collection[str], known: tuple[str, ...] = NAMES) -> frozenset[str]:
    """The names in ``outputs=``.

    Args:
        outputs: as it was given.
        known: the outputs that there are: `NAMES`, or `STREAM_NAMES`.

    Raises:
        SchemaError: there is no such output, or none is named.
    """
    if not isinstance(outputs, Collection):
        raise SchemaError(
            f"outputs={outputs!r} names no outputs", remedy=f"name some of {', '.join(known)}, or leave outputs= out"
        )
    names = frozenset((outputs,) if isinstance(outputs, str) else outputs)
    unknown = sorted(str(name) for name in names - frozenset(known))
    if unknown or not names:
        raise SchemaError(
            f"there is no output {unknown[0]!r}" if unknown else "outputs= names none",
            remedy=f"name some of {', '.join(known)}, or leave outputs= out for the matches alone",
        )
    return names


def replayed_outputs(slack: object, *, by_policy: bool) -> tuple[str, ...]:
    """The outputs of a table that may be replayed as a stream.

    Args:
        slack: how late its events may be; None for no replay.
        by_policy: it is a `cepheid.Slack`.
    """
    if slack is None:
        return NAMES
    return (*NAMES, LATE, *(POLICY_NAMES if by_policy else ()))


def told_of(asked: frozenset[str] | None, matches: Any, timed_out: Any) -> Any:
    """What a call to a `cepheid.Matcher` gives of a query.

    Args:
        asked: some of `TOLD`; None for the matches alone, by themselves.
        matches, timed_out: what there is to tell.
    """
    if asked is None:
        return matches
    return Outputs(matches if MATCHES in asked else None, timed_out if TIMED_OUT in asked else None)
