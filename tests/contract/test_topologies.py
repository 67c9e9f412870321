"""Every kind of topology carries the main job, every kind of routing every message, over TCP and over RoCE."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from support.lengths import some_slow
from support.many_networks import (
    NETWORKS,
    brought_network,
    fat_tree,
    leaf_spine,
    network_files,
    on_transport,
    small_dlrm,
    system_for,
)
from support.star_network import Played, Row, by_hand, play

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.topology.kinds import KINDS
from astra_ns3.errors import InputError
from astra_ns3.experiments.result import Result
from astra_ns3.workload.files.astra_sim import parse_workload

FILES = network_files()
SIZES = {name: parse_network(data).npus for name, data in FILES.items()}
SMALLEST = {
    FILES[name]["topology"].get("kind", name): name for name in sorted(SIZES, key=lambda name: (-SIZES[name], name))
}
"""Of each kind of topology."""
TRANSPORTS: dict[str, dict[str, Any]] = {"tcp": {"kind": "tcp"}, "roce": {"kind": "roce"}}
MESSAGE = ["source", "destination", "collective", "chunk", "phase", "row", "bytes"]
NPUS = 16
SIZE = 20_500
"""Of a message: 20 packets of RoCE and a part of one, 15 segments of TCP."""


def flows_of(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "flows.parquet")


def main_job(network: NetworkConfig, folder: Path) -> tuple[Result, pd.DataFrame]:
    """A pass of a small DLRM over the network, and its messages."""
    system = system_for(len(network.dimensions))
    result = astra_ns3.run(workload=small_dlrm(), system=system, network=network, output=folder, record=["flows"])
    return result, flows_of(folder)


@cache
def planned_messages(npus: int, dimensions: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """Every message of the job, taken down where none can be lost: on the analytical network, one switch."""
    star = {"npus": npus, "dimensions": list(dimensions)}
    wires = {"link": {"rate": "100Gbps", "delay": "500ns"}, "switch": {"buffer": "1GB"}}
    with TemporaryDirectory() as folder:
        astra_ns3.run(
            workload=small_dlrm(),
            system=system_for(len(dimensions)),
            network=parse_network({"topology": {**star, **wires}}),
            backend="analytical",
            output=Path(folder) / "run",
            record=["flows"],
        )
        return messages_in(flows_of(Path(folder) / "run"))


def messages_in(flows: pd.DataFrame) -> Counter[tuple[int, ...]]:
    return Counter(flows[MESSAGE].itertuples(index=False, name=None))


def test_there_is_a_file_of_every_kind() -> None:
    assert {data["topology"].get("kind", "single-switch") for data in FILES.values()} == set(KINDS) - {"file"}


def files() -> list[Any]:
    """Each network's file; the larger ones are slow."""
    return some_slow(SIZES, [name for name, npus in SIZES.items() if npus <= 64 or name in SMALLEST.values()])


@pytest.mark.parametrize("name", files())
def test_the_main_job_runs_on_each_file(name: str, tmp_path: Path) -> None:
    network = parse_network(FILES[name])
    _, flows = main_job(network, tmp_path / "run")
    assert messages_in(flows) == planned_messages(network.npus, network.dimensions)


def pairs() -> list[Any]:
    """Each network on each transport; all but the smallest of each kind are slow: the test above plays files once."""
    return [
        pytest.param(name, transport, marks=[pytest.mark.slow] * (name not in (*SMALLEST.values(), "file")))
        for name in (*FILES, "file")
        for transport in TRANSPORTS
    ]


@pytest.mark.parametrize(("name", "transport"), pairs())
def test_the_main_job_runs_on_each_topology_over_each_transport_again_and_again_alike(
    name: str, transport: str, tmp_path: Path
) -> None:
    network = on_transport(brought_network(tmp_path) if name == "file" else FILES[name], TRANSPORTS[transport])
    first, flows = main_job(network, tmp_path / "first")
    assert messages_in(flows) == planned_messages(network.npus, network.dimensions)
    second, again = main_job(network, tmp_path / "second")
    assert first.finish_ps == second.finish_ps
    assert flows.equals(again)


