"""Controls inside nodes whose lines are much faster than the NICs: their numbers go with the lines of the path.

What they should be is written down here apart from the program: a network on which every line is as fast as those
inside, with the same round trip, and the paper's ratios by hand.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.network.graph_outline import network_outline_of
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.transport.roce.parameters import roce_lines, roce_parameters

INSIDE_GBPS, NIC_GBPS = 2400, 100
BYTES = int(INSIDE_GBPS * 1e9 / 8 * 0.0004)
"""What a line inside sends in 0.4 ms."""
SWITCH = {"buffer": "64MB", "pfc": {}}
SYSTEM = {
    **{f"{kind}-implementation": "ring" for kind in ("all-reduce", "all-gather", "reduce-scatter")},
    "all-to-all-implementation": "direct",
    "scheduling-policy": "FIFO",
    "preferred-dataset-splits": 1,
}


def network(control: object, nic_gbps: int = NIC_GBPS, **transport: object) -> Any:
    scale_up = {"kind": "switch", "link": {"rate": f"{INSIDE_GBPS}Gbps", "delay": "500ns"}, "switch": SWITCH}
    topology = {
        "kind": "hierarchical",
        "nodes": 2,
        "npus_per_node": 8,
        "scale_up": scale_up,
        "scale_out": {"link": {"rate": f"{nic_gbps}Gbps", "delay": "500ns"}, "switch": SWITCH},
    }
    keys = {"kind": "roce", "congestion_control": control, "payload": 4096, **transport}
    return parse_network({"topology": topology, "transport": keys})


def finish_ps(network: Any, *, across: bool = False) -> int:
    """Seven NPUs of a node send to the eighth, or each to its like in the other node."""
    pairs = [(npu, npu + 8) for npu in range(8)] if across else [(npu, 7) for npu in range(7)]
    sizes = [BYTES // (48 if across else 7)] * len(pairs)
    flows = FlowList.of([one for one, _ in pairs], [other for _, other in pairs], sizes, [0] * len(pairs))
    return astra_ns3.run(workload=flows, system=parse_system(SYSTEM), network=network).finish_ps


@pytest.mark.parametrize("control", ["dcqcn", "timely", "hpcc", "dctcp", "swift"])
def test_an_incast_inside_a_node_takes_little_longer_than_without_a_control(
    control: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    assert finish_ps(network(control)) < 1.6 * finish_ps(network("none"))


def test_inside_dcqcn_has_the_numbers_of_the_fast_lines_and_outside_those_of_the_nics(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    plain = network("dcqcn")
    lines = roce_lines(plain.transport, network_outline_of(build_graph(plain.topology)))
    timer_ps = roce_parameters(plain.transport, lines[0]).control_parameters["increase_timer"]

    def by_hand(line_gbps: int) -> Any:
        step_bps = int(line_gbps * 1e9 * timer_ps / 2.75e9)
        counter_bytes = int(10e6 * (line_gbps / 40) * (timer_ps / 55e6))
        numbers = {"rate_ai": f"{step_bps}bps", "rate_hai": f"{5 * step_bps}bps", "byte_counter": counter_bytes}
        return network({"kind": "dcqcn", **numbers}, minimum_rate=f"{line_gbps}Mbps")

    for across, line_gbps in ((False, INSIDE_GBPS), (True, NIC_GBPS)):
        other_gbps = INSIDE_GBPS + NIC_GBPS - line_gbps
        found = finish_ps(network("dcqcn"), across=across)
        assert found == pytest.approx(finish_ps(by_hand(line_gbps), across=across), rel=1e-6)
        if not across:
            assert found < 0.5 * finish_ps(by_hand(other_gbps), across=across)
