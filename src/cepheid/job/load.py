"""Job files read and checked: every fault with its line, its key and a remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel, ValidationError

from cepheid.connectors.locations import expand_variables, is_file, real_path, resolve
from cepheid.errors import JobError, SetupError, Span
from cepheid.job.model import KINDS, LATER, JobFile, NamedQuerySection, QuerySection, SourceSection
from cepheid.job.output_model import (
    DeltaSinkSection,
    FileOutputSection,
    KafkaSinkSection,
    RejectedSection,
    SinkSection,
)
from cepheid.job.stream_model import (
    DeltaOutputSection,
    DeltaSourceSection,
    KafkaOutputSection,
    KafkaRejectedSection,
    KafkaSourceSection,
    RateSourceSection,
    SocketSourceSection,
)
from cepheid.language.bound import Catalog
from cepheid.query import Query


@dataclass(frozen=True)
class Job:
    """A job that has been checked as far as it can be without its data.

    Attributes:
        model: what the file says.
        query: read from the file or the text that it names.
        named: the further queries, by name.
        text: of the job file, into which errors point.
        base: the folder that its paths are relative to.
        origin: the name of the job file.
    """

    model: JobFile
    query: Query
    base: Path
    origin: str
    named: Mapping[str, Query] = field(default_factory=dict)
    text: str = ""

    def place(self, *keys: str) -> Span | None:
        """Where a key, named by its sections and itself, stands in ``text``; else its section; else None."""
        return place_of(self.text, keys)

    @property
    def catalog(self) -> Catalog:
        """What its queries may name."""
        return Catalog(queries=self.named)

    @property
    def sinks(self) -> dict[str, NamedQuerySection]:
        """The further queries whose own matches are wanted."""
        return {name: section for name, section in self.model.queries.items() if section.output is not None}

    def with_query(self, path: Path) -> Job:
        """The same job with the query in ``path``."""
        query = Query.from_file(path)
        model = self.model.model_copy(update={"query": QuerySection(file=str(real_path(path)))})
        return replace(self, model=model, query=query)

    def with_parameters(self, values: Mapping[str, object]) -> Job:
        """The same job with ``values`` in place of, or besides, its own parameters."""
        model = self.model.model_copy(update={"parameters": {**self.model.parameters, **values}})
        return replace(self, model=model)

    def with_engine(self, engine: str) -> Job:
        """The same job run by ``"local"`` or ``"spark"``."""
        return replace(self, model=self.model.model_copy(update={"engine": engine}))

    def require_engine(self) -> None:
        """Refuse what the engine that is to run the job, from the file or the command line, cannot do.

        Raises:
            JobError: events with NULL in SAME are to be listed, and Spark only counts them.
        """
        rejected = self.model.rejected_events
        if self.model.runs_on == "spark" and rejected is not None and rejected.null_keys:
            keys = ("rejected",) if self.model.rejected is not None else ("sink", "rejected")
            span = self.place(*keys, "null_keys")
            raise JobError(
                f"{'.'.join(keys)}.null_keys is for the engine local: Spark only counts events with NULL in SAME",
                remedy='leave null_keys out, or run it with engine = "local" (--engine local)',
                text=self.text if span else None,
                span=span,
                origin=self.origin,
            )

    @property
    def reads(self) -> frozenset[Path]:
        """The files that the job itself is made of: the job file, and those of its queries."""
        sections = [self.model.query, *self.model.queries.values()]
        files = [Path(self.origin), *(self.path_of(section.file) for section in sections if section.file is not None)]
        return frozenset(real_path(path) for path in files)

    def paths_of(self, source: SourceSection) -> tuple[str, ...]:
        """The files, folders and globs of a source, absolute.

        Raises:
            SetupError: an environment variable is not set, or a package not installed.
        """
        return tuple(resolve(path, self.base) for path in source.path)

    def text_of(self, text: str) -> str:
        """A text of the job with the values of its environment variables.

        Raises:
            SetupError: one is not set.
        """
        return expand_variables(text)

    def path_of(self, text: str) -> Path:
        """The absolute path of a file that the job writes."""
        return Path(resolve(text, self.base))


def load(path: Path | str) -> Job:
    """The job in a file.

    Raises:
        JobError: the file cannot be read, is not TOML, or says something that a job cannot mean.
        QueryError: its query cannot be read.
    """
    path = Path(path)
    origin = str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise JobError(
            f"the job cannot be read: {error.strerror or error}", remedy="correct the path", origin=origin
        ) from error
    except UnicodeDecodeError as error:
        raise JobError(
            f"the job is not text in UTF-8: byte {error.start} fits no character",
            remedy="is it a job file? They are TOML, saved as UTF-8",
            origin=origin,
        ) from error
    return parse(text, origin, real_path(path).parent)


def parse(text: str, origin: str, base: Path) -> Job:
    """The job in ``text``; see `load`.

    Args:
        text: TOML.
        origin: the name of the file, for errors.
        base: the folder that its paths are relative to.
    """
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, text, origin) from error
    except ValueError as error:  # a number of thousands of digits
        raise JobError(f"not TOML: {error}", remedy="write shorter numbers", origin=origin) from error
    except RecursionError:
        raise JobError("the job file is nested too deeply", remedy="is it a job file?", origin=origin) from None
    for section, meaning in LATER.items():
        if section in said:
            raise JobError(
                f"[{section}] is reserved: this version cannot run {meaning} from a job file",
                remedy="remove the section",
                text=text,
                span=place_of(text, (section,)),
                origin=origin,
            )
    try:
        model = JobFile.model_validate(said)
    except ValidationError as error:
        raise invalid(error, text, origin) from None
    named = {name: _query(section, ("queries", name), text, origin, base) for name, section in model.queries.items()}
    return Job(model, _query(model.query, ("query",), text, origin, base), base, origin, named, text)


def _query(section: QuerySection, place: tuple[str, ...], text: str, origin: str, base: Path) -> Query:
    if section.text is not None:
        return Query.parse(section.text, f"{origin} [{'.'.join(place)}]")
    try:
        path = Path(resolve(section.file or "", base))
        is_there = is_file(path)
    except SetupError as error:
        span = place_of(text, (*place, "file"))
        raise JobError(error.message, remedy=error.remedy, text=text, span=span, origin=origin) from error
    if not is_there:
        raise JobError(
            f"there is no query file {path}",
            remedy="correct file =, which is relative to the folder of the job file",
            text=text,
            span=place_of(text, (*place, "file")),
            origin=origin,
        )
    return Query.from_file(path)


def not_toml(error: tomllib.TOMLDecodeError, text: str, origin: str) -> JobError:
    """A file that is not TOML, with the place."""
    message = str(error)
    found = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    span = None
    if found is not None:
        lines = text.split("\n")
        line, column = int(found[1]), int(found[2])
        start = sum(len(before) + 1 for before in lines[: line - 1]) + column - 1
        span = Span(start, start + 1)
        message = message[: found.start()]
    elif message.endswith(" (at end of document)"):
        span = Span(len(text), len(text) + 1)
        message = message.removesuffix(" (at end of document)") + " before the end"
    return JobError(
        f"not TOML: {message[:1].lower()}{message[1:]}",
        remedy='texts stand in quotes, as in path = "events.csv"; sections in brackets, as in [source]',
        text=text,
        span=span,
        origin=origin,
    )


def invalid(
    error: ValidationError,
    text: str,
    origin: str,
    *,
    root: type[BaseModel] = JobFile,
    examples: Mapping[str, str] | None = None,
    named: Mapping[str, type[BaseModel]] | None = None,
) -> JobError:
    """The first fault of a file; one that says which key is unknown goes before one that says which is missing.

    Args:
        error: pydantic's.
        text, origin: of the file.
        root: what the file was read as.
        examples: key -> how a file says it.
        named: section whose keys are names of the user's -> what each of these is.
    """
    examples = _EXAMPLES if examples is None else examples
    details = sorted(error.errors(), key=lambda d: d["type"] != "extra_forbidden")
    detail = details[0]
    place, kinds = _without_kind(detail["loc"])
    key = _written(place, text)
    remedy = None
    match detail["type"]:
        case "extra_forbidden":
            known = _fields(place[:-1], kinds[:-1], root, named or {})
            close = get_close_matches(str(place[-1]), known, 1)
            message = f"there is no key {key!r}"
            remedy = f"did you mean {close[0]!r}?" if close else f"the keys here are: {', '.join(known)}"
        case "missing":
            section = _written(place[:-1], text)
            where = f" in [{section}]" if section else ""
            message = f"the key {place[-1]!r} is missing{where}"
            remedy = examples.get(str(place[-1]))
            place = place[:-1]
            if place and place[0] != "source" and remedy == _EXAMPLES["path"]:
                remedy = f'add: path = "{str(place[-1]).replace("_", "-")}"'
        case "no_such_kind":
            message, _, remedy = detail["msg"].partition("; ")
            place = (*place, "kind")
        case "value_error":
            message, _, remedy = detail["msg"].removeprefix("Value error, ").partition("; ")
            message = f"{key}: {message}" if key else message
            # Only sources are compared with each other.
            place = place or ("source",)
        case _:
            wanted = _EITHER.get(str(place[-1])) if detail["type"] == "list_type" else None
            message = f"{key}: {wanted or _plain(detail['msg'])}, and here it is {_shown(detail['input'])}"
            remedy = _REMEDIES.get(str(place[-1]))
    span = place_of(text, place)
    return JobError(message, remedy=remedy or None, text=text if span else None, span=span, origin=origin)


_EXAMPLES = {
    "source": 'add: [source] with path = "events.csv" and time = "ts"',
    "query": 'add: [query] with file = "query.cep"',
    "path": 'add: path = "events.csv"',
    "time": 'add: time = "ts", the column of event time',
    "servers": 'add: servers = "localhost:9092"',
    "topics": 'add: topics = "payments"',
    "topic": 'add: topic = "found", which exists',
    "checkpoint": 'add: checkpoint = "checkpoint", a folder of this job alone',
}


_EITHER = {
    "source": "it should be a section [source]",
    "path": "it should be a text, or a list of texts",
    "topics": "it should be a text, or a list of texts",
}
"""What may be one or a list of several."""

_REMEDIES = {
    "source": _EXAMPLES["source"],
    "path": 'write paths in quotes, as in path = "events.csv"',
    "format": "leave it out where the file's name tells; matches are shown on the console where [sink] has no path",
}

_LENGTH = 'write a length of time as a text: "5 s", "2 minutes"'
_REMEDIES |= {
    "watermark": _LENGTH,
    "idle_flush": _LENGTH,
    "trigger": _LENGTH + ', or "as it comes", "available now"',
}

_PLAIN = {
    "Input should be": "it should be",
    "a valid string": "a text",
    "a valid boolean": "true or false",
    "a valid integer": "a whole number",
    "a valid list": "a list",
    "a valid dictionary": "a table",
}


def _plain(message: str) -> str:
    message = re.sub(r"a valid dictionary or instance of \w+", "a table", message)
    for theirs, ours in _PLAIN.items():
        message = message.replace(theirs, ours)
    return message[:1].lower() + message[1:]


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _written(place: Sequence[str | int], text: str) -> str:
    """The key as a person would write it: ``source.csv.quote``; with its number where there are several sources."""
    several = len(re.findall(r"^[ \t]*\[\[[ \t]*source[ \t]*\]\]", text, re.MULTILINE)) > 1
    written = ""
    for position, part in enumerate(place):
        if isinstance(part, int):
            written += f"[{part + 1}]" if position > 1 or several else ""
        else:
            written += f".{part}" if written else part
    return written


def _without_kind(place: Sequence[str | int]) -> tuple[tuple[str | int, ...], tuple[str, ...]]:
    """The keys as the file has them, and for each the kind that pydantic names behind it, where there are kinds."""
    keys: list[str | int] = []
    kinds: list[str] = []
    for part in place:
        at = next((number for number in reversed(range(len(keys))) if not isinstance(keys[number], int)), 0)
        is_named = at > 0 and keys[at - 1] == "queries"  # by the user
        if part in KINDS and keys and (str(keys[at]), str(part)) in _OF_KIND and not is_named:
            kinds[at] = str(part)
        else:
            keys.append(part)
            kinds.append("files")
    return tuple(keys), tuple(kinds)


_OUTPUTS: Mapping[str, type[BaseModel]] = {
    "files": FileOutputSection,
    "kafka": KafkaOutputSection,
    "delta": DeltaOutputSection,
}

_OF_KIND: Mapping[tuple[str, str], type[BaseModel]] = {
    ("source", "files"): SourceSection,
    ("source", "kafka"): KafkaSourceSection,
    ("source", "rate"): RateSourceSection,
    ("source", "socket"): SocketSourceSection,
    ("source", "delta"): DeltaSourceSection,
    ("sink", "files"): SinkSection,
    ("sink", "kafka"): KafkaSinkSection,
    ("sink", "delta"): DeltaSinkSection,
    **{("late", kind): model for kind, model in _OUTPUTS.items()},
    **{("timed_out", kind): model for kind, model in _OUTPUTS.items()},
    ("rejected", "files"): RejectedSection,
    ("rejected", "kafka"): KafkaRejectedSection,
    ("rejected", "delta"): DeltaOutputSection,
}


def _fields(
    place: Sequence[str | int], kinds: Sequence[str], root: type[BaseModel], named: Mapping[str, type[BaseModel]]
) -> list[str]:
    """The keys of a section."""
    model = root
    if root is JobFile and place[:1] == ("queries",) and len(place) > 1:
        model, place, kinds = NamedQuerySection, place[2:], kinds[2:]  # the second is a name of the user's
        if place:
            return list(_OUTPUTS[kinds[0]].model_fields)
    elif len(place) > 1 and str(place[0]) in named:
        model, place, kinds = named[str(place[0])], place[2:], kinds[2:]
    for part, own in zip(place, kinds, strict=True):
        if isinstance(part, int):
            continue
        if (str(part), own) in _OF_KIND:
            model = _OF_KIND[str(part), own]
            continue
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        options = [annotation, *getattr(annotation, "__args__", ())]
        inner = [o for o in options if isinstance(o, type) and issubclass(o, BaseModel)]
        if not inner:
            return []
        model = inner[0]
    return list(model.model_fields)


def place_of(text: str, keys: Sequence[str | int]) -> Span | None:
    """Where the key stands, as far as a look at the lines can tell; else its section; else None."""
    names = [str(key) for key in keys if not isinstance(key, int)]
    if not names:
        return None
    index = next((key for key in keys if isinstance(key, int)), 0)
    best: Span | None = None
    section: list[str] = []
    n_seen = -1
    for found in re.finditer(r"^[ \t]*(\[\[?)?[ \t]*([\w\"'.\- ]+?)[ \t]*(\]|=)", text, re.MULTILINE):
        here = [part.strip(" \"'") for part in found[2].split(".")]
        span = Span(*found.span(2))
        if found[1]:
            section = here
            if found[1] == "[[" and here == names[:1]:
                n_seen += 1
            if len(here) > len(names) and here[: len(names)] == names:
                best = best or span
            if here == names[: len(here)] and (found[1] != "[[" or n_seen == index):
                best = span if best is None or len(here) > 1 else best
            continue
        if [*section, *here] == names and (n_seen in (-1, index)):
            return span
        if [*section, *here] == names[: len(section) + len(here)] and n_seen in (-1, index):
            best = span
    return best
