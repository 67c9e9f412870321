"""The DLRM loop over RoCE: with each congestion control it completes, and twice in one process it is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.roce_network import CONTROLS, LOSSLESS, RELIABILITIES, roce_star

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig

NPUS = 8
SCALE = 0.25
"""Of the collectives, so that a run takes well below a second."""


def network(control: str, reliability: str = "go-back-n", error_rate: float = 0.0) -> NetworkConfig:
    """Hosts on one switch whose memory and marking are small enough to matter."""
    return roce_star(
        NPUS,
        error_rate=error_rate,
        switch={"buffer": "1MB", "pfc": LOSSLESS, "ecn": {"kmin": "20KB", "kmax": "100KB", "pmax": 0.3}},
        congestion_control=control,
        reliability={"kind": reliability, "timeout": "200us", "retries": 20},
    )


def run(repository: Path, config: NetworkConfig, output: Path | None = None) -> astra_ns3.Result:
    inputs = repository / "inputs"
    return astra_ns3.run(
        workload=inputs / "workload/DLRM_HybridParallel.txt",
        system=inputs / "system/flat.txt",
        network=config,
        comm_scale=SCALE,
        seed=5,
        output=output,
        record=["flows"] if output else [],
    )


@pytest.mark.parametrize("control", CONTROLS)
def test_the_dlrm_loop_completes_and_is_the_same_twice(control: str, repository: Path, tmp_path: Path) -> None:
    results = [run(repository, network(control), tmp_path / name) for name in ("first", "second")]
    assert all(result.complete for result in results)
    first, second = (result.flows for result in results)
    assert first is not None
    assert second is not None
    assert len(first) > 1000
    assert not first.duplicated(["collective", "chunk", "phase", "row"]).any()
    assert first.equals(second)
    for name in ("EndToEnd.csv", "collectives.csv", "npus.csv", "switch.csv"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


@pytest.mark.parametrize("reliability", RELIABILITIES)
def test_the_dlrm_loop_completes_over_lines_that_lose_packets(reliability: str, repository: Path) -> None:
    clean = run(repository, network("dcqcn"))
    lossy = run(repository, network("dcqcn", reliability, error_rate=1e-3))
    assert lossy.complete
    assert lossy.finish_ps > clean.finish_ps


def test_no_control_finishes_before_a_network_without_congestion(repository: Path) -> None:
    """Lines ten times as fast with all the memory there is bound them all from below."""
    fast = run(repository, roce_star(NPUS, rate="1Tbps"))
    for control in CONTROLS:
        assert run(repository, network(control)).finish_ps > fast.finish_ps
