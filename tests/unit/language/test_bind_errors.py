"""Every rule that bind holds a query to, with the message that a user reads: golden files."""

from pathlib import Path

import pytest

from cepheid.errors import QueryError
from cepheid.language.parser import parse
from tests.unit.language.payments import bound

GOLDEN = Path(__file__).parents[2] / "golden" / "bind_errors"
QUERIES = sorted(GOLDEN.glob("*.cep"))


def test_the_golden_files_are_there():
    assert len(QUERIES) >= 40
    assert {path.stem for path in QUERIES} == {path.stem for path in GOLDEN.glob("*.txt")}


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_faulty_query_says_what_is_wrong_where_and_what_to_do(path):
    text = path.read_text(encoding="utf-8")
    parse(text)  # What the grammar refuses is no case of bind.
    with pytest.raises(QueryError) as caught:
        bound(text)
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert caught.value.span is not None
    assert caught.value.remedy
