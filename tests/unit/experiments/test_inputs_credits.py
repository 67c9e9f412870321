"""Warnings of links by credit on a network of flows, which knows nothing of credits."""

from __future__ import annotations

from typing import Any

import pytest
from support.small_run import small_system

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.workload.files.astra_sim import parse_workload

WORKLOAD = "DATA\n1\nonly -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000 0\n"
FLOWS_KNOW_NOTHING = "; flows know nothing of that: times with packets may be far longer"


def torus(given: dict[str, Any], **keys: Any) -> NetworkConfig:
    link, switch = {"rate": "400Gbps", "delay": "500ns"}, {"buffer": "64MB", "credits": given}
    topology = {"kind": "torus", "shape": [3, 3], "dimensions": [9], "link": link, "switch": switch, **keys}
    return parse_network({"topology": topology, "transport": {"kind": "roce", "congestion_control": "none"}})


def warned(network: NetworkConfig, backend: str) -> list[str]:
    found = load_inputs(parse_workload(WORKLOAD), small_system(), network, Options(backend=backend)).warnings
    return [words for words in found if "credits" in words]


def test_credits_below_a_round_trip_s_worth_are_told_with_flows_too() -> None:
    network = torus({"bytes": "8KB", "lanes": 4})
    packets, flows = warned(network, "ns3"), warned(network, "flow")
    assert packets
    assert flows == [words + FLOWS_KNOW_NOTHING for words in packets]
    assert warned(torus({"bytes": "256KB", "lanes": 4}), "flow") == []


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_valiant_s_routes_need_as_many_lanes_with_flows_as_with_packets(backend: str) -> None:
    with pytest.raises(InputError, match="found 1 lane, too few for routing kind valiant"):
        warned(torus({"bytes": "256KB", "lanes": 1}, routing={"kind": "valiant"}), backend)


def test_a_buffer_behind_credits_needs_nothing_for_losses() -> None:
    small = torus({"bytes": "8KB", "lanes": 1}, link={"rate": "400Gbps", "delay": "1ms"})
    found = load_inputs(parse_workload(WORKLOAD), small_system(), small, Options()).warnings
    assert not [words for words in found if "after a loss" in words]
