"""Times that a user measured: exact where measured, in between by interpolation, outside not at all unless asked for.

Times that grow with a column everywhere in the table grow with it in between, too; the rules are those of
:class:`~astra_ns3.workload.computing.measured_grid.MeasuredGrid`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import wrong
from astra_ns3.workload.computing.clock import Clock
from astra_ns3.workload.computing.measured_grid import MeasuredGrid
from astra_ns3.workload.computing.table_file import Measured, Place

_SHAPE = ("m", "n", "k")


class TableClock:
    """``tables``: by kind of operation. ``extrapolates``: tells times outside of what was measured, too.

    ``beside``: times the kinds of operations that no table has (None: nobody does).
    """

    def __init__(
        self, tables: Mapping[OperationKind, Measured], extrapolates: bool, beside: Clock | None = None
    ) -> None:
        self._grids = {kind: MeasuredGrid(measured) for kind, measured in tables.items()}
        self._source = next(iter(tables.values())).source
        self._extrapolates = extrapolates
        self._beside = beside

    def time_ps(self, operation: Operation) -> int:
        """See :class:`~astra_ns3.workload.computing.clock.Clock`."""
        grid = self._grids.get(operation.kind)
        if grid is not None:
            return self._measured_ps(grid, operation)
        if self._beside is None:
            raise wrong(
                f"has no times of {operation.kind.value}, which operation '{operation.name}' is; with "
                "compute.device they are those of the roofline",
                self._source,
            )
        return self._beside.time_ps(operation)

    def memory_bound(self, operation: Operation) -> bool:
        """What isn't in the table as the other clock says; a measured time doesn't tell."""
        return self._beside is not None and operation.kind not in self._grids and self._beside.memory_bound(operation)

    def _measured_ps(self, grid: MeasuredGrid, operation: Operation) -> int:
        columns = grid.measured.columns
        at = _place(grid.measured, operation)
        products = operation.count if "m" in columns and "count" not in columns else 1
        if (exact := grid.measured.times_ps.get(at)) is not None:
            return ceil(products * exact)
        if not self._extrapolates and grid.outside(at):
            raise wrong(f"{self.outside(operation)}; measure it, or let compute.extrapolate be on")
        return products * grid.time_ps(at)

    def outside(self, operation: Operation) -> str:
        """What of an operation is outside of what was measured, in words; "" if nothing is, or nobody measured it."""
        grid = self._grids.get(operation.kind)
        outside = grid.outside(_place(grid.measured, operation)) if grid is not None else ""
        where = f"{self._source}: operation '{operation.name}', a {operation.kind.value}"
        return f"{where}, has {outside}" if outside else ""


def _place(measured: Measured, operation: Operation) -> Place:
    """Where an operation is in a table; raises InputError if it doesn't say."""
    values = {"count": operation.count, "flops": operation.flops, "bytes": operation.bytes}
    if operation.shape is not None:
        values.update(zip(_SHAPE, operation.shape, strict=True))
    lacking = [name for name in measured.columns if not values.get(name)]
    if lacking:
        raise wrong(
            f"times of {measured.kind.value} depend on {', '.join(measured.columns)}, and operation "
            f"'{operation.name}' has no {lacking[0]}",
            measured.source,
        )
    return tuple(values[name] for name in measured.columns)
