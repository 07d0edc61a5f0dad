"""Projections of a query, evaluated apart and joined, give the query: what it means, wherever it is evaluated."""

from __future__ import annotations

from random import Random

import pytest

from cepheid.errors import NotSupportedError, QueryError
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.plan.projection import not_split_because, split
from cepheid.testing.strategies import CATALOG, SCHEMA, stream
from cepheid.testing.strategies_choices import Seeded
from cepheid.testing.strategies_features import Features
from cepheid.testing.strategies_queries import query_text
from tests.properties.found_by_joining import found_by_joining, found_by_oracle, random_parts, with_order_key

CONDITIONS = Features.CROSS | Features.LOGIC | Features.FUNCTIONS | Features.NULLS | Features.NANS | Features.SOURCES
LOOPS = Features.KLEENE | Features.AGGREGATES | Features.PREV | Features.FIRST_LAST
PATTERNS = Features.AND | Features.GROUPS | Features.NOT_MIDDLE | Features.NOT_ENDS | Features.NOT_GROUP
JOINED = Features.ANY | CONDITIONS | LOOPS | PATTERNS | Features.SAME | Features.WITHIN | Features.EXCLUSIVE

QUERIES = {
    "SEQ": "SEQ(A a, B b, C c) WHERE a.x <= c.x AND b.x = c.x WITHIN 6 s",
    "AND": "AND(A a, (A | B) b, C c) WHERE a.x <> b.x AND b.k = c.k WITHIN 5 s",
    "nested": "SEQ(A a, AND(B b, SEQ(C c, A d)), C e) WHERE a.x < d.x AND b.k = e.k WITHIN 8 s",
    "NSEQ": "SEQ(A a, NOT B n, C c, B b) WHERE n.x = c.x AND a.k = b.k WITHIN 6 s",
    "NSEQ of a group": "SEQ(A a, NOT SEQ(B n, A m), C c, A d) WHERE n.x >= c.x AND m.k = a.k WITHIN 7 s",
    "NOT at the ends": "SEQ(NOT C n, A a, B b, NOT A m) WHERE m.x = b.x AND a.k = b.k WITHIN 3 s EXCLUSIVE",
    "KL": "SEQ(A a, B+ b, C c) WHERE a.x <= b.x AND sum(b.x) > c.x AND b.x >= prev(b).x WITHIN 6 s",
    "two loops": "AND(A{1,2} a, (A | B)+ b, C c) WHERE a.x <= b.x AND b.k = c.k WITHIN 4 s",
    "KL beside NOT": "SEQ(A+ a, NOT B n, C{1,2} c, B b) WHERE n.x > a.x AND c.k = b.k WITHIN 6 s",
    "SAME": "SEQ(A a, NOT B n, C c, A d) WHERE SAME[k] AND a.x <= d.x WITHIN 8 s",
    "no window": "SEQ(A a, B b, AND(A c, C d)) WHERE a.x = c.x AND b.f >= d.f",
}


def bound_of(text: str) -> BoundQuery:
    return with_order_key(bind(parse(f"PATTERN {text} POLICY any"), SCHEMA, catalog=CATALOG))


def require_joined(bound: BoundQuery, features: Features, random: Random, n_streams: int) -> int:
    """Compare with the oracle on streams in random parts; the number of matches."""
    n_matches = 0
    for _ in range(n_streams):
        events = stream(Seeded(random), bound, features, 9, random.random() < 0.3)
        parts = random_parts(bound, random)
        wanted = found_by_oracle(bound, events)
        assert found_by_joining(bound, events, parts, random) == wanted, (parts, events)
        n_matches += wanted.total()
    return n_matches


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_joined_projections_are_the_query(text: str):
    assert require_joined(bound_of(text), JOINED, Random(text), 5) > 0


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_joined_projections_of_random_queries_are_the_query():
    random = Random(20_240_229)
    n_queries = n_matches = 0
    while n_queries < 120:
        features = Features.ANY
        for feature in Features:
            if feature in JOINED and random.random() < 0.5:
                features |= feature
        try:
            bound = bind(parse(query_text(Seeded(random), features)), SCHEMA, catalog=CATALOG)
        except QueryError:
            continue
        if not_split_because(bound) is not None or len(split(bound).positive) < 2:
            continue
        try:
            n_matches += require_joined(with_order_key(bound), features, random, 5)
        except NotSupportedError:  # conditions of NOT on loops as a whole
            continue
        n_queries += 1
    assert n_matches > 500
