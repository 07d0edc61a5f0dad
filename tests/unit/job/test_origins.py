"""Errors that come up while a job runs name the file, the section and the place, as those of its file do."""

from pathlib import Path

import pytest

from cepheid.errors import CepheidError, NotSupportedError, ParameterError, QueryError
from cepheid.job.load import load
from cepheid.job.run import run

EVENTS = "ts,kind,x\n2024-01-01T10:00:00Z,A,1\n2024-01-01T10:00:01Z,B,2\n"
SOURCE = '[source]\npath = "events.csv"\ntime = "ts"\ntype = "kind"\n'
LONG = f"PATTERN SEQ({', '.join(f'A v{number}' for number in range(63))}) WITHIN 1 h"
PLAIN = "PATTERN SEQ(A a, B b) WITHIN 1 h"
LIMITED = "PATTERN SEQ(A a, B b) WHERE a.x > :least AND b.ts - a.ts < :gap WITHIN 1 h"


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "events.csv").write_text(EVENTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def fail(text: str, parameters: dict[str, str] | None = None) -> CepheidError:
        (tmp_path / "job.toml").write_text(text, encoding="utf-8")
        with pytest.raises(CepheidError) as caught:
            run(load("job.toml"), parameters=parameters)
        return caught.value

    return fail


@pytest.mark.parametrize(
    ("sections", "place"),
    [
        (f"[query]\ntext = '{LONG}'", "job.toml [query]:1:9: "),
        (
            f"[query]\ntext = '{PLAIN}'\n[queries.more]\ntext = '{LONG}'\npath = 'm.csv'",
            "job.toml [queries.more]:1:9: ",
        ),
        (
            f"[query]\ntext = 'PATTERN SEQ(m a, m b) WITHIN 1 h FROM m'\n[queries.m]\ntext = '{LONG}'",
            "[queries.m]:1:9: ",
        ),
    ],
)
def test_a_query_that_cannot_run(failing, sections, place):
    error = failing(SOURCE + sections)
    assert type(error) is NotSupportedError
    assert place in str(error)
    assert "at most 62 elements" in str(error)


def test_a_query_in_a_file_has_the_name_of_that_file(failing, tmp_path):
    (tmp_path / "long.cep").write_text(LONG, encoding="utf-8")
    assert "long.cep:1:9: " in str(failing(SOURCE + "[query]\nfile = 'long.cep'"))


def test_a_query_that_is_not_there_is_shown_where_it_is_named(failing):
    error = failing(SOURCE + "[query]\ntext = 'PATTERN SEQ(m a, m b) WITHIN 1 h FROM m'")
    assert type(error) is QueryError
    assert str(error).startswith("job.toml [query]:1:34: there is no query m\n")
    assert "[queries.m]" in error.remedy


@pytest.mark.parametrize(
    ("section", "typed", "start", "remedy"),
    [
        (
            "",
            {},
            "job.toml [query]:1:35: the parameter :least has no value",
            "under [parameters] of the job, or as --param",
        ),
        (
            "[parameters]\nleast = 'x'\ngap = '1 s'",
            {},
            "job.toml [query]:1:35: the parameter :least is an int",
            "whole",
        ),
        ("[parameters]\nleast = 1\ngap = 'x'", {}, "job.toml:9:1: the parameter :gap is a length of time", "5 minutes"),
        (
            "[parameters]\nleast = 1\nlaest = 2",
            {},
            "job.toml:9:1: no query of the job has a parameter :laest",
            ":least",
        ),
        ("[parameters]\nleast = 1", {"gap": "2"}, "--param gap: the parameter :gap is a length of time", "5 minutes"),
        ("[parameters]\nleast = 1", {"gpa": "2 s"}, "--param gpa: no query of the job has a parameter :gpa", ":gap"),
    ],
)
def test_parameters(failing, section, typed, start, remedy):
    error = failing(SOURCE + f"[query]\ntext = '{LIMITED}'\n{section}", typed)
    assert type(error) is ParameterError
    assert str(error).startswith(start)
    assert remedy in error.remedy


def test_a_query_without_parameters_says_so(failing):
    error = failing(SOURCE + f"[query]\ntext = '{PLAIN}'\n[parameters]\nn = 1")
    assert error.remedy == "take it out: the queries have no parameters"
