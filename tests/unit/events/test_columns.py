from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.errors import DataError
from cepheid.events.column import ArrowColumn, all_absent, constant, text_column, unify
from cepheid.events.convert import arrow_of, column_of
from cepheid.events.text import encode_text
from cepheid.events.types import FLOAT, INT, TEXT, Kind

TEXTS = st.text("ab\0éß\U0001f600\ue000", max_size=10)


def texts_of(column):
    return [
        column.dictionary[code].as_py() if ok else None
        for code, ok in zip(column.values.tolist(), column.is_valid().tolist(), strict=True)
    ]


@given(st.lists(st.lists(TEXTS | st.none(), max_size=8), min_size=1, max_size=4), st.booleans())
def test_unify_shares_a_dictionary_in_the_order_of_bytes(lists, ordered):
    columns = [column_of(pa.array(values, pa.string()), "s")[0] for values in lists]
    unified = unify([*columns, constant("b", TEXT, 3), constant(1, INT, 3)], ordered=ordered)
    assert [texts_of(c) for c in unified[: len(lists)]] == lists
    assert texts_of(unified[-2]) == ["b"] * 3
    dictionary = unified[0].dictionary.to_pylist()
    assert len(set(dictionary)) == len(dictionary)
    assert all(c.dictionary is unified[0].dictionary for c in unified[:-1])
    assert all(c.ordered or not ordered for c in unified[:-1])
    if ordered:
        assert dictionary == sorted(dictionary, key=str.encode)
        assert unify(unified)[0] is unified[0]


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["", "a", "b", "ab", "abcdefgh", "abcdefgi", "abcdefghi", "é", "\0", "a\0", "\0a"]), max_size=6
    ),
    st.integers(0, 5),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_few_short_texts_are_encoded_as_others_are(texts, late, arrow):
    # Long enough for the short cut; a text that the first rows do not show comes late.
    values = (texts or ["x"]) * 4_000
    values += ["q" * late] * (20_000 - len(values) + 1)
    array = pa.array(["cut off", *values], arrow).slice(1)
    for form in (array, pa.chunked_array([array.slice(0, 7_001), array.slice(7_001)])):
        codes, valid, dictionary = encode_text(form)
        assert valid is None
        assert dictionary.take(pa.array(codes)).equals(array)
        assert len(set(dictionary.to_pylist())) == len(dictionary)


def test_a_dictionary_made_elsewhere_may_repeat_values_or_hold_null():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), pa.array(["a", "a", None, "b"]))
    column = column_of(array, "s")[0]
    assert texts_of(column) == ["a", "a", None, "b", None]
    assert column.values[0] == column.values[1]
    nothing = column_of(pa.array([None, None], pa.string()), "s")[0]
    assert (texts_of(nothing), len(nothing.dictionary)) == ([None, None], 1)


