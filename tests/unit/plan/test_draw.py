"""The drawings of an explanation: well formed, complete, and no text upon another."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings

from cepheid.plan.draw import to_mermaid, to_svg, to_text
from cepheid.plan.draw.layout import RADIUS, lay_out
from cepheid.plan.draw.lettering import cut, n_cells, width_px, wrap
from cepheid.plan.explain import explain
from cepheid.plan.explanation import Edge, EdgeKind, Explanation, PredicateClass, PredicateRow, State
from cepheid.testing.strategies import Features, queries

RANDOM = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

SVG = "{http://www.w3.org/2000/svg}"


def card_fraud() -> Explanation:
    loop = ("d.amount > prev(d).amount", "distance(d.x, d.y, a.x, a.y) < :radius OR d.place = a.place")
    return Explanation(
        query="PATTERN SEQ(Txn a, NOT Refund r, (Denied | Reversed)+ d, Txn b)",
        states=(State(0, "", initial=True), State(1, "a"), State(2, "d", kleene=True), State(3, "b", accepting=True)),
        edges=(
            Edge(0, 1, "Txn a", predicates=("a.amount > 10000",)),
            Edge(1, 2, "NOT Refund r", EdgeKind.NEGATED, ("r.amount = a.amount",)),
            Edge(1, 2, "(Denied | Reversed)+ d", predicates=loop),
            Edge(2, 2, "(Denied | Reversed)+ d", EdgeKind.LOOP, loop),
            Edge(2, 3, "Txn b", predicates=("count(d) >= 3", "b.amount > 2 * a.amount")),
        ),
        predicates=(
            PredicateRow("SAME[card]", PredicateClass.PARTITION, "splits the stream"),
            PredicateRow("a.amount > 10000", PredicateClass.SINGLE, "before the engine", pushed=True),
            PredicateRow("r.amount = a.amount", PredicateClass.NEGATED, "when d is taken"),
            PredicateRow(loop[0], PredicateClass.CROSS, "on edge a -> d and the loop"),
            PredicateRow(loop[1], PredicateClass.CROSS, "on edge a -> d and the loop"),
            PredicateRow("count(d) >= 3", PredicateClass.AGGREGATE, "on edge d -> b"),
            PredicateRow("b.amount > 2 * a.amount", PredicateClass.CROSS, "on edge d -> b"),
        ),
        window="WITHIN 5 minutes",
        partition=("card",),
        returns=("a.card AS card", "count(d) AS n_denied"),
        columns=("ts", "kind", "card", "amount"),
        warnings=("the loop d has no upper bound",),
        notes=("a match is reported at its last event",),
    )


def optional_and_back() -> Explanation:
    return Explanation(
        query="optional",
        states=(
            State(0, "", initial=True),
            State(1, "a"),
            State(2, "b"),
            State(3, "some_long_name"),
            State(4, "c", accepting=True),
        ),
        edges=(
            Edge(0, 1, "A a"),
            Edge(1, 2, "B? b", predicates=("b.x > a.x",)),
            Edge(1, 3, "any C some_long_name", predicates=("some_long_name.value > 10",), policy="any"),
            Edge(2, 3, "C some_long_name", predicates=("some_long_name.value > 10",), policy="any"),
            Edge(1, 4, "", EdgeKind.SKIP),
            Edge(3, 4, "\"order <placed> & 'paid'\" c\n\x00"),
            Edge(3, 1, "A a"),
        ),
    )


def branches() -> Explanation:
    return Explanation(
        query="branches",
        states=(
            State(0, "", initial=True),
            State(1, "a"),
            State(2, "b"),
            State(3, "c", kleene=True),
            State(4, "d", accepting=True),
        ),
        edges=(
            Edge(0, 1, "A a"),
            Edge(1, 2, "B b", predicates=("b.k = a.k",)),
            Edge(1, 3, "C c", predicates=("c.k = a.k", "c.x > 3")),
            Edge(3, 3, "C c", EdgeKind.LOOP, ("c.k = a.k", "c.x > 3")),
            Edge(2, 4, "D d"),
            Edge(3, 4, "D d", predicates=("sum(c.x) > 10",)),
            Edge(4, 4, "NOT X x", EdgeKind.NEGATED, ("x.y > 1",)),
        ),
    )


def loops_side_by_side() -> Explanation:
    states = (State(0, "", initial=True), *(State(i, f"v{i}", accepting=i == 5) for i in range(1, 6)))
    edges = []
    for i in range(1, 6):
        label = f"T{i}+ v{i}"
        edges.append(Edge(i - 1, i, label))
        edges.append(Edge(i, i, label, EdgeKind.LOOP, (f"v{i}.a_rather_long_attribute > prev(v{i}).another",)))
        edges.append(Edge(i - 1, i, "NOT N n", EdgeKind.NEGATED, ("n.a_rather_long_attribute = 1",)))
    return Explanation(query="loops", states=states, edges=tuple(edges))


ALL = [card_fraud, optional_and_back, branches, loops_side_by_side]


def text_boxes(svg: str) -> list[tuple[str, float, float, float, float]]:
    boxes = []
    for element in ET.fromstring(svg).iter(f"{SVG}text"):
        if element.get("aria-hidden"):  # the halo behind a text
            continue
        text = "".join(element.itertext()).removeprefix(element.findtext(f"{SVG}title") or "")
        size = float(element.attrib["font-size"])
        mono = "monospace" in element.attrib["font-family"]
        width = width_px(text, size, mono=mono, bold="font-weight" in element.attrib)
        x, y = float(element.attrib["x"]), float(element.attrib["y"])
        if element.attrib["text-anchor"] == "middle":
            x -= width / 2
        boxes.append((text, x, x + width, y - 0.75 * size, y + 0.2 * size))
    return boxes


def test_no_text_lies_upon_another_or_outside():
    for make in ALL:
        assert_texts_stand_apart(make())


@RANDOM
@given(queries(Features.ALL))
def test_no_text_of_any_query_lies_upon_another_or_outside(bound):
    assert_texts_stand_apart(explain(bound))


@RANDOM
@given(queries(Features.ALL))
def test_no_edge_runs_through_a_state(bound):
    layout = lay_out(explain(bound))
    for track in layout.far:
        for state, beside in ((track.edge.source, track.leaves), (track.edge.target, track.arrives)):
            x, y = layout.at[state]
            below = [at for at in layout.at.values() if at[1] > y]
            assert all(abs(at[0] - x - beside) > RADIUS for at in below)
            assert all(at[1] + RADIUS < track.y for at in layout.at.values())


def test_a_halo_hides_no_text_where_paint_order_is_unknown():
    elements = list(ET.fromstring(to_svg(card_fraud())).iter(f"{SVG}text"))
    stroked = [i for i, element in enumerate(elements) if "stroke" in element.attrib]
    assert stroked
    for i in stroked:
        behind, text = elements[i], elements[i + 1]
        assert "stroke" not in text.attrib
        assert "".join(text.itertext()).endswith(behind.text or "")
        assert [behind.get(name) for name in ("x", "y", "font-size")] == [
            text.get(name) for name in ("x", "y", "font-size")
        ]


def assert_texts_stand_apart(explanation: Explanation) -> None:
    svg = to_svg(explanation)
    root = ET.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = text_boxes(svg)
    for text, left, right, top, bottom in boxes:
        assert left >= 0, text
        assert right <= width, text
        assert top >= 0, text
        assert bottom <= height, text
    for one, other in itertools.combinations(boxes, 2):
        apart = one[2] <= other[1] or other[2] <= one[1] or one[4] <= other[3] or other[4] <= one[3]
        assert apart, f"{one[0]!r} meets {other[0]!r}"


@pytest.mark.parametrize("make", ALL)
def test_every_label_and_predicate_is_in_every_drawing(make):
    explanation = make()
    svg = " ".join(text for text, *_ in text_boxes(to_svg(explanation)))
    plain = to_text(explanation, width=200)
    for edge in explanation.edges:
        label = " ".join(edge.label.replace("\x00", "\N{REPLACEMENT CHARACTER}").split())
        assert label in svg
        assert label in plain
    for row in explanation.predicates:
        assert row.text in svg
        assert row.text in plain
        assert row.where in plain
    for remark in explanation.warnings + explanation.notes:
        assert remark in svg
        assert remark in plain


def test_names_from_outside_cannot_break_out():
    hostile = Explanation(
        query="</title><script>alert(1)</script>",
        states=(State(0, "", initial=True), State(1, "</text><script>", accepting=True)),
        edges=(Edge(0, 1, 'x"/><script>alert(1)</script>', predicates=("a < 'b\ud800' AND c > \"d\"",)),),
        predicates=(PredicateRow("]]> & <", PredicateClass.SINGLE, "before & after"),),
    )
    root = ET.fromstring(to_svg(hostile))
    assert root.find(f".//{SVG}script") is None
    mermaid = to_mermaid(hostile)
    assert "<script>" not in mermaid
    assert re.fullmatch(r'    s0 -->\|"[^"|]*"\| s1', mermaid.splitlines()[-1])


def test_an_explanation_without_conditions_is_drawn():
    bare = Explanation("A", (State(0, "", initial=True), State(1, "a", accepting=True)), (Edge(0, 1, "A a"),))
    ET.fromstring(to_svg(bare))
    assert "((a))" in to_text(bare)
    assert to_mermaid(bare).splitlines()[-1] == '    s0 -->|"A a"| s1'


def test_text_keeps_to_the_width_of_the_terminal():
    for line in to_text(card_fraud(), width=80).splitlines():
        if "[" not in line or "predicate" in line:
            assert n_cells(line) <= 80


def test_lettering_of_wide_and_combining_characters():
    assert n_cells("漢字") == 4
    assert n_cells("e\u0301") == 1
    assert cut("漢字漢字", 5) == "漢字…"
    assert cut("a\nb", 5) == "a b"
    assert wrap("", 10) == [""]


def test_a_prefix_is_shown_beside_a_type_that_begins_like_it():
    states = (State(0, "", initial=True), State(1, "x", accepting=True))
    found = Explanation("A", states, (Edge(0, 1, "anything x", policy="any"),))
    for drawn in (to_text(found), to_svg(found), to_mermaid(found).replace("<br/>", " ")):
        assert "any anything x" in drawn


def test_states_of_one_name_are_told_apart_in_text():
    states = (State(0, "", initial=True), State(1, "a"), State(2, "a", accepting=True))
    drawn = to_text(Explanation("A", states, (Edge(0, 1, "A a"), Edge(0, 2, "A a"), Edge(1, 2, "A a"))))
    assert "(a)" in drawn
    assert "A a  → ((a #2))" in drawn
