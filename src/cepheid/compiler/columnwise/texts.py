"""Built-in functions of text over columns, and LIKE."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.compiler.columnwise.casts import integers
from cepheid.compiler.columnwise.distinct import compacted, numbers_from, texts_from
from cepheid.compiler.columnwise.masks import all_valid, any_absent, number_column, truth_column
from cepheid.events.column import Column, text_column
from cepheid.events.text import encode_text
from cepheid.events.types import INT


def length(text: Column) -> Column:
    """The number of characters (Unicode code points)."""
    values = numbers_from(text, lambda d: pc.utf8_length(d).to_numpy().astype(np.int64))
    return number_column(values, text.valid, INT, text.absent)


def lower(text: Column) -> Column:
    """In lower case, by Unicode's full mapping."""
    return _cased(text, str.lower, pc.ascii_lower)


def upper(text: Column) -> Column:
    """In upper case, by Unicode's full mapping: one letter can become two."""
    return _cased(text, str.upper, pc.ascii_upper)


def _cased(text: Column, convert: Callable[[str], str], convert_ascii: Callable[[Any], Any]) -> Column:
    def compute(dictionary: Any) -> Any:
        # Arrow maps single letters only; where all are ASCII that is the same, and faster.
        if pc.all(pc.equal(pc.utf8_length(dictionary), pc.binary_length(dictionary))).as_py():
            return convert_ascii(dictionary)
        return pa.array([convert(t) for t in dictionary.to_pylist()], dictionary.type)

    return texts_from(text, compute, text.valid, text.absent)


def trim(text: Column) -> Column:
    """Without the spaces (U+0020) at both ends."""
    return texts_from(text, lambda d: pc.utf8_trim(d, characters=" "), text.valid, text.absent)


def substring(text: Column, position: Column, size: Column) -> Column:
    """``size`` characters from ``position`` on, as far as there are any, as Spark has it.

    The first character is at 1; 0 is taken as 1; a negative position counts from the end, and what lies before the
    text is cut off.
    """
    columns = (text, position, size)
    valid, absent = all_valid(columns), any_absent(columns)
    starts, sizes = integers(position), integers(size)
    if position.is_constant and size.is_constant:
        at, n = int(starts[0]), int(sizes[0])

        def compute(dictionary: Any) -> Any:
            if 0 <= at < 2**30 and 0 <= n < 2**30:
                first = max(0, at - 1)
                return pc.utf8_slice_codeunits(dictionary, first, first + n)
            return pa.array([_slice(t, at, n) for t in dictionary.to_pylist()], dictionary.type)

        return texts_from(text, compute, valid, absent)
    text = compacted(text)
    texts = text.dictionary.to_pylist()
    rows = zip(text.values.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    codes, _, dictionary = encode_text(pa.array([_slice(texts[code], at, n) for code, at, n in rows], pa.string()))
    return text_column(codes, valid, dictionary, absent=absent)


def _slice(text: str, position: int, size: int) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + size, 0)] if size > 0 else ""


def concat(texts: Sequence[Column]) -> Column:
    """The texts, one after the other."""
    valid, absent = all_valid(texts), any_absent(texts)
    varying = [t for t in texts if len(t.dictionary) > 1]
    if len(varying) == 1:
        # All others are constants: once for each distinct text.
        def compute(dictionary: Any) -> Any:
            parts = [
                dictionary if t is varying[0] else pa.scalar(t.dictionary[0].as_py(), dictionary.type) for t in texts
            ]
            return pc.binary_join_element_wise(*parts, pa.scalar("", dictionary.type))

        return texts_from(varying[0], compute, valid, absent)
    rows = [compacted(t) for t in texts]
    parts = [t.dictionary.cast(pa.large_string()).take(pa.array(t.values)) for t in rows]
    joined = pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()))
    codes, _, dictionary = encode_text(joined)
    return text_column(codes, valid, dictionary, absent=absent)


def starts_with(text: Column, prefix: Column) -> Column:
    """True where ``text`` begins with ``prefix``; every text begins with the empty one."""
    return _affixed(text, prefix, pc.starts_with, str.startswith)


def ends_with(text: Column, suffix: Column) -> Column:
    """True where ``text`` ends with ``suffix``; every text ends with the empty one."""
    return _affixed(text, suffix, pc.ends_with, str.endswith)


def _affixed(
    text: Column, affix: Column, on_dictionary: Callable[..., Any], on_texts: Callable[[str, str], bool]
) -> Column:
    valid, absent = all_valid((text, affix)), any_absent((text, affix))
    if len(affix.dictionary) == 1:
        wanted = affix.dictionary[0].as_py()
        truth = numbers_from(text, lambda d: on_dictionary(d, wanted).to_numpy(zero_copy_only=False))
        return truth_column(truth, valid, absent)
    text, affix = compacted(text), compacted(affix)
    texts, affixes = text.dictionary.to_pylist(), affix.dictionary.to_pylist()
    codes = zip(text.values.tolist(), affix.values.tolist(), strict=True)
    truth = np.fromiter((on_texts(texts[t], affixes[a]) for t, a in codes), np.bool_, len(text))
    return truth_column(truth, valid, absent)


def like(text: Column, pattern: str) -> Column:
    """True where the whole text fits ``pattern``; see `like_expression`."""
    fits = like_expression(pattern).fullmatch

    def compute(dictionary: Any) -> Any:
        simple = _simple_like(pattern, dictionary)
        if simple is not None:
            return simple.to_numpy(zero_copy_only=False)
        texts = dictionary.to_pylist()
        return np.fromiter((fits(t) is not None for t in texts), np.bool_, len(texts))

    return truth_column(numbers_from(text, compute), text.valid, text.absent)


def _simple_like(pattern: str, dictionary: Any) -> Any:
    """The rows of ``dictionary`` that fit a pattern with ``%`` at its ends only, or None for other patterns."""
    core = pattern.strip("%")
    if not core or any(c in core for c in "%_\\"):
        return None
    before, after = pattern.startswith("%"), pattern.endswith("%")
    if before and after:
        return pc.match_substring(dictionary, core)
    if before:
        return pc.ends_with(dictionary, core)
    return pc.starts_with(dictionary, core) if after else pc.equal(dictionary, pa.scalar(core, dictionary.type))


@lru_cache(maxsize=256)
def like_expression(pattern: str) -> re.Pattern[str]:
    r"""The regular expression of a LIKE pattern.

    ``%`` stands for any characters, ``_`` for one (line ends included); a backslash takes the next character as it
    is, and stands for itself at the end.
    """
    parts, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            i += 1
            parts.append(re.escape(pattern[i]))
        elif c == "%":
            parts.append(".*")
        elif c == "_":
            parts.append(".")
        else:
            parts.append(re.escape(c))
        i += 1
    return re.compile("".join(parts), re.DOTALL)
