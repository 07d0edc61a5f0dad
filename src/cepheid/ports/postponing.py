"""What a policy can decide where a condition needs an element of a remote store that is not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cepheid.ports.stores import Key


@dataclass(frozen=True)
class Question:
    """A condition that cannot be told now.

    Attributes:
        missing: the elements that it waits for, as (store, key); they have been asked for.
        n_open: predicates that are open already.
    """

    missing: tuple[tuple[str, Key], ...]
    n_open: int


class PostponingPolicy(Protocol):
    """Decides whether a partial match goes on with a predicate open, or the stream waits for the answer.

    The matches are the same. Where the engine cannot go on (`cepheid.Settings.max_open_predicates`) it is not asked.
    """

    def postpones(self, question: Question) -> bool:
        """Whether to go on."""
        ...
