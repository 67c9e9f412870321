"""Reduction inside switches in whole runs: against closed forms, bytes of lines, jobs side by side, failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from oracles.reduction_times import Level, all_reduce_ps
from support.graphs import chakra_bytes as raw

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import BackendError, InputError
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES

PAYLOAD = 1000
FRAME = PAYLOAD + 62 + 20
ACKNOWLEDGEMENT = 66 + 20
ENDLESS = "8000000000Gbps"  # a frame takes less than half a picosecond
MIB = 1 << 20


def collective(kind: str, size: int) -> Workload:
    return parse_workload(f"DATA\n1\nlayer -1 0 NONE 0 0 NONE 0 0 {kind} {size} 0\n", "one.txt")


def system(algorithm: str, **keys: Any) -> SystemConfig:
    names = ("all-reduce", "reduce-scatter", "all-gather")
    return parse_system(
        {
            "scheduling-policy": "LIFO",
            "endpoint-delay": 0,
            "preferred-dataset-splits": 1,
            **{f"{name}-implementation": [algorithm] for name in names},
            "all-to-all-implementation": ["direct"],
            **keys,
        }
    )


def network(topology: dict[str, Any], **transport: Any) -> NetworkConfig:
    return parse_network(
        {
            "topology": topology,
            "transport": {"kind": "roce", "payload": PAYLOAD, "congestion_control": "none", **transport},
        }
    )


def star(npus: int, link: Mapping[str, object], **reduction: Any) -> dict[str, Any]:
    switch = {"buffer": "64MB", "reduction": reduction}
    return {"kind": "single-switch", "npus": npus, "link": link, "switch": switch}


def leaf_spine(link: dict[str, str], uplink: dict[str, str], **reduction: Any) -> dict[str, Any]:
    return {
        "kind": "leaf-spine",
        "leaves": 3,
        "spines": 1,
        "hosts_per_leaf": 4,
        "link": link,
        "uplink": uplink,
        "switch": {"buffer": "64MB", "reduction": reduction},
    }


def finish(
    algorithm: str, topology: dict[str, Any], size: int, kind: str = "ALLREDUCE", backend: str = "ns3", **transport: Any
) -> int:
    """Return when a collective ends."""
    found = astra_ns3.run(
        workload=collective(kind, size),
        system=system(algorithm),
        network=network(topology, **transport),
        backend=backend,
        isolated=False,
    )
    return int(found.finish_ps)


@pytest.mark.parametrize("npus", [2, 3, 16])
@pytest.mark.parametrize("frames", [1, 2, 50])
@pytest.mark.parametrize("latency", [0, 300_000])
def test_a_piece_through_one_switch_takes_its_closed_form(npus: int, frames: int, latency: int) -> None:
    reduction = {"rate": ENDLESS, "latency": f"{latency}ps", "piece": frames * PAYLOAD, "buffer": frames * PAYLOAD}
    topology = star(npus, {"rate": "100Gbps", "delay": "500ns"}, **reduction)
    expected = all_reduce_ps([Level(100, 500_000, latency)], frames, FRAME, ACKNOWLEDGEMENT)
    assert finish("sharp", topology, frames * PAYLOAD, ack_every=1000) == expected


@pytest.mark.parametrize("frames", [1, 20])
@pytest.mark.parametrize("uplink_gbps", [40, 100, 400])
@pytest.mark.parametrize("latency", [0, 300_000])
def test_a_piece_through_two_levels_takes_its_closed_form(frames: int, uplink_gbps: int, latency: int) -> None:
    reduction = {"rate": ENDLESS, "latency": f"{latency}ps", "piece": frames * PAYLOAD, "buffer": frames * PAYLOAD}
    uplink = {"rate": f"{uplink_gbps}Gbps", "delay": "2us"}
    topology = leaf_spine({"rate": "100Gbps", "delay": "500ns"}, uplink, **reduction)
    levels = [Level(100, 500_000, latency), Level(uplink_gbps, 2_000_000, latency)]
    expected = all_reduce_ps(levels, frames, FRAME, ACKNOWLEDGEMENT)
    assert finish("sharp", topology, frames * PAYLOAD, ack_every=1000) == expected


SWITCHED = {"rate": "400Gbps", "delay": "500ns"}
LINE_BYTES_PER_PS = 400 / 8000


def clos(leaves: int = 4, spines: int = 2, each: int = 4, **reduction: Any) -> dict[str, Any]:
    return {
        "kind": "leaf-spine",
        "leaves": leaves,
        "spines": spines,
        "hosts_per_leaf": each,
        "link": SWITCHED,
        "switch": {"buffer": "64MB", "pfc": {}, "reduction": reduction},
    }


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    ("algorithm", "kind", "topology", "share"),
    [
        ("sharp", "ALLREDUCE", clos(), 1.0),
        ("fred", "ALLREDUCE", clos(), 1.0),
        ("sharp", "REDUCESCATTER", clos(), 15 / 16),
        ("sharp", "ALLREDUCE", star(8, SWITCHED), 1.0),
        ("nvls", "ALLREDUCE", star(8, SWITCHED), 9 / 8),
        ("nvls", "REDUCESCATTER", star(8, SWITCHED), 1.0),
    ],
)
def test_large_data_take_what_a_members_line_needs_for_its_bytes(
    algorithm: str, kind: str, topology: dict[str, Any], share: float, backend: str
) -> None:
    size = 16 * MIB
    payload = {"payload": 4096}
    found = finish(algorithm, topology, size, kind, backend, **payload)
    needed_ps = share * size * (4096 + 82) / 4096 / LINE_BYTES_PER_PS
    # Besides there are the first piece's way up and the last one's down: some pieces of 128 KiB, and acknowledgements.
    assert needed_ps < found < needed_ps * 1.09


@pytest.mark.parametrize("topology", [star(4, SWITCHED), clos(2, 1, 2)], ids=["star", "clos"])
def test_time_grows_with_the_data_where_128_pieces_of_them_would_fill_the_buffer(topology: dict[str, Any]) -> None:
    size = 256 * MIB
    needed_ps = size * (4096 + 82) / 4096 / LINE_BYTES_PER_PS
    assert needed_ps < finish("sharp", topology, size, backend="flow", payload=4096) < needed_ps * 1.06


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("topology", [star(4, SWITCHED), clos(2, 1, 2)], ids=["star", "clos"])
@pytest.mark.parametrize("algorithm", ["sharp", "fred"])
@pytest.mark.parametrize("kind", ["BROADCAST", "REDUCE"])
def test_no_member_ends_a_broadcast_or_a_reduce_before_its_line_has_carried_the_data(
    kind: str, algorithm: str, topology: dict[str, Any], backend: str, tmp_path: Path
) -> None:
    size, number = 4 * MIB, COLLECTIVE_TYPES.index(kind)
    nodes = [raw.node(1, raw.COLLECTIVE, comm_type=number, comm_size=size, is_cpu_op=False)]
    found = astra_ns3.run(
        workload=raw.write_traces(tmp_path / "traces", [nodes] * 4),
        system=system(algorithm),
        network=network(topology, payload=4096),
        backend=backend,
        output=tmp_path / "run",
        record=["timeline"],
        isolated=False,
    )
    ends_ps = found.phases.groupby("npu")["end_ps"].max()
    needed_ps = size * (4096 + 82) / 4096 / LINE_BYTES_PER_PS
    assert len(ends_ps) == 4
    assert needed_ps < ends_ps.min() <= ends_ps.max() < needed_ps * 1.09


def test_flows_take_as_long_as_packets() -> None:
    for algorithm, topology in (("sharp", clos()), ("fred", clos()), ("nvls", star(8, SWITCHED))):
        packets, flows = (finish(algorithm, topology, 8 * MIB, backend=each, payload=4096) for each in ("ns3", "flow"))
        assert flows == pytest.approx(packets, rel=0.02)


def test_lines_carry_what_the_formulas_say(tmp_path: Path) -> None:
    size, payload = 4 * MIB, 4096
    found = astra_ns3.run(
        workload=collective("ALLREDUCE", size),
        system=system("sharp"),
        network=network(clos(), payload=payload, ack_every=1000),
        output=tmp_path / "run",
        record=["flows"],
        isolated=False,
    )
    flows = found.flows
    data = flows[flows["bytes"] > 1]
    sent, got = data.groupby("source")["bytes"].sum(), data.groupby("destination")["bytes"].sum()
    assert set(sent[:16]) == set(got[:16]) == {size}
    leaves, spine = range(16, 20), 20
    # A leaf gets four members' data and the sum; it sends one sum up and four down.
    assert [int(got[leaf]) for leaf in leaves] == [int(sent[leaf]) for leaf in leaves] == [5 * size] * 4
    assert int(got[spine]) == int(sent[spine]) == 4 * size
    assert set(flows["source"]) == set(range(21))  # the second spine has no part
    table = found.switches
    uplinks = table[table["port"].str.contains("switch0:4|switch0:5")]
    frames = size // payload * (payload + 62)
    assert max(uplinks["sent_bytes"]) == pytest.approx(frames, rel=0.01)
    assert min(uplinks["sent_bytes"]) == 0


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(("control", "every"), [("none", 8), ("dcqcn", 8), ("swift", 1)])
def test_several_packets_to_a_switch_have_one_answer_unless_a_control_listens(
    control: str, every: int, backend: str
) -> None:
    """Two members send a piece of 16 packets up and get one: so many frames, and the answers to what they got."""
    packets = 16
    found = astra_ns3.run(
        workload=collective("ALLREDUCE", packets * PAYLOAD),
        system=system("sharp"),
        network=network(star(2, SWITCHED, piece=packets * PAYLOAD), congestion_control=control),
        backend=backend,
        isolated=False,
    )
    table = found.switches
    sent = table[table["port"].str.startswith("host")]["sent_frames"].tolist()
    assert sent[:2] == [packets + packets // every] * 2


def test_nothing_is_lost_and_lost_frames_are_sent_again() -> None:
    topology = star(4, {**SWITCHED, "error_rate": 0.001})
    found = astra_ns3.run(
        workload=collective("ALLREDUCE", MIB),
        system=system("sharp"),
        network=network(topology, reliability={"timeout": "100us"}),
        isolated=False,
    )
    assert found.metadata["statistics"]["retransmissions"] > 0
    assert found.finish_ps > finish("sharp", star(4, SWITCHED), MIB)


def test_files_are_equal_on_two_cores(tmp_path: Path) -> None:
    for cores in (1, 2):
        played = astra_ns3.run(
            workload=collective("ALLREDUCE", MIB),
            system=system("sharp"),
            network=network({**clos(8, 4, 8, latency="2us"), "uplink": {"delay": "5us"}}),
            output=tmp_path / str(cores),
            record=["flows"],
            cores=cores,
        )
        assert not played.metadata["warnings"]  # such as that one core played
    for name in ("flows.parquet", "collectives.csv", "switch.csv"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_a_switch_that_serves_too_many_groups_is_named() -> None:
    with pytest.raises((BackendError, InputError), match="switch 0 has room for 1 of the groups of a run"):
        astra_ns3.run(
            workload=collective("ALLREDUCE", 4096),
            system=system("sharp", **{"all-reduce-implementation": ["ring", "sharp"]}),
            network=network({**star(8, SWITCHED, groups=1), "dimensions": [4, 2]}),
            isolated=False,
        )


@pytest.mark.parametrize("reduction", [{}, {"piece": "64KiB", "buffer": "256KiB"}])
def test_hpcc_on_flows_leaves_windows_open_between_pieces_that_switches_reduce(reduction: Mapping[str, Any]) -> None:
    """With packets, a sender that waits for a reducer's buffer goes on at the rate that it had."""
    topology = star(8, {"rate": "100Gbps", "delay": "500ns"}, **reduction)
    ends = [
        astra_ns3.run(
            workload=collective("ALLREDUCE", MIB),
            system=system("sharp"),
            network=network(topology, congestion_control="hpcc"),
            backend=backend,
        ).finish_ps
        for backend in ("flow", "ns3")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.1)
