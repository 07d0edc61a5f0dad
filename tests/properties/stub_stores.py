"""Stores that answer late: after so many moments, at random, out of order, or never."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from cepheid.language.bound import Catalog
from cepheid.ports.stores import Element, Key
from cepheid.testing.strategies import CATALOG, STORES

Delay = Callable[[], int | None]
"""After how many moments the next key has its answer; None for never."""


def after(n: int) -> Delay:
    """Always after ``n`` moments, so in order."""
    return lambda: n


def at_random(random: Random, most: int = 12) -> Delay:
    """After any number of moments up to ``most``, so out of order; often at once."""
    return lambda: random.choice((0, random.randint(1, most), most))


def never() -> int | None:
    """Never."""
    return None


@dataclass
class LateStore:
    """A store whose time passes by one moment whenever it is looked at.

    Attributes:
        held: key -> element, as the oracle takes them.
        delay: of each key that is asked for.
        asked: keys in the order in which they were asked for.
        n_waits: how often it was waited for.
    """

    held: Mapping[object, Element]
    delay: Delay
    asked: list[Key] = field(default_factory=list)
    n_waits: int = 0
    _now: int = 0
    _due: dict[Key, int] = field(default_factory=dict)

    def ask(self, keys: Sequence[Key]) -> None:
        for key in keys:
            assert key not in self.asked, "a key is asked for once"
            assert None not in key
            self.asked.append(key)
            delay = self.delay()
            if delay is not None:
                self._due[key] = self._now + delay

    def answers(self) -> Mapping[Key, Element]:
        self._now += 1
        return self._come()

    def wait(self, keys: Sequence[Key]) -> Mapping[Key, Element]:
        self.n_waits += 1
        due = [self._due[key] for key in keys if key in self._due]
        if due:
            self._now = max(self._now, min(due))
        return self._come()

    def _come(self) -> dict[Key, Element]:
        come = [key for key, due in self._due.items() if due <= self._now]
        for key in come:
            del self._due[key]
        return {key: self.held.get(key[0] if len(key) == 1 else key) for key in come}


def late_catalog(delay: Delay, catalog: Catalog = CATALOG) -> Catalog:
    """The catalog of random queries, with stores that answer late."""
    stores = {name: replace(store, source=LateStore(STORES[name], delay)) for name, store in catalog.stores.items()}
    return replace(catalog, stores=stores)
