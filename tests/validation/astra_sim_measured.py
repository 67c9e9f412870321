"""Finish times that we measured on ASTRA-sim 1.0 and 2 with their analytical networks: ``tests/reference``."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from regression.test_astra_sim_analytical import TOPOLOGIES
from support.measured import OWN, AstraSimCase, Row, rows

import astra_ns3
from astra_ns3.config.network.analytical_network import GIB_PER_NS, AnalyticalDimension, AnalyticalNetwork
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from validation.comparison import Comparison, Found, Group, recorded, root, worst

SOURCE_1 = "1.0, measured"
SOURCE_2 = "2, measured"
TEST = "tests/regression/test_astra_sim_analytical.py"
WITHIN_US = 0.0011
VERSION_1 = rows(OWN / "astra_sim_1_analytical.csv")
VERSION_2 = rows(OWN / "astra_sim_2_analytical.csv")


def _pair_1(row: Row) -> tuple[float, float]:
    case = AstraSimCase(row, ours=True)
    with tempfile.TemporaryDirectory() as folder:
        files = case.files(Path(folder))
        result = astra_ns3.run(
            workload=files.workload,
            system=files.system,
            network=files.network,
            passes=case.passes,
            backend="analytical",
            compat="astra-sim-1.0",
        )
    return result.finish_ns / 1000, case.finish_us


def _version_1(chosen: Sequence[Row]) -> Callable[[], Found]:
    return lambda: worst([_pair_1(row) for row in chosen], WITHIN_US)


def _pairs_2(row: Row) -> list[tuple[float, float]]:
    """When the first and the last NPU end, in ns."""
    dimension = AnalyticalDimension(
        topology=TOPOLOGIES[row["topology"]],
        npus=int(row["n"]),
        bytes_per_ns=float(row["bandwidth_GBps"]) * GIB_PER_NS,
        link_latency_ns=float(row["latency_ns"]),
    )
    keys: dict[str, object] = {"endpoint-delay": 10, "active-chunks-per-dimension": 1, "reduction-bytes-per-ns": 1600}
    keys |= {"scheduling-policy": "LIFO", "preferred-dataset-splits": int(row["chunks"])}
    keys |= {f"{name}-implementation": "ring" for name in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")}
    keys[f"{row['collective'].replace('_', '-')}-implementation"] = row["algorithm"]
    word = row["collective"].replace("_", "").upper()
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {word} {1 << 20} 0\n", "micro"),
        system=parse_system(keys),
        network=AnalyticalNetwork(grid=(dimension,)),
        backend="analytical" if row["model"] == "congestion-unaware" else "analytical-queues",
        compat="astra-sim-2",
    )
    ends_ns = result.npus["finish_us"] * 1000
    return [
        (ends_ns.min(), float(row["finish_first_ns"])),
        (ends_ns.max(), float(row["finish_last_ns"])),
    ]


def _version_2(model: str) -> Callable[[], Found]:
    chosen = [row for row in VERSION_2 if row["model"] == model]
    return lambda: worst([pair for row in chosen for pair in _pairs_2(row)], 0.5, 1000)


def _theirs(times: Sequence[float], unit: str) -> str:
    return f"{min(times):,.3f} to {max(times):,.3f} {unit}"


def _recorded_cases() -> Found:
    """From the table that the repository keeps: cases with files of ASTRA-sim's."""
    with (root() / "docs" / "tables" / "astra-sim-1.0.csv").open(encoding="utf-8", newline="") as file:
        kept = list(csv.DictReader(file))
    own = {row["id"] for row in VERSION_1}
    cases = [(float(row["preset (us)"]), float(row["ASTRA-sim (us)"])) for row in kept if row["Case"] not in own]
    return worst(cases, WITHIN_US)


_ONE = [row for row in VERSION_1 if not row["id"].startswith("th_eq")]
_THEMIS = [row for row in VERSION_1 if row["id"].startswith("th_eq")]


def _times(chosen: Sequence[Row]) -> str:
    return _theirs([float(row["finish_us"]) for row in chosen], "us")


def _times_2(model: str) -> str:
    return _theirs([float(row["finish_last_ns"]) / 1000 for row in VERSION_2 if row["model"] == model], "us")


GROUPS = [
    Group(
        "ASTRA-sim 1.0 (07d5d19, analytical d27635b) and 2 (518bd51), analytical networks: finish times",
        [
            Comparison(
                "astra-sim-1-collectives",
                f"1.0: {len(_ONE)} collectives of six algorithms, 8 to 32 NPUs, on rings and switches",
                SOURCE_1,
                _times(_ONE),
                _version_1(_ONE),
                TEST,
            ),
            Comparison(
                "astra-sim-1-themis",
                f"1.0: {len(_THEMIS)} runs on three dimensions of 8, baseline, Themis and its Flex form, FIFO and SCF",
                SOURCE_1,
                _times(_THEMIS),
                _version_1(_THEMIS),
                TEST,
                fast=False,
            ),
            Comparison(
                "astra-sim-1-loops",
                "1.0: 51 runs with its own workloads: all loops, 8 to 64 NPUs; every cell of EndToEnd.csv too",
                SOURCE_1,
                "6.061 to 1,327,376.412 us",
                _recorded_cases,
                TEST,
                note="recorded, for it needs its files: docs/tables/astra-sim-1.0.csv",
            ),
            Comparison(
                "astra-sim-1-rules",
                "1.0: random loops, finishes and layers, against its rules written again in Python",
                "`tests/oracles/astra_sim.py`",
                "to the ns",
                recorded("to the ns", "equal"),
                "tests/regression/test_astra_sim_rules.py",
                note="by its test",
            ),
            Comparison(
                "astra-sim-2-unaware",
                "2 (preset `astra-sim-2`), congestion-unaware: nine collectives of 1 MiB, first and last NPU",
                SOURCE_2,
                _times_2("congestion-unaware"),
                _version_2("congestion-unaware"),
                TEST,
            ),
            Comparison(
                "astra-sim-2-aware",
                "2 (preset `astra-sim-2`), congestion-aware: the same nine with queues at links",
                SOURCE_2,
                _times_2("congestion-aware"),
                _version_2("congestion-aware"),
                TEST,
            ),
            Comparison(
                "astra-sim-2-chakra",
                "2: 405 runs of Chakra traces, 357 on its analytical networks, 48 on ns-3; each NPU and node",
                SOURCE_2,
                "within 1 ns; ns-3: 1%",
                recorded("401 of 405", "equal"),
                "tests/regression/test_graphs_astra_sim_2.py",
                note="by its test; the other four: docs/graphs.md",
            ),
            Comparison(
                "astra-sim-docs",
                "2 (preset `astra-sim-2`): all-reduce of 1 MiB on a ring of 8, as in its documentation",
                "astra-sim-docs",
                "64,440 ns",
                lambda: _docs(),
                TEST,
            ),
        ],
    )
]


def _docs() -> Found:
    row = next(
        row for row in VERSION_2 if (row["topology"], row["n"], row["model"]) == ("Ring", "8", "congestion-unaware")
    )
    _, (ours, theirs) = _pairs_2(row)
    return f"{ours:,.0f} ns", "equal" if ours == theirs else f"{ours / theirs - 1:+.3%}"
