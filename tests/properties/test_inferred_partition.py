"""A partition that equalities imply changes no match: the oracle with it finds what it finds without."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.language.partition import inferred_partition
from cepheid.language.tree import Attribute
from cepheid.testing.oracle import OracleEvent, match

SCHEMA = Schema(fields={"t": INT, "type": TEXT, "k": INT, "x": INT}, time="t", time_unit="s", type="type")
KEY = Attribute(None, ("k",))


@st.composite
def texts(draw):
    n = draw(st.integers(2, 4))
    parts = []
    for index in range(n):
        prefix = draw(st.sampled_from(["", "", "", "any ", "next "])) if index else ""
        form = draw(st.sampled_from(["{} {}", "{} {}", "{} {}", "{}+ {}", "{}+? {}", "NOT {} {}"]))
        prefix = "" if form.startswith("NOT") else prefix
        parts.append(prefix + form.format(draw(st.sampled_from("AB")), "abcd"[index]))
    if n > 2 and draw(st.booleans()) and not any(part.startswith("NOT") for part in parts[-2:]):
        parts[-2:] = [f"AND({parts[-2]}, {parts[-1]})"]
    names = "abcd"[:n]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda p: p[0] != p[1])
    ties = [(draw(st.sampled_from(names[:index])), names[index]) for index in range(1, n)]
    ties += draw(st.lists(pairs, max_size=2))
    where = [f"{one}.k = {other}.k" for one, other in ties]
    where += [f"{one}.x < {other}.x" for one, other in draw(st.lists(pairs, max_size=1))]
    policy = draw(st.sampled_from(["any", "next"]))
    return f"PATTERN SEQ({', '.join(parts)}) WHERE {' AND '.join(where)} WITHIN 6 POLICY {policy}"


@st.composite
def streams(draw):
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.sampled_from("AB"), st.sampled_from([1, 1, 2, None]), st.integers(0, 2)),
            min_size=2,
            max_size=7,
        )
    )
    events, time = [], 0
    for number, (gap, kind, key, x) in enumerate(rows):
        time += gap
        events.append(OracleEvent(time * 1_000_000, (number,), "events", kind, {"t": time, "k": key, "x": x}))
    return events


def found(bound, events):
    return {frozenset(one.bindings) for one in match(bound, events, timed_out=False).matches}


def accepted(text):
    """The bound query, or None where bind refuses it (a reluctant quantifier under any, NOT alone)."""
    try:
        return bind(parse(text), SCHEMA, text=text)
    except QueryError:
        return None


@settings(deadline=None)
@given(texts(), st.lists(streams(), min_size=5, max_size=5))
def test_an_inferred_partition_changes_no_match(text, inputs):
    bound = accepted(text)
    assume(bound is not None and inferred_partition(bound) is not None)
    split = replace(bound, partition=(KEY,), types={**bound.types, KEY: INT})
    for events in inputs:
        assert found(split, events) == found(bound, events), text
