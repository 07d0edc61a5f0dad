"""The windows of a query in microseconds or events, with every rule of SEMANTICS 5 that bind can test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from cepheid.events.schema import TIME_UNITS, Schema
from cepheid.language.bound import BoundWindow
from cepheid.language.faults import fault
from cepheid.language.literals import INT_MOST
from cepheid.language.tree import Extent, Window


@dataclass(frozen=True, slots=True)
class Length:
    """The length of a window: exactly one of the two is set."""

    us: int | None = None
    n_events: int | None = None


def resolved(window: Window, schema: Schema) -> BoundWindow:
    """The windows with their units applied.

    Raises:
        QueryError: a length that is not positive, has no unit, or is no whole number of microseconds
            (or events); a slide longer than its window or of another kind; EXCLUSIVE with EVENTS.
    """
    within = None if window.within is None else _length(window.within, "WITHIN", schema)
    each = None if window.each is None else _length(window.each, "BETWEEN EACH", schema)
    if window.exclusive and (within is None or within.us is None):
        raise fault(
            "EXCLUSIVE belongs to WITHIN with a length of time",
            window.within or window,
            "remove EXCLUSIVE: WITHIN n EVENTS already means fewer than n positions apart",
        )
    size = slide = None
    if window.sliding is not None:
        size = _length(window.sliding.size, "WINDOW", schema)
        slide = _length(window.sliding.slide, "SLIDE", schema)
        if (size.us is None) is not (slide.us is None):
            raise fault(
                "WINDOW and SLIDE are measured differently: one in time, the other in events",
                window.sliding,
                "give both a unit of time, or write EVENTS after both",
            )
        if (slide.us or slide.n_events or 0) > (size.us or size.n_events or 0):
            raise fault(
                "SLIDE is longer than WINDOW: the events between two windows would be in none",
                window.sliding.slide,
                "make SLIDE at most as long as WINDOW",
            )
    return BoundWindow(
        within_us=within.us if within else None,
        within_events=within.n_events if within else None,
        exclusive=window.exclusive,
        each_us=each.us if each else None,
        each_events=each.n_events if each else None,
        size_us=size.us if size else None,
        slide_us=slide.us if slide else None,
        size_events=size.n_events if size else None,
        slide_events=slide.n_events if slide else None,
        closed=window.sliding.closed if window.sliding else False,
        one_match=window.sliding.one_match if window.sliding else False,
    )


def _length(extent: Extent, clause: str, schema: Schema) -> Length:
    if isinstance(extent.value, float) and not math.isfinite(extent.value):
        raise fault(f"{clause} {extent.value} is not a length", extent, "write a number and a unit, such as 5 minutes")
    if extent.value <= 0:
        raise fault(
            f"{clause} {extent.value} is empty: a window must be longer than zero",
            extent,
            "write a positive length, such as 5 minutes or 100 EVENTS",
        )
    if extent.unit == "events":
        if extent.value != int(extent.value):
            raise fault(
                f"{clause} {extent.value} EVENTS is not a whole number of events", extent, "write a whole number"
            )
        if extent.value > INT_MOST:
            raise fault(f"{clause} {extent.value} EVENTS is too long", extent, f"write at most {INT_MOST}")
        return Length(n_events=int(extent.value))
    unit = extent.unit if extent.unit is not None else schema.time_unit
    if unit is None:
        raise fault(
            f"{clause} {extent.value} has no unit, and the time column {schema.time!r} has timestamps",
            extent,
            f"write the unit, such as {clause} {extent.value} seconds, or {clause} {extent.value} EVENTS",
        )
    if unit not in TIME_UNITS:
        raise fault(f"{unit!r} is not a unit of time", extent, f"use one of {', '.join(TIME_UNITS)}, or EVENTS")
    length_us = Decimal(repr(extent.value)) * TIME_UNITS[unit]
    if length_us > INT_MOST:
        raise fault(f"{clause} {extent.value} {unit} is longer than 290,000 years", extent, "write a shorter length")
    if length_us != int(length_us):
        raise fault(
            f"{clause} {extent.value} {unit} is not a whole number of microseconds",
            extent,
            "event times are held in microseconds: round the length",
        )
    return Length(us=int(length_us))
