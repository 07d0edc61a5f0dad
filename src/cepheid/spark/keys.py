"""By what the events of a keyed pattern are spread over partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from cepheid.compiler.vector import evaluate
from cepheid.errors import DataError
from cepheid.events.arrow_types import arrow_type
from cepheid.events.column import AnyColumn
from cepheid.events.convert import arrow_of, column_of
from cepheid.language import tree
from cepheid.language.bound import BoundQuery, Function
from cepheid.language.partition import InferredPartition
from cepheid.spark.pushdown import Source, Translation
from cepheid.spark.values import by_bytes, named

COMPUTED_KEY = "cepheid key"
"""The column of a key that Spark does not compute."""


@dataclass(frozen=True)
class Keys:
    """What parts the events: those with different values never meet.

    Attributes:
        columns: Spark columns; equal values are equal bits (they are hashed). An event with NULL in one is in no
            match.
        names: columns of the DataFrame that are keys as they stand.
    """

    columns: tuple[Column, ...]
    names: tuple[str, ...]


def same_keys(bound: BoundQuery, source: Source) -> Keys | None:
    """The keys of SAME that Spark computes as the engine does; None where there are none.

    The rest of SAME is left to the engine: a partition by some of the keys holds whole partitions by all.
    """
    translation = Translation(source, bound.types, frozenset(bound.catalog.functions))
    columns, names = [], []
    for expression in bound.partition:
        column = translation.translate(expression)
        if column is not None:
            columns.append(column)
            if isinstance(expression, tree.Attribute) and len(expression.path) == 1:
                names.append(expression.path[0])
    return Keys(tuple(columns), tuple(names)) if columns else None


def inferred_keys(bound: BoundQuery, inferred: InferredPartition, source: Source) -> Keys | None:
    """The keys that the equalities of the condition imply; None where no column says an event's key.

    Where elements hold their part of the key in different attributes, the event's type must say which: an event that
    fits two such elements is in two partitions, and then that part is not used.
    """
    translation = Translation(source, bound.types, frozenset(bound.catalog.functions))
    columns, names = [], []
    for part in inferred.keys:
        by_path: dict[tuple[str, ...], list[str]] = {}
        for variable, path in part.items():
            by_path.setdefault(path, []).append(variable)
        values = [translation.translate(tree.Attribute(vs[0], path)) for path, vs in by_path.items()]
        known = [v for v in values if v is not None]
        if len(known) < len(values):
            continue
        if len(known) == 1:
            columns.append(known[0])
            path = next(iter(by_path))
            names += [path[0]] if len(path) == 1 else []
            continue
        column = _by_type(bound, source, list(zip(by_path.values(), known, strict=True)))
        if column is not None:
            columns.append(column)
    return Keys(tuple(columns), tuple(names)) if columns else None


def _by_type(bound: BoundQuery, source: Source, parts: Sequence[tuple[Sequence[str], Column]]) -> Column | None:
    if bound.schema.type is None:
        return None
    types = [[t for v in variables for t in bound.variables[v].types] for variables, _ in parts]
    anything = any(not bound.variables[v].types for variables, _ in parts for v in variables)
    if anything or sum(len(set(t)) for t in types) > len({name for t in types for name in t}):
        return None
    event_type = by_bytes(named(bound.schema.type), source.columns[bound.schema.type].dataType)
    chosen = F.when(event_type.isin(sorted(set(types[0]))), parts[0][1])
    for names, (_, column) in zip(types[1:], parts[1:], strict=True):
        chosen = chosen.when(event_type.isin(sorted(set(names))), column)
    return chosen


@dataclass(frozen=True)
class KeyComputation:
    """Adds the keys of SAME that Spark cannot compute, as columns ``cepheid key 0``, ...; runs on the executors.

    Attributes:
        expressions: of SAME, each over one event.
        types: the Arrow type of each.
        functions: registered functions, by name.
        output: the Arrow schema of the result: the columns that come in, then the keys.
        text, origin: of the query, for errors.
    """

    expressions: tuple[tree.Expression, ...]
    functions: Mapping[str, Function]
    output: Any
    text: str = ""
    origin: str | None = None

    @staticmethod
    def fields(bound: BoundQuery) -> list[tuple[str, Any]]:
        """Name and Arrow type of the columns that are added."""
        return [(f"{COMPUTED_KEY} {i}", arrow_type(bound.types[e])) for i, e in enumerate(bound.partition)]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The RecordBatches of one partition with the keys added."""
        for batch in batches:
            if batch.num_rows:
                keys = [self._key(batch, expression) for expression in self.expressions]
                columns = [*batch.columns, *keys]
                arrays = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, self.output, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.output)

    def _key(self, batch: Any, expression: tree.Expression) -> Any:
        def resolve(node: tree.Attribute | tree.Aggregate | tree.Remote) -> AnyColumn:
            assert isinstance(node, tree.Attribute), "SAME is about one event"
            values = batch.column(node.path[0])
            for name in node.path[1:]:
                values = pa.compute.struct_field(values, name)
            return column_of(values, ".".join(node.path))[0]

        try:
            return arrow_of(evaluate(expression, resolve, batch.num_rows, self.functions))
        except DataError as error:  # of a registered function
            error.located(self.text, self.origin)
            raise
