"""The rules of a pattern and its clauses that need no types (SEMANTICS 2.3, 3, 5, 6)."""

from __future__ import annotations

from cepheid.errors import QueryError
from cepheid.language.bound import BoundWindow
from cepheid.language.faults import fault, listing, suggestion
from cepheid.language.scope import Scope
from cepheid.language.structure import (
    Place,
    can_be_preceded,
    exclusive,
    first_names,
    fork,
    is_loop,
    may_be_trailing,
    n_events_least,
    nodes_with_paths,
    nullable,
)
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Attribute,
    Event,
    Not,
    Or,
    Pattern,
    Policy,
    Query,
    Repeat,
    Seq,
    Skip,
    SkipMode,
    walk,
)


def check_pattern(pattern: Pattern) -> None:
    """Refuse patterns that mean nothing, whatever the clauses.

    Raises:
        QueryError: the first such place in the text.
    """
    for node, _, ancestors in nodes_with_paths(pattern):
        match node:
            case Seq() | And() | Or() | AnyOf() if not node.parts:
                raise fault(f"{_word(node)} has no parts", node, "put at least one element between its brackets")
            case AnyOf():
                _check_any_of(node)
            case Repeat():
                _check_repeat(node)
            case Not():
                _check_not(node, ancestors)
            case _:
                continue
    if nullable(pattern):
        only_not = all(isinstance(part, Not) for part in _leaves(pattern))
        raise fault(
            "this pattern matches without any event",
            pattern,
            "add an element that must occur beside the NOT" if only_not else "make one of its elements obligatory",
        )


def _leaves(pattern: Pattern) -> list[Pattern]:
    """The elements and NOTs of a pattern, what stands under NOT left out."""
    if isinstance(pattern, (Event, Not)):
        return [pattern]
    below = (pattern.part,) if isinstance(pattern, Repeat) else pattern.parts
    return [leaf for part in below for leaf in _leaves(part)]


def _word(node: Pattern) -> str:
    return {Seq: "SEQ", And: "AND", Or: "OR", AnyOf: "ANY", Not: "NOT"}.get(type(node), "a quantifier")


def _check_any_of(node: AnyOf) -> None:
    if node.count < 1:
        raise fault(f"ANY takes at least 1 of its patterns, not {node.count}", node, "write ANY(1, ...)")
    if node.count > len(node.parts):
        raise fault(
            f"ANY asks for {node.count} of {len(node.parts)} patterns",
            node,
            f"ask for at most {len(node.parts)}, or list more patterns",
        )


def _check_repeat(node: Repeat) -> None:
    if node.minimum < 0 or (node.maximum is not None and (node.maximum < 1 or node.minimum > node.maximum)):
        raise fault(
            f"{{{node.minimum},{'' if node.maximum is None else node.maximum}}} is no range of repetitions",
            node,
            "the upper bound is at least 1, and not below the lower bound",
        )
    if node.until is not None and not isinstance(node.part, Event):
        raise fault(
            "UNTIL closes the loop of one variable, not of a group",
            node.until,
            "write it after a variable: B+ b UNTIL condition",
        )
    if node.until is not None and not is_loop(node):
        raise fault("UNTIL closes a loop, and this element is none", node.until, "write + or * on the variable")
    if is_loop(node) and nullable(node.part):
        raise fault(
            "the part that is repeated can be empty: it could be repeated without end and take nothing",
            node,
            "make one of the elements in the group obligatory, or put the quantifier on the elements",
        )


def _check_not(node: Not, ancestors: tuple[Pattern, ...]) -> None:
    for above in ancestors:
        if isinstance(above, (And, AnyOf)):
            raise fault(
                f"NOT stands inside {_word(above)}, whose parts come in any order: it has no neighbours to lie between",
                node,
                "put the NOT before or after the group, in a SEQ",
            )
        if isinstance(above, Repeat):
            raise fault(
                "NOT stands under a quantifier: each iteration would have its own gap",
                node,
                "put the NOT before or after the repeated group",
            )
        if isinstance(above, Not):
            raise fault("NOT stands inside NOT", node, "write the inner pattern without NOT, or split the query in two")
    if nullable(node.part):
        raise fault(
            "what stands under NOT can be empty: it would always be found",
            node,
            "make one of the elements under NOT obligatory",
        )


def check_query(query: Query, scope: Scope, window: BoundWindow, policy: Policy) -> None:
    """Refuse patterns that mean nothing with the clauses around them.

    Args:
        query: as written.
        scope: its names.
        window: its windows.
        policy: as it applies.

    Raises:
        QueryError: the first rule that is broken.
    """
    bounded = window.within_us or window.within_events or window.size_us or window.size_events
    for node, path, ancestors in nodes_with_paths(scope.pattern):
        if isinstance(node, Repeat):
            _check_reluctant(node, ancestors, policy)
        if isinstance(node, Not) and not bounded and may_be_trailing(path, ancestors):
            raise fault(
                "a NOT at the end of the pattern has no end without a window",
                node,
                "add WITHIN, such as WITHIN 5 minutes, or an element after the NOT",
            )
    for places in scope.places.values():
        for place in places:
            _check_prefix(place)
    _check_each(query, scope, window)
    _check_counts(query, scope, window)
    _check_skip(query.skip, scope)


