"""Schedules of a store and of a load: an NPU and a storage host, which brings and keeps nothing by itself.

A store sends the data, and a signal comes back when all of it has come. A load sends a signal, and the data come back.
Source: NVMe over Fabrics, whose commands and completions are small messages beside the data. Model's limit: a signal
has one byte, where a command capsule has 64 bytes and a response 16.
"""

from __future__ import annotations

from functools import cache

from astra_ns3.collectives.columns import assemble, column
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.frozen import replace

_ENDS = 2
"""The NPU, and the storage host."""


@cache
def storage_schedule(*, loads: bool) -> Schedule:
    """Return the schedule of a load, or of a store, on all the bytes at once."""
    steps = column(_ENDS)
    found = assemble(
        "load" if loads else "store",
        _ENDS,
        1,
        (_ENDS,),
        sender=steps,
        receiver=1 - steps,
        step=steps,
        first_block=0,
        block_count=steps if loads else 1 - steps,
        wait_step=steps - 1,
        wait_count=steps,
    )
    return replace(found, helpers=1)
