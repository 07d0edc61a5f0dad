"""Every exception that cepheid raises on purpose: what is wrong, where, and what to do about it."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a query's text.

    Attributes:
        start: offset of the first character, from 0.
        end: offset after the last character.
    """

    start: int
    end: int

    def join(self, other: Span | None) -> Span:
        """The smallest span that holds both."""
        if other is None:
            return self
        return Span(min(self.start, other.start), max(self.end, other.end))


LONGEST_LINE = 200
"""Characters of a line that are shown: of a longer one, those around the place."""

_BEFORE = 60  # characters of a longer line that are shown before the place


def underline(text: str, span: Span) -> str:
    """The line of ``text`` on which ``span`` begins, with its number, and a row of carets under it.

    Of a line of more than `LONGEST_LINE` characters, the part around the place.
    """
    start = max(0, min(span.start, len(text)))
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    if stop < 0:
        stop = len(text)
    number = text.count("\n", 0, begin) + 1
    line = text[begin:stop].rstrip("\r")
    column = start - begin
    width = max(1, min(span.end, stop) - start)
    if len(line) > LONGEST_LINE:
        cut = max(0, min(column - _BEFORE, len(line) - LONGEST_LINE))
        ellipsis = "…" if cut else ""
        more = "…" if cut + LONGEST_LINE < len(line) else ""
        line = ellipsis + line[cut : cut + LONGEST_LINE] + more
        column += len(ellipsis) - cut
        width = max(1, min(width, len(line) - column))
    # Tabs keep their width under any terminal's setting only if the pad repeats them.
    pad = "".join("\t" if c == "\t" else " " for c in line[:column])
    prefix = f"{number:>4} | "
    return f"{prefix}{line}\n{' ' * (len(prefix) - 2)}| {pad}{'^' * width}"


class CepheidError(Exception):
    """Base of all errors of cepheid.

    Attributes:
        message: one sentence, what is wrong.
        remedy: one sentence, what to do, or None.
        text: the text of the query in which the error lies, or None.
        span: where in ``text``, or None.
        origin: the name of the file (or other source) that ``text`` came from, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        remedy: str | None = None,
        text: str | None = None,
        span: Span | None = None,
        origin: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.text = text
        self.span = span
        self.origin = origin

    @property
    def line(self) -> int | None:
        """The line of the place, from 1, or None."""
        if self.text is None or self.span is None:
            return None
        return self.text.count("\n", 0, self.span.start) + 1

    @property
    def column(self) -> int | None:
        """The column of the place, from 1, or None."""
        if self.text is None or self.span is None:
            return None
        return self.span.start - (self.text.rfind("\n", 0, self.span.start) + 1) + 1

    def located(self, text: str, origin: str | None = None) -> CepheidError:
        """This error, with the text of the query filled in where it is missing."""
        if self.text is None:
            self.text = text
        if self.origin is None:
            self.origin = origin
        return self

    def __str__(self) -> str:
        parts = []
        if self.text is not None and self.span is not None:
            where = f"{self.origin}:" if self.origin else ""
            parts.append(f"{where}{self.line}:{self.column}: {self.message}")
            parts.append(underline(self.text, self.span))
        else:
            parts.append(f"{self.origin}: {self.message}" if self.origin else self.message)
        if self.remedy:
            parts.append(f"  -> {self.remedy}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.remedy, self.text, self.span, self.origin))


def _rebuild(
    kind: type[CepheidError],
    message: str,
    remedy: str | None,
    text: str | None,
    span: Span | None,
    origin: str | None,
) -> CepheidError:
    """Unpickle an error: executors send theirs to the driver."""
    return kind(message, remedy=remedy, text=text, span=span, origin=origin)


class NoMatchWarning(UserWarning):
    """A query that found nothing, and could not: its conditions exclude each other, or no event has a type it needs."""


def level_outside() -> int:
    """For `warnings.warn`: how far above its caller the first line is that is not of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "cepheid":
        frame, level = frame.f_back, level + 1
    return level


class QueryError(CepheidError):
    """A query that cannot be read, or that does not fit its schema."""


class NotSupportedError(QueryError):
    """A query with a meaning that this version cannot run; it names the operator and its place."""


class ParameterError(CepheidError):
    """A parameter (``:name``) that is missing, unknown, or of the wrong type."""


class SchemaError(CepheidError):
    """Events that do not have the columns or types that were named."""


class DataError(CepheidError):
    """Values that cannot be worked with, such as a decimal that fits no machine word."""


class JobError(CepheidError):
    """A job file that cannot be used."""


class SetupError(CepheidError):
    """Something the machine lacks or does not allow: Java, a package, a folder, a version."""


class CapacityError(CepheidError):
    """A cap was reached (``max_partial_matches``) whose policy is to stop."""


class NetworkError(CepheidError):
    """A network of sites, or a workload on it, that no plan can be made for."""
