"""tenants.csv: a row per tenant of a run with several."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.experiments.tables import CellColumn, Table, microseconds
from astra_ns3.network.run_document import TenantDocument

TENANTS = "tenants.csv"

TENANT_COLUMNS: tuple[CellColumn[TenantDocument], ...] = (
    ("tenant", lambda tenant: tenant["name"]),
    ("npus", lambda tenant: len(tenant["npus"])),
    ("start_us", lambda tenant: microseconds(tenant["start_ps"])),
    ("finish_us", lambda tenant: _finish(tenant)),
    ("duration_us", lambda tenant: microseconds(tenant["finish_ps"]) if tenant["complete"] else None),
    ("compute_us", lambda tenant: microseconds(tenant["compute_ps"])),
    ("exposed_us", lambda tenant: microseconds(tenant["exposed_ps"])),
)


def tenants_table(tenants: Sequence[TenantDocument]) -> Table:
    """When each tenant started and finished (empty if it has not), and the times of the NPU that it reports."""
    return Table.of(TENANTS, TENANT_COLUMNS, tenants)


def _finish(tenant: TenantDocument) -> str | None:
    return microseconds(tenant["start_ps"] + tenant["finish_ps"]) if tenant["complete"] else None
