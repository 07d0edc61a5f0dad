"""Events that are in no partition: which part of SAME they lack (SEMANTICS 1.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.vector import evaluate
from cepheid.errors import DataError
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn
from cepheid.language.bound import BoundQuery
from cepheid.language.printer import print_expression
from cepheid.language.tree import Aggregate, Attribute, Remote


def missing_keys(
    bound: BoundQuery, batch: EventBatch, positions: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], list[str]]:
    """The events with NULL in SAME.

    Args:
        bound: the query that reads the events.
        batch: the events.
        positions: of the events in question; None for all.

    Returns:
        their positions, and for each the first expression of SAME that is NULL, as it is written.

    Raises:
        DataError: a registered function in SAME fails.
    """
    asked = np.arange(len(batch)) if positions is None else positions
    names = np.full(len(asked), "", object)

    def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
        assert isinstance(node, Attribute), "SAME is about one event"
        return batch.column_at(node.path, asked)

    try:
        for expression in reversed(bound.partition):
            valid = evaluate(expression, resolve, len(asked), bound.catalog.functions).valid
            if valid is not None:
                names[~valid] = print_expression(expression)
    except DataError as error:
        error.located(bound.text)
        raise
    without = names != ""
    return asked[without], names[without].tolist()
