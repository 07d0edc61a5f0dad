"""The columns of a plan with room for events that come one by one, and the values that they came with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.compiler.columns import NO_EVENTS, KernelEvents
from cepheid.compiler.single import EventFunctions
from cepheid.compiler.tables import CompiledPlan
from cepheid.events.single import Values
from cepheid.kernels import layout as k


class SingleColumns:
    """Events in their order, laid out as `kernels.layout` says, each column as long as there is room.

    Attributes:
        n: how many events there are.
        room: for how many there is room.
        rows: their values.
        numbers: their numbers in the stream.
        has_nulls: whether an int column has a NULL.
        events: the columns, as long as there is room.
    """

    def __init__(self, compiled: CompiledPlan, functions: EventFunctions, room: int) -> None:
        """Begin without events."""
        self.n = 0
        self.rows: list[Values] = []
        self.numbers: list[int] = []
        self._requests = compiled.requests
        self._functions = functions
        self._lay_out(room)

    def add(self, values: Values, time_us: int, number: int, fit: int) -> None:
        """Put an event behind the others; there is room for it.

        Args:
            values: of the event.
            time_us: its time.
            number: its number in the stream.
            fit: the elements that it fits, as bits.
        """
        i = self.n
        ints = self._ints
        ints[i] = time_us  # TIME_COLUMN is the first, FIT_COLUMN the second
        ints[self.room + i] = fit
        for begin, column, reads in self._int_columns:
            value = time_us if reads is None else reads(values)
            if value is None:
                self._put_null(i, column)
                value = 0
            elif column in self._with_nulls:
                self._nulls[column * self.room + i] = 0
            ints[begin + i] = value
        for begin, column, reads in self._float_columns:
            real = reads(values)
            if real is None:
                self._put_null(i, column)
                real = 0.0
            elif column in self._with_nulls:
                self._nulls[column * self.room + i] = 0
            self._floats[begin + i] = real
        self.rows.append(values)
        self.numbers.append(number)
        self.n = i + 1

    @property
    def times(self) -> memoryview:
        """The times of the events, from the first on."""
        return self._ints

    @property
    def times_us(self) -> k.Ints:
        """The times of the events: int64, (n,), a view."""
        times: k.Ints = self.events.ints[: self.n]
        return times

    @property
    def n_codes(self) -> int:
        """How many texts and partitions have codes."""
        return len(self._functions.codes)

    def keep(self, needed: k.Ints, room: int) -> None:
        """Forget all events but some.

        Args:
            needed: their indices, ascending.
            room: for how many there is to be room.
        """
        before, room_before, with_nulls = self.events, self.room, self._with_nulls
        n = len(needed)
        self._lay_out(room)
        columns = self._n_int_columns
        self.events.ints[: columns * room].reshape(columns, room)[:, :n] = before.ints[: columns * room_before].reshape(
            columns, room_before
        )[:, needed]
        n_floats = len(self._requests.floats)
        if n_floats:
            floats = before.floats.reshape(n_floats, room_before)
            self.events.floats.reshape(n_floats, room)[:, :n] = floats[:, needed]
        for column in with_nulls:
            missing = before.nulls[column * room_before :][:room_before][needed]
            if missing.any():
                self._mark(column)
                self.events.nulls[column * room :][:n] = missing
        self.rows = [self.rows[i] for i in needed.tolist()]
        self.numbers = [self.numbers[i] for i in needed.tolist()]
        self.n = n

    def read_again(self) -> dict[int, tuple[k.Ints, k.Ints]]:
        """Give texts and partitions new codes, those of the events that are held.

        Returns:
            See `KernelEvents.changes_from`.
        """
        before = replace(self.events, ints=self.events.ints.copy())
        self._functions.codes.clear()
        rows, numbers, n = self.rows, self.numbers, self.n
        times, fits = self.times_us.tolist(), self.events.ints[self.room :][:n].tolist()
        self.rows, self.numbers, self.n = [], [], 0
        for values, time_us, number, fit in zip(rows, times, numbers, fits, strict=True):
            self.add(values, time_us, number, fit)
        return self.events.changes_from(before, n)

    def exactly(self) -> KernelEvents:
        """The columns, as long as there are events."""
        n, room = self.n, self.room
        columns, n_floats = self._n_int_columns, len(self._requests.floats)
        grid = self.events.ints[: columns * room].reshape(columns, room)[:, :n]
        places = np.full(len(self._requests.ints) + n_floats, -1, np.int64)
        masks: list[k.Bytes] = []
        for column in sorted(self._with_nulls):
            places[column] = len(masks)
            masks.append(self.events.nulls[column * room :][:n])
        floats = self.events.floats
        if n_floats:
            floats = np.ascontiguousarray(floats.reshape(n_floats, room)[:, :n]).reshape(-1)
        return KernelEvents(
            n=n,
            ints=np.concatenate((grid.reshape(-1), places)),
            floats=floats,
            nulls=np.concatenate(masks) if masks else np.zeros(1, np.uint8),
            int_nulls=columns * n,
            float_nulls=columns * n + len(self._requests.ints),
            selected=None,
            null_keys=NO_EVENTS.null_keys,
            counted=None,
        )

    # --- inside -------------------------------------------------------------------------------------------

    def _lay_out(self, room: int) -> None:
        """Empty columns."""
        functions, n_ints, n_floats = self._functions, len(self._requests.ints), len(self._requests.floats)
        self.room = room
        self._n_int_columns = columns = k.FIRST_COLUMN + n_ints
        ints = np.zeros(columns * room + n_ints + n_floats, np.int64)
        ints[columns * room :] = -1
        floats = np.zeros(max(1, n_floats * room), np.float64)
        nulls = np.zeros(max(1, (n_ints + n_floats) * room), np.uint8)
        self.events = KernelEvents(
            n=room,
            ints=ints,
            floats=floats,
            nulls=nulls,
            int_nulls=columns * room,
            float_nulls=columns * room + n_ints,
            selected=None,
            null_keys=NO_EVENTS.null_keys,
            counted=None,
        )
        # Views through which single items are written faster than through NumPy's arrays.
        self._ints, self._floats, self._nulls = ints.data, floats.data, nulls.data
        self._int_columns: Sequence[tuple[int, int, Any]] = [
            ((k.FIRST_COLUMN + column) * room, column, reads) for column, reads in enumerate(functions.ints)
        ]
        self._float_columns: Sequence[tuple[int, int, Any]] = [
            (column * room, n_ints + column, reads) for column, reads in enumerate(functions.floats)
        ]
        self._with_nulls: set[int] = set()
        self.has_nulls = False

    def _put_null(self, i: int, column: int) -> None:
        if column not in self._with_nulls:
            self._mark(column)
        self._nulls[column * self.room + i] = 1

    def _mark(self, column: int) -> None:
        """Tell the kernel that a column has NULLs. Their places are those of the columns."""
        self._with_nulls.add(column)
        self.has_nulls = self.has_nulls or column < len(self._requests.ints)
        self.events.ints[self.events.int_nulls + column] = column
