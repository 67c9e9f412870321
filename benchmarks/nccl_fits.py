"""The fits of docs/nccl.md: what each table tells of a host's overhead and a NIC's efficiency, and what that helps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from nccl_tables import CASES, read_case
from nccl_text import table_lines

from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl.comparison import compare_with
from astra_ns3.experiments.nccl.fit import Measured, fit_logs
from astra_ns3.nccl.comparing import Errors

FITS: Mapping[str, tuple[str, ...]] = {
    "2 x p4de, EFA, all-reduce": ("allreduce_p4de_2n16g_EFA",),
    "2 x p5, EFA, all-reduce": ("allreduce_p5_2n16g_EFA",),
    "2 x HGX H100, InfiniBand, ring of 24 channels": ("allreduce_h100_2n16g_IB400_ring",),
    "2 x HGX B200, InfiniBand, all-reduce": ("allreduce_b200_lambda_2n16g_IB",),
    "2 x A3 Mega, TCPXO, all-gather": ("allgather_a3mega_2n16g_TCPXO",),
    "2 x 2 H20, RoCE, all-to-all": ("alltoall_h20_2n4g_RoCE",),
    "2, 4, 8 x HGX H100, InfiniBand, all-reduce": (
        "allreduce_h100_2n16g_IB400_nccl2262",
        "allreduce_h100_4n32g_IB400_nccl2262",
        "allreduce_h100_8n64g_IB400_default",
    ),
}
_HEAD = ("Table", "overhead (us a message)", "efficiency", "without", "with")
_NOT_TOLD = "not told"


def fits_text(folder: Path) -> str:
    """Return the table of fits."""
    cases = {case.name: case for case in CASES}
    rows = [(title, *_cells([read_case(cases[name], folder) for name in names])) for title, names in FITS.items()]
    return table_lines(_HEAD, rows)


def _cells(measured: list[Measured]) -> tuple[str, str, str, str]:
    try:
        found = fit_logs(measured)
    except InputError:
        without = (compare_with(log, machine).compared.errors for log, machine in measured)
        return _NOT_TOLD, _NOT_TOLD, _below(without), "-"
    overheads = ", ".join(f"{protocol} {fitted.value:.1f}" for (_, protocol), fitted in found.fit.overheads.items())
    efficiency = "" if found.fit.efficiency is None else f"{found.fit.efficiency.value:.3f}"
    return overheads or _NOT_TOLD, efficiency or _NOT_TOLD, _below(found.before), _below(found.after)


def _below(errors: Iterable[Errors]) -> str:
    return ", ".join("-" if below is None else f"{below:.1%}" for below, _ in errors)