@pytest.mark.parametrize("name", ["hier", "hier-opt"])
def test_the_dlrm_runs_on_the_hierarchical_systems_of_the_case_study(name: str, tmp_path: Path) -> None:
    """Their files as they are but for the number of nodes."""
    network, inputs = parse_network(FILES[name]), NETWORKS.parent
    result = astra_ns3.run(
        workload=inputs / "workload" / "DLRM_HybridParallel.txt",
        system=inputs / "system" / f"{name}.txt",
        network=network,
        comm_scale=0.02,
        output=tmp_path / "run",
        record=["flows"],
    )
    assert result.complete
    flows = flows_of(tmp_path / "run")
    assert len(flows) == result.metadata["statistics"]["messages"]
    assert not flows.duplicated(["source", "destination", "collective", "chunk", "phase", "row"]).any()


def test_what_hier_opt_sends_between_nodes_of_an_all_reduce_is_an_eighth_of_what_hier_does(tmp_path: Path) -> None:
    outwards = []
    for name in ("hier", "hier-opt"):
        network = parse_network(FILES[name])
        job = parse_workload("MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 768000 0\n", "micro")
        system = system_for(2, **{"collective-optimization": "baseline" if name == "hier" else "localBWAware"})
        astra_ns3.run(workload=job, system=system, network=network, output=tmp_path / name, record=["flows"])
        flows = flows_of(tmp_path / name)
        outwards.append(int(flows[flows["source"] // 8 != flows["destination"] // 8]["bytes"].sum()))
    # A ring over 3 nodes: each of 24 NPUs sends 2 x 2/3 of what it reduces there.
    assert outwards == [24 * 4 * 768_000 // 3, 24 * 4 * 96_000 // 3]


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
@pytest.mark.parametrize("kind", sorted(SMALLEST))
def test_each_topology_has_an_analytical_network_but_a_mesh(kind: str, backend: str, tmp_path: Path) -> None:
    network = parse_network({"topology": FILES[SMALLEST[kind]]["topology"]})
    arguments: dict[str, Any] = {
        "workload": small_dlrm(),
        "system": system_for(len(network.dimensions)),
        "network": network,
    }
    if kind == "mesh":
        with pytest.raises(InputError, match="topology 'mesh' has no counterpart"):
            astra_ns3.run(**arguments, backend=backend)
        return
    astra_ns3.run(**arguments, backend=backend, output=tmp_path / "run", record=["flows"])
    assert messages_in(flows_of(tmp_path / "run")) == planned_messages(network.npus, network.dimensions)


ROUTINGS: dict[str, dict[str, Any]] = {
    "ecmp": {},
    "weighted": {"weighted": True},
    "pinned": {
        "kind": "pinned",
        "pins": [{"sender": npu, "receiver": (npu + 8) % NPUS, "path": npu % 4} for npu in range(NPUS)],
    },
    "flowlet": {"kind": "flowlet"},
    "adaptive": {"kind": "adaptive"},
    "spray in turn": {"kind": "spray"},
    "spray at random": {"kind": "spray", "spray": "random"},
}
IN_ORDER = ("ecmp", "weighted", "pinned", "flowlet")
"""A message's packets stay on one path; a flowlet ends only with a pause, and there is none here."""
# Go-back-0 needs a second NACK where packets overtake each other all the time, or it waits for its timer each time.
PATIENT = {"kind": "go-back-0", "nack_interval": "5us", "retries": 0}
RELIABLE: dict[str, dict[str, Any]] = {
    "tcp": {"kind": "tcp"},
    "go-back-n": {"kind": "roce", "reliability": "go-back-n"},
    "go-back-0": {"kind": "roce", "reliability": PATIENT},
    "selective-repeat": {"kind": "roce", "reliability": "selective-repeat"},
    "selective-repeat that waits": {
        "kind": "roce",
        "reliability": {"kind": "selective-repeat", "reordering_packets": 64},
    },
}
WIRES = {"leaf-spine": leaf_spine, "fat-tree": fat_tree}


def permutation(wires: str, routing: str, transport: str, folder: Path) -> Played:
    """Every NPU sends two messages to the one half around, all between leaves, or between pods."""
    topology = WIRES[wires](routing=ROUTINGS[routing])
    rows = [Row(npu, (npu + NPUS // 2) % NPUS, step) for step in range(2) for npu in range(NPUS)]
    network = parse_network({"topology": topology, "transport": RELIABLE[transport]})
    folder.mkdir(exist_ok=True)
    return play(network, by_hand(NPUS, rows), SIZE, directory=folder, stop_when_done=False)


@pytest.mark.parametrize("transport", RELIABLE)
@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("wires", WIRES)
def test_no_routing_loses_or_repeats_a_message(wires: str, routing: str, transport: str, tmp_path: Path) -> None:
    played = permutation(wires, routing, transport, tmp_path / "run")
    flows = played.table("flows")
    got = Counter(zip(flows["source"].tolist(), flows["destination"].tolist(), flows["bytes"].tolist(), strict=True))
    assert got == {(npu, (npu + NPUS // 2) % NPUS, SIZE): 2 for npu in range(NPUS)}
    assert sorted(flows["row"].tolist()) == list(range(2 * NPUS))
    assert played.sent_bytes == [2 * SIZE] * NPUS
    assert played.statistics["dropped_frames"] == played.statistics["lost_frames"] == 0


@pytest.mark.parametrize("transport", RELIABLE)
@pytest.mark.parametrize("routing", IN_ORDER)
@pytest.mark.parametrize("wires", WIRES)
def test_what_stays_on_its_path_is_sent_once(wires: str, routing: str, transport: str, tmp_path: Path) -> None:
    statistics = permutation(wires, routing, transport, tmp_path / "run").statistics
    assert (statistics["retransmissions"], statistics["nacks"], statistics["timeouts"]) == (0, 0, 0)


@pytest.mark.parametrize("transport", RELIABLE)
@pytest.mark.parametrize("routing", ["ecmp", "spray in turn"])
def test_links_that_lose_frames_lose_no_message(routing: str, transport: str, tmp_path: Path) -> None:
    """One frame in a hundred on each link; what was lost is sent again, and arrives once."""
    link = {"rate": "100Gbps", "delay": "500ns", "error_rate": 0.01}
    lossy = {"min_rto": "100us"} if transport == "tcp" else {}
    network = parse_network(
        {
            "topology": fat_tree(link=link, routing=ROUTINGS[routing]),
            "transport": {**RELIABLE[transport], **lossy},
        }
    )
    rows = [Row(npu, (npu + NPUS // 2) % NPUS, step) for step in range(2) for npu in range(NPUS)]
    played = play(network, by_hand(NPUS, rows), SIZE, directory=tmp_path, stop_when_done=False)
    assert sorted(played.table("flows")["row"].tolist()) == list(range(2 * NPUS))
    assert played.statistics["lost_frames"] > 0
    assert played.statistics["retransmissions"] > 0
    assert played.sent_bytes == [2 * SIZE] * NPUS


@pytest.mark.parametrize("wires", WIRES)
def test_what_is_sprayed_at_random_is_reported_as_sent_again(wires: str, tmp_path: Path) -> None:
    """Go-back-N sends all after a gap again, though nothing was lost; who waits for the late ones sends none."""
    statistics = {
        transport: permutation(wires, "spray at random", transport, tmp_path / transport).statistics
        for transport in ("go-back-n", "selective-repeat that waits")
    }
    assert statistics["go-back-n"]["retransmissions"] > 0
    assert statistics["go-back-n"]["nacks"] > 0
    assert statistics["selective-repeat that waits"]["retransmissions"] == 0


@pytest.mark.parametrize("transport", RELIABLE)
@pytest.mark.parametrize("routing", ROUTINGS)
def test_routing_is_deterministic(routing: str, transport: str, tmp_path: Path) -> None:
    first, second = (permutation("fat-tree", routing, transport, tmp_path / name) for name in ("first", "second"))
    assert first.listener.done == second.listener.done
    assert first.table("flows").equals(second.table("flows"))
