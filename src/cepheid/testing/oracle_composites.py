"""What a match gives: the columns of its output, and the composite event that it is for another query (``FROM``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheid.language.bound import BoundQuery
from cepheid.language.printer import print_expression
from cepheid.language.tree import At, Attribute, Event, Pattern, Policy, Seq, SkipMode, walk
from cepheid.testing.oracle_conditions import Binding, Situation, taken
from cepheid.testing.oracle_events import OracleEvent, OracleMatch
from cepheid.testing.oracle_expressions import ABSENT, Absent, Evaluator, OneEvent


def returned(
    bound: BoundQuery, match: OracleMatch, *, stores: Mapping[str, Mapping[object, object]] | None = None
) -> dict[str, object]:
    """The values of RETURN for a match: column -> value, None for NULL.

    ``b.x`` of a loop is the list of its values: empty where the loop took nothing, NULL where its branch was not
    taken.
    """
    evaluator = Evaluator(bound.types, bound.catalog, stores or {})
    loops = frozenset(name for name, variable in bound.variables.items() if variable.loop)
    bindings = [Binding(index, name, event, ()) for index, (name, event) in enumerate(match.bindings)]
    have = taken(bindings, match.empty, loops)
    singles = {name: 0 if name in have.bound else None for name in bound.variables if name not in loops}
    columns: dict[str, object] = {}
    for column in bound.returns:
        node = column.expression
        if isinstance(node, Attribute) and node.at is At.EACH and node.variable in loops:
            elements = Situation(have, {}).elements(node.variable)
            value: object = ABSENT
            if not isinstance(elements, Absent):
                value = [evaluator.value(node, OneEvent(event)) for event in elements]
        else:
            value = evaluator.value(node, Situation(have, singles))
        columns[column.name] = None if value is ABSENT else value
    return columns


def composite_events(
    bound: BoundQuery,
    matches: Iterable[OracleMatch],
    watermark: int | None,
    stores: Mapping[str, Mapping[object, object]],
) -> list[OracleEvent]:
    """The matches of the inner query of ``bound`` as events.

    A composite event has the time of the last event of its match, and the name of the query as its type and source. Its
    order key is that last event's place in the order of events, then the places of all its events, the places of their
    variables in the text, and the window.

    Args:
        bound: a query with FROM.
        matches: of its inner query.
        watermark: how far the time of composite events has come; later ones are not known yet.
        stores: remote store -> key -> element.
    """
    inner = bound.inner
    assert inner is not None
    assert bound.query.source is not None
    places = {name: number for number, name in enumerate(inner.variables)}
    events = []
    for match in matches:
        happened = [event.sort_key for _, event in match.bindings]
        time = match.bindings[-1][1].time
        if watermark is not None and time > watermark:
            continue
        order = (happened[-1], tuple(happened), tuple(places[name] for name, _ in match.bindings), match.window or ())
        values = returned(inner, match, stores=stores) if inner.returns else _default(inner, match, stores)
        attributes = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        attributes["last_time"] = time
        events.append(OracleEvent(time, order, bound.query.source, bound.query.source, attributes))
    return events


def composite_watermark(inner: BoundQuery, watermark: int | None) -> int | None:
    """Up to which time all composite events are known.

    A match may be known only when its window has passed, so composite events come up to one window late; without a
    window in time the last of them are known at the end only.

    Args:
        inner: the query whose matches the events are.
        watermark: of the events that are read; microseconds; None for the end of the input.
    """
    if inner.inner is not None:
        watermark = composite_watermark(inner.inner, watermark)
    if watermark is None or _decided_by_last_event(inner):
        return watermark
    window = inner.window.within_us if inner.window.size_us is None else inner.window.size_us
    return -(2**63) if window is None else watermark - window


def _decided_by_last_event(bound: BoundQuery) -> bool:
    prefixes = {node.policy for node in walk(bound.pattern) if isinstance(node, Event)}
    strict = Policy.STRICT in (bound.policy, *prefixes)
    return (
        bound.skip.mode is SkipMode.NONE
        and bound.window.size_us is None
        and bound.window.size_events is None
        and not strict
        and _ends_in_one_event(bound.pattern)
    )


def _ends_in_one_event(pattern: Pattern) -> bool:
    return isinstance(pattern, Event) or (isinstance(pattern, Seq) and _ends_in_one_event(pattern.parts[-1]))


def _default(bound: BoundQuery, match: OracleMatch, stores: Mapping[str, Mapping[object, object]]) -> dict[str, object]:
    """The columns of the output without RETURN (SEMANTICS 8); ``match_id`` is a text of its own here."""
    evaluator = Evaluator(bound.types, bound.catalog, stores)
    events = [event for _, event in match.bindings]
    columns: dict[str, object] = {
        "match_id": repr([(name, event.identity) for name, event in match.bindings]),
        "first_time": events[0].time,
    }
    if match.window is not None:
        columns["window_start"], columns["window_end"] = match.window
    for key in bound.partition:
        name = key.path[-1] if isinstance(key, Attribute) else print_expression(key)
        columns[name] = evaluator.value(key, OneEvent(events[0]))
    loops = frozenset(name for name, variable in bound.variables.items() if variable.loop)
    bindings = [Binding(index, name, event, ()) for index, (name, event) in enumerate(match.bindings)]
    have = Situation(taken(bindings, match.empty, loops), {})
    for name, variable in bound.variables.items():
        if variable.hidden or variable.negated:
            continue
        value: object = None
        if not variable.loop:
            own = [event for one, event in match.bindings if one == name]
            value = _attributes(own[0], variable.fields) if own else None
        elif not isinstance(elements := have.elements(name), Absent):
            value = [_attributes(event, variable.fields) for event in elements]
        columns[name] = value
    return columns


def _attributes(event: OracleEvent, fields: Iterable[str]) -> dict[str, object]:
    return {name: event.values.get(name) for name in fields}