@pytest.mark.parametrize(
    ("array", "values", "kind"),
    [
        (pa.array([True, None, False]), [1, 0, 0], Kind.BOOL),
        (pa.array([1, None, -3], pa.int16()), [1, 0, -3], Kind.INT),
        (pa.array([2**63 - 1, None], pa.uint64()), [2**63 - 1, 0], Kind.INT),
        (pa.array([1.5, None], pa.float32()), [1.5, 0.0], Kind.FLOAT),
        (pa.array([1.5, None], pa.float16()), [1.5, 0.0], Kind.FLOAT),
        (pa.array([None, None], pa.null()), [0, 0], Kind.NULL),
        (pa.array([1, None], pa.timestamp("s")), [10**6, 0], Kind.TIMESTAMP),
        (pa.array([1, None], pa.duration("ms")), [1000, 0], Kind.DURATION),
        (pa.array([-1000, None], pa.duration("ns")), [-1, 0], Kind.DURATION),
        (pa.array([86_400_000, None], pa.date64()), [86_400_000_000, 0], Kind.TIMESTAMP),
        (pa.array([1, None, 1]).dictionary_encode(), [1, 0, 1], Kind.INT),
        (pa.array([Decimal("-1.25"), None], pa.decimal128(38, 2)), [-125, 0], Kind.DECIMAL),
        (pa.array([Decimal("-1.25"), None], pa.decimal256(50, 2)), [-125, 0], Kind.DECIMAL),
        (pa.array([Decimal("-1.25"), None], pa.decimal32(5, 2)), [-125, 0], Kind.DECIMAL),
        (pa.array([Decimal("-1.25"), None], pa.decimal64(5, 2)), [-125, 0], Kind.DECIMAL),
    ],
)
def test_arrow_arrays_as_columns(array, values, kind):
    padded = pa.concat_arrays([array.slice(0, 1), array]).slice(1)
    for form in (array, padded, pa.chunked_array([array.slice(0, 1), array.slice(1)])):
        column, _ = column_of(form, "x")
        assert column.values.tolist() == values
        assert column.values.dtype == (np.float64 if kind is Kind.FLOAT else np.int64)
        assert column.is_valid().tolist() == array.is_valid().to_pylist()
        assert column.type.kind is kind
        if kind is not Kind.NULL and not pa.types.is_dictionary(array.type):
            assert arrow_of(column, array.type).to_pylist() == array.to_pylist()


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=20))
def test_decimals_there_and_back(unscaled):
    array = pa.array([None if u is None else Decimal(u).scaleb(-4) for u in unscaled], pa.decimal128(38, 4))
    column, _ = column_of(array, "d")
    assert column.values.tolist() == [u or 0 for u in unscaled]
    assert arrow_of(column, array.type).equals(array)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (pa.array([1, 2**63], pa.uint64()), "'x' holds 9223372036854775808, which does not fit"),
        (pa.array([Decimal(2**63)], pa.decimal128(38, 0)), "'x' holds the decimal 9223372036854775808"),
        (pa.array([Decimal(-(2**63) - 1)], pa.decimal128(38, 0)), "'x' holds the decimal -9223372036854775809"),
        (pa.array([Decimal(2) ** 200], pa.decimal256(76, 0)), "'x' holds the decimal"),
        (pa.array([2**62], pa.timestamp("s")), "'x' holds the time 4611686018427387904 timestamp"),
        (pa.array([2**31 - 1], pa.date32()), "'x' holds the time 2147483647 date32"),
    ],
)
def test_what_does_not_fit_names_the_column(array, said):
    with pytest.raises(DataError, match=said):
        column_of(array, "x")


def test_run_end_encoded():
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", None]))
    assert texts_of(column_of(runs, "s")[0]) == ["x", "x", None]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, None]))
    assert column_of(runs, "x")[0].values.tolist() == [7, 7, 0]


def test_what_lies_under_null_does_not_matter():
    big = pa.Array.from_buffers(
        pa.uint64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([5, 2**64 - 1], np.uint64))]
    )
    assert column_of(big, "x")[0].values.tolist() == [5, 0]


def test_take_and_absent():
    column = column_of(pa.array([1, None, 3]), "x")[0]
    taken = column.take(np.array([2, -1, 1]), np.array([False, True, False]))
    assert taken.values.tolist() == [3, 0, 0]
    assert taken.valid.tolist() == [True, False, False]
    assert taken.absent.tolist() == [False, True, False]
    again = taken.take(np.array([1, 0, 0]), np.array([False, False, True]))
    assert again.absent.tolist() == [True, False, True]
    lists = ArrowColumn(pa.array([[1], None]), column_of(pa.array([[1]]), "x")[0].type)
    taken = lists.take(np.array([0, -1, 1]), np.array([False, True, False]))
    assert taken.values.to_pylist() == [[1], None, None]
    assert taken.valid.tolist() == [True, False, False]
    assert column.take(np.array([], np.int64)).values.tolist() == []
    empty = column_of(pa.array([], pa.float64()), "x")[0].take(np.array([-1]), np.array([True]))
    assert (empty.values.tolist(), empty.absent.tolist()) == ([0.0], [True])
    assert all_absent(TEXT, 2).dictionary is not None


def test_constants_take_no_room():
    column = constant(1.5, FLOAT, 1_000_000)
    assert column.is_constant
    assert column.values.strides == (0,)
    assert not column_of(pa.array([1, 1]), "x")[0].is_constant


def test_text_columns_have_a_code_everywhere():
    column = text_column(np.array([5, -1, 0]), np.array([False, False, True]), pa.array(["x"]))
    assert column.values.tolist() == [0, 0, 0]
    assert column.ordered
    assert arrow_of(column).to_pylist() == [None, None, "x"]
    assert arrow_of(column, pa.dictionary(pa.int8(), pa.string())).to_pylist() == [None, None, "x"]


def test_times_go_out_as_they_came_in():
    for arrow in (pa.timestamp("s", "Asia/Tokyo"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.date32()):
        array = pa.array([0, -1, None], pa.int32() if arrow == pa.date32() else pa.int64()).cast(arrow)
        column, _ = column_of(array, "t")
        if pa.types.is_timestamp(arrow) and arrow.unit == "ns":
            assert column.values.tolist() == [0, -1, 0]
            continue
        assert arrow_of(column, arrow).equals(array)
