"""RoCE against closed forms: messages, incasts, windows and collectives on shared lines."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracles.collective_times import ring_all_gather, ring_all_reduce, ring_reduce_scatter
from oracles.roce_times import TELEMETRY, Star
from physics.test_roce_message import LINE, PAYLOAD
from physics.test_topologies import QUIET, _hier, slower_by
from support.many_networks import system_for
from support.measured import write_config_txt
from support.roce_network import LOSSLESS, Flow, play_flows, roce_star
from support.star_network import incast, one_message, play

import astra_ns3
from astra_ns3.config.network.hpcc import read_hpcc_config
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.workload.files.astra_sim import parse_workload
from validation.comparison import Comparison, Found, Group, against

US, G = 10**6, 10**9
MESSAGE = "tests/physics/test_roce_message.py"
SIZES = "closed form"
FCT_NS = 4828


def _alone(size: int, theirs_us: float, **keys: Any) -> Callable[[], Found]:
    return lambda: against(play(roce_star(2, **keys), one_message(), size).done_ps(1) / US, theirs_us, "us", 6)


def _windowed() -> Found:
    network = roce_star(2, window=20_000, congestion_control="static-window")
    return against(play(network, one_message(), 1_000_000).done_ps(1) / US, _WINDOWED_US, "us", 6)


def _incast() -> Found:
    played = play(roce_star(17, switch={"pfc": LOSSLESS}), incast(16), 100_000)
    return against(played.done_ps(0) / US, LINE.shared_port_ps([100_000] * 16, PAYLOAD) / US, "us", 6)


def _telemetry() -> Found:
    played = play(roce_star(2, congestion_control="hpcc"), one_message(), 20_000)
    return against(played.done_ps(1) / US, _HPCC.message_ps(20_000, PAYLOAD) / US, "us", 6)


def _hierarchical() -> tuple[float, Callable[[], Found]]:
    """Reduce-scatter among the 8 of a node, all-reduce of an eighth among 4 nodes, all-gather: rings in sequence."""
    nodes, size, endpoint = 4, 8 * 16 * 2500, 10_000
    inside, outside = Star(2400 * G, 25_000), Star(100 * G, 500_000)

    def within(bytes: int) -> int:
        return inside.message_ps(bytes, PAYLOAD)

    expected_us = (
        ring_reduce_scatter(8, size, within, endpoint)
        + ring_all_reduce(nodes, size // 8, lambda bytes: outside.message_ps(bytes, PAYLOAD), endpoint)
        + ring_all_gather(8, size // 8, within, endpoint)
    ) / US

    def find() -> Found:
        result = astra_ns3.run(
            workload=parse_workload(f"MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n", "w.txt"),
            system=system_for(2, **{"collective-optimization": "localBWAware", "preferred-dataset-splits": 1}),
            network=parse_network(_hier(nodes)),
        )
        return against(result.finish_ps / US, expected_us, "us", 6)

    return expected_us, find


def _standalone() -> Found:
    """A message of 65,536 bytes alone, with the headers, rounding and completion of a config.txt's code."""
    row = {"topology": "single", "n": "8", "congestion_control": "none", "payload_bytes": "1000"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = write_config_txt(row, folder)
        topology = folder / "topology.txt"
        topology.write_text(topology.read_text().replace("400Gbps", "200Gbps"))
        network = read_hpcc_config(str(text)).network
        played = play_flows(network, [Flow(0, 1, 65_536)], folder)
        (taken_ps,) = played.table("flows")["end_ps"] - played.table("flows")["start_ps"]
    return against(int(taken_ps) / 1000, FCT_NS, "ns", 0)


_HPCC = Star(100 * G, 500_000, TELEMETRY)
_WINDOWED_US = LINE.windowed_ps(1_000_000, PAYLOAD, 20_000) / US
_FAST = Star(400 * G, 500_000)
_HIER_US, _hier_find = _hierarchical()
GROUPS = [
    Group(
        "RoCE: closed forms (InfiniBand A17, IEEE 802.3), one switch, payload 1000",
        [
            Comparison(
                "roce-packet", "one packet at 100 Gb/s, by hand", SIZES, "1.173120 us", _alone(1000, 1.17312), MESSAGE
            ),
            Comparison(
                "roce-400g",
                "4 MB at 400 Gb/s, by hand",
                SIZES,
                "87.581640 us",
                _alone(4_000_000, 87.58164, rate="400Gbps"),
                MESSAGE,
            ),
            Comparison(
                "roce-window", "1 MB within a window of 20 KB", SIZES, f"{_WINDOWED_US:.6f} us", _windowed, MESSAGE
            ),
            Comparison(
                "roce-hpcc",
                "20 KB with HPCC's telemetry, 42 bytes a packet",
                "HPCC, SIGCOMM 2019, 4.1",
                f"{_HPCC.message_ps(20_000, PAYLOAD) / US:.6f} us",
                _telemetry,
                MESSAGE,
            ),
            Comparison(
                "roce-incast",
                "16 times 100 KB to one, PFC",
                "closed form",
                f"{LINE.shared_port_ps([100_000] * 16, PAYLOAD) / US:.6f} us",
                _incast,
                MESSAGE,
            ),
            Comparison(
                "roce-hierarchical",
                "hierarchical all-reduce, 4 nodes of 8, 320 KB",
                "closed form",
                f"{_HIER_US:.6f} us",
                _hier_find,
                "tests/physics/test_topologies.py",
            ),
            Comparison(
                "roce-cut",
                "all-reduce across a cut of 4:1, over that of a full cut",
                "the factor of the cut",
                "4.000 times",
                lambda: against(slower_by(4, QUIET, 400_000), 4, "times"),
                "tests/physics/test_topologies.py",
                note="the first and last packets' way",
            ),
            Comparison(
                "roce-standalone",
                "65,536 bytes alone at 200 Gb/s, as `fct.txt` of HPCC's code has it",
                "Khan et al.'s artefact",
                f"{FCT_NS:,} ns",
                _standalone,
                note="theirs is a formula that counts 48 bytes of headers and no switch; ours is a run, with 36",
            ),
        ],
    )
]
