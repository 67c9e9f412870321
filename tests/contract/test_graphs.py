"""Every example of a graph that another program wrote is read and played, over the transport that its file names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.many_networks import NETWORKS, small_dlrm, system_for

import astra_ns3
from astra_ns3.config.network.file import read_network_file

GRAPHS = NETWORKS / "graphs"
BROUGHT = ("switches-4x4x4.yaml", "two-servers.yaml")
"""Graphs themselves, which network files name."""
NPUS = {
    "dgx-1": 8,
    "five-cities": 10,
    "hpn": 8,
    "htsim": 16,
    "infragraph": 4,
    "networkx": 4,
    "simai": 16,
}


def test_there_is_an_example_for_each_number_here() -> None:
    assert {path.stem for path in GRAPHS.glob("*.yaml") if path.name not in BROUGHT} == set(NPUS)


@pytest.mark.parametrize("name", NPUS)
def test_a_training_job_runs_on_each_example(name: str, tmp_path: Path) -> None:
    path = GRAPHS / f"{name}.yaml"
    network = read_network_file(path).network
    assert network.npus == NPUS[name]
    result = astra_ns3.run(
        workload=small_dlrm(), system=system_for(len(network.dimensions)), network=path, output=tmp_path / "run"
    )
    assert result.complete
    assert result.metadata["statistics"]["messages"] > NPUS[name]
