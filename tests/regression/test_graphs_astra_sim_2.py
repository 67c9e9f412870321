"""Chakra traces as ASTRA-sim 2 plays them: every measured run that came to its end, NPU by NPU and node by node."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from support.graphs.graph_reference import cases, enter, finishes, node_times, play
from support.measured import Row

from astra_ns3.errors import SimulationStalled

TOLERANCE_PS = 1000
"""The other program counts whole nanoseconds."""
ROCE_TOLERANCE = 0.01
"""Of packets: queues of NICs and switches break ties otherwise."""
SENSITIVE = "n-straggler8-ring_s4-single_8-8"
"""NPUs are out of step, so ties between data and ACKs decide: a nanosecond of a link's delay moves its end by 3%."""
OTHERWISE = {
    "a-match4_self_send-ring_s4-sw4": "a message to oneself goes to the switch and back there, and takes no time here",
    SENSITIVE: "a test of its own",
}
REFUSED = {
    "u-file4_cycle-ring_s4-ring4": SimulationStalled,
    "n-file4_cycle-ring_s4-single_4-4": SimulationStalled,
}


@pytest.mark.parametrize("case", cases("unaware", "aware"), ids=lambda case: case["case"])
def test_npus_and_nodes_end_when_they_do_in_astra_sim_2(case: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    name = case["case"]
    enter(monkeypatch)
    if name in OTHERWISE:
        pytest.skip(OTHERWISE[name])
    if name in REFUSED:
        with pytest.raises(REFUSED[name]):
            play(case)
        return
    played = play(case)
    replays = "replay" in case["system"]  # whose exposed times are below 0 there
    for npu, (finish_ps, exposed_ps) in finishes()[name].items():
        record = played.records.npus[npu]
        assert abs(record.finish_ps - finish_ps) <= TOLERANCE_PS
        assert replays or abs(record.exposed_ps - exposed_ps) <= TOLERANCE_PS
    for node, times in node_times().get(name, {}).items():
        assert played.nodes[node] == pytest.approx(times, rel=0, abs=TOLERANCE_PS), node


@pytest.mark.parametrize("case", cases("ns3"), ids=lambda case: case["case"])
def test_npus_end_within_a_hundredth_of_astra_sim_2_over_roce(case: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    name = case["case"]
    enter(monkeypatch)
    if name in OTHERWISE:
        pytest.skip(OTHERWISE[name])
    if name in REFUSED:
        with pytest.raises(REFUSED[name]):
            play(case)
        return
    played = play(case)
    for npu, (finish_ps, _) in finishes()[name].items():
        assert played.records.npus[npu].finish_ps == pytest.approx(finish_ps, rel=ROCE_TOLERANCE)


def test_what_a_nanosecond_changes_lies_on_both_sides_of_astra_sim_2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = [case for case in cases("ns3") if case["case"] == SENSITIVE]
    if not found:
        pytest.skip("no measured cases")
    enter(monkeypatch)
    folder = Path(found[0]["network"]).parent
    topology = (folder / "topology_single_8.txt").read_text(encoding="utf-8")
    (tmp_path / "config.txt").write_bytes(Path(found[0]["network"]).read_bytes())
    ends: dict[int, list[int]] = defaultdict(list)
    for delay_ns in (498, 499, 500, 501, 502):
        varied = topology.replace("0.0005ms", f"0.000{delay_ns}ms")
        (tmp_path / "topology_single_8.txt").write_text(varied, encoding="utf-8")
        played = play({**found[0], "network": str(tmp_path / "config.txt")})
        for npu, record in enumerate(played.records.npus):
            ends[npu].append(record.finish_ps)
    for npu, (finish_ps, _) in finishes()[SENSITIVE].items():
        assert min(ends[npu]) <= finish_ps <= max(ends[npu]) <= 1.06 * min(ends[npu])
