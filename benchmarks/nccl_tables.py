"""Our times beside published tables of nccl-tests, and beside NCCL's own cost formulas (the baseline).

    python benchmarks/nccl_tables.py FOLDER [--backend flow] [NAME...]

FOLDER has tables as CSV (docs/hardware.md names their sources). Errors are means of |ours / measured - 1|, out of
place where measured so, below 128 MiB and from there on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.experiments.nccl.machine import machine_of
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.comparing import LARGE_BYTES
from astra_ns3.nccl.logs import read_log
from astra_ns3.nccl.servers import parse_servers
from astra_ns3.nccl.tuning import believed_us
from astra_ns3.nccl.version import parse_version


class Case(NamedTuple):
    """A table: part of its file's name, the servers, GPUs of each, NCCL's version, keys of the table nccl."""

    name: str
    servers: str
    gpus: int
    version: str = "2.26"
    keys: tuple[str, ...] = ()


CASES = (
    Case("allreduce_a100_1n8g_azure", "1xhgx-a100", 8, "2.18"),
    Case("allreduce_h100_1n8g_azure", "1xhgx-h100", 8, "2.18"),
    Case("allreduce_h100_1n8g_NVLS_b", "1xhgx-h100", 8, "2.26"),
    Case("allreduce_p5_1n8g_NVLS", "1xp5", 8, "2.21"),
    Case("allreduce_h100_2n16g_IB400_nccl2262", "2xhgx-h100", 8, "2.26"),
    Case(
        "allreduce_h100_2n16g_IB400_ring",
        "2xhgx-h100",
        8,
        "2.26",
        ("NCCL_ALGO=Ring", "NCCL_MIN_CTAS=24", "NCCL_IB_QPS_PER_CONNECTION=2"),
    ),
    Case("allreduce_h100_4n32g_IB400_nccl2262", "4xhgx-h100", 8, "2.26"),
    Case("allreduce_h100_8n64g_IB400_default", "8xhgx-h100", 8, "2.26"),
    Case("allreduce_p5_2n16g_EFA", "2xp5", 8, "2.21"),
    Case("allreduce_p4de_2n16g_EFA", "2xp4de", 8, "2.18"),
    Case("allreduce_b200_lambda_2n16g_IB", "2xhgx-b200", 8, "2.26"),
    Case("allreduce_dgx2_v100_16n256g_EDR", "16xdgx-2", 16, "2.8"),
    Case("allreduce_gb200_nvl72_72g", "1xgb200-nvl72", 72, "2.26"),
    Case("allreduce_gh200_2n8g_SS11", "2xgh200-slingshot", 4, "2.26"),
    Case("allgather_a3mega_2n16g_TCPXO", "2xa3-mega", 8, "2.21"),
    Case("alltoall_h20_2n4g_RoCE", "2xh20", 2, "2.26"),
    *(
        Case(f"cluster-h100-{operation}_single-node_c01_n1g{gpus}", "1xhgx-h100", gpus, "2.29")
        for operation in ("all_gather", "all_reduce", "alltoall", "reduce_scatter", "sendrecv")
        for gpus in (4, 8)
    ),
    *(Case(f"cluster-h100-all_reduce_multi-node_c01_n10g{gpus}", "10xhgx-h100", gpus, "2.29") for gpus in (1, 2, 4, 8)),
    *(Case(f"cluster-h100-sendrecv_multi-node_c01_n10g{gpus}", "10xhgx-h100", gpus, "2.29") for gpus in (1, 8)),
    Case("cluster-h100-alltoall_pairwise_c01_n2g8", "2xhgx-h100", 8, "2.29"),
    Case("cluster-h100-sendrecv_pairwise_c01_n2g1", "2xhgx-h100", 1, "2.29"),
    Case("cluster-h100-sendrecv_pairwise_c01_n2g8", "2xhgx-h100", 8, "2.29"),
    Case("a100-slingshot-all_reduce_polaris_n2g4_nccl2_18_2024-04-29-18-41-24_setup4", "2xa100-slingshot", 4, "2.18"),
    Case("a100-slingshot-all_reduce_polaris_n2g4_nccl2_21_2024-04-29-19-08-14_setup4", "2xa100-slingshot", 4, "2.21"),
    Case("a100-slingshot-all_reduce_polaris_n8g4_nccl2_21_2024-04-29-21-23-48_setup4", "8xa100-slingshot", 4, "2.21"),
    Case("a100-slingshot-alltoall_polaris_n2g4_nccl2_21_2024-04-29-19-08-14_setup5", "2xa100-slingshot", 4, "2.21"),
)
_KINDS = {
    "all_reduce": CollectiveKind.ALL_REDUCE,
    "all_gather": CollectiveKind.ALL_GATHER,
    "reduce_scatter": CollectiveKind.REDUCE_SCATTER,
}


def _error(pairs: Sequence[tuple[float, float]]) -> str:
    return f"{sum(abs(ours / measured - 1) for ours, measured in pairs) / len(pairs):6.1%}" if pairs else "     -"


def _halves(sizes: Sequence[int], ours: Sequence[float], measured: Sequence[float]) -> str:
    rows = list(zip(sizes, ours, measured, strict=True))
    below = [(one, other) for size, one, other in rows if size < LARGE_BYTES]
    above = [(one, other) for size, one, other in rows if size >= LARGE_BYTES]
    return f"{_error(below)} {_error(above)}"


def play(case: Case, folder: Path, backend: str, *, shown: bool) -> str:
    """Return the line of a table."""
    log = read_log(folder / f"{case.name}.csv")
    rows = [row for row in log.rows if row.size_bytes > 0]
    sizes, measured = [row.size_bytes for row in rows], [row.measured_us for row in rows]
    machine = machine_of(case.servers, case.gpus, None, case.version, case.keys, backend)
    found = machine.bench(log.collective, sizes)
    ours = [row.time_us for row in found]
    count, server = parse_servers(case.servers)
    who = Communicator(server, count, case.gpus, parse_version(case.version), machine.table.variables)
    kind = _KINDS.get(log.collective)
    line = f"{case.name[:60]:60} {_halves(sizes, ours, measured)}"
    if kind is not None:
        line += "  baseline " + _halves(sizes, [believed_us(who, kind, size) for size in sizes], measured)
    if shown:
        for row, one in zip(rows, found, strict=True):
            base = "" if kind is None else f" baseline {believed_us(who, kind, row.size_bytes):10.1f}"
            line += (
                f"\n  {row.size_bytes:12} measured {row.measured_us:10.1f} ours {one.time_us:10.1f} "
                f"({one.time_us / row.measured_us:5.2f}){base} busbw {one.bus_gbytes_per_s:7.1f} {one.algorithm} "
                f"{one.protocol} {one.channels} {one.binds} {one.share:.0%}"
            )
    return line


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--backend", default="flow", show_default=True)
@click.option("--rows", is_flag=True, help="Print each size.")
def main(folder: Path, names: tuple[str, ...], backend: str, rows: bool) -> None:
    """Play the tables whose names contain one of NAMES (default: all)."""
    click.echo(f"{'table':60} below 128 MiB, from there on")
    for case in CASES:
        if not names or any(name in case.name for name in names):
            click.echo(play(case, folder, backend, shown=rows))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
