"""Finds the micro-batches in a workload's rows: AICB repeats those of one stage for each micro-batch.

Rows before the first repetition belong to the whole iteration (gradient norms and the like); those behind the last go
with the last micro-batch (losses, optimizer). Rows are alike if their names, collectives, sizes and groups are; their
compute times needn't be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from astra_ns3.config.workload import Layer, Workload
from astra_ns3.errors import InputError


@dataclass(frozen=True)
class MicroBatches:
    """``count`` times ``length`` rows from ``begin`` on, of ``layers``."""

    begin: int
    length: int
    count: int
    layers: int

    @property
    def before(self) -> range:
        """The rows before the first micro-batch."""
        return range(self.begin)

    def rows(self, batch: int) -> range:
        """The rows of a micro-batch."""
        first = self.begin + batch * self.length
        return range(first, self.layers if batch == self.count - 1 else first + self.length)


def find_micro_batches(workload: Workload) -> MicroBatches:
    """The longest rows that stand there once for each micro-batch, one after the other; raises InputError."""
    layers, count = len(workload.layers), workload.micro_batches or 1
    if count == 1:
        return MicroBatches(0, layers, 1, layers)
    numbers: dict[object, int] = {}
    kinds = np.array([numbers.setdefault(_alike(layer), len(numbers)) for layer in workload.layers])
    for length in range(layers // count, 0, -1):
        begin = _first_run(kinds[:-length] == kinds[length:], length * (count - 1))
        if begin is not None:
            return MicroBatches(begin, length, count, layers)
    raise InputError(
        f"{workload.source}: ga is {count}, expected rows that are repeated {count} times, once for each micro-batch"
    )


def _alike(layer: Layer) -> object:
    passes = (layer.forward, layer.input_gradient, layer.weight_gradient)
    return layer.name, *((part.collective, part.bytes, part.group) for part in passes)


def _first_run(equal: npt.NDArray[np.bool_], length: int) -> int | None:
    """Where ``length`` in a row are true for the first time."""
    ends = np.flatnonzero(np.diff(np.concatenate(([False], equal, [False])).astype(np.int8)))
    begins, lasts = ends[::2], ends[1::2]
    long_enough = np.flatnonzero(lasts - begins >= length)
    return int(begins[long_enough[0]]) if len(long_enough) else None
