"""NPUs that share NICs share the queues of these: an idle neighbour costs nothing, busy ones get what lines carry.

Messages of 1 MB take 20 us on a NIC's line of 400 Gb/s and 1 us on its way. Each is stored at the switch between
servers, so of n that begin together on k lines the last arrives after ceil(n/k) times of a message on the way out, and
one more on the way in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.many_networks import system_for
from support.star_network import Listener, Row, by_hand, launch_all

import astra_ns3
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.network.api import Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.ideal.grid_ideal import GridIdeal
from astra_ns3.network.plan import plan_network
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.workload.files.astra_sim import parse_workload

SWITCH = {"buffer": "64MB"}
NVLINK = {"rate": "3200Gbps", "delay": "0ns"}
WIRES = {"link": {"rate": "400Gbps", "delay": "1us"}, "switch": SWITCH}
BYTES, LINE_NS, NVLINK_NS, WAY_NS = 10**6, 20_000, 2_500, 2_000
# Frames of 1,000 bytes have headers of 8%, and a window with acknowledgements on the same lines costs a little more.
MOST_OVER_PAYLOAD = 1.12


def network(nics: int, path: Path | None = None, **keys: object) -> NetworkConfig:
    """Two servers of 8 NPUs; with ``path`` the graph is a file."""
    topology: dict[str, Any] = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 8, "nics_per_node": nics, **keys}
    topology |= {"scale_up": {"link": NVLINK, "switch": SWITCH}, "scale_out": WIRES}
    config = parse_network({"topology": topology, "transport": "roce"})
    if path is None:
        return config
    path.write_text(export_text(build_graph(config.topology), config.topology, path))
    topology = {"kind": "file", "path": str(path), "switch": SWITCH, "dimensions": config.dimensions}
    return parse_network({"topology": topology, "transport": "roce"})


def last_ns(network: NetworkConfig, pairs: list[tuple[int, int]], backend: str = "analytical-queues") -> float:
    """When the last of messages between pairs arrives that all begin together."""
    played: Any = create_backend(backend, plan_network(network), seed=1, recorder=RecorderOptions())
    listener = Listener()
    launch_all(played, by_hand(network.npus, [Row(*pair) for pair in pairs]), BYTES)
    played.run(listener, Limits())
    played.close()
    return max(listener.times_ps) / 1000


def over_against(*npus: int) -> list[tuple[int, int]]:
    return [(npu, 8 + npu) for npu in npus]


# NICs on NVSwitches are there for all NPUs of the server; those behind PCIe for the NPUs beside each.
@pytest.mark.parametrize("name", ["", "net.graphml"])
@pytest.mark.parametrize(
    ("nics", "keys", "busy", "waves"),
    [
        (1, {}, (0,), 1),
        (1, {}, (0, 5), 2),
        (1, {}, tuple(range(8)), 8),
        (2, {}, (0, 1), 1),
        (2, {}, (0, 1, 2), 2),
        (2, {}, tuple(range(8)), 4),
        (4, {}, (0, 1, 2, 3), 1),
        (4, {}, tuple(range(8)), 2),
        (8, {}, tuple(range(8)), 1),
        (2, {"shared_nics": "pcie"}, (3,), 1),
        (2, {"shared_nics": "pcie"}, (3, 4), 1),
        (2, {"shared_nics": "pcie"}, (2, 3), 2),
        (2, {"shared_nics": "pcie"}, tuple(range(8)), 4),
        (4, {"shared_nics": "pcie"}, (0, 1, 2), 2),
        (4, {"shared_nics": "pcie"}, tuple(range(8)), 2),
    ],
)
def test_messages_wait_for_those_that_are_on_all_lines_they_share(
    name: str, nics: int, keys: dict[str, str], busy: tuple[int, ...], waves: int, tmp_path: Path
) -> None:
    played = network(nics, tmp_path / name if name else None, **keys)
    assert last_ns(played, over_against(*busy)) == (waves + 1) * LINE_NS + WAY_NS


# Each of 8 NPUs sends to one: its server's lines take them in, and its own NVLink is far faster.
@pytest.mark.parametrize("nics", [1, 2, 4])
def test_messages_to_one_npu_come_in_over_all_lines_of_its_server(nics: int) -> None:
    took, nics_ns = last_ns(network(nics), [(npu, 8) for npu in range(8)]), (8 / nics + 1) * LINE_NS + WAY_NS
    assert nics_ns <= took <= nics_ns + 9 * NVLINK_NS


# Behind PCIe, where no route chooses a NIC, so that two flows meet only where messages do.
@pytest.mark.parametrize("nics", [1, 2, 4])
@pytest.mark.parametrize("busy", [(0,), (0, 1), (0, 4), (0, 1, 2, 3), tuple(range(8))])
def test_packets_take_as_long_but_for_headers_and_storing_a_message(nics: int, busy: tuple[int, ...]) -> None:
    played = network(nics, shared_nics="pcie")
    with_packets = last_ns(played, over_against(*busy), "ns3")
    without_storing = last_ns(played, over_against(*busy)) - LINE_NS
    assert without_storing <= with_packets <= without_storing * MOST_OVER_PAYLOAD


# In 16 chunks, so that to store one takes little; what remains is the first chunk's and the last one's way inside.
@pytest.mark.parametrize("nics", [1, 2, 4])
@pytest.mark.parametrize("keys", [{}, {"shared_nics": "pcie"}])
@pytest.mark.parametrize("kind", ["ALLREDUCE", "ALLTOALL"])
def test_collectives_of_busy_npus_take_what_the_lines_of_nics_need(kind: str, keys: dict[str, Any], nics: int) -> None:
    system = system_for(2, **{"preferred-dataset-splits": 16, "active-chunks-per-dimension": 16})
    workload = parse_workload(f"MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 {kind} {4 * BYTES} 0\n", "one.txt")
    played = network(nics, **keys)
    result = astra_ns3.run(workload=workload, system=system, network=played, backend="analytical-queues")
    floor = result.metadata["floor"]
    assert floor is not None
    assert "server" in floor["where"]
    assert floor["share"] == pytest.approx(1.07, abs=0.07)


# Each NPU sends to the next, which leads out of a server once, so nobody else is at its NICs. From there to NPU 8, the
# message crosses its own server first, to the NPU of the same place.
@pytest.mark.parametrize("nics", [1, 2, 4, 8])
def test_a_step_of_a_ring_through_all_npus_takes_as_long_on_any_number_of_nics(nics: int) -> None:
    took = last_ns(network(nics), [(npu, (npu + 1) % 16) for npu in range(16)])
    assert took == 2 * NVLINK_NS + 2 * LINE_NS + WAY_NS


@pytest.mark.parametrize("nics", [1, 2, 4, 8])
def test_the_time_of_a_message_alone_is_that_of_a_whole_line(nics: int) -> None:
    played = network(nics)
    ideal = GridIdeal(plan_network(played).queued_grid, queues=True)
    (alone_ps,) = ideal(np.array([0], dtype=np.int32), np.array([8], dtype=np.int32), np.array([BYTES]))
    assert alone_ps == (2 * LINE_NS + WAY_NS) * 1000 == last_ns(played, [(0, 8)]) * 1000
