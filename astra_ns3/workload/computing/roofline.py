"""Times by what a device could do at most: operations over its peak, bytes over its memory's bandwidth.

Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
architectures", CACM 52(4), 2009. Each of both is reduced to a share that kinds of operations reach.

Model limits: caches aren't modelled, nor shapes that fill a device badly; operations never overlap.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from astra_ns3.config.model.compute import RooflineKeys
from astra_ns3.config.model.devices import Device
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.units import PS_PER_SECOND

_PRODUCTS = (OperationKind.MATMUL, OperationKind.CONVOLUTION, OperationKind.ATTENTION)
_FLOAT8 = "float8"


class RooflineClock:
    """``datatype``: of products of matrices; with ``float8`` attention, which isn't done in it, is in ``bfloat16``.

    Raises InputError if the device hasn't the datatype.
    """

    def __init__(self, keys: RooflineKeys, device: Device, datatype: str) -> None:
        self._overhead_ps = keys.losses.launch_overhead_ps
        self._flops: dict[OperationKind, Fraction | None] = {}
        self._bytes: dict[OperationKind, Fraction] = {}
        for kind in OperationKind:
            peak = _peak(device, kind, datatype)
            self._flops[kind] = None if peak is None else _share(keys.efficiency, kind) * peak / PS_PER_SECOND
            self._bytes[kind] = _share(keys.memory_efficiency, kind) * device.memory_bandwidth / PS_PER_SECOND

    def time_ps(self, operation: Operation) -> int:
        """See :class:`~astra_ns3.workload.computing.clock.Clock`."""
        return ceil(max(self.processor_ps(operation), self.memory_ps(operation))) + self._overhead_ps

    def memory_bound(self, operation: Operation) -> bool:
        """See :class:`~astra_ns3.workload.computing.clock.Clock`."""
        return self.memory_ps(operation) > self.processor_ps(operation)

    def processor_ps(self, operation: Operation) -> Fraction:
        """Time of its arithmetic."""
        per_ps = self._flops[operation.kind]
        return Fraction(0) if per_ps is None else operation.flops / per_ps

    def memory_ps(self, operation: Operation) -> Fraction:
        """Time of its way to and from memory."""
        return operation.bytes / self._bytes[operation.kind]


def _peak(device: Device, kind: OperationKind, datatype: str) -> int | None:
    """Operations per second of a kind; None: nobody knows."""
    if kind not in _PRODUCTS:
        return device.vector
    if datatype == _FLOAT8 and kind is OperationKind.ATTENTION:
        return device.peak_for("bfloat16")
    return device.peak_for(datatype)


def _share(shares: object, kind: OperationKind) -> Fraction:
    """The decimal number as a person wrote it, exactly."""
    return Fraction(str(getattr(shares, kind.value)))
