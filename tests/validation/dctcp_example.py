"""DCTCP's experiment with two bottlenecks (SIGCOMM 2010, figure 17), as ns-3's example has it.

Ten senders S1 and ten S3 send to one receiver at 1 Gb/s, twenty S2 to twenty receivers; S1 and S2 share a line of 10
Gb/s. Switches mark by a queue between 20 and 60 packets at 1 Gb/s, 50 and 150 at 10 Gb/s. ns-3's example leaves four
seconds out and looks at the fifth; here it is a second, and half of one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from support.roce_network import Flow, arrived_bytes, jain, play_flows

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from validation.comparison import Comparison, Found, Group

S1, S2, S3, R1, R2 = range(10), range(10, 30), range(30, 40), 40, range(41, 61)
T1, T2 = 61, 62
MS = 10**9
SETTLED_PS, END_PS = 1000 * MS, 1500 * MS
MESSAGE = 20_000
PACKET = 1500
SOURCE = "dctcp-example.cc"


def _topology() -> str:
    """Hosts and links in the text of HPCC's simulator."""
    left = [f"{host} {T1} 1Gbps 0.01ms 0" for host in (*S1, *S2)]
    right = [f"{host} {T2} 1Gbps 0.01ms 0" for host in (*S3, R1, *R2)]
    links = [*left, *right, f"{T1} {T2} 10Gbps 0.01ms 0"]
    return "\n".join([f"63 2 {len(links)}", f"{T1} {T2}", *links]) + "\n"


def _network(folder: Path) -> NetworkConfig:
    (folder / "topology.txt").write_text(_topology(), encoding="utf-8")
    marks = [("1Gbps", 20, 60), ("10Gbps", 50, 150)]
    ecn = [{"rate": rate, "kmin": low * PACKET, "kmax": high * PACKET, "pmax": 0.02} for rate, low, high in marks]
    topology = {"kind": "file", "path": str(folder / "topology.txt"), "switch": {"buffer": "64MB", "ecn": ecn}}
    return parse_network({"topology": topology, "transport": {"kind": "tcp", "congestion_control": "Dctcp"}})


@cache
def _shares_mbps() -> list[list[float]]:
    """Throughput of each flow of S1, S2 and S3."""
    pairs = [*((host, R1) for host in S1), *zip(S2, R2, strict=True), *((host, R1) for host in S3)]
    flows = [
        Flow(
            sender, receiver, MESSAGE, (600 if sender in S2 else 200) * END_PS // (8 * MESSAGE * 10**6), 10 * MS * place
        )
        for place, (sender, receiver) in enumerate(pairs)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        played = play_flows(_network(folder), flows, folder, until_ps=END_PS)
        arrived = arrived_bytes(played, SETTLED_PS, END_PS)
    shares = [bytes * 8 * 10**6 / (END_PS - SETTLED_PS) for bytes in arrived]
    return [[shares[host] for host in hosts] for hosts in (S1, S2, S3)]


def _share(group: int, theirs: float) -> Callable[[], Found]:
    def find() -> Found:
        shares = _shares_mbps()[group]
        mean = sum(shares) / len(shares)
        return (
            f"{mean:.0f} Mb/s, Jain {jain([round(share * 1000) for share in shares]):.3f}",
            f"{mean / theirs - 1:+.1%}",
        )

    return find


_WHY = "our RED (ns-3's gentle mode) marks all packets only above twice the upper threshold"
GROUPS = [
    Group(
        "DCTCP over TCP, ns-3's examples/tcp: two bottlenecks, mean share of a flow",
        [
            Comparison(
                f"dctcp-s{number}",
                f"{what}; {paper} Mb/s in the paper",
                SOURCE,
                f"{theirs} Mb/s, Jain above 0.99",
                _share(number - 1, theirs),
                note=_WHY,
                fast=False,
                long=True,
            )
            for number, what, theirs, paper in (
                (1, "DCTCP, two bottlenecks: mean rate of a flow that crosses both", 23, 46),
                (2, "S2, across 10 Gb/s", 471, 475),
                (3, "S3, across 1 Gb/s", 74, 54),
            )
        ],
    )
]
