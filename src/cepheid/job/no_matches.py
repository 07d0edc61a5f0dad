"""Why a job found nothing, where that is no chance of its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from cepheid.events.schema import Schema
from cepheid.job.load import Job
from cepheid.language.hopeless import missing_type, told
from cepheid.language.parameters import with_parameters
from cepheid.query import Query


def why_none(
    job: Job, query: Query, tables: Mapping[str | None, Any], schema: Schema, values: Mapping[str, object]
) -> list[str]:
    """Sentences that say why a query of a job has no matches; empty where it might have had some.

    Args:
        job: the job.
        query: one of its queries.
        tables: its events by type; under None where a column tells the type.
        schema: of the events.
        values: of all parameters of the job.
    """
    bound = query.bind(schema, job.catalog)
    bound = with_parameters(bound, {name: values[name] for name in bound.parameters})
    if None not in tables:
        present = {name for name, table in tables.items() if name is not None and len(table)}
    elif schema.type is not None:
        present = {str(name) for name in pc.unique(tables[None][schema.type]).to_pylist() if name is not None}
    else:
        return told(bound)
    missing = missing_type(bound, sorted(present)) if present else None
    return [*told(bound), *([] if missing is None else [f"{query.origin}: {missing[0]}"])]
