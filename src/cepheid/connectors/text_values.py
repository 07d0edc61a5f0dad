"""Columns of text turned into the values they stand for; what stands for none is told, not guessed."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.connectors.column_types import ColumnType, Form

# What these match can be converted for sure (but for days that do not exist), so it is converted in one go; only what
# they do not match is tried value by value.
_SURE = {
    Form.INT: r"^-?[0-9]{1,18}$",
    Form.FLOAT: r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?$",
    Form.NUMBER: r"^-?[0-9]{1,15}(\.[0-9]+)?$",
    Form.TIMESTAMP: r"^[0-9]{4}-[0-1][0-9]-[0-3][0-9][ T][0-2][0-9]:[0-5][0-9]:[0-5][0-9]",
}
_ZONED = r"[0-9]{2}:[0-9]{2}.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_NAMES_OF_UTC = ("Z", "UTC", "GMT")
_NANOSECONDS = r"\.[0-9]{7,}"


def convert_text(texts: Any, wanted: ColumnType) -> tuple[Any, npt.NDArray[np.bool_]]:
    """The values that ``texts`` stand for.

    Args:
        texts: an Arrow Array or ChunkedArray of string, shape (n,). Blanks around a value other than a text do not
            matter; an empty text is NULL, unless text is wanted.
        wanted: their type. A zone that a pattern has as %Z is Z, UTC or GMT: other names do not say which they are.
            ISO 8601 timestamps without a zone are taken as UTC; where any has a zone, the result has the zone UTC.
            Their unit is us, or ns where any is written with more than six digits.

    Returns:
        An Arrow array, shape (n,), NULL where there is no value; and where that is so although there is a text, as a
        bool array of shape (n,).
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if wanted.form is Form.TEXT:
        return texts, np.zeros(len(texts), np.bool_)
    # Values repeat, and one that is wrong is expensive: each distinct one is converted once.
    encoded = texts.dictionary_encode()
    distinct = pc.utf8_trim_whitespace(encoded.dictionary)
    distinct = pc.if_else(pc.equal(distinct, ""), pa.scalar(None, distinct.type), distinct)
    values = _timestamps(distinct, wanted.pattern) if wanted.form is Form.TIMESTAMP else _values(distinct, wanted)
    bad = pc.and_(values.is_null(), distinct.is_valid())
    indices = encoded.indices
    bad_rows = pc.fill_null(bad.take(indices), False).to_numpy(zero_copy_only=False)
    return values.take(indices), bad_rows


def _values(texts: Any, wanted: ColumnType) -> Any:
    if wanted.form is not Form.NUMBER:
        return _cast(texts, wanted.arrow, _SURE.get(wanted.form))
    floats = _cast(texts, pa.float64(), _SURE[Form.NUMBER])
    integers = _cast(texts, pa.int64(), _SURE[Form.INT])
    # A fraction anywhere makes all of them floats: a column has one type.
    return integers if integers.null_count == floats.null_count else floats


def _timestamps(texts: Any, pattern: str | None) -> Any:
    if pattern is not None:
        return _parsed_by(pattern, texts)
    is_zoned = pc.fill_null(pc.match_substring_regex(texts, _ZONED), False)
    fine = pc.any(pc.match_substring_regex(texts, _NANOSECONDS)).as_py()
    unit = "ns" if fine else "us"
    nothing = pa.scalar(None, pa.string())
    naive = _cast(pc.if_else(is_zoned, nothing, texts), pa.timestamp(unit), _SURE[Form.TIMESTAMP])
    if not pc.any(is_zoned).as_py():
        return naive
    zoned = _cast(pc.if_else(is_zoned, texts, nothing), pa.timestamp(unit, "UTC"), _SURE[Form.TIMESTAMP])
    return pc.coalesce(zoned, naive.cast(pa.timestamp(unit, "UTC")))


def _parsed_by(pattern: str, texts: Any) -> Any:
    variants = [_with_zone_name(pattern, name) for name in _NAMES_OF_UTC]
    if variants[0] != pattern:
        return pc.coalesce(*(_parsed_by(variant, texts) for variant in variants))
    parsed = pc.strptime(texts, format=pattern, unit="us", error_is_null=True)
    # Arrow takes 31 February for 3 March: what does not write itself back as it was read is looked at by Python.
    try:
        again = pc.strftime(parsed.cast(pa.timestamp("s")), format=pattern)
        doubtful = pc.fill_null(pc.not_equal(again, texts), False).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # with %z: the zone that they were read with is not kept
        doubtful = parsed.is_valid().to_numpy(zero_copy_only=False)
    if not doubtful.any():
        return parsed
    keep = np.ones(len(texts), np.bool_)
    for index in np.flatnonzero(doubtful):
        try:
            datetime.strptime(texts[int(index)].as_py(), pattern)
        except (ValueError, re.error):  # the latter for a part that the pattern has twice
            keep[index] = False
    return pc.if_else(pa.array(keep), parsed, pa.scalar(None, parsed.type))


def _with_zone_name(pattern: str, name: str) -> str:
    """``pattern`` with ``name`` in place of each %Z."""
    return re.sub("%(.)", lambda found: name if found[1] == "Z" else found[0], pattern, flags=re.DOTALL)


def _cast(texts: Any, target: Any, sure: str | None) -> Any:
    """``texts`` as ``target``, NULL where that cannot be."""
    whole = _try_cast(texts, target)
    if whole is not None:
        return whole
    done = pa.nulls(len(texts), target)
    rest = texts
    if sure is not None:
        is_sure = pc.fill_null(pc.match_substring_regex(texts, sure), False)
        most = _try_cast(pc.if_else(is_sure, texts, pa.scalar(None, texts.type)), target)
        if most is not None:
            done = most
            rest = pc.if_else(is_sure, pa.scalar(None, texts.type), texts)
    singles = []
    for index in np.flatnonzero(rest.is_valid().to_numpy(zero_copy_only=False)):
        value = _try_cast(rest.slice(index, 1), target)
        if value is not None:
            singles.append((int(index), value))
    if not singles:
        return done
    where = np.zeros(len(texts), np.bool_)
    where[[index for index, _ in singles]] = True
    return pc.replace_with_mask(done, pa.array(where), pa.concat_arrays([value for _, value in singles]))


def _try_cast(texts: Any, target: Any) -> Any | None:
    try:
        return texts.cast(target)
    except pa.ArrowInvalid:
        return None
