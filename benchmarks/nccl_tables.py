"""Our times beside published tables of nccl-tests, and beside NCCL's own cost formulas (the baseline).

    python benchmarks/nccl_tables.py FOLDER [--backend flow] [NAME...]

FOLDER has tables as CSV (docs/hardware.md names their sources). Errors are means of |ours / measured - 1|, out of
place where measured so, below 128 MiB and from there on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import click

from astra_ns3.experiments.nccl.comparison import compare_with, comparison_text
from astra_ns3.experiments.nccl.machine import Machine, machine_of
from astra_ns3.frozen import replace
from astra_ns3.nccl.comparing import Errors, errors_of
from astra_ns3.nccl.logs import Log, read_log

CLUSTER = "cluster-h100-{}_c01_n{}g{}"
POLARIS = "a100-slingshot-{}_polaris_n{}g4_nccl2_{}_2024-04-29-{}"


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
        Case(CLUSTER.format(f"{operation}_{kind}", servers, gpus), f"{servers}xhgx-h100", gpus, "2.29")
        for operation, kind, servers, each in (
            *((name, "single-node", 1, (4, 8)) for name in ("all_gather", "all_reduce", "alltoall")),
            *((name, "single-node", 1, (4, 8)) for name in ("reduce_scatter", "sendrecv")),
            ("all_reduce", "multi-node", 10, (1, 2, 4, 8)),
            ("sendrecv", "multi-node", 10, (1, 8)),
            ("alltoall", "pairwise", 2, (8,)),
            ("sendrecv", "pairwise", 2, (1, 8)),
        )
        for gpus in each
    ),
    *(
        Case(POLARIS.format(operation, servers, minor, time), f"{servers}xa100-slingshot", 4, f"2.{minor}")
        for operation, servers, minor, time in (
            ("all_reduce", 2, 18, "18-41-24_setup4"),
            ("all_reduce", 2, 21, "19-08-14_setup4"),
            ("all_reduce", 8, 21, "21-23-48_setup4"),
            ("alltoall", 2, 21, "19-08-14_setup5"),
        )
    ),
)


def read_case(case: Case, folder: Path, backend: str = "flow") -> tuple[Log, Machine]:
    """Return a table's rows with bytes, and the machine that it was measured on."""
    log = read_log(folder / f"{case.name}.csv")
    machine = machine_of(case.servers, case.gpus, None, case.version, case.keys, backend)
    return replace(log, rows=tuple(row for row in log.rows if row.size_bytes > 0)), machine


def play(case: Case, folder: Path, backend: str, *, shown: bool) -> str:
    """Return the line of a table."""
    found = compare_with(*read_case(case, folder, backend))
    line = f"{case.name[:60]:60} {_errors(found.compared.errors)}"
    if found.baseline is not None:
        line += f"  baseline {_errors(errors_of(found.baseline))}"
    return f"{line}\n{comparison_text(found)}" if shown else line


def _errors(errors: Errors) -> str:
    return " ".join("     -" if error is None else f"{error:6.1%}" for error in errors)


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
