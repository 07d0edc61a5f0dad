"""What README.md and docs/ show works: Python runs, queries parse, commands exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import cepheid
from cepheid.job.model import JobFile
from tests.conformance.documented import DOCUMENTS
from tests.docs.blocks import ROOT, Block, all_blocks, blocks_of

BLOCKS = all_blocks()
LANGUAGES = {"python", "csv", "cepheid", "sh", "text", "toml", "json", "mermaid", "sql", "java", ""}
# `other` is a query in the language of another system, which is not run.
TAGS = {"python": {"spark"}, "cepheid": {"wrong"}, "sh": {"run"}, "sql": {"other"}, "java": {"other"}}


def _runs(block: Block) -> bool:
    return block.language == "python" or (block.language == "sh" and "run" in block.tags) or block.file_name is not None


def _is_output(block: Block, following: Block) -> bool:
    """The block behind one that runs is what it prints, save on pages whose text blocks are examples."""
    return following.file == block.file and following.language == "text" and ROOT / block.file not in DOCUMENTS


def _documents() -> Iterator[object]:
    """Per document its blocks that run or are files, each with the output that is shown right after it, if any."""
    by_document: dict[str, list[tuple[Block, Block | None]]] = defaultdict(list)
    for block, following in zip(BLOCKS, [*BLOCKS[1:], None], strict=True):
        if _runs(block):
            shown = following is not None and _is_output(block, following)
            by_document[block.file].append((block, following if shown else None))
    for document, blocks in by_document.items():
        needs_spark = any("spark" in block.tags for block, _ in blocks)
        yield pytest.param(blocks, id=document, marks=[pytest.mark.spark] if needs_spark else [])


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Runs commands in the current folder, `cepheid` being the one of this checkout; gives what they print."""
    program = tmp_path_factory.mktemp("bin") / "cepheid"
    program.write_text(f"#!{sys.executable}\nfrom cepheid.cli.main import app\napp()\n", encoding="utf-8")
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "COLUMNS": "120",
    }

    def run(commands: str) -> str:
        done = subprocess.run(
            ["sh", "-eu", "-c", commands],
            env=environment,
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        assert done.returncode == 0, f"{commands}{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.mark.parametrize("blocks", list(_documents()))
def test_documents_hold_what_they_show(
    blocks: list[tuple[Block, Block | None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    shell: Callable[[str], str],
):
    """A document's blocks run in order, in one folder and namespace.

    ``python`` runs; ``python spark`` has a session; ``sh run`` runs; what names a ``file=`` is written under that
    name. Output that the document shows right after a block is what the block prints.
    """
    monkeypatch.chdir(tmp_path)
    # A class made in a block (a pydantic model, a dataclass) asks for its module by this name.
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block, shown in blocks:
        if block.file_name is not None:
            (tmp_path / block.file_name).write_text(block.text, encoding="utf-8")
            continue
        if block.language == "sh":
            printed = shell(block.text)
        else:
            if "spark" in block.tags and "spark" not in namespace:
                namespace["spark"] = request.getfixturevalue("spark")
            # Blank lines in front: a traceback shows the line of the document.
            code = compile("\n" * (block.line - 1) + block.text, str(ROOT / block.file), "exec")
            exec(code, namespace)
            printed = capsys.readouterr().out
        if shown is not None:
            assert printed, f"{block} prints nothing, and {shown} shows something"
            assert _lines(printed) == _lines(shown.text), f"{shown} does not show what {block} prints"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _queries() -> list[object]:
    return [pytest.param(b, id=str(b)) for b in BLOCKS if b.language == "cepheid"]


@pytest.mark.parametrize("block", _queries())
def test_queries_parse(block: Block):
    """A block tagged ``wrong`` shows a mistake: it must be refused."""
    if "wrong" in block.tags:
        with pytest.raises(cepheid.errors.QueryError):
            cepheid.Query.parse(block.text)
    else:
        query = cepheid.Query.parse(block.text)
        assert cepheid.Query.parse(str(query)).tree == query.tree


def _commands() -> Iterator[object]:
    others = [*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("workloads/*.md")]
    elsewhere = [
        block
        for path in others
        if path != ROOT / "README.md"
        for block in blocks_of(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
    ]
    for block in (*BLOCKS, *elsewhere):
        if block.language != "sh":
            continue
        text = block.text.replace("\\\n", " ")
        for offset, line in enumerate(text.splitlines()):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words and Path(words[0]).name in ("make", "cepheid"):
                yield pytest.param([Path(words[0]).name, *words[1:]], id=f"{block.file}:{block.line + offset}")


def _targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))


def _subcommands() -> set[str]:
    import typer.main

    from cepheid.cli.main import app

    command = typer.main.get_command(app)
    return set(getattr(command, "commands", {}))


@pytest.mark.parametrize("words", list(_commands()))
def test_commands_exist(words: list[str]):
    program, *arguments = words
    names = [word for word in arguments if not word.startswith("-") and "=" not in word]
    if program == "make":
        assert set(names) <= _targets(), f"make has no target {names}"
    elif names:
        assert names[0] in _subcommands(), f"cepheid has no command {names[0]!r}"
    else:
        assert set(arguments) <= {"--help", "--version"}


def _shown() -> set[Block]:
    """The blocks of text that `test_documents_hold_what_they_show` compares with what is printed."""
    pairs = pairwise(BLOCKS)
    return {text for block, text in pairs if _runs(block) and _is_output(block, text)}


def _is_held(block: Block) -> bool:
    """Some test holds a block to what it shows."""
    if block.file_name is not None:
        # It is written where the document's blocks run, and one of these names it.
        return any(block.file_name in other.text for other in BLOCKS if other.file == block.file and other is not block)
    match block.language:
        case "python" | "cepheid" | "sh":
            return True  # it runs, is parsed, or its commands exist
        case "text":
            # Or they are examples of the language: tests/conformance reads every block of these pages.
            return block in _shown() or ROOT / block.file in DOCUMENTS
        case "toml":
            return True  # it is part of a job file
        case _:
            return "other" in block.tags


@pytest.mark.parametrize("block", [pytest.param(b, id=str(b)) for b in BLOCKS])
def test_every_block_is_held_by_a_test(block: Block):
    assert _is_held(block)


@pytest.mark.parametrize("block", [pytest.param(b, id=str(b)) for b in BLOCKS if b.language == "toml"])
def test_parts_of_job_files_are_accepted(block: Block):
    sections = tomllib.loads(block.text)
    rest = {"source": {"path": "events.csv", "time": "ts"}, "query": {"text": "A a"}}
    JobFile.model_validate({**rest, **sections})


@pytest.mark.parametrize("block", [pytest.param(b, id=str(b)) for b in BLOCKS])
def test_blocks_have_known_languages_and_tags(block: Block):
    assert block.language in LANGUAGES
    assert block.tags <= TAGS.get(block.language, set())


def _links() -> Iterator[object]:
    for path in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target):
                yield pytest.param(path, target, id=f"{path.relative_to(ROOT)}->{target}")


@pytest.mark.parametrize(("path", "target"), list(_links()))
def test_links_lead_to_files(path: Path, target: str):
    assert (path.parent / target).exists()


def test_blocks_are_found_with_their_lines():
    text = "# t\n```python spark\nx = 1\n```\n\n- item\n\n  ```sh\n  make test\n  ```\n````text\n```\n````\n"
    found = list(blocks_of(text, "t.md"))
    assert [(b.line, b.language, b.tags, b.text) for b in found] == [
        (3, "python", {"spark"}, "x = 1\n"),
        (9, "sh", frozenset(), "make test\n"),
        (12, "text", frozenset(), "```\n"),
    ]


def test_a_block_without_end_is_an_error():
    with pytest.raises(ValueError, match=r"t\.md:1: the block is never closed"):
        list(blocks_of("```python\nx = 1\n", "t.md"))
