"""The clock of a model file's ``compute``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.model.compute import AnyCompute, Given, Roofline, RooflineKeys, Systolic, Table
from astra_ns3.config.training_plan import Operation
from astra_ns3.errors import wrong
from astra_ns3.workload.computing.clock import Clock, KeepingClock, named
from astra_ns3.workload.computing.roofline import RooflineClock
from astra_ns3.workload.computing.systolic import SystolicClock
from astra_ns3.workload.computing.table import TableClock
from astra_ns3.workload.computing.table_file import read_table


class GivenClock:
    """A clock of operations that say themselves what they take."""

    def time_ps(self, operation: Operation) -> int:
        """Raises InputError: it is only asked of an operation that doesn't say it."""
        raise wrong(f"compute.kind is given, but operation '{operation.name}' says no time")

    def memory_bound(self, operation: Operation) -> bool:
        """Nobody knows."""
        return False


def clock_of(compute: AnyCompute, datatype: str = "bfloat16", scale: float = 1.0, source: str = "") -> Clock:
    """The clock that a model file asks for, with every time multiplied by ``scale``; reads the files it needs.

    Each operation's time is worked out once. ``source``: the model file, which messages begin with. Raises InputError.
    """
    with named(source):
        return KeepingClock(CLOCKS[type(compute)](compute, datatype), scale, source)


def guesses(compute: AnyCompute, operations: Iterable[Operation], source: str = "") -> tuple[str, ...]:
    """A warning, if times of some operations are guessed: outside of what a table has.

    ``source``: the model file, which messages begin with. Raises InputError.
    """
    if not isinstance(compute, Table) or not compute.extrapolate:
        return ()
    with named(source):
        clock = TableClock(read_table(compute.file), extrapolates=True)
        asked = [operation for operation in dict.fromkeys(operations) if operation.time_ps is None]
        found = list(dict.fromkeys(what for operation in asked if (what := clock.outside(operation))))
    others = f", and so is that of {len(found) - 1} more" if len(found) > 1 else ""
    return (f"{source}: {found[0]}: its time is extrapolated{others}",) if found else ()


def _roofline(keys: Roofline, datatype: str) -> Clock:
    return RooflineClock(keys, keys.device, datatype)


def _table(keys: Table, datatype: str) -> Clock:
    return TableClock(read_table(keys.file), keys.extrapolate, _beside(keys, datatype))


def _systolic(keys: Systolic, datatype: str) -> Clock:
    return SystolicClock(keys, _beside(keys, datatype))


def _given(keys: Given, datatype: str) -> Clock:
    return GivenClock()


def _beside(keys: RooflineKeys, datatype: str) -> RooflineClock | None:
    """The clock for operations that a clock itself doesn't know; None: no device is named."""
    return None if keys.device is None else RooflineClock(keys, keys.device, datatype)


CLOCKS: Mapping[type[ConfigModel], Callable[[Any, str], Clock]] = {  # each takes what its key says
    Roofline: _roofline,
    Table: _table,
    Systolic: _systolic,
    Given: _given,
}
"""From a group of keys to its clock."""
