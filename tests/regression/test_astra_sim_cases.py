"""Cases measured on ASTRA-sim 1.0 with its analytical network, under the preset of that name, to the nanosecond.

The network here is the pure-Python one of the tests, so what is checked are the rules of the system and the workload.
What was measured with files of our making is in ``tests/reference``; the rest lies beside the repository.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.astra_sim_network import AstraSimNetwork, Network10
from support.lengths import some_slow
from support.measured import AstraSimCase, astra_sim_cases
from support.training_driver import TrainingDriver

from astra_ns3.config.core.compatibility import preset
from astra_ns3.network.api import EndpointModel
from astra_ns3.system.file import read_system
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.files.astra_sim import read_workload

TOLERANCE_NS = 1
#: 512 NPUs in Python, 4 s each, and the longest loops: left to the analytical backend's own test.
LEFT_OUT = ("th_eq_", "a_RN50", "a_TF_", "m_RG_RN50", "v_baseline_RN50", "v_ep10_RN50", "v_ep10_TF", "v_baseline_TF")
#: Half a second of CPU time or more each; the analytical backend plays most of them in its own test.
LONG = (
    *("m_SCF_DLRM", "m_themis", "m_lessRemainingPhaseFirst_DLRM", "a_TFfib", "a_Cust", "a_DLRM", "a_MLP", "d2_RN50"),
    *("d2_TF", "v_baseline_DLRM", "v_baseline_MLPdm", "v_ep10_DLRM"),
)


CASES = [case for case in astra_sim_cases() if not case.row["id"].startswith(LEFT_OUT)]
QUICK = [case for case in CASES if not case.row["id"].startswith(LONG)]


def finish_ns(case: AstraSimCase, folder: Path) -> float:
    """When NPU 0 ends."""
    files = case.files(folder)
    network = Network10(files.network)
    system = read_system(files.system)
    workload = read_workload(files.workload).scaled(case.comm_scale, 1.0)
    driver = TrainingDriver(
        AstraSimNetwork(network, EndpointModel(system.scaled_endpoint_delay_ns * PS_PER_NS)),
        system,
        workload,
        case.passes,
        dimensions=network.dimensions,
        bandwidths=network.bandwidths,
        compatibility=preset("astra-sim-1.0"),
    )
    driver.run()
    return driver.records().npus[0].finish_ps / PS_PER_NS


@pytest.mark.parametrize("case", some_slow(CASES, QUICK), ids=lambda case: str(case.row["id"]))
def test_a_run_ends_when_astra_sim_ends(case: AstraSimCase, tmp_path: Path) -> None:
    assert finish_ns(case, tmp_path) == pytest.approx(case.finish_us * 1000, abs=TOLERANCE_NS)
