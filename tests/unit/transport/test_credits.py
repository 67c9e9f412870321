"""Keys of credit-based links: what is refused, what is warned of, and which lanes follow which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.small_run import small_system, small_workload

from astra_ns3 import Tenant
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.network.credit_lanes import check_detours, check_lanes
from astra_ns3.network.plan import NetworkPlan, plan_network
from astra_ns3.transport.check import check_transports
from astra_ns3.transport.credits import lanes_in_use, loop_ps, next_lanes

LINK = {"rate": "100Gbps", "delay": "500ns"}
FRAME = 1062
RING = {"kind": "ring", "npus": 6, "link": LINK}
ON_LINE_PS = (FRAME + 20) * 80


def warnings(
    given: dict[str, Any],
    topology: dict[str, Any] | None = None,
    transport: dict[str, Any] | None = None,
    **switch: Any,
) -> list[str]:
    network = parse_network(
        {
            "topology": {
                **(topology or {"kind": "single-switch", "npus": 4}),
                "link": LINK,
                "switch": {"buffer": "64MB", "credits": given, **switch},
            },
            "transport": {"kind": "roce", "payload": 1000, "congestion_control": "none", **(transport or {})},
        }
    )
    plan = plan_network(network)
    found = [*check_transports(network, plan.outline, plan.transports), *check_lanes(plan)]
    return [warning for warning in found if "credit" in warning]


@pytest.mark.parametrize(
    ("given", "more", "words"),
    [
        ({"bytes": FRAME - 1}, {}, f"{FRAME - 1} bytes are less than the largest frame, {FRAME}"),
        ({}, {"pfc": {}}, "key 'topology.switch.pfc': stands beside credits"),
        ({}, {"alpha": 1.0}, "key 'topology.switch.alpha': stands beside credits"),
        ({}, {"cut_through": "64B"}, "key 'topology.switch.cut_through': stands beside credits"),
        ({"lanes": 6}, {}, "6 lanes from priority 3 on reach lane 8, and lanes are 0 to 7"),
        ({"bytes": "64KiB", "lanes": 2}, {"buffer": 524_287}, "524287 bytes are less than the 524288 of 2 lanes of 4"),
        ({"change": "date-line"}, {}, "date-line is for ring, torus and mesh, not for single-switch"),
    ],
)
def test_what_is_impossible_is_refused_in_one_line(given: dict[str, Any], more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as refused:
        warnings(given, **more)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_lane_of_one_frame_is_taken() -> None:
    assert not any("largest frame" in warning for warning in warnings({"bytes": FRAME}))


def test_credits_below_a_round_trip_are_warned_of_with_the_share_that_is_left() -> None:
    loop_ps = 2 * ON_LINE_PS + 2 * 500_000 + 100_000
    frames = 4
    assert frames * ON_LINE_PS < loop_ps
    (found,) = warnings({"bytes": frames * FRAME + 5, "update": "100ns"})
    assert f"sends 4 frames in {frames * ON_LINE_PS / 1000:.1f} ns" in found
    assert f"so it reaches {100 * frames * ON_LINE_PS // loop_ps}% of the rate" in found


def test_credits_of_a_round_trip_are_not_warned_of() -> None:
    frames = -(-(2 * ON_LINE_PS + 2 * 500_000) // ON_LINE_PS)
    assert not warnings({"bytes": frames * FRAME})
    assert warnings({"bytes": frames * FRAME - 1})


def test_a_round_trip_of_credit_counts_each_begun_picosecond_of_a_line() -> None:
    """1,000 bytes take 26,666.7 ps at 300 Gb/s."""
    port: Any = SimpleNamespace(rate_bps=300_000_000_000, delay_ps=10)
    given: Any = SimpleNamespace(update_ps=5)
    assert loop_ps(port, given, 1000) == 2 * 26_667 + 2 * 10 + 5
    assert loop_ps(port, given, 1500) == 2 * 40_000 + 2 * 10 + 5


@pytest.mark.parametrize(
    ("topology", "given", "deadlocks"),
    [
        ({"kind": "ring", "npus": 6}, {"lanes": 1}, True),
        ({"kind": "ring", "npus": 6}, {"lanes": 2, "change": "date-line"}, False),
        ({"kind": "ring", "npus": 6}, {"lanes": 3}, False),
        ({"kind": "torus", "shape": [4, 4]}, {"lanes": 2}, True),
        ({"kind": "torus", "shape": [4, 4]}, {"lanes": 4}, False),
        ({"kind": "dragonfly", "a": 4, "p": 1, "h": 1}, {"lanes": 1}, True),
        ({"kind": "dragonfly", "a": 4, "p": 1, "h": 1}, {"lanes": 3}, False),
        ({"kind": "fat-tree", "k": 4}, {"lanes": 1}, False),
    ],
)
def test_lanes_fewer_than_the_routes_need_are_warned_of(
    topology: dict[str, Any], given: dict[str, Any], deadlocks: bool
) -> None:
    found = [warning for warning in warnings(given, topology) if "deadlock" in warning]
    assert bool(found) == deadlocks
    assert all("raise credits.lanes" in warning and "\n" not in warning for warning in found)


@pytest.mark.parametrize("more", [{}, {"storage": {"per": "fabric", "count": 3, "link": LINK}}])
@pytest.mark.parametrize(
    ("topology", "lanes", "deadlocks"),
    [
        ({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}, 1, False),
        ({"kind": "fat-tree", "k": 4}, 1, False),
        (RING, 1, True),
        (RING, 3, False),
    ],
)
def test_hosts_that_never_send_to_each_other_close_no_circle(
    topology: dict[str, Any], lanes: int, deadlocks: bool, more: dict[str, Any]
) -> None:
    """Reducers or storage hosts of two spines could only meet by a leaf, down and up again."""
    reducing: dict[str, Any] = {"reduction": {}}
    for switch in (reducing, {}):
        found = [each for each in warnings({"lanes": lanes}, topology | more, **switch) if "deadlock" in each]
        assert bool(found) == deadlocks


def test_a_link_that_events_make_longer_than_its_credits_is_warned_of_once() -> None:
    """15 frames of 4158 bytes with 20 of gap on 100 Gb/s, and a round trip of 20 us and two frames."""
    frame_ps = (4158 + 20) * 80
    switch = {"buffer": "32MB", "credits": {"bytes": "64KiB"}}
    shape = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": LINK, "switch": switch}
    roce = {"kind": "roce", "payload": 4096, "congestion_control": "none"}
    network = parse_network({"topology": shape, "transport": roce})
    event = {"link": ["leaf 0", "spine 0"], "delay": "10us"}
    at_times = [{"at": at, **event, "for": "1us"} for at in ("100us", "200us")]
    scenario: Any = {"events": at_times}
    tenant = Tenant("job", [0, 2], small_workload(), small_system())
    for backend in ("ns3", "flow"):
        request = ScenarioRequest(scenario=scenario, tenants=[tenant], network=network, backend=backend)
        (inputs,) = load_tenants(request)
        (said,) = (line for line in inputs.warnings if "below a round trip's worth" in line)
        assert said.startswith("from 100 us on, credits 65.54 KB of ports of 100 Gb/s are")
        assert f"reaches {100 * 15 * frame_ps // (20_000_000 + 2 * frame_ps)}% of the rate" in said


def test_pfc_at_one_end_of_a_link_and_credits_at_the_other_are_refused() -> None:
    network = parse_network(
        {
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": 1,
                "hosts_per_leaf": 1,
                "link": LINK,
                "switch": {"buffer": "64MB", "credits": {}},
                "spine_switch": {"buffer": "64MB", "pfc": {}},
            },
            "transport": {"kind": "roce", "congestion_control": "none"},
        }
    )
    with pytest.raises(InputError, match="link 2 has pfc at one end and credits at the other"):
        list(check_lanes(plan_network(network)))


def test_valiant_routes_with_too_few_lanes_or_without_credits_are_refused() -> None:
    def of(**switch: Any) -> NetworkPlan:
        topology = {**RING, "switch": {"buffer": "64MB", **switch}, "routing": {"kind": "valiant"}}
        keys = {"kind": "roce", "congestion_control": "none", "priority": 0, "ack_priority": 0}
        return plan_network(parse_network({"topology": topology, "transport": keys}))

    with pytest.raises(
        InputError, match=r"key 'topology.switch.credits.lanes': found 2 lanes, too few for routing kind"
    ):
        list(check_lanes(of(credits={"lanes": 2})))
    assert list(check_lanes(of(credits={"lanes": 6}))) == []
    check_detours(of(credits={"lanes": 6}))
    with pytest.raises(InputError, match="valiant needs credits of all switches"):
        check_detours(of())


def test_each_lane_is_followed_by_the_next_up_to_the_last_of_its_priority() -> None:
    network = parse_network(
        {
            "topology": {**RING, "switch": {"buffer": "64MB", "credits": {"lanes": 3}}},
            "transport": {"kind": "roce", "congestion_control": "none", "priority": 0, "ack_priority": 4},
        }
    )
    transports = plan_network(network).transports.values()
    assert lanes_in_use(transports, 3) == [0, 1, 2, 4, 5, 6]
    assert next_lanes(transports, 3) == [1, 2, 2, 3, 5, 6, 6, 7]
    assert next_lanes(transports, 1) == [0, 1, 2, 3, 4, 5, 6, 7]
