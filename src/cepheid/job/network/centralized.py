"""The queries of a network over all events in one place: what a plan is compared with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cepheid.engine.output import assemble
from cepheid.engine.output_schema import MATCH
from cepheid.engine.session import run
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events
from cepheid.job.network.load import NetworkJob


def events_in(job: NetworkJob, table: Any) -> EventBatch:
    """A table of events of all sites, as queries see it.

    Args:
        job: the network.
        table: a pyarrow Table with the columns that it names.

    Raises:
        SchemaError: a column is missing, or of a type that does not fit.
    """
    return read_events(table.select(job.columns.names).cast(job.columns), job.schema)


def centralized_ids(job: NetworkJob, events: EventBatch) -> dict[str, frozenset[str]]:
    """Query -> the ids of its matches: those that sinks of a plan write as keys.

    Args:
        job: the network.
        events: of all sites.
    """
    found = {}
    for name, bound in job.bounds.items():
        told = replace(bound, identified=True)
        matches = run(told, events)
        found[name] = frozenset(assemble(told, events, matches).column(MATCH).to_pylist())
    return found
