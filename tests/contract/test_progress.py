"""Every network counts the bytes that it delivers: at the end as many as were planned."""

from __future__ import annotations

from typing import Any

import pytest
from support.many_networks import leaf_spine, on_transport, small_dlrm, system_for
from support.training_driver import TrainingDriver

from astra_ns3.config.network.analytical_network import AnalyticalDimension, AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.progress import ProgressMeter, expected_work
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions

ROCE = {"kind": "roce", "congestion_control": "none"}
LOSSY = {**ROCE, "reliability": {"kind": "go-back-0"}}
TWO_ON_A_HOST = {
    "kind": "single-switch",
    "npus": 8,
    "npus_per_host": 2,
    "link": {"rate": "100Gbps", "delay": "500ns"},
    "switch": {"buffer": "64MB"},
}
PASSES = 2


def networks() -> dict[str, tuple[AnyNetwork, str]]:
    lossy = leaf_spine(link={"rate": "100Gbps", "delay": "500ns", "error_rate": 1e-3})
    dimension = AnalyticalDimension(topology="switch", npus=8, bytes_per_ns=12.5, link_latency_ns=500)
    grid = AnalyticalNetwork(grid=(dimension,))
    of_packets: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "tcp": (leaf_spine(), {"kind": "tcp"}),
        "tcp and hosts of two": (TWO_ON_A_HOST, {"kind": "tcp"}),
        "tcp, lossy": (lossy, {"kind": "tcp"}),
        "roce": (leaf_spine(), ROCE),
        "roce, lossy, go back N": (lossy, ROCE),
        "roce, lossy, go back 0": (lossy, LOSSY),
        "roce, lossy, selective repeat": (lossy, {**ROCE, "reliability": {"kind": "selective-repeat"}}),
    }
    made: dict[str, tuple[AnyNetwork, str]] = {
        name: (on_transport({"topology": topology}, transport), "ns3")
        for name, (topology, transport) in of_packets.items()
    }
    return made | {name: (grid, name) for name in ("analytical", "analytical-queues")}


@pytest.mark.parametrize("name", networks())
def test_the_bytes_delivered_are_in_the_end_those_planned(name: str) -> None:
    network, backend = networks()[name]
    inputs = load_inputs(small_dlrm(), system_for(1), network, options=Options(backend=backend))
    built = create_backend(backend, plan_network(network, EndpointModel()), seed=1, recorder=RecorderOptions())
    try:
        driver = TrainingDriver(built, inputs.system, small_dlrm(), PASSES, dimensions=network.dimensions)
        meter = ProgressMeter(driver, built, expected_work([(inputs, PASSES)]), 0.0)
        assert meter.read(0, 0, 0.0).fraction == 0
        driver.run(Limits())
        progress = meter.read(built.now_ps(), 0, 0.0)
    finally:
        built.close()
    assert progress.delivered_bytes == inputs.expected(PASSES).bytes
    assert progress.fraction == pytest.approx(1.0)
