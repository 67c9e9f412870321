"""Networks of one NPU, and of one host: nothing travels, and everything still works."""

from __future__ import annotations

from typing import Any

import pytest
from support.many_networks import LINK, SWITCH, small_dlrm, system_for

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.topology.kinds import KINDS
from astra_ns3.experiments.validate import validate

WIRES = {"link": LINK, "switch": SWITCH}
ONE_NPU: dict[str, dict[str, Any]] = {
    "single-switch": {"npus": 1, **WIRES},
    "ring": {"npus": 1, **WIRES},
    "torus": {"shape": [1], **WIRES},
    "mesh": {"shape": [1, 1], **WIRES},
    "leaf-spine": {"leaves": 1, "spines": 1, "hosts_per_leaf": 1, **WIRES},
    "fat-tree": {"k": 2, "npus": 1, **WIRES},
    "clos": {"levels": [{"children": 1, **WIRES}, {"children": 1, **WIRES}]},
    "hierarchical": {"nodes": 1, "npus_per_node": 1, "scale_up": WIRES, "scale_out": WIRES},
    "rail-optimised": {"nodes": 1, "npus_per_node": 1, "spines": 1, "scale_up": WIRES, **WIRES},
}
TRANSPORTS = ("tcp", "roce")


def arguments(topology: dict[str, Any], transport: str) -> dict[str, Any]:
    network = parse_network({"topology": topology, "transport": transport})
    return {"workload": small_dlrm(), "system": system_for(len(network.dimensions)), "network": network}


def test_every_kind_that_can_have_one_npu_is_tried() -> None:
    assert set(ONE_NPU) == set(KINDS) - {"dragonfly", "dumbbell", "full-mesh", "file"}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("kind", ONE_NPU)
def test_one_npu_computes_and_sends_nothing(kind: str, transport: str) -> None:
    given = arguments({"kind": kind, **ONE_NPU[kind]}, transport)
    found = validate(**given)
    assert (found.npus, found.forecast.messages, found.warnings) == (1, 0, ())
    result = astra_ns3.run(**given)
    # Forwards 300 + 800 + 800 ns, backwards twice 1280 and thrice the weights' 300, 800, 800; nothing is waited for.
    assert result.finish_ps == (1900 + 2 * 1280 + 1900) * 1000
    assert result.metadata["statistics"]["messages"] == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_npus_of_the_only_host_talk_without_the_network(transport: str) -> None:
    given = arguments({"npus": 2, "npus_per_host": 2, **WIRES}, transport)
    found = validate(**given)
    assert (found.npus, found.warnings) == (2, ())
    result = astra_ns3.run(**given)
    # Two chunks each. All-to-all forwards and back: one message an NPU. Two ring all-reduces: two messages an NPU.
    assert result.metadata["statistics"]["messages"] == 2 * 2 * (2 * 1 + 2 * 2)
    assert result.switches["sent_frames"].sum() == 0