def _check_reluctant(node: Repeat, ancestors: tuple[Pattern, ...], policy: Policy) -> None:
    if node.greedy:
        return
    own = node.part.policy if isinstance(node.part, Event) else None
    if any(isinstance(above, Not) for above in ancestors):
        raise fault(
            "a reluctant quantifier stands under NOT, where every choice is tried",
            node,
            "write it without the second ?",
        )
    if (own or policy) is Policy.ANY:
        raise fault(
            "a reluctant quantifier means nothing under any, where every choice gives a match",
            node,
            "write it without the second ?, or use next or strict",
        )


def _check_prefix(place: Place) -> None:
    policy = place.event.policy
    if policy is None:
        return
    if place.negation is not None:
        raise fault(
            f"the prefix {policy.value} stands under NOT, where every choice is tried",
            place.event,
            f"remove {policy.value}",
        )
    if not can_be_preceded(place):
        raise fault(
            f"the prefix {policy.value} stands on the first element: there is no event before it to skip from",
            place.event,
            f"remove {policy.value}, or write POLICY {policy.value} for the whole query",
        )


def _check_each(query: Query, scope: Scope, window: BoundWindow) -> None:
    if query.window.each is None:
        return
    if window.within_us or window.within_events or window.size_us or window.size_events:
        return
    for variable in scope.variables.values():
        if variable.loop and not variable.negated:
            raise fault(
                "BETWEEN EACH alone does not bound a loop: it could go on for ever",
                query.window.each,
                "add WITHIN beside it, such as WITHIN 1 hour",
            )


def _check_counts(query: Query, scope: Scope, window: BoundWindow) -> None:
    n_least = n_events_least(scope.pattern)
    extent = query.window.within
    if window.within_events is not None and n_least > window.within_events:
        raise fault(
            f"no match fits: the pattern takes at least {n_least} events, and WITHIN holds {window.within_events}",
            extent,
            f"write WITHIN {n_least} EVENTS or more",
        )
    n_in_window = None if window.size_events is None else window.size_events + window.closed
    if n_in_window is not None and n_least > n_in_window:
        raise fault(
            f"no match fits: the pattern takes at least {n_least} events, and WINDOW holds {n_in_window}",
            query.window.sliding,
            f"write WINDOW {n_least} EVENTS or more",
        )


def _check_skip(skip: Skip, scope: Scope) -> None:
    if skip.mode not in (SkipMode.TO_FIRST, SkipMode.TO_LAST):
        return
    names = [name for name, variable in scope.variables.items() if not variable.hidden]
    known = f"the pattern's variables are: {listing(names)}"
    if skip.variable is None:
        raise fault(f"{skip.mode.value} does not say to which variable", skip, known)
    variable = scope.variables.get(skip.variable)
    if variable is None or variable.hidden:
        raise fault(
            f"the pattern has no variable {skip.variable} to skip to", skip, suggestion(skip.variable, names, known)
        )
    if variable.negated:
        raise fault(f"{variable.name} stands under NOT: a match has no such event to skip to", skip, known)
    if variable.optional:
        raise fault(
            f"{variable.name} may be absent from a match, which would then have nowhere to skip to",
            skip,
            "skip to a variable that every match has, or write SKIP PAST LAST",
        )
    if variable.name in first_names(scope.pattern):
        raise fault(
            f"{variable.name} may be the first event of a match: skipping to it would find the same match again",
            skip,
            "skip to a later variable, or write SKIP TO NEXT",
        )


def loop_name(node: Repeat) -> str:
    """The name of the Kleene variable that ``node`` repeats."""
    assert isinstance(node.part, Event)
    assert node.part.name is not None
    return node.part.name


def check_until(node: Repeat, scope: Scope) -> None:
    """Refuse an UNTIL that reads what cannot be known while its loop is open.

    Raises:
        QueryError: it names a variable that comes later, stands in another branch, or under NOT.
    """
    assert node.until is not None
    own = loop_name(node)
    for read in walk(node.until):
        if not isinstance(read, (Attribute, Aggregate)) or read.variable in (None, own):
            continue
        variable = scope.variables.get(read.variable or "")
        if variable is None:
            continue
        if variable.negated:
            raise fault(
                f"{variable.name} stands under NOT: it is not bound while {own} is open",
                read,
                "name variables that come before the loop",
            )
        if not any(_may_precede(there, here) for there in scope.places[variable.name] for here in scope.places[own]):
            raise _later(read, variable.name, own)


def _later(read: Attribute | Aggregate, name: str, own: str) -> QueryError:
    return fault(
        f"{name} is not bound while {own} is open: it comes after, or in another branch",
        read,
        f"name variables that come before {own}, or move the condition to WHERE",
    )


def _may_precede(there: Place, here: Place) -> bool:
    node, left, right = fork(there, here)
    if exclusive(there, here):
        return False
    return not isinstance(node, Seq) or left < right
