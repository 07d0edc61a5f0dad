"""Job files: what they may say, and how a fault in one is told."""

import pytest

from cepheid.errors import CepheidError, JobError, QueryError, SetupError
from cepheid.job.load import load, parse

QUERY = '[query]\ntext = "PATTERN SEQ(A a, B b) WITHIN 5 minutes"\n'
SOURCE = '[source]\npath = "events.csv"\ntime = "ts"\n'


def job(text, tmp_path):
    return parse(text, "job.toml", tmp_path)


def fault(text, tmp_path, kind=JobError):
    with pytest.raises(CepheidError) as caught:
        job(text, tmp_path)
    assert type(caught.value) is kind
    return caught.value


def test_a_small_job(tmp_path):
    small = job(SOURCE + QUERY, tmp_path)
    assert small.model.runs_on == "local"
    assert small.paths_of(small.model.source[0]) == (str(tmp_path / "events.csv"),)
    assert small.model.sink.path is None


def test_a_job_with_everything(tmp_path, monkeypatch):
    (tmp_path / "q.cep").write_text("PATTERN SEQ(A a, B b) WHERE b.x > :limit WITHIN 5 minutes")
    (tmp_path / "job.toml").write_text(
        """
        engine = "spark"
        [source]
        path = ["${EVENTS}/a.csv", "b*.csv"]
        format = "csv"
        time = "ts"
        time_format = "%d.%m.%Y"
        type = "kind"
        order = ["seq"]
        columns = { x = "decimal(9, 2)", seq = "int" }
        csv = { delimiter = ";", null = ["", "-"], header = false, names = ["ts", "kind", "seq", "x"] }
        [query]
        file = "q.cep"
        [parameters]
        limit = 5
        [sink]
        path = "out/m.parquet"
        [rejected]
        path = "r.dat"
        format = "csv"
        """
    )
    monkeypatch.setenv("EVENTS", "/data")
    full = load(tmp_path / "job.toml")
    assert full.paths_of(full.model.source[0]) == ("/data/a.csv", str(tmp_path / "b*.csv"))
    assert full.path_of(full.model.sink.path) == tmp_path / "out" / "m.parquet"
    assert full.with_parameters({"limit": 7}).model.parameters == {"limit": 7}
    assert full.with_engine("local").model.engine == "local"
    assert full.query.origin == str(tmp_path / "q.cep")
    monkeypatch.delenv("EVENTS")
    with pytest.raises(SetupError, match="EVENTS is not set"):
        full.paths_of(full.model.source[0])


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ('[source\npath="x"', 1, "not TOML: expected ']'", "brackets"),
        ('[source]\npath="x', 2, "not TOML: unterminated string", "quotes"),
        ('[source]\npaht = "x"\ntime = "t"\n' + QUERY, 2, "there is no key 'source.paht'", "did you mean 'path'?"),
        ('[source]\npath = "x"\n' + QUERY, 1, "the key 'time' is missing in [source]", 'time = "ts"'),
        (SOURCE, None, "the key 'query' is missing", "[query]"),
        (QUERY, None, "the key 'source' is missing", "[source]"),
        (
            "[source]\npath = 5\ntime = 't'\n" + QUERY,
            2,
            "source.path: it should be a text, or a list of texts, and here it is 5",
            "in quotes",
        ),
        ("source = 5\n" + QUERY, 1, "source: it should be a section [source], and here it is 5", "[source] with path"),
        ("[source]\npath = [5]\ntime = 't'\n" + QUERY, 2, "source.path[1]: it should be a text", None),
        (SOURCE + 'format = "xls"\n' + QUERY, 4, "source.format: it should be 'csv'", None),
        (
            SOURCE + 'format = "console"\n' + QUERY,
            4,
            "source.format: it should be 'csv'",
            "on the console where [sink]",
        ),
        (SOURCE + QUERY + '[sink]\nformat = "console"\n', 7, "sink.format: it should be 'csv'", "on the console where"),
        (SOURCE + QUERY + '[sink]\nformat = "csv"\n', 6, "sink: format is that of a file", "leave format out"),
        (SOURCE + 'time_unit = "sec"\n' + QUERY, 4, "'sec' is not a unit of time", "use one of us, ms"),
        (SOURCE + '[source.columns]\nx = "string"\n' + QUERY, 5, "'string' is not a column type", "use one of bool"),
        (SOURCE + '[source.csv]\nquote = "||"\n' + QUERY, 5, "it must be one ASCII character", None),
        (SOURCE + '[source.csv]\nencoding = "utf-9"\n' + QUERY, 5, "there is no encoding 'utf-9'", "utf-8"),
        (
            SOURCE + "[source.csv]\nfoo = 1\n" + QUERY,
            5,
            "there is no key 'source.csv.foo'",
            "the keys here are: delimiter",
        ),
        (SOURCE + 'time_unit = "s"\ntime_format = "%Y"\n' + QUERY, 1, "time_unit is for times", "leave one out"),
        (SOURCE + "[query]\n", 4, "give the query as text", None),
        (SOURCE + QUERY + "[sink]\nrows = -1\n", 7, "sink.rows: it should be greater than or equal to 0", None),
        (SOURCE + QUERY + '[sink]\nrows = "many"\n', 7, "sink.rows: it should be a whole number", None),
        ('engine = "flink"\n' + SOURCE + QUERY, 1, "engine: it should be 'local' or 'spark'", None),
        (SOURCE + QUERY + "[stores.places]\nurl = 'x'\n", 6, "[stores] is reserved", "remove the section"),
        (SOURCE + QUERY + "[policies]\n", 6, "[policies] is reserved", "remove the section"),
        (SOURCE + '[query]\nfile = "no.cep"\n', 5, "there is no query file", "relative to the folder of the job"),
        (SOURCE + '[query]\nfile = "${NO_SUCH_VARIABLE}/q.cep"\n', 5, "NO_SUCH_VARIABLE is not set", "set it"),
    ],
)
def test_faults_have_a_line_a_key_and_a_remedy(text, line, message, remedy, tmp_path):
    error = fault(text, tmp_path)
    assert message in error.message
    assert error.line == line
    assert error.origin == "job.toml"
    if remedy is not None:
        assert remedy in error.remedy


