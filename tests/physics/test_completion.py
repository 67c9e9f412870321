"""When a message counts as arrived: read by its receiver, or acknowledged to its sender."""

from __future__ import annotations

from typing import Any

import pytest
from support.star_network import OPEN_WINDOW_SEGMENTS, one_message, play, star

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.experiments.jobs.flows import system_of_flows
from astra_ns3.units import PS_PER_US

PS_PER_BYTE = 80  # 100 Gb/s
LINK_DELAY_PS = 500_000
ACK_ON_THE_LINE_BYTES = 64 + 20  # the smallest Ethernet frame, preamble and gap
HOPS = 2


def done_ps(size: int, completion: str) -> int:
    network = star(
        2, initial_window_segments=OPEN_WINDOW_SEGMENTS, delayed_ack_count=1, window="1MB", completion=completion
    )
    return play(network, one_message(), size).done_ps(1)


@pytest.mark.parametrize("size", [1, 1000, 50_000])
def test_an_acknowledged_message_takes_the_way_back_of_its_last_acknowledgement_longer(size: int) -> None:
    way_back_ps = HOPS * (ACK_ON_THE_LINE_BYTES * PS_PER_BYTE + LINK_DELAY_PS)
    assert done_ps(size, "acknowledged") - done_ps(size, "arrival") == way_back_ps


def test_messages_complete_one_by_one_in_order() -> None:
    assert done_ps(200_000, "acknowledged") > done_ps(100_000, "acknowledged") > done_ps(100_000, "arrival")


@pytest.mark.parametrize("completion", ["arrival", "acknowledged"])
def test_flows_warn_that_acknowledgements_do_not_wait_behind_what_comes_to_the_sender(completion: str) -> None:
    """Two senders of 1 MB each keep the line to NPU 0 busy for 40 us, and at 20 us all bytes wait before it.

    The acknowledgement of a message that NPU 0 sends then comes behind them.
    """
    link = {"rate": "400Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": 4, "link": link, "switch": {"buffer": "64MB", "pfc": {}}}
    transport = {"kind": "roce", "congestion_control": "none", "completion": completion}
    flows: dict[str, Any] = {
        "sources": [2, 3, 0],
        "destinations": [0, 0, 1],
        "sizes_bytes": [1_000_000, 1_000_000, 4_096],
        "starts_ps": [0, 0, 20 * PS_PER_US],
    }
    last_ps, warned = {}, {}
    for backend in ("ns3", "flow"):
        result = astra_ns3.run(
            workload=FlowList.of(**flows),
            system=system_of_flows(None),
            network=parse_network({"topology": topology, "transport": transport}),
            backend=backend,
            record=["flows"],
        )
        last_ps[backend] = int(result.completions.set_index("flow")["end_ps"][2])
        warned[backend] = [words for words in result.metadata["warnings"] if "acknowledg" in words]
    assert len(warned["flow"]) == (completion == "acknowledged")
    assert not warned["ns3"]
    assert (last_ps["ns3"] > 40 * PS_PER_US) == (completion == "acknowledged")
    assert last_ps["flow"] < 25 * PS_PER_US
