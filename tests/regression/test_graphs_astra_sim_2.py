"""Chakra traces as ASTRA-sim 2 plays them: every measured run that came to its end, NPU by NPU and node by node."""

from __future__ import annotations

import pytest
from support.graph_reference import cases, enter, finishes, node_times, play
from support.measured import Row

from astra_ns3.errors import SimulationStalled

TOLERANCE_PS = 1000
"""The other program counts whole nanoseconds."""
ROCE_TOLERANCE = 0.01
"""Of packets: queues of NICs and switches break ties otherwise."""
OTHERWISE = {
    "a-match4_self_send-ring_s4-sw4": "a message to oneself goes to the switch and back there, and takes no time here",
    "n-straggler8-ring_s4-single_8-8": "2.9%: where NPUs are out of step, ACKs wait behind other data than there",
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
