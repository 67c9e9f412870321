"""Times of products of matrices on systolic arrays; all other operations by the roofline of the device around them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from astra_ns3.config.model.compute import Systolic
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import refuse, wrong
from astra_ns3.units import PS_PER_SECOND
from astra_ns3.workload.computing.folds import Folds, ProductSizes, folds_of
from astra_ns3.workload.computing.roofline import RooflineClock
from astra_ns3.workload.computing.scalesim import ScalesimCycles

_PRODUCTS = (OperationKind.MATMUL, OperationKind.CONVOLUTION)
EASY = 1 << 21
"""Cycles times rows and columns of a product that scalesim does in about ten seconds."""
HARDEST = 1 << 25
"""That it does in minutes, with a gigabyte of memory."""


class SystolicClock:
    """Products of matrices on ``keys``' arrays, which share the folds of a product evenly.

    Operands come from the memory of the device, if one is named, at the roofline's speed. ``beside``: times everything
    else, attention and products without a shape included (None: nobody does). Raises InputError if scalesim is asked
    for and isn't there.
    """

    def __init__(self, keys: Systolic, beside: RooflineClock | None) -> None:
        self._keys = keys
        self._beside = beside
        self._scalesim = None if keys.method == "closed_form" else ScalesimCycles.found(keys)

    def time_ps(self, operation: Operation) -> int:
        """See :class:`~astra_ns3.workload.computing.clock.Clock`."""
        shape = _shape(operation)
        if shape is not None:
            longer_ps = max(self._array_ps(operation, shape), self._memory_ps(operation))
            return longer_ps + self._keys.losses.launch_overhead_ps
        if self._beside is None:
            raise wrong(
                f"operation '{operation.name}', a {operation.kind.value}, is no product of matrices with a "
                "shape, which a systolic array could do; name a compute.device"
            )
        return self._beside.time_ps(operation)

    def memory_bound(self, operation: Operation) -> bool:
        """See :class:`~astra_ns3.workload.computing.clock.Clock`."""
        shape = _shape(operation)
        if shape is None:
            return self._beside is not None and self._beside.memory_bound(operation)
        return self._memory_ps(operation) > self._array_ps(operation, shape)

    def _array_ps(self, operation: Operation, shape: ProductSizes) -> int:
        folds = folds_of(self._keys, shape)
        all_cycles = self._all_cycles(operation.name, shape, folds)
        turns = -(-folds.count * operation.count // self._keys.arrays)
        return ceil(Fraction(all_cycles, folds.count) * turns * PS_PER_SECOND / self._keys.frequency)

    def _memory_ps(self, operation: Operation) -> int:
        return 0 if self._beside is None else ceil(self._beside.memory_ps(operation))

    def _all_cycles(self, name: str, shape: ProductSizes, folds: Folds) -> int:
        """Cycles of one product on one array."""
        effort = folds.all_cycles * (self._keys.rows + self._keys.columns)
        if self._scalesim is None or (self._keys.method == "auto" and effort > EASY):
            return folds.all_cycles
        refuse(
            effort > HARDEST,
            f"operation '{name}', {' x '.join(map(str, shape))} (m, n, k), is too large for scalesim: let "
            "compute.method be auto or closed_form",
        )
        return self._scalesim.cycles(shape)


def _shape(operation: Operation) -> ProductSizes | None:
    """The sizes of a product that an array can do; None for other operations."""
    return operation.shape if operation.kind in _PRODUCTS else None
