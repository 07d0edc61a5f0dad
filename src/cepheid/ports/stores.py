"""Where elements of remote stores come from (``REMOTE store[key].field``): asked now, answered later.

A store is asked for the elements under some keys and gives them when it has them, in any order, in any grouping, or
never. A look-up is a function of its key for the run (SEMANTICS 4.5): an element is asked for once, and what has come
is not asked for again as long as it is kept. What a query finds does not depend on when answers come.

A plain mapping from key to element may stand for a store whose answers are there at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

Key: TypeAlias = tuple[object, ...]
"""The parts of a key, as Python has them: bool, int, float, `decimal.Decimal`, str, `datetime.datetime` (UTC) and
`datetime.timedelta`. No part is None: under a key with NULL there is no element, and no store is asked."""

Element: TypeAlias = object
"""A mapping of fields, the value itself where the store has no fields, or None where there is none under the key."""


@runtime_checkable
class AsksStore(Protocol):
    """A store whose answers take time. Queries that run at the same time share what it has answered.

    They call it on their own threads: matchers on several threads need a source each.
    """

    def ask(self, keys: Sequence[Key]) -> None:
        """Ask for the elements under some keys, and return at once. Each key is asked for once, unless forgotten."""
        ...

    def answers(self) -> Mapping[Key, Element]:
        """The answers that have come since the last call, of `answers` or `wait`, without waiting."""
        ...

    def wait(self, keys: Sequence[Key]) -> Mapping[Key, Element]:
        """Wait for an answer to one of some keys that were asked for.

        Returns:
            The answers that have come since the last call, for other keys, too; where none of ``keys`` is among them it
            is called again. Nothing where the store gives up: the run then ends with an error that names it and a key.
        """
        ...


StoreSource: TypeAlias = AsksStore | Mapping[object, Element]
"""What gives the elements: a store that is asked, or a mapping. A key of one part is that value in a mapping, a longer
one a tuple."""
