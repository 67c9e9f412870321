"""Cases measured on ASTRA-sim 1.0 with its analytical network, under the preset of that name, to the nanosecond.

The network here is the pure-Python one of the tests, so what is checked are the rules of the system and the workload.
The measurements lie beside the repository, in ``shared/reference``; without them there is nothing to compare.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import pytest
from support.astra_sim_network import AstraSimNetwork, Network10

from astra_ns3.config.core.compatibility import preset
from astra_ns3.network.api import EndpointModel
from astra_ns3.system.file import read_system
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.driver import TrainingDriver
from astra_ns3.workload.files.astra_sim import read_workload

TOLERANCE_NS = 1
#: 512 NPUs in Python, 4 s each, and the longest loops: left to the analytical backend's own test.
SLOW = ("th_eq_", "a_RN50", "a_TF_", "m_RG_RN50", "v_baseline_RN50", "v_ep10_RN50", "v_ep10_TF", "v_baseline_TF")


@cache
def reference() -> Path | None:
    """The folder of the measurements, beside this repository or above it."""
    for folder in Path(__file__).resolve().parents:
        found = folder / "shared" / "reference" / "astra-sim-1.0"
        if found.is_dir():
            return found
    return None


def cases() -> list[dict[str, str]]:
    folder = reference()
    if folder is None:
        return []
    with (folder / "expected.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if not row["id"].startswith(SLOW)]


def finish_ns(case: dict[str, str], folder: Path) -> float:
    """When NPU 0 ends."""
    network = Network10(folder / "network" / case["network"])
    system = read_system(folder / "system" / case["system"])
    workload = read_workload(folder / "workload" / case["workload"])
    if case["options"]:
        option, _, value = case["options"].partition("=")
        assert option == "--comm-scale"
        workload = workload.scaled(float(value), 1.0)
    driver = TrainingDriver(
        AstraSimNetwork(network, EndpointModel(system.scaled_endpoint_delay_ns * PS_PER_NS)),
        system,
        workload,
        int(case["passes"]),
        dimensions=network.dimensions,
        bandwidths=network.bandwidths,
        compatibility=preset("astra-sim-1.0"),
    )
    driver.run()
    return driver.records().npus[0].finish_ps / PS_PER_NS


@pytest.mark.skipif(reference() is None, reason="the measurements are not beside this repository")
@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_a_run_ends_when_astra_sim_ends(case: dict[str, str]) -> None:
    folder = reference()
    assert folder is not None
    assert finish_ns(case, folder) == pytest.approx(float(case["finish_us"]) * 1000, abs=TOLERANCE_NS)
