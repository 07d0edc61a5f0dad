"""explain works for every query: those of the papers, of the workloads, and random ones."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import cepheid as cep
from cepheid.cli.schema_file import read_schema
from cepheid.language.bound import BoundQuery
from cepheid.language.printer import print_expression
from cepheid.plan.draw import to_mermaid, to_svg, to_text
from cepheid.plan.explain import explain
from cepheid.plan.explanation import EdgeKind, Explanation
from cepheid.plan.reachable import N_MAX_STATES, Detail, reachable
from cepheid.plan.references import is_single, references
from cepheid.testing.oracle import match
from cepheid.testing.strategies import Example, Features, examples, queries

PAPERS = Path(__file__).parents[3] / "workloads" / "papers"
QUERIES = sorted(PAPERS.glob("*.cep"))

RANDOM = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def holds_together(bound: BoundQuery, found: Explanation) -> None:
    """What is true of every explanation."""
    ids = [state.id for state in found.states]
    assert ids == sorted(set(ids))
    assert [state.initial for state in found.states] == [True] + [False] * (len(ids) - 1)
    assert len(ids) <= N_MAX_STATES
    reached = {found.states[0].id}
    for _ in ids:
        reached |= {e.target for e in found.edges if e.source in reached and e.kind is EdgeKind.TAKE}
    assert reached == set(ids)
    for edge in found.edges:
        assert (edge.source == edge.target) == (edge.kind is EdgeKind.LOOP) or edge.kind is EdgeKind.NEGATED
        assert edge.label
        assert len(set(edge.predicates)) == len(edge.predicates) or len(found.predicates) != len(
            {row.text for row in found.predicates}
        )
    if reachable(bound.pattern).detail is not Detail.CUT:
        assert any(state.accepting for state in found.states)
    texts = [print_expression(conjunct.expression) for conjunct in bound.conjuncts]
    assert [row.text for row in found.predicates][-len(texts) if texts else len(found.predicates) :] == texts
    on_edges = set(itertools.chain.from_iterable(edge.predicates for edge in found.edges))
    for row in found.predicates:
        assert (row.text in on_edges) == (" edge" in row.where or "in the gap" in row.where)
    assert all("\n" not in sentence for sentence in found.warnings + found.notes)
    assert found.notes
    ET.fromstring(to_svg(found))
    assert to_text(found)
    assert to_mermaid(found).startswith("flowchart LR\n")


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_queries_of_the_papers(path):
    schema, catalog = read_schema(PAPERS / "schemas.toml", path)
    bound = cep.Query.from_file(path).bind(schema, catalog)
    found = explain(bound)
    holds_together(bound, found)
    assert not any("only those nearest to the start" in note for note in found.notes)


@RANDOM
@given(queries(Features.ALL))
def test_random_queries(bound: BoundQuery) -> None:
    holds_together(bound, explain(bound))


def compared(bound: BoundQuery, names: set[str]) -> Iterator[str]:
    """Conditions on several events all of which a match with ``names`` has, and which it has to test."""
    for conjunct in bound.conjuncts:
        read = references(conjunct.expression).values()
        in_groups = any(bound.variables[name].groups for name in conjunct.variables)
        # Of the first element of a loop, prev and running aggregates are absent.
        on_those_before = any(r.prev or (r.single and (r.aggregated or r.first or r.last)) for r in read)
        on_one_event = is_single(conjunct)
        if conjunct.negated or not conjunct.variables or in_groups or on_those_before or on_one_event:
            continue
        if names >= set(conjunct.variables):
            yield print_expression(conjunct.expression)


@RANDOM
@given(examples(Features.ALL, n_most=8))
def test_a_match_is_a_way_through_the_automaton_that_tests_its_conditions(example: Example) -> None:
    graph = reachable(example.bound.pattern)
    if graph.detail is not Detail.FULL:
        return
    found = explain(example.bound)
    for one in match(example.bound, example.events, stores=example.stores, timed_out=False).matches:
        bindings = sorted(one.bindings, key=lambda binding: binding[1].sort_key)
        # Point -> the conditions tested on some way to it.
        here: dict[int, set[str]] = {0: set()}
        for variable, _ in bindings:
            there: dict[int, set[str]] = {}
            for arc, edge in zip(graph.arcs, found.edges, strict=False):  # guards stand after the arcs
                if arc.source in here and any(element.name == variable for element in arc.elements):
                    there.setdefault(arc.target, set()).update(here[arc.source] | set(edge.predicates))
            here = there
        ends = {index: tested for index, tested in here.items() if found.states[index].accepting}
        assert ends, bindings
        tested = set().union(*ends.values()) | {row.text for row in found.predicates if "end" in row.where}
        for text in compared(example.bound, {variable for variable, _ in bindings}):
            assert text in tested
