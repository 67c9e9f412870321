"""Ports' counters on the flow backend: bytes by the time that a message was on each line, also of unfinished ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.roce_network import Flow, play_flows, roce_network, roce_star
from support.star_network import Played

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.topology.changes import Change, LinkTarget, State

LINE_BYTES_PER_NS = 12.5
DELAY_NS = 500
FRAME, GAP, ACKNOWLEDGEMENT = 1_082, 20, 86
"""Bytes on the line of a full packet of RoCE, those of these that a port doesn't count, and of an acknowledgement."""
ROUND_TRIP_NS = 6 * DELAY_NS
"""On the longest way here: an ended message counts acknowledgements that come within it."""
FEW_FRAMES = 12
"""Frames that are on their way between two lines of packets, which flows cross at once: six each."""
BYTES, PACKETS = 5_000_000, 5_000
OBSERVED = {"utilisation": ["all"], "utilisation_interval": "10us"}
LEAVES: Mapping[str, object] = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 1,
    "link": {"rate": "100Gbps", "delay": "500ns"},
    "switch": {"buffer": "1GB"},
}
CONTROLS = ["none", "dcqcn"]
"""One whose flows meet in queues, and one whose flows share lines at max-min fair rates."""


def _played(network: NetworkConfig, flows: Sequence[Flow], folder: Path, name: str, **options: Any) -> Played:
    (folder / name).mkdir()
    return play_flows(network, flows, folder / name, **options)


def _frames(played: Played, port: str) -> int:
    return int(played.ports[port]["sent_frames"])


def _agree_with_utilisation(played: Played, messages: int) -> None:
    """Each message is counted in whole frames, and an ended one with acknowledgements that are still to come."""
    rows: Any = played.table("utilisation")
    carried = rows.groupby("port", observed=True).wire_bytes.sum()
    to_come = ROUND_TRIP_NS * LINE_BYTES_PER_NS / FRAME * ACKNOWLEDGEMENT
    for port, bytes in carried.items():
        row = played.ports[str(port)]
        wire = row["sent_bytes"] + GAP * row["sent_frames"]
        assert wire == pytest.approx(bytes, abs=messages * FRAME + to_come), port


@pytest.mark.parametrize("kind", ["ecmp", "spray"])
def test_a_message_that_moves_is_counted_on_each_way_for_its_time_there(kind: str, tmp_path: Path) -> None:
    """A line goes down at 200 us: until then a way has carried what its line, or its half, carries in that time."""
    network = roce_network({**LEAVES, "routing": {"kind": kind}}, observe=OBSERVED, congestion_control="none")
    flows = [Flow(0, 1, BYTES)]
    plain = _played(network, flows, tmp_path, "plain", backend="flow")
    links = {"switch0:1": 2, "switch0:2": 3}
    old, new = sorted(links, key=lambda port: _frames(plain, port), reverse=True)
    down_ps = 200_000_000
    down = [Change(down_ps, LinkTarget(links[old]), State(up=False))]
    played = _played(network, flows, tmp_path, "down", backend="flow", changes=down)
    share = 0.5 if kind == "spray" else 1.0
    expected = share * down_ps / 1_000 * LINE_BYTES_PER_NS / FRAME
    assert _frames(played, old) == pytest.approx(expected, abs=1)
    assert _frames(played, old) + _frames(played, new) == pytest.approx(PACKETS, abs=kind == "spray")
    assert _frames(played, "host0") == PACKETS
    _agree_with_utilisation(played, 1)


@pytest.mark.parametrize("control", CONTROLS)
def test_messages_under_way_at_the_end_are_counted_as_far_as_lines_have_carried_them(
    control: str, tmp_path: Path
) -> None:
    """Senders fill their lines where nothing slows them down, else they have a half of the receiver's line each."""
    network = roce_star(3, congestion_control=control, observe=OBSERVED)
    flows = [Flow(1, 0, BYTES), Flow(2, 0, BYTES)]
    until_ns = 100_000
    played = _played(network, flows, tmp_path, "flow", backend="flow", until_ps=1_000 * until_ns)
    line = until_ns * LINE_BYTES_PER_NS / FRAME
    late = DELAY_NS * LINE_BYTES_PER_NS / FRAME if control == "none" else 0.0
    for sender in ("host1", "host2"):
        assert _frames(played, sender) == pytest.approx(line if control == "none" else line / 2, abs=1)
    assert _frames(played, "switch0:0") == pytest.approx(line - late, abs=2)
    _agree_with_utilisation(played, 2)


def test_what_lines_have_carried_at_the_end_is_what_packets_have(tmp_path: Path) -> None:
    """A queue on the way, messages that are through, that wait in it and that are sent, and all acknowledgements."""
    network = roce_network({**LEAVES, "spines": 1, "hosts_per_leaf": 3}, observe=OBSERVED, congestion_control="none")
    flows = [Flow(0, 3, 50_000, messages=2), Flow(1, 4, BYTES), Flow(2, 5, BYTES), Flow(5, 0, 400_000)]
    played = {
        backend: _played(network, flows, tmp_path, backend, backend=backend, until_ps=150_000_000)
        for backend in ("ns3", "flow")
    }
    for port, row in played["ns3"].ports.items():
        assert _frames(played["flow"], port) == pytest.approx(row["sent_frames"], abs=FEW_FRAMES), port
    _agree_with_utilisation(played["flow"], 4)


def test_acknowledgements_that_wait_at_the_end_are_not_counted(tmp_path: Path) -> None:
    """Data fills leaf 1's uplink, and acknowledgements of other data share it."""
    network = roce_network({**LEAVES, "spines": 1, "hosts_per_leaf": 2}, observe=OBSERVED, congestion_control="none")
    flows = [Flow(0, 2, BYTES), Flow(3, 1, BYTES)]
    played = _played(network, flows, tmp_path, "flow", backend="flow", until_ps=200_000_000)
    _agree_with_utilisation(played, 2)
    uplink = played.ports["switch1:2"]
    assert uplink["sent_bytes"] + GAP * uplink["sent_frames"] == pytest.approx(200_000 * LINE_BYTES_PER_NS, rel=0.005)


def test_looking_at_counters_on_the_way_changes_nothing(tmp_path: Path) -> None:
    network = roce_star(3, observe=OBSERVED)
    flows = [Flow(1, 0, BYTES), Flow(2, 0, BYTES)]
    plain = _played(network, flows, tmp_path, "plain", backend="flow")
    looked = _played(network, flows, tmp_path, "looked", backend="flow", looks_ps=[10_000_000, 123_456_789])
    assert looked.ports == plain.ports
    assert looked.end_ps == plain.end_ps
