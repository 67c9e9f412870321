"""The interface of every clock: from an operation to the time it takes on one NPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import ceil
from typing import Protocol

from astra_ns3.config.training_plan import Operation
from astra_ns3.errors import InputError, wrong


class Clock(Protocol):
    """Tells how long an operation takes on an NPU that does nothing else. Pure: the same for the same operation."""

    def time_ps(self, operation: Operation) -> int:
        """Whole picoseconds, rounded up. Raises InputError if it can't tell."""

    def memory_bound(self, operation: Operation) -> bool:
        """Whether memory, rather than the processors, says how long it takes; False where nobody knows."""


@contextmanager
def named(source: str) -> Iterator[None]:
    """Put the model's file before the message of an InputError that doesn't begin with it."""
    try:
        yield
    except InputError as error:
        if not source or str(error).startswith(f"{source}:"):
            raise
        raise wrong(str(error), source) from error


class KeepingClock:
    """Asks ``clock`` once for each operation, but not where the operation itself says its time.

    ``scale`` multiplies every time; rounded up. ``source``: of the model, which messages begin with.
    """

    def __init__(self, clock: Clock, scale: float = 1.0, source: str = "") -> None:
        self._clock = clock
        self._source = source
        self._scale = Fraction(str(scale))
        self._times_ps: dict[Operation, int] = {}

    def time_ps(self, operation: Operation) -> int:
        """See :class:`Clock`."""
        found = self._times_ps.get(operation)
        if found is None:
            given = operation.time_ps
            with named(self._source):
                unscaled_ps = self._clock.time_ps(operation) if given is None else given
            found = self._times_ps[operation] = ceil(unscaled_ps * self._scale)
        return found

    def memory_bound(self, operation: Operation) -> bool:
        """See :class:`Clock`."""
        return operation.time_ps is None and self._clock.memory_bound(operation)
