"""Parts of the user's that do what ours do give the same picosecond on the packet backend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.small_run import WORKLOAD, small_network, small_system, small_workload

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.workload.files.astra_sim import parse_workload

PARTS = """from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.topology.graph import Graph, Link
from astra_ns3.playing.loops.loops import data_parallel


def ring(ranks):
    return lookup(CollectiveKind.ALL_REDUCE, "ring", ranks)


def data(steps, role):
    return data_parallel(steps, role)


def star(npus, rate, delay, buffer):
    links = tuple(Link(host, npus, rate, delay) for host in range(npus))
    return Graph(npus, 1, links, tuple(range(npus)), (buffer,))
"""
STAR = {"npus": 4, "rate": "100Gbps", "delay": "500ns", "buffer": "1GB"}


@pytest.mark.parametrize("transport", ["tcp", "roce"])
@pytest.mark.parametrize("part", ["algorithm", "training loop", "topology"])
def test_a_part_that_does_as_ours_gives_the_same_picosecond(part: str, transport: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(PARTS)
    ours: dict[str, Any] = {
        "workload": small_workload(),
        "system": small_system(),
        "network": parse_network({**small_network().document(), "transport": transport}),
    }
    own: dict[str, Any] = {
        "algorithm": {"system": small_system(**{"all-reduce-implementation": [f"{mine}:ring"]})},
        "training loop": {"workload": parse_workload(WORKLOAD.replace("DATA", f"{mine}:data"))},
        "topology": {
            "network": parse_network({"topology": {"kind": f"{mine}:star", "parameters": STAR}, "transport": transport})
        },
    }
    one, other = astra_ns3.run(**ours, passes=2), astra_ns3.run(**{**ours, **own[part]}, passes=2)
    assert one.finish_ps == other.finish_ps
    assert one.npus.equals(other.npus)
    assert one.collectives.drop(columns="algorithm").equals(other.collectives.drop(columns="algorithm"))
    counts, others = dict(one.metadata["statistics"]), dict(other.metadata["statistics"])
    if part == "training loop":  # where nobody looks, ours computes what follows each other as one event
        assert counts.pop("events") < others.pop("events")
    assert counts == others != {}
