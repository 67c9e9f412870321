"""A plan with changes over time, played as packets: against closed forms and networks that are so from the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.roce_network import Flow, play_flows, roce_network, roce_star

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import AstraNs3Error, InputError
from astra_ns3.network.plan import plan_network
from astra_ns3.topology.changes import Change, LinkTarget, NpuTarget, State, SwitchTarget

BYTES = 1_000_000
PAYLOAD = 1000
LEAF_SPINE: dict[str, Any] = {
    "kind": "leaf-spine",
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 2,
    "link": {"rate": "100Gbps", "delay": "500ns"},
    "switch": {"buffer": "1GB"},
}
US = 1_000_000


def line(time_ps: int, link: int = 0, **state: Any) -> Change:
    """A change of a link."""
    return Change(time_ps, LinkTarget(link), State(**state))


def finish_ps(network: NetworkConfig, folder: Path, *changes: Change) -> int:
    """When a message from NPU 0 to the last one has arrived."""
    folder.mkdir(exist_ok=True)
    flow = Flow(0, network.npus - 1, BYTES)
    played = play_flows(network, [flow], folder, changes=changes)
    (end_ps,) = played.table("flows")["end_ps"]
    return int(end_ps)


def test_a_slower_line_takes_what_leaves_from_then_on_longer(tmp_path: Path) -> None:
    network = roce_star(2, payload=PAYLOAD, congestion_control="none")
    packets = BYTES // PAYLOAD
    idle = finish_ps(network, tmp_path / "idle")
    # Of an idle network: all packets on the first line, the last of them on the second, two cables.
    wire_ps = (idle - 2 * 500_000) // (packets + 1)
    assert idle == wire_ps * (packets + 1) + 2 * 500_000
    time_ps = 20 * US
    before = -(-time_ps // wire_ps)
    expected = before * wire_ps + (packets - before) * 2 * wire_ps + wire_ps + 2 * 500_000
    assert finish_ps(network, tmp_path / "slower", line(time_ps, rate_bps=50_000_000_000)) == expected


@pytest.mark.parametrize("change", [{"rate": "25Gbps"}, {"delay": "7us"}])
def test_a_change_at_the_start_is_a_network_that_is_so(tmp_path: Path, change: dict[str, Any]) -> None:
    keys: dict[str, Any] = {"congestion_control": "none", "window": "100MB"}
    as_built = finish_ps(roce_star(2, **keys, **change), tmp_path / "built")
    state = {"rate_bps": 25_000_000_000} if "rate" in change else {"delay_ps": 7 * US}
    changes = [line(0, link, **state) for link in range(2)]
    assert finish_ps(roce_star(2, **keys), tmp_path / "changed", *changes) == as_built


def test_what_a_dead_link_loses_is_sent_again_when_it_is_back(tmp_path: Path) -> None:
    network = roce_star(2, congestion_control="none", reliability={"kind": "go-back-n", "timeout": "100us"})
    idle = finish_ps(network, tmp_path / "idle")
    down, up = 20 * US, 250 * US
    late = finish_ps(network, tmp_path / "down", line(down, up=False), line(up, up=True))
    # What had arrived by then need not be sent again, and no more than a timeout passes after it.
    assert up < late < up + idle + 100 * US
    assert late > up + (idle - down) - 2 * US


@pytest.mark.parametrize("kind", ["roce", "tcp"])
@pytest.mark.parametrize("target", [SwitchTarget(2), SwitchTarget(3)])
def test_traffic_goes_round_a_spine_that_dies(tmp_path: Path, kind: str, target: SwitchTarget) -> None:
    transport = {"reliability": {"kind": "go-back-n", "timeout": "100us"}} if kind == "roce" else {}
    network = parse_network({"topology": LEAF_SPINE, "transport": {"kind": kind, **transport}})
    played = play_flows(network, [Flow(0, 3, BYTES)], tmp_path, changes=[Change(20 * US, target, State(up=False))])
    assert len(played.table("flows")) == 1
    through = {name: row["sent_bytes"] for name, row in played.ports.items() if name.startswith("switch")}
    dead, alive = (sum(v for k, v in through.items() if k.startswith(f"switch{n}:")) for n in _both(target))
    assert dead < 0.3 * BYTES  # what the line takes in 20 us is a quarter
    assert alive > 0.7 * BYTES
    lost = sum(row["cut_frames"] + row["down_frames"] for row in played.ports.values())
    assert lost > 0 or dead < 0.05 * BYTES  # the way of the acknowledgements has seldom something on it


def _both(dead: SwitchTarget) -> tuple[int, int]:
    return dead.switch, 5 - dead.switch


def test_an_npu_that_dies_is_named_by_who_gives_up(tmp_path: Path) -> None:
    network = roce_star(2, reliability={"kind": "go-back-n", "timeout": "50us", "retries": 2})
    with pytest.raises(AstraNs3Error, match="NPU 0 to NPU 1"):
        finish_ps(network, tmp_path, Change(20 * US, NpuTarget(1), State(up=False)))


def test_frames_are_lost_once_a_link_begins_to_lose(tmp_path: Path) -> None:
    network = roce_network(
        {**LEAF_SPINE, "spines": 1}, congestion_control="none", reliability={"kind": "go-back-n", "timeout": "100us"}
    )
    flow = [Flow(0, 3, BYTES)]
    (tmp_path / "whole").mkdir()
    assert play_flows(network, flow, tmp_path / "whole").statistics["lost_frames"] == 0
    played = play_flows(network, flow, tmp_path, changes=[line(20 * US, error_rate=0.01)])
    assert played.statistics["lost_frames"] > 0
    assert played.statistics["retransmissions"] > 0


def test_impossible_changes_are_refused_where_they_are_planned() -> None:
    with pytest.raises(InputError, match=r"change of link 9 at .*: there is no such link, expected 0\.\.1"):
        plan_network(roce_star(2), None, [line(0, 9, up=False)])
    analytical = plan_network(roce_star(2)).grid.network
    with pytest.raises(InputError, match="an analytical network doesn't change"):
        plan_network(analytical, None, [line(0, up=False)])  # type: ignore[call-overload]
