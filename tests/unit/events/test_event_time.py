import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import SchemaError
from cepheid.events.event_time import event_times, parse_iso


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        (pa.array([1, -1], pa.int32()), "s", [10**6, -(10**6)]),
        (pa.array([1, 2], pa.uint8()), "ms", [1000, 2000]),
        (pa.array([5], pa.int64()), "us", [5]),
        (pa.array([1], pa.int64()), "min", [60 * 10**6]),
        (pa.array([1], pa.int64()), "h", [3600 * 10**6]),
        (pa.array([1], pa.int64()), "d", [86400 * 10**6]),
        (pa.array([1.0000014, -0.5], pa.float64()), "s", [1000001, -500000]),
        (pa.array([1.5], pa.float32()), "ms", [1500]),
        (pa.array([1, -1], pa.timestamp("s")), None, [10**6, -(10**6)]),
        (pa.array([1], pa.timestamp("ms", "America/New_York")), None, [1000]),
        (pa.array([1999, -1], pa.timestamp("ns")), None, [1, -1]),
        (pa.array([1], pa.date32()), None, [86400 * 10**6]),
        (pa.chunked_array([[1], [2]], pa.timestamp("us")), None, [1, 2]),
        (pa.chunked_array([], pa.timestamp("us")), None, []),
        (pa.array([1, 2, 1]).dictionary_encode(), "s", [10**6, 2 * 10**6, 10**6]),
    ],
)
def test_columns_of_every_type(values, unit, expected):
    times = event_times(values, unit, "t")
    assert times.values.tolist() == expected
    assert times.values.dtype == np.int64
    assert times.bad is None


ISO = [
    ("2024-01-31", 1706659200),
    ("2024-01-31 10:00", 1706695200),
    ("2024-01-31T10:00:00", 1706695200),
    ("2024-01-31T10:00:00Z", 1706695200),
    ("2024-01-31T12:00:00+02:00", 1706695200),
    ("20240131T100000Z", 1706695200),
    (" 2024-01-31T10:00:00.000 ", 1706695200),
    ("1969-12-31T23:59:59", -1),
]


TEXT_FORMS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("form", TEXT_FORMS)
def test_iso_texts_of_mixed_forms(form):
    texts = pa.array([text for text, _ in ISO] + [None, "x", ""]).cast(form)
    times = event_times(texts, None, "t")
    assert times.values.tolist() == [s * 10**6 for _, s in ISO] + [0, 0, 0]
    assert times.bad.tolist() == [False] * len(ISO) + [True] * 3
    assert [times.why(len(ISO) + i) for i in range(3)] == ["is NULL", "'x' is not an ISO time", "'' is not an ISO time"]


@pytest.mark.parametrize("text", [text for text, _ in ISO])
def test_iso_texts_of_one_form(text):
    times = event_times(pa.array([text, None, text]), None, "t")
    second = dict(ISO)[text]
    assert times.values.tolist() == [second * 10**6, 0, second * 10**6]
    assert times.bad.tolist() == [False, True, False]


def test_digits_beyond_the_microsecond_are_floored_and_counted():
    texts = pa.array(["1969-12-31T23:59:59.9999999Z", "2024-01-31T10:00:00.1234560Z", "2024-01-31T10:00:00,5"])
    times = event_times(texts, None, "t")
    assert times.values.tolist() == [-1, 1706695200123456, 1706695200500000]
    assert times.n_floored == 1
    assert event_times(pa.array([None, 1, 1000], pa.timestamp("ns")), None, "t").n_floored == 1


@given(st.datetimes(), st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)))
def test_iso_texts_of_any_time(moment, offset):
    text = moment.replace(tzinfo=dt.timezone(offset)).isoformat()
    expected = (moment - dt.datetime(1970, 1, 1) - offset) // dt.timedelta(microseconds=1)
    assert parse_iso(text) == (expected, False)


def test_what_is_beyond_the_range_is_bad():
    times = event_times(pa.array([2**62, 5, None], pa.int64()), "s", "t")
    assert times.values.tolist() == [0, 5 * 10**6, 0]
    assert times.bad.tolist() == [True, False, True]
    assert times.why(0) == "4611686018427387904 s is beyond the range of times"
    times = event_times(pa.array([float("nan"), 1e300, float("-inf"), 2.0]), "s", "t")
    assert times.bad.tolist() == [True, True, True, False]
    assert times.why(0) == "nan is not a time"
    assert event_times(pa.array([2**60], pa.timestamp("s")), None, "t").bad.tolist() == [True]


def test_no_values_at_all():
    assert event_times(pa.nulls(2), None, "t").bad.tolist() == [True, True]


def test_wrong_types_and_units():
    with pytest.raises(SchemaError, match="nothing says in which unit"):
        event_times(pa.array([1]), None, "t")
    with pytest.raises(SchemaError, match="of type bool cannot be the time of events"):
        event_times(pa.array([True]), None, "t")


@pytest.mark.parametrize(
    "kind", [pa.timestamp("ns"), pa.timestamp("ns", "Asia/Tokyo"), pa.timestamp("ms"), pa.date32()]
)
def test_times_that_are_null(kind):
    values = pa.chunked_array([pa.array([1, None], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)] * 2)
    times = event_times(values, None, "t")
    assert times.bad.tolist() == [False, True, False, True]
    assert times.n_floored == (2 if kind not in (pa.timestamp("ms"), pa.date32()) else 0)


@pytest.mark.parametrize("unit", [None, "us"])
def test_differences_of_times_fit(unit):
    raw = pa.array([-(2**63), -(2**62), -(2**62) + 1, 2**62 - 1, 2**62, 2**63 - 1, None])
    values = raw if unit else raw.cast(pa.timestamp("us"))
    times = event_times(values, unit, "t")
    assert times.bad.tolist() == [True, True, False, False, True, True, True]
    assert times.why(0) == "-9223372036854775808 us is beyond the range of times"
    floats = event_times(pa.array([-(2.0**62), -(2.0**62) + 512, 2.0**62 - 512, 2.0**62]), "us", "t")
    assert floats.bad.tolist() == [True, False, False, True]
    assert floats.values.tolist() == [0, -(2**62) + 512, 2**62 - 512, 0]
