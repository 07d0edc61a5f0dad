"""Whatever rows are bad and wherever they stand, exactly they are rejected, each with its line."""

import csv
import io
import json
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.connectors.column_types import column_type
from cepheid.connectors.csv_files import CsvOptions, read_csv
from cepheid.connectors.json_lines import read_json_lines
from cepheid.connectors.rejected import Rejections

TEXTS = st.text(alphabet=string.ascii_letters + "\"',;\n é漢 ", max_size=8)
GOOD = st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
BAD = st.sampled_from(
    [["1"], ["1", "2.5"], ["1", "2.5", "x", "y"], ["one", "2.5", "x"], ["1", "two", "x"], ["1.5", "1", ""]]
)
DECLARED = {"i": column_type("int"), "f": column_type("float"), "s": column_type("text")}


@settings(max_examples=150)
@given(st.lists(st.one_of(GOOD, BAD), max_size=12), st.booleans())
def test_csv(tmp_path_factory, rows, newline_at_end):
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    text.write("i,f,s\n")
    good, bad_lines = [], []
    for row in rows:
        line = text.getvalue().count("\n") + 1
        if isinstance(row, list):
            text.write(",".join(row) + "\n")
            bad_lines.append(line)
        else:
            writer.writerow(row)
            good.append({"i": row[0], "f": row[1], "s": row[2]})
    data = text.getvalue() if newline_at_end else text.getvalue().removesuffix("\n")
    path = tmp_path_factory.mktemp("csv") / "e.csv"
    path.write_text(data, encoding="utf-8", newline="")
    rejections = Rejections()
    table, n_bytes = read_csv(path, DECLARED, CsvOptions(), rejections)
    assert table.to_pylist() == good
    assert [row[1] for row in rejections.rows] == bad_lines
    assert n_bytes == len(data.encode())


OBJECTS = st.fixed_dictionaries(
    {},
    optional={"i": st.integers(-(2**63), 2**63 - 1), "f": st.floats(allow_nan=False, allow_infinity=False), "s": TEXTS},
)
BAD_LINES = st.sampled_from(
    [
        "{",
        '{"i": 1',
        '{"i": 1}}',
        "[]",
        "1",
        '{"i": "1"}',
        '{"i": 1.5}',
        '{"f": true}',
        '{"s": 1}',
        '{"s": "a" "b"}',
        "x",
    ]
)


@settings(max_examples=150)
@given(st.lists(st.one_of(OBJECTS, BAD_LINES), max_size=12))
def test_json_lines(tmp_path_factory, rows):
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=len(row) > 2) for row in rows]
    path = tmp_path_factory.mktemp("json") / "e.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    rejections = Rejections()
    table, _ = read_json_lines(path, DECLARED, rejections)
    blank = {"i": None, "f": None, "s": None}
    expected = [blank | row for row in rows if not isinstance(row, str)]
    assert [blank | row for row in table.to_pylist()] == expected
    assert [row[1] for row in rejections.rows] == [n for n, row in enumerate(rows, start=1) if isinstance(row, str)]
