"""What is left of a pattern, and the ways on from there."""

from __future__ import annotations

from cepheid.plan.terms import (
    CURRENT,
    DONE,
    LATER,
    Branches,
    Chain,
    Gap,
    Loop,
    One,
    Quantifier,
    Shuffle,
    Terms,
    Way,
    chain,
)

A, B, C = One(0), One(1), One(2)


def terms(*quantifiers: Quantifier) -> Terms:
    return Terms(variables=["a", "b", "c"], quantifiers=list(quantifiers))


def plus(body, group=None, *, minimum=1, maximum=None, greedy=True, names="b"):
    return Quantifier(minimum, maximum, greedy, body, frozenset(names), group)


def taken(ways: tuple[Way, ...]) -> list[int | None]:
    return [way.element for way in ways]


def test_a_chain_takes_its_parts_in_order():
    (way,) = terms().ways(Chain((A, B)))
    assert (way.element, way.rest) == (0, B)
    assert terms().ways(DONE) == (Way(),)


def test_a_chain_in_a_chain_is_one_chain():
    assert chain((Chain((A, B)), C)) == Chain((A, B, C))
    assert chain((B,)) == B


def test_a_greedy_loop_goes_on_before_it_ends_and_a_reluctant_one_after():
    greedy = terms(plus(B))
    assert taken(greedy.ways(Chain((Loop(0, 1), C)))) == [1, 2]
    reluctant = terms(plus(B, greedy=False))
    ways = reluctant.ways(Chain((Loop(0, 1), C)))
    assert taken(ways) == [2, 1]
    assert ways[0].leaves


def test_a_loop_must_reach_its_minimum_and_ends_at_its_maximum():
    bounded = terms(plus(B, minimum=2, maximum=3))
    assert taken(bounded.ways(Loop(0, 1))) == [1]
    assert taken(bounded.ways(Loop(0, 2))) == [1, None]
    assert taken(bounded.ways(Loop(0, 3))) == [None]


def test_iterations_are_counted_only_as_far_as_they_matter():
    unbounded = terms(plus(B))
    (once,) = (way.rest for way in unbounded.ways(Loop(0)) if way.element is not None)
    (twice,) = (way.rest for way in unbounded.ways(once) if way.element is not None)
    assert once == twice


def test_what_is_passed_over_is_empty_and_gaps_are_crossed():
    optional = terms(plus(B, minimum=0, maximum=1))
    ways = optional.ways(Chain((Loop(0), Gap(0), C)))
    assert taken(ways) == [1, 2]
    assert (ways[1].empty, ways[1].gaps) == (frozenset("b"), (0,))
    assert optional.gaps(Chain((Loop(0), Gap(0), C))) == {0}


def test_a_shuffle_takes_its_parts_in_any_order_the_first_in_the_text_first():
    both = Shuffle(0, ((A, True), (B, True)))
    ways = terms().ways(both)
    assert taken(ways) == [0, 1]
    assert ways[0].rest == Shuffle(0, ((B, True),))
    assert terms().ways(ways[0].rest)[0].rest == DONE


def test_any_of_some_forgets_the_others_when_enough_have_begun():
    two = Shuffle(2, ((A, False), (B, False), (C, False)))
    first = terms().ways(two)[1].rest
    assert taken(terms().ways(first)) == [0, 2]
    assert terms().ways(first)[0].rest == DONE


def test_branches_are_told_apart_for_runs():
    pattern = Chain((A, Branches((B, C))))
    assert list(terms().variants(pattern)) == [Chain((A, B)), Chain((A, C))]
    assert taken(terms().ways(Branches((B, C)))) == [1, 2]


def test_places_tell_the_iteration_in_which_a_variable_may_come():
    group = terms(plus(Chain((A, B)), 0, names="ab"))
    begun = next(way.rest for way in group.ways(Loop(0)))
    assert group.places(begun) == {
        ("b", frozenset({(0, CURRENT)})),
        ("a", frozenset({(0, LATER)})),
        ("b", frozenset({(0, LATER)})),
    }
    assert next(way for way in group.ways(Loop(0))).begins == {0}


def test_an_unfinished_iteration_gives_its_events_back():
    group = terms(plus(Chain((A, B)), 0, names="ab"))
    once = Loop(0, 1)
    begun = group.ways(once)[0].rest
    assert group.cut(begun) == Way(dropped=0)
    assert group.cut(group.ways(Loop(0))[0].rest) is None  # the first iteration must be complete


def test_events_of_an_unfinished_iteration_may_lie_among_others():
    group = terms(plus(Chain((A, B)), 0, names="ab"))
    begun = group.ways(Loop(0, 1))[0].rest
    end = group.cut(Shuffle(0, ((begun, True), (Loop(0, 1), True))))
    assert end is not None
    assert (end.dropped, end.scattered) == (None, {0})
