"""Every measured case of ASTRA-sim, on the analytical backend, through the program's front door.

Version 1.0 under its preset: finish times to the nanosecond and every cell of its EndToEnd tables. Version 2 with our
rules within half a percent. Its workloads and systems also run as packets. What was measured with files of our making
is in ``tests/reference``; the rest, with its files, lies beside the repository and is skipped where it is absent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from support.lengths import some_slow
from support.measured import OWN, AstraSimCase, Row, astra_sim_cases, rows, shared, shared_rows

import astra_ns3
from astra_ns3.config.network.analytical_network import GIB_PER_NS, AnalyticalDimension, AnalyticalNetwork
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

TOLERANCE_US = 0.0011
TOPOLOGIES: dict[str, Literal["ring", "switch"]] = {"Ring": "ring", "Switch": "switch"}
VERSION_2_TOLERANCE = 0.005
PACKET_SCALE = 0.01
LARGE_PACKET_SCALE = 0.0002
"""Of the transformers, whose collectives are a hundred times as large."""


# Seconds each; others play as long a loop on the same network, or the same loop elsewhere.
LONG = (
    *(
        "m_RG_RN50",
        "v_ep10_TF",
        "v_ep10_RN50",
        "v_baseline_RN50",
        "a_RN50",
        "a_TFfib",
        "d2_TFfib",
        "b_TFfib",
        "d2_RN50",
    ),
    *("th_eq_ring_themis_FIFO", "th_eq_ring_themis_SCF_s16_c4", "th_eq_ring_themisFlex_FIFO_s16_c4"),
)
QUICK = [case for case in astra_sim_cases() if not case.row["id"].startswith(LONG)]


def files(kind: str) -> list[Path]:
    folder = shared()
    return [] if folder is None else sorted((folder / "astra-sim-1.0" / kind).iterdir())


needs_measurements = pytest.mark.skipif(shared() is None, reason="the measurements are not beside this repository")


def cells(lines: list[str]) -> list[list[str | float]]:
    """A table's cells but for its heading, which spells two names otherwise, and the run's name; numbers as numbers."""
    table = [[cell for place, cell in enumerate(line.split(",")) if place != 1] for line in lines[1:]]
    return [[float(cell) if cell.replace(".", "").isdigit() else cell for cell in row] for row in table]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", some_slow(astra_sim_cases(), QUICK), ids=lambda case: str(case.row["id"]))
def test_version_1_is_met_to_the_nanosecond(case: AstraSimCase, tmp_path: Path) -> None:
    inputs = case.files(tmp_path)
    result = astra_ns3.run(
        workload=inputs.workload,
        system=inputs.system,
        network=inputs.network,
        passes=case.passes,
        comm_scale=case.comm_scale,
        backend="analytical",
        compat="astra-sim-1.0",
        output=tmp_path / "out",
    )
    assert result.finish_ns / 1000 == pytest.approx(case.finish_us, abs=TOLERANCE_US)
    expected = None if case.ours else inputs.network.parents[1] / "end_to_end" / f"{case.row['id']}.csv"
    if expected is not None and expected.exists():
        ours = cells((tmp_path / "out" / "EndToEnd.csv").read_text().splitlines())
        theirs = cells(expected.read_text().splitlines())
        assert [len(row) for row in ours] == [len(row) for row in theirs]
        for mine, row in zip(ours, theirs, strict=True):
            assert mine == [pytest.approx(cell, abs=TOLERANCE_US) if isinstance(cell, float) else cell for cell in row]


@needs_measurements
def test_the_figures_are_those_that_were_measured() -> None:
    measured = {row["id"]: row["finish_us"] for row in shared_rows("astra-sim-1.0/expected.csv")}
    ours = {case.row["id"]: case.row["finish_us"] for case in astra_sim_cases() if case.ours}
    assert ours.items() <= measured.items()
    assert len(astra_sim_cases()) == len(measured)
    assert rows(OWN / "astra_sim_2_analytical.csv") == shared_rows("astra_analytical.csv")


@pytest.mark.parametrize(
    "case", rows(OWN / "astra_sim_2_analytical.csv"), ids=lambda case: "-".join(list(case.values())[:8])
)
def test_version_2_is_met_within_half_a_percent(case: Row) -> None:
    network = AnalyticalNetwork(
        grid=(
            AnalyticalDimension(
                topology=TOPOLOGIES[case["topology"]],
                npus=int(case["n"]),
                bytes_per_ns=float(case["bandwidth_GBps"]) * GIB_PER_NS,
                link_latency_ns=float(case["latency_ns"]),
            ),
        )
    )
    keys: dict[str, object] = {"endpoint-delay": 10, "active-chunks-per-dimension": 1, "reduction-bytes-per-ns": 1600}
    keys |= {"scheduling-policy": "LIFO", "preferred-dataset-splits": int(case["chunks"])}
    for collective in ("all-reduce", "reduce-scatter", "all-gather"):
        asked = collective.replace("-", "_") == case["collective"]
        keys[f"{collective}-implementation"] = case["algorithm"] if asked else "ring"
    keys["all-to-all-implementation"] = "direct"
    word = case["collective"].replace("_", "").upper()
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {word} {1 << 20} 0\n", "micro"),
        system=parse_system(keys),
        network=network,
        backend="analytical" if case["model"] == "congestion-unaware" else "analytical-queues",
        compat="astra-sim-2",
    )
    finish_ns = result.npus["finish_us"] * 1000
    assert finish_ns.max() == pytest.approx(float(case["finish_last_ns"]), rel=VERSION_2_TOLERANCE)
    assert finish_ns.min() == pytest.approx(float(case["finish_first_ns"]), rel=VERSION_2_TOLERANCE)


def packets_of(workload: Path, system: Path | SystemConfig, dimensions: list[int]) -> astra_ns3.Result:
    scale = LARGE_PACKET_SCALE if workload.name.startswith("Transformer") else PACKET_SCALE
    network = parse_network(
        {
            "topology": {
                "kind": "single-switch",
                "npus": 16,
                "dimensions": dimensions,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB"},
            }
        }
    )
    return astra_ns3.run(workload=workload, system=system, network=network, comm_scale=scale)


@needs_measurements
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workload", files("workload"), ids=lambda path: str(path.name))
def test_every_workload_runs_as_packets(workload: Path) -> None:
    folder = shared()
    assert folder is not None
    system = folder / "astra-sim-1.0/system/sample_torus_sys.txt"
    result = packets_of(workload, system, [4, 2, 2])
    assert result.finish_ps > 0
    assert result.metadata["complete"]


@needs_measurements
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("system", files("system"), ids=lambda path: str(path.name))
def test_every_system_runs_as_packets(system: Path) -> None:
    folder = shared()
    assert folder is not None
    entries = system.read_text().split("all-reduce-implementation:")[1].split()[0].count("_") + 1
    dimensions = {1: [16], 2: [4, 4], 3: [4, 2, 2]}[entries]
    result = packets_of(folder / "astra-sim-1.0/workload/microAllReduce.txt", system, dimensions)
    assert result.metadata["complete"]