def sources(*sections):
    return "".join(f"[[source]]\n{section}\n" for section in sections) + QUERY


def test_several_sources(tmp_path):
    both = job(sources('path="a"\ntime="t"\nevent="A"', 'path="b"\ntime="t"\nevent="B"'), tmp_path)
    assert [s.event for s in both.model.source] == ["A", "B"]


@pytest.mark.parametrize(
    ("second", "message", "line"),
    [
        ('path="b"\ntime="t"', "source 2 of 2 must say which events", 1),
        ('path="b"\ntime="t"\nevent="A"', "two sources have the event 'A'", 1),
        ('path="b"\ntime="u"\nevent="B"', "all sources need the same time, which here is ['t', 'u']", 1),
        ('path="b"\ntime="t"\nevent=3', "source[2].event: it should be a text", 8),
        ('path="b"\ntime="t"\nevnet="B"', "there is no key 'source[2].evnet'", 8),
    ],
)
def test_sources_that_do_not_agree(second, message, line, tmp_path):
    error = fault(sources('path="a"\ntime="t"\nevent="A"', second), tmp_path)
    assert message in error.message
    assert error.line == line


def test_a_query_in_the_job_has_its_own_places(tmp_path):
    error = fault(SOURCE + '[query]\ntext = """\nPATTERN SEQ(A a B b)\n"""\n', tmp_path, QueryError)
    assert error.origin == "job.toml [query]"


def test_files_that_are_no_jobs(tmp_path):
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    for name, message in (("binary.toml", "not text in UTF-8"), ("no.toml", "No such file"), (".", "cannot be read")):
        with pytest.raises(JobError, match=message):
            load(tmp_path / name)
    (tmp_path / "deep.toml").write_text("x = " + "[" * 100_000)
    with pytest.raises(JobError):
        load(tmp_path / "deep.toml")


def test_a_query_file_that_is_binary(tmp_path):
    (tmp_path / "q.cep").write_bytes(bytes(range(128, 256)))
    error = fault(SOURCE + '[query]\nfile = "q.cep"\n', tmp_path, QueryError)
    assert "not text in UTF-8" in error.message


def test_names_with_quotes_and_newlines(tmp_path):
    name = "a \"b\"\n'c'.cep"
    (tmp_path / name).write_text("PATTERN SEQ(A a, B b)")
    text = SOURCE + '[query]\nfile = "a \\"b\\"\\n\'c\'.cep"\n'
    assert job(text, tmp_path).query.origin == str(tmp_path / name)


def test_a_byte_order_mark_is_no_fault(tmp_path):
    (tmp_path / "job.toml").write_bytes(b"\xef\xbb\xbf" + (SOURCE + QUERY).encode())
    load(tmp_path / "job.toml")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        *(
            (f'[source.csv]\nencoding = "{name}"\n', "source.csv.encoding: there is no encoding")
            for name in ("punycode", "idna", "undefined", "base64", "utf\\u0000")
        ),
        ('[source.csv]\nquote = "\\u0000"\n', "source.csv.quote: it cannot be a zero byte"),
        ('[source.csv]\ndelimiter = "\\n"\n', "source.csv.delimiter: it cannot be a zero byte"),
        (f"[sink]\nrows = {10**23}\n", "sink.rows: it should be less than"),
        (f"[settings]\nmax_partial_matches = {10**23}\n", "settings.max_partial_matches: it should be less than"),
        ("[sink]\nrows = " + "9" * 5000 + "\n", "not TOML: "),
    ],
)
def test_values_that_nothing_can_be_done_with(said, message, tmp_path):
    assert message in fault(SOURCE + said + QUERY, tmp_path).message


@pytest.mark.parametrize("name", ["x" * 300, "a\\u0000b", "~no_such_user/q"])
def test_query_files_that_cannot_be(name, tmp_path):
    error = fault(SOURCE + f'[query]\nfile = "{name}"\n', tmp_path)
    assert error.line == 5
    assert error.remedy
