"""What keeps a query from ever having a match, as far as that is certain."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence

from cepheid.errors import NoMatchWarning, QueryError, Span, level_outside
from cepheid.language.bound import BoundQuery
from cepheid.language.contradictions import contradictions, message_of, remedy_of
from cepheid.language.faults import listing, nearest, place_of, shortened
from cepheid.language.impossible import impossible
from cepheid.language.printer import print_expression
from cepheid.language.structure import always_bound

MOST_TOLD = 5
"""Reasons that one warning tells; a set of queries may have many."""


def warn_of_no_matches(texts: Sequence[str]) -> None:
    """Warn of these reasons (`told`), if there are any, at the line that called this package."""
    if texts:
        more = [f"... and {len(texts) - MOST_TOLD} more"] if len(texts) > MOST_TOLD else []
        warnings.warn("\n".join([*texts[:MOST_TOLD], *more]), NoMatchWarning, stacklevel=level_outside())


def told(bound: BoundQuery) -> list[str]:
    """`reasons` as texts with their places, and those of the queries behind FROM."""
    own = [
        str(QueryError(message, remedy=remedy, text=bound.text, span=place, origin=bound.origin))
        for message, remedy, place in reasons(bound)
    ]
    return own if bound.inner is None else [*own, *told(bound.inner)]


def reasons(bound: BoundQuery) -> Iterator[tuple[str, str, Span | None]]:
    """Why a query has no matches in any stream: message, remedy and place.

    What is said of a query as it is written, bind refuses where single conditions or pairs of them tell. So this is of
    several conditions together, and of values that came for parameters.
    """
    own = list(_of_values(bound)) or list(_of_conditions(bound))
    yield from own


def _of_values(bound: BoundQuery) -> Iterator[tuple[str, str, Span | None]]:
    conditions = [conjunct.expression for conjunct in bound.conjuncts]
    for found in contradictions(conditions, bound.schema, bound.variables, bound.types):
        variables = [bound.variables[name] for name in found.variables]
        if not found.branch and not any(variable.negated or variable.optional for variable in variables):
            place = place_of(found.condition) if bound.text else None
            yield f"{message_of(found)}, so there are no matches", remedy_of(found), place


def _of_conditions(bound: BoundQuery) -> Iterator[tuple[str, str, Span | None]]:
    found = impossible(bound)
    if found is None or not found.conditions:
        return
    *others, last = found.conditions
    against = [*(shortened(print_expression(other)) for other in others), *found.clauses]
    together = f" together with {' and '.join(against)}" if against else ""
    yield (
        f"{shortened(print_expression(last))} can never hold{together}, so there are no matches",
        "correct one of the conditions, or the clause that it does not fit",
        place_of(last) if bound.text else None,
    )


def missing_type(bound: BoundQuery, present: Collection[str]) -> tuple[str, str | None] | None:
    """An event type that every match needs and no event has: what to say of it, and the type that may be meant.

    Args:
        bound: the query.
        present: the types of the events.
    """
    bound = bound.chain[-1]
    needed = always_bound(bound.pattern)
    for variable in bound.variables.values():
        if variable.name in needed and variable.types and not set(variable.types) & set(present):
            meant = nearest(variable.types[0], present)
            types = " or ".join(variable.types)
            asked = f"did you mean {meant}? " if meant is not None else ""
            return (
                f"no event has the type {types}, which every match needs ({asked}the types are: {listing(present)})",
                meant,
            )
    return None
