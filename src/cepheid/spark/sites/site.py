"""A site while it runs: records of its topics in, records for other topics out, and what it keeps in between.

All that it knows is in its snapshot, and what it writes depends on the snapshot and the records alone. So a batch that
failed is done again with the same result, whatever of it had been written: who reads rows twice joins them once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheid.engine.joiner import JoinedMatches, Joiner
from cepheid.engine.order_key import identities
from cepheid.engine.output_schema import LAST, MATCH
from cepheid.engine.partial_matches import PartialMatches, read_partial_matches, single_events
from cepheid.engine.session import run
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch, take_rows
from cepheid.events.ingest import read_events
from cepheid.events.plain import as_plain
from cepheid.spark.sites.messages import (
    Row,
    UnreadError,
    events_as_json,
    events_of_json,
    read_event,
    read_message,
    write_row,
    write_until,
)
from cepheid.spark.sites.program import Evaluation, SiteProgram, Stage

WHOLE = ""
"""What a vertex feeds its whole matches as, in place of a type."""

_MAGIC = b"cepheid site "
_VERSION = 1
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Record:
    """A record of a topic, read or to be written.

    Attributes:
        topic: its name.
        value: its bytes.
        key: of a match, its id; else None.
        offset: of one that was read.
    """

    topic: str
    value: bytes | None
    key: str | None = None
    offset: int = -1


class _Engine:
    """An evaluation with its joiner, and the rows that have come for it."""

    def __init__(self, program: SiteProgram, evaluation: Evaluation, snapshot: bytes | None) -> None:
        self.evaluation = evaluation
        self._program = program
        bound, parts = evaluation.bound, evaluation.parts
        self.joiner = Joiner(bound, parts) if snapshot is None else Joiner.restored(bound, parts, snapshot)
        self._variables = {kind: variable for variable, kind in evaluation.types.items()}
        self._come: dict[str, list[Row]] = {}
        self._fresh = snapshot is not None

    def take(self, part: str, row: Row) -> None:
        """Take in a row, with the rest of its batch."""
        self._come.setdefault(part, []).append(row)

    def found(self, watermark_us: int) -> JoinedMatches | None:
        """New matches, when inputs have come so far."""
        for part, rows in self._come.items():
            self.joiner.push(part, self._partial(rows))
        pushed = bool(self._come) or self._fresh
        self._come, self._fresh = {}, False
        if watermark_us != BEFORE_ALL_US:
            self.joiner.advance(watermark_us)
        if not pushed and not self.joiner.n_waiting and watermark_us != AFTER_ALL_US:
            return None
        matches = self.joiner.matches()
        return matches if len(matches) else None

    def _partial(self, rows: Sequence[Row]) -> PartialMatches:
        columns, schema = self._program.columns, self._program.schema
        kinds = sorted(rows[0])
        tables = {self._variables[kind]: events_of_json([row[kind] for row in rows], columns) for kind in kinds}
        if len(kinds) == 1:
            ((variable, table),) = tables.items()
            return single_events(variable, read_events(table, schema))
        return read_partial_matches(_structs(tables), schema)

    def rows(self, found: JoinedMatches) -> Iterator[Row]:
        """Matches as messages have them."""
        partial = found.partial_matches()
        events = _as_json(partial.batch, self._program.columns)
        kinds = [self.evaluation.types[variable] for variable in partial.variables]
        for positions in partial.positions.tolist():
            yield dict(sorted((kind, events[place]) for kind, place in zip(kinds, positions, strict=True)))


def _structs(tables: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    arrays = []
    for table in tables.values():
        whole = table.combine_chunks()
        fields = [c.chunk(0) if c.num_chunks else pa.array([], c.type) for c in whole.columns]
        arrays.append(pa.StructArray.from_arrays(fields, fields=list(whole.schema)))
    return pa.table(dict(zip(tables, arrays, strict=True)))


def _as_json(batch: EventBatch, columns: Any) -> list[dict[str, Any]]:
    whole = take_rows(batch.table.select(columns.names), batch.rows_of(np.arange(len(batch))))
    return events_as_json(whole)


@dataclass
class _Stage:
    """A vertex that evaluates a projection."""

    program: Stage
    engines: tuple[_Engine, ...]
    come_us: dict[int, int]
    told_us: int = BEFORE_ALL_US
    # Events that an output selector has sent: their identity in hexadecimal -> their time.
    selected: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def watermark_us(self) -> int:
        """How far all its inputs have come."""
        return min(self.come_us.values())

    @property
    def output_us(self) -> int:
        """How far its output has come: an event may be selected for a match that ends up to a window later."""
        watermark_us = self.watermark_us
        if self.program.selector is None or watermark_us in (BEFORE_ALL_US, AFTER_ALL_US):
            return watermark_us
        return watermark_us - self.program.longest_us


class Site:
    """A site in one worker.

    Attributes:
        program: what it does.
        n_late: events of its own that came too late.
        n_unread: records that were no events.
    """

    def __init__(self, program: SiteProgram, snapshot: bytes | None = None) -> None:
        """Start with nothing, or go on from a snapshot.

        Raises:
            DataError: it is none, or that of another plan or site.
        """
        self.program = program
        said, blobs = ({}, []) if snapshot is None else _unpacked(snapshot, program)
        self.n_late: int = said.get("n_late", 0)
        self.n_unread: int = said.get("n_unread", 0)
        self._source_us: int = said.get("source_us", BEFORE_ALL_US)
        self._told_source_us: int = said.get("told_source_us", BEFORE_ALL_US)
        held = iter(blobs)
        self._stages = []
        for number, stage in enumerate(program.stages):
            engines = tuple(_Engine(program, one, next(held, None)) for one in stage.evaluations)
            made = _Stage(stage, engines, dict.fromkeys(stage.before, BEFORE_ALL_US))
            made.selected = {kind: {} for kind in stage.selector or ()}
            if said:
                kept = said["stages"][number]
                made.come_us = {int(vertex): us for vertex, us in kept["come_us"].items()}
                made.told_us, made.selected = kept["told_us"], kept["selected"]
            self._stages.append(made)
        self._out: list[Record] = []

    def snapshot(self) -> bytes:
        """All that it holds, as bytes; nothing in them is pickled."""
        said = {
            "site": self.program.site,
            "plan": self.program.plan,
            "n_late": self.n_late,
            "n_unread": self.n_unread,
            "source_us": self._source_us,
            "told_source_us": self._told_source_us,
            "stages": [
                {"come_us": stage.come_us, "told_us": stage.told_us, "selected": stage.selected}
                for stage in self._stages
            ],
        }
        blobs = [engine.joiner.snapshot() for stage in self._stages for engine in stage.engines]
        parts = [_MAGIC, _VERSION.to_bytes(2, "little")]
        for content in (json.dumps(said).encode(), *blobs):
            parts += [len(content).to_bytes(_LENGTH_BYTES, "little"), content]
        return b"".join(parts)

    def process(self, records: Iterable[Record]) -> list[Record]:
        """One batch.

        Args:
            records: of the topics that the site reads; those of one topic in any order.

        Returns:
            What it writes; those for one topic in this order.
        """
        self._out = []
        own: list[Record] = []
        for record in sorted(records, key=lambda one: (one.topic, one.offset)):
            if record.topic == self.program.topics.source:
                own.append(record)
            elif record.value is not None:
                self._passed(record)
        self._arisen(own)
        for stage in self._stages:
            self._evaluated(stage)
        return self._out

    def _passed(self, record: Record) -> None:
        """A message of a neighbour: for engines here, and for sites beyond."""
        assert record.value is not None
        message = read_message(record.value)
        self._send(message.vertex, record.value)
        if message.row is not None:
            self._feed(message.vertex, message.row)
        if message.until_us is not None:
            self._come(message.vertex, message.until_us)

    def _send(self, vertex: int, value: bytes) -> None:
        for neighbour in self.program.ways.get(vertex, ()):
            self._out.append(Record(self.program.topics.to_links[neighbour], value))

    def _feed(self, vertex: int, row: Row) -> None:
        what = next(iter(row)) if len(row) == 1 else WHOLE
        for stage in self._stages:
            part = stage.program.feeds.get(vertex, {}).get(what)
            if part is not None:
                for engine in stage.engines:
                    engine.take(part, row)

    def _come(self, vertex: int, until_us: int) -> None:
        for stage in self._stages:
            if vertex in stage.come_us:
                stage.come_us[vertex] = max(stage.come_us[vertex], until_us)

    def _arisen(self, records: Sequence[Record]) -> None:
        """Events of the site itself."""
        program = self.program
        if not program.sources:
            return
        schema, rows, ended = program.schema, [], False
        required = (schema.time, *([] if schema.type is None else [schema.type]), *schema.order)
        for record in records:
            if record.value == END:
                ended = True
                continue
            try:
                rows.append((read_event(record.value, program.columns, required), record))
            except UnreadError as error:
                self.n_unread += 1
                self._reject(record, str(error))
        newest_us = BEFORE_ALL_US
        if rows:
            batch = read_events(events_of_json([row for row, _ in rows], program.columns), schema)
            of_row = batch.rows_of(np.arange(len(batch)))
            newest_us = int(batch.time_us.max()) if len(batch) else BEFORE_ALL_US
            late = batch.time_us <= self._source_us
            for position in np.flatnonzero(late).tolist():
                self.n_late += 1
                self._reject(rows[int(of_row[position])][1], "too late")
            if not late.all():
                in_time = EventBatch(take_rows(batch.table, of_row[~late]), schema, batch.time_us[~late])
                self._give_out(in_time)
        if ended:
            self._source_us = AFTER_ALL_US
        elif newest_us != BEFORE_ALL_US:
            # An event that is just so much older than the newest may come yet.
            self._source_us = max(self._source_us, newest_us - program.delay_us - 1)
        if self._source_us > self._told_source_us:
            self._told_source_us = self._source_us
            for source in program.sources:
                self._send(source.vertex, write_until(source.vertex, self._source_us))
                self._come(source.vertex, self._source_us)

    def _give_out(self, batch: EventBatch) -> None:
        events = _as_json(batch, self.program.columns)
        for source in self.program.sources:
            wanted = np.zeros(len(batch), np.bool_)
            for bound in source.admits:
                wanted[run(bound, batch).positions] = True
            for position in np.flatnonzero(wanted).tolist():
                row = {source.type: events[position]}
                self._send(source.vertex, write_row(source.vertex, row))
                self._feed(source.vertex, row)

    def _reject(self, record: Record, reason: str) -> None:
        said = {
            "site": self.program.site,
            "offset": record.offset,
            "reason": reason,
            "raw": (record.value or b"").decode("utf-8", "replace"),
        }
        self._out.append(Record(self.program.topics.rejected, json.dumps(said, ensure_ascii=False).encode()))

    def _evaluated(self, stage: _Stage) -> None:
        program, watermark_us = stage.program, stage.watermark_us
        for engine in stage.engines:
            found = engine.found(watermark_us)
            if found is None:
                continue
            if engine.evaluation.name:
                self._tell(engine.evaluation.name, found)
            if engine.evaluation.sends:
                for row in engine.rows(found):
                    self._select(stage, row)
        for known in stage.selected.values():
            # No further match can hold them.
            for key in [key for key, time_us in known.items() if time_us + program.longest_us <= watermark_us]:
                del known[key]
        if stage.output_us > stage.told_us:
            stage.told_us = stage.output_us
            self._send(program.vertex, write_until(program.vertex, stage.told_us))
            self._come(program.vertex, stage.told_us)
            for engine in stage.engines:
                if engine.evaluation.name:
                    said = {"site": self.program.site, "query": engine.evaluation.name, "until": stage.told_us}
                    self._out.append(Record(self.program.topics.progress, json.dumps(said).encode()))

    def _select(self, stage: _Stage, row: Row) -> None:
        """Send a match, or what an output selector takes of it and did not take before."""
        vertex = stage.program.vertex
        if stage.program.selector is None:
            self._send(vertex, write_row(vertex, row))
            self._feed(vertex, row)
            return
        for kind in stage.program.selector:
            batch = read_events(events_of_json([row[kind]], self.program.columns), self.program.schema)
            (key,) = identities(batch)
            known = stage.selected[kind]
            if key.hex() not in known:
                known[key.hex()] = int(batch.time_us[0])
                one = {kind: row[kind]}
                self._send(vertex, write_row(vertex, one))
                self._feed(vertex, one)

    def _tell(self, query: str, found: JoinedMatches) -> None:
        topic = self.program.topics.matches[query]
        for row in found.table().to_pylist():
            key = row.pop(MATCH)
            del row[LAST]
            self._out.append(Record(topic, json.dumps(as_plain(row), ensure_ascii=False).encode(), key))


END = b'{"end": true}'
"""The record of a source topic that says that no further event will arise at the site."""


def _unpacked(snapshot: bytes, program: SiteProgram) -> tuple[dict[str, Any], list[bytes]]:
    start = len(_MAGIC) + 2
    if snapshot[: len(_MAGIC)] != _MAGIC:
        raise DataError(
            "the state in the checkpoint is not that of a site", remedy="use a checkpoint of this site alone"
        )
    version = int.from_bytes(snapshot[len(_MAGIC) : start], "little")
    if version != _VERSION:
        raise DataError(
            f"the state of the site has the format {version}, and this version of cepheid reads {_VERSION}",
            remedy="go on with the version that wrote it",
        )
    contents = []
    while start < len(snapshot):
        end = start + _LENGTH_BYTES
        start = end + int.from_bytes(snapshot[start:end], "little")
        contents.append(snapshot[end:start])
    said = json.loads(contents[0])
    if said["site"] != program.site or said["plan"] != program.plan:
        raise DataError(
            f"the state in the checkpoint is that of the site {said['site']} in another plan",
            remedy="deploy a new plan with new checkpoints and new topics, once all sites have ended",
        )
    return said, contents[1:]
