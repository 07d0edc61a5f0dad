"""The number of matches; where they share their structure, without making them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.load import shared_count_kernel
from cepheid.compiler.shared import shared_tables
from cepheid.compiler.shared_events import SharedEvents, shared_events_of
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.adapting import run_chosen
from cepheid.engine.session import Work, prepare
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.errors import CapacityError
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k
from cepheid.kernels import shared as s
from cepheid.language.bound import BoundQuery
from cepheid.plan.shared import Shared, shared_plan

MOST_DIGITS = 4300
"""Python writes no longer numbers unless it is told to."""

FIRST_ROOM = 1 << 12
"""Words for products at first."""

Ints = NDArray[np.int64]


def count(bound: BoundQuery, batch: EventBatch, *, work: Work | None = None, settings: Settings = DEFAULTS) -> int:
    """The number of matches in a bounded input: as many as `engine.session.run` finds.

    Args:
        bound: the query, its parameters replaced by values.
        batch: the events, in order.
        work: filled with what was done, where given.
        settings: how much may be held, where the matches have to be made.

    Raises:
        CapacityError: there may be more matches than a number of 4,300 digits tells, or more partial matches would
            be held than may be.
        NotSupportedError, DataError: as `run`.
    """
    shared = shared_plan(bound)
    if shared is None:
        return len(run_chosen(bound, batch, work=work, settings=settings))
    counting = Counting(prepare(bound), shared, batch)
    counting.tell(work)
    exact = counting.counted(s.LARGEST)
    if exact is not None:
        return int(exact[s.W_COUNT])
    return int(counting.by_primes(len(counting.events.classes), lambda done, _: int(done[s.W_COUNT])))


def count_by_event(
    bound: BoundQuery, batch: EventBatch, *, work: Work | None = None, settings: Settings = DEFAULTS
) -> tuple[Ints, Ints]:
    """The numbers of matches by their last events.

    Args:
        bound, batch, work, settings: as for `count`.

    Returns:
        the positions of the events that are the last ones of matches, ascending, and of how many: int64, (n,).

    Raises:
        CapacityError: a number is not below 2**63; or as `count`.
        NotSupportedError, DataError: as `run`.
    """
    shared = shared_plan(bound)
    if shared is None:
        matches = run_chosen(bound, batch, work=work, settings=settings)
        return np.unique(matches.positions[matches.offsets[1:] - 1], return_counts=True)
    counting = Counting(prepare(bound), shared, batch)
    counting.tell(work)
    numbers = np.zeros(len(counting.events.classes), np.int64)
    if counting.counted(s.LARGEST, numbers) is None:
        exact = counting.by_primes(1, lambda _, by_event: by_event.astype(object), numbers)
        if max(exact) >= 2**63:
            raise CapacityError(
                f"{max(exact)} matches end with one event, more than fit a column of int64",
                remedy="count all matches together, which has no such limit, or choose a shorter window",
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        numbers = exact.astype(np.int64)
    ends = np.flatnonzero(numbers)
    positions, which = np.unique(counting.events.positions[ends], return_inverse=True)
    # Where windows slide, an event ends matches in several of them.
    sums = np.zeros(len(positions), np.int64)
    np.add.at(sums, which, numbers[ends])
    return positions, sums


class Counting:
    """The events of a batch and the tables to count with."""

    def __init__(self, compiled: CompiledPlan, shared: Shared, batch: EventBatch) -> None:
        assert shared.is_of(compiled.automaton.elements)
        self.compiled = compiled
        self.shared = shared
        self.batch = batch
        self.events: SharedEvents = shared_events_of(compiled, batch)
        self.plan = shared_tables(shared, self.events.masks)
        self.front = np.zeros(FIRST_ROOM, np.int64)
        self.most_in_window = 0

    def tell(self, work: Work | None) -> None:
        """What is done, where that is asked for."""
        if work is not None:
            work.n_events, work.n_stepped = len(self.batch), len(self.events.classes)
            work.null_key_positions = self.events.null_keys

    def counted(self, modulus: int, numbers: Ints | None = None) -> Ints | None:
        """What the kernel keeps after a pass over all events; None where a number was too large.

        Args:
            modulus: `LARGEST`, or a prime number: then all numbers are remainders, and none is too large.
            numbers: gets those of each event, where given.
        """
        events, within = self.events, self.compiled.automaton.within
        n_slots, n_states = int(self.plan[s.P_N_SLOTS]), int(self.plan[s.P_N_STATES])
        work = np.zeros(s.WORK_HEADER + 2 * n_slots * n_states, np.int64)
        work[s.W_PARTITION] = -1
        out = np.zeros(0, np.int64) if numbers is None else numbers
        step = shared_count_kernel(len(events.classes))
        window = -1 if within is None else within
        with np.errstate(all="ignore"):
            while True:
                arrays = (work, self.front, out)
                if step(self.plan, events.classes, events.clock, events.starts, window, modulus, *arrays) == k.DONE:
                    break
                self.front = np.zeros(2 * len(self.front), np.int64)
        self.most_in_window = int(work[s.W_MOST])
        return None if modulus == s.LARGEST and work[s.W_TOO_LARGE] else work

    def by_primes(self, n_ends: int, of: Callable[[Ints, Ints], Any], numbers: Ints | None = None) -> Any:
        """A number, or numbers, from their remainders by as many primes as it takes.

        Args:
            n_ends: events whose matches are counted together, at most.
            of: the remainder, or remainders, of what `counted` gives and of ``numbers``.
            numbers: as for `counted`.
        """
        most = self._most(n_ends)
        by_event = np.zeros(0, np.int64) if numbers is None else numbers
        value: Any = 0
        known = 1
        for prime in _primes():
            if known > most:
                return value
            done = self.counted(prime, numbers)
            assert done is not None
            remainder = of(done, by_event)
            # The least number with the remainders by all primes so far.
            value = value + known * ((remainder - value) * pow(known, -1, prime) % prime)
            known *= prime
        raise AssertionError("there are as many primes as are asked for")

    def _most(self, n_ends: int) -> int:
        """A number that is not less than that of the matches.

        Raises:
            CapacityError: it has too many digits.
        """
        window, states = self.most_in_window, self.shared.states
        ways = max(len(state.steps) for state in states)
        longest = _longest(self.shared)
        if longest is None or longest > window:
            digits = (window - 1) * math.log10(1 + ways) + math.log10(ways * n_ends)
            if digits > MOST_DIGITS:
                bound = self.compiled.automaton.bound
                raise CapacityError(
                    f"there may be more than 10^{MOST_DIGITS} matches: a window holds up to {window} events that the "
                    "pattern can take, and a loop any number of them",
                    remedy="choose a shorter window, or split the events with SAME",
                    text=bound.text,
                    origin=bound.origin,
                    span=bound.query.pattern.span,
                )
            return int(n_ends * ways * (1 + ways) ** (window - 1))
        return int(n_ends * sum(math.comb(window - 1, others) * ways ** (others + 1) for others in range(longest)))


def _longest(shared: Shared) -> int | None:
    """The number of events of the longest match; None where it can have any number of them."""
    longest = [0] * len(shared.states)
    for number in range(len(shared.states) - 1, -1, -1):
        state = shared.states[number]
        if any(target <= number for _, target in state.steps):
            return None
        steps = [1 + longest[target] for _, target in state.steps]
        passes = [longest[target] for _, target in state.passes if target is not None]
        longest[number] = max([0, *steps, *passes])
    return longest[0]


def _primes() -> Iterator[int]:
    """The prime numbers below 2**31, the greatest first."""
    return (number for number in range(2**31 - 1, 1, -2) if _is_prime(number))


def _is_prime(number: int) -> bool:
    """Whether an odd number from 11 to below 2**31 is prime, by the test of Miller and Rabin, which is sure there."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True
