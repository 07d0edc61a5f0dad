"""Schemas as TOML: what the events of a query are like, where the events themselves are not at hand.

A table for each schema, with the queries that it serves (names of files, without ``.cep``); or, in a file of its own,
one schema at the top::

    [fraud]
    queries = ["two_large_payments"]
    time = { column = "ts", type = "int", unit = "s" }      # or time = "ts", a column of timestamps
    type = "kind"                                           # the column of the event type
    common = { card = "text" }                              # attributes of all types
    types = { Txn = { amount = "float" }, Denied = {} }     # and of each type alone
    stores = { places = { key = ["text"], fields = { known = "set of text" } } }
    functions = { overlap = { arguments = ["text"], result = "bool" } }
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cepheid.errors import JobError, SchemaError
from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, DataType, decimal, list_of, set_of
from cepheid.language.bound import Catalog, Function, Store

_SCALARS = {"bool": BOOL, "int": INT, "float": FLOAT, "text": TEXT, "timestamp": TIMESTAMP, "duration": DURATION}
_DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_KEYS = ("queries", "time", "type", "order", "common", "types", "stores", "functions")


def read_schema(path: Path, query_file: Path) -> tuple[Schema, Catalog]:
    """The schema that ``path`` has for the query in ``query_file``, and what else it may name.

    Raises:
        JobError: the file cannot be read or understood, or has no schema for the query.
    """
    said = _said(path)
    if "time" in said:
        return _Reader(path, "the schema").schema(said)
    for name, section in said.items():
        if isinstance(section, dict) and query_file.stem in section.get("queries", ()):
            return _Reader(path, f"[{name}]").schema(section)
    raise JobError(
        f"there is no schema for the query {query_file.stem!r}",
        remedy=f'add its name to the queries of a schema: queries = ["{query_file.stem}"]',
        origin=str(path),
    )


def serves(path: Path, query_file: Path) -> bool:
    """Whether ``path`` is a file with a schema for the query in ``query_file``."""
    if not path.is_file():
        return False
    said = _said(path)
    sections = [section for section in said.values() if isinstance(section, dict)]
    return "time" in said or any(query_file.stem in section.get("queries", ()) for section in sections)


def _said(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise JobError(
            f"the schema cannot be read: {error.strerror or error}", remedy="correct the path", origin=str(path)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(f"not TOML: {error}", remedy="a schema is a TOML file", origin=str(path)) from error


@dataclass(frozen=True)
class _Reader:
    """Reads one schema; ``what`` is what errors call it."""

    path: Path
    what: str

    def schema(self, said: Mapping[str, Any]) -> tuple[Schema, Catalog]:
        for key in said:
            if key not in _KEYS:
                raise self.fault(
                    f"{self.what} has a key {key!r} that means nothing", f"the keys are: {', '.join(_KEYS)}"
                )
        time, time_type, unit = self.time(said.get("time"))
        kind = self.value(said, "type", str, None)
        common = {time: time_type} | ({kind: TEXT} if kind else {}) | self.fields(said, "common")
        per_type = {name: common | self.fields(self.table(said, "types"), name) for name in self.table(said, "types")}
        fields = dict(common)
        for attributes in per_type.values():
            for attribute, dtype in attributes.items():
                if fields.setdefault(attribute, dtype) != dtype:
                    raise self.fault(
                        f"{self.what} gives {attribute!r} the types {fields[attribute]} and {dtype}", "give it one"
                    )
        stores = {n: self.store(n, self.table(self.table(said, "stores"), n)) for n in self.table(said, "stores")}
        functions = {
            name: self.function(name, self.table(self.table(said, "functions"), name))
            for name in self.table(said, "functions")
        }
        order = tuple(str(name) for name in self.value(said, "order", list, []))
        try:
            schema = Schema(fields=fields, time=time, time_unit=unit, type=kind, order=order, per_type=per_type)
        except SchemaError as error:
            raise self.fault(error.message, error.remedy) from error
        return schema, Catalog(functions=functions, stores=stores)

    def time(self, said: object) -> tuple[str, DataType, str | None]:
        """The column, its type, and the unit of its numbers."""
        if isinstance(said, str):
            return said, TIMESTAMP, None
        if isinstance(said, dict) and isinstance(said.get("column"), str):
            return said["column"], self.data_type(said.get("type", "timestamp")), said.get("unit")
        raise self.fault(f"{self.what} has no column of event time", 'add: time = "ts"')

    def store(self, name: str, said: Mapping[str, Any]) -> Store:
        key = tuple(self.data_type(part) for part in self.value(said, "key", list, ["text"]))
        return Store(name, key, self.fields(said, "fields"))

    def function(self, name: str, said: Mapping[str, Any]) -> Function:
        arguments = tuple(self.data_type(part) for part in self.value(said, "arguments", list, []))
        return Function(name, arguments, self.data_type(said.get("result", "text")), declared_only)

    def fields(self, said: Mapping[str, Any], key: str) -> dict[str, DataType]:
        return {name: self.data_type(kind) for name, kind in self.table(said, key).items()}

    def table(self, said: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.value(said, key, dict, {})
        return found

    def value(self, said: Mapping[str, Any], key: str, kind: type, default: object) -> Any:
        found = said.get(key, default)
        if found is not None and not isinstance(found, kind):
            shape = {"dict": "a table", "list": "a list", "str": "a text"}[kind.__name__]
            raise self.fault(f"{self.what}: {key} should be {shape}", "see the documentation of schemas")
        return found

    def data_type(self, said: object) -> DataType:
        """The type that ``said`` names, such as ``set of text``."""
        name = " ".join(str(said).lower().split())
        if name in _SCALARS:
            return _SCALARS[name]
        if found := _DECIMAL.fullmatch(name):
            return decimal(int(found[1]), int(found[2]))
        makers: Mapping[str, Callable[[DataType], DataType]] = {"set of ": set_of, "list of ": list_of}
        for prefix, make in makers.items():
            if name.startswith(prefix):
                return make(self.data_type(name.removeprefix(prefix)))
        known = f"{', '.join(_SCALARS)}, decimal(precision, scale), list of ..., set of ..."
        raise self.fault(f"{self.what}: {said!r} is not a type", f"use one of {known}")

    def fault(self, message: str, remedy: str | None) -> JobError:
        return JobError(message, remedy=remedy, origin=str(self.path))


def declared_only(*arguments: object) -> object:
    """Stands for a function that is only declared: nothing is run with a schema from a file."""
    raise RuntimeError("a function that is only declared was called")
