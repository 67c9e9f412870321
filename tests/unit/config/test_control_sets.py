"""Named sets of a congestion control's numbers, and thresholds that a file leaves open, against hand-worked figures."""

from __future__ import annotations

from typing import Any

import pytest
from support.transports import transport_of

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.transports.roce_control import KINDS, RoceControl
from astra_ns3.errors import InputError
from astra_ns3.network.plan import NetworkPlan, plan_network
from astra_ns3.transport.check import check_transports
from astra_ns3.transport.roce.control_sets import InForce, Line, in_force
from astra_ns3.transport.roce.roce import Roce

GBPS = 10**9
MBPS = 10**6
US = 10**6


def control(keys: object) -> RoceControl:
    network = parse_network(star({"kind": "roce", "congestion_control": keys}))
    roce = transport_of(network, RoceTransport)
    assert roce is not None
    return roce.congestion_control


def star(transport: object, rate: str = "100Gbps", switch: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "topology": {
            "npus": 16,
            "link": {"rate": rate, "delay": "500ns"},
            "switch": {"buffer": "32MiB", "pfc": {}, **(switch or {})},
        },
        "transport": transport,
    }


def numbers(keys: object, rate_bps: int = 100 * GBPS, round_trip_ps: int = 5 * US) -> InForce:
    return in_force(control(keys), Line(rate_bps, round_trip_ps, 1000))


def test_scaled_dcqcn_keeps_the_papers_ratios() -> None:
    # Timers 55/50 of a CNP interval of 5 us; half of the line in 250 steps; 10 MB x 100/40 x 5.5/55.
    found = numbers("dcqcn")
    assert found.cnp_interval_ps == 5 * US
    assert found.minimum_rate_bps == 100 * MBPS
    assert found.numbers == {
        "rate_ai": 200 * MBPS,
        "rate_hai": 1000 * MBPS,
        "g": 1 / 256,
        "alpha_timer": 5_500_000,
        "decrease_timer": 0,
        "increase_timer": 5_500_000,
        "byte_counter": 2_500_000,
        "fast_recovery_times": 5,
        "clamp_target_rate": True,
        "rate_on_first_cnp": 1.0,
    }
    # Below 4 us of round trip NICs are the limit: timers of 4.4 us.
    assert numbers("dcqcn", round_trip_ps=US).cnp_interval_ps == 4 * US
    assert numbers("dcqcn", round_trip_ps=US).numbers["rate_ai"] == 160 * MBPS
    # Half of the line in 1.375 ms whatever the round trip: 17.9 steps of 2.8% in 77 us each.
    assert numbers("dcqcn", round_trip_ps=70 * US).numbers["rate_ai"] == 2800 * MBPS


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("none", "static-window")])
def test_scaled_rates_follow_the_line_and_times_the_round_trip(kind: str) -> None:
    """Eight times the line: rates and bytes eight times, times the same; twice a long round trip: times twice."""
    slow, fast, far = numbers(kind, 100 * GBPS), numbers(kind, 800 * GBPS), numbers(kind, round_trip_ps=10 * US)
    for key in ("rate_ai", "rate_hai", "byte_counter"):
        if key in slow.numbers and kind != "dctcp":
            assert fast.numbers[key] == pytest.approx(8 * slow.numbers[key], rel=1e-6)
    times = ("alpha_timer", "increase_timer", "base_target", "per_hop", "fs_range")
    for key in (key for key in times if key in slow.numbers):
        assert fast.numbers[key] == slow.numbers[key]
        assert far.numbers[key] == 2 * slow.numbers[key]
    assert fast.minimum_rate_bps == 8 * slow.minimum_rate_bps


def test_scaled_timely_has_the_papers_times_until_the_round_trip_is_longer() -> None:
    near, far = numbers("timely").numbers, numbers("timely", round_trip_ps=70 * US).numbers
    assert (near["minimum_rtt"], near["t_low"], near["t_high"]) == (20 * US, 50 * US, 500 * US)
    assert (far["minimum_rtt"], far["t_low"], far["t_high"]) == (70 * US, 175 * US, 1750 * US)
    assert (near["rate_ai"], near["rate_hai"], near["segment"]) == (400 * MBPS, 2000 * MBPS, 0)


def test_scaled_windows_and_delays() -> None:
    # One packet of 1000 bytes in 13 us: the 615 Mb/s of run.py.
    assert numbers({"kind": "dctcp", "window": False}, round_trip_ps=13 * US).numbers["rate_ai"] // MBPS == 615
    # 0.05 x 100 Gb/s / 50 flows.
    assert numbers("hpcc").numbers["rate_ai"] == numbers("hpcc-pint").numbers["rate_ai"] == 100 * MBPS
    swift = numbers("swift", round_trip_ps=50 * US).numbers
    assert (swift["base_target"], swift["per_hop"], swift["fs_range"]) == (75 * US, 3 * US, 300 * US)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # Zhu et al. 2015: g 1/256, K and timer 55 us, byte counter 10 MB, F 5, R_AI 40 Mb/s.
        ("dcqcn", {"g": 1 / 256, "alpha_timer": 55 * US, "increase_timer": 55 * US, "byte_counter": 10**7}),
        ("dcqcn", {"fast_recovery_times": 5, "rate_ai": 40 * MBPS, "rate_hai": 200 * MBPS, "decrease_timer": 0}),
        # Mittal et al. 2015.
        ("timely", {"rate_ai": 10 * MBPS, "rate_hai": 50 * MBPS, "t_low": 50 * US, "t_high": 500 * US}),
        ("timely", {"minimum_rtt": 20 * US, "segment": 16_384, "beta": 0.8, "hai_after": 5}),
        ("hpcc", {"rate_ai": 50 * MBPS, "eta": 0.95, "max_stage": 5}),
        ("swift", {"base_target": 25 * US, "per_hop": US, "fs_range": 100 * US}),
    ],
)
def test_paper_is_what_is_printed_whatever_the_line(kind: str, expected: dict[str, float]) -> None:
    for rate_bps, round_trip_ps in ((10 * GBPS, 2 * US), (800 * GBPS, 90 * US)):
        found = numbers({"kind": kind, "parameters": "paper"}, rate_bps, round_trip_ps)
        assert {key: found.numbers[key] for key in expected} == expected
        assert (found.cnp_interval_ps, found.minimum_rate_bps) == (50 * US, 100 * MBPS)


def test_hpccs_set_is_that_of_its_script() -> None:
    # run.py at 100 Gb/s: AI 5 x 4, HAI 50 x 4, timers 1, 4 and 300 us; HPCC 10 x 4; TIMELY 10 x 10 and 50 x 10 Mb/s.
    found = numbers({"kind": "dcqcn", "parameters": "hpcc"})
    assert (found.numbers["rate_ai"], found.numbers["rate_hai"]) == (20 * MBPS, 200 * MBPS)
    timers = [found.numbers[key] for key in ("alpha_timer", "decrease_timer", "increase_timer", "byte_counter")]
    assert timers == [US, 4 * US, 300 * US, 0]
    assert (found.numbers["fast_recovery_times"], found.numbers["clamp_target_rate"]) == (1, 0)
    assert (found.cnp_interval_ps, found.minimum_rate_bps) == (4 * US, GBPS)
    hpcc = numbers({"kind": "hpcc", "parameters": "hpcc"}).numbers
    assert (hpcc["rate_ai"], hpcc["max_stage"], hpcc["multiple_rates"]) == (40 * MBPS, 0, 0)
    timely = numbers({"kind": "timely", "parameters": "hpcc"}).numbers
    assert (timely["rate_ai"], timely["rate_hai"], timely["segment"]) == (100 * MBPS, 500 * MBPS, 0)
    dctcp = numbers({"kind": "dctcp", "parameters": "hpcc"}).numbers
    assert (dctcp["window"], dctcp["rate_ai"], dctcp["g"]) == (False, 615 * MBPS, 1 / 16)


def test_nvidias_set_is_its_decrease_and_our_increase() -> None:
    scaled, found = numbers("dcqcn"), numbers({"kind": "dcqcn", "parameters": "nvidia"})
    assert (found.numbers["g"], found.numbers["alpha_timer"], found.numbers["decrease_timer"]) == (5 / 1024, US, 4 * US)
    for key in ("rate_ai", "rate_hai", "increase_timer", "byte_counter", "fast_recovery_times"):
        assert found.numbers[key] == scaled.numbers[key]
    assert found.minimum_rate_bps == MBPS


def test_the_least_rate_of_a_set_is_never_above_the_line() -> None:
    for name, rate_bps in (("paper", 50 * MBPS), ("hpcc", 500 * MBPS)):
        assert numbers({"kind": "dcqcn", "parameters": name}, rate_bps).minimum_rate_bps == rate_bps


def test_a_key_of_the_file_comes_before_the_set() -> None:
    found = numbers({"kind": "dcqcn", "parameters": "paper", "rate_ai": "1Gbps", "clamp_target_rate": False})
    assert (found.numbers["rate_ai"], found.numbers["clamp_target_rate"]) == (GBPS, 0)
    assert found.numbers["rate_hai"] == 200 * MBPS
    plan = plan_of({"kind": "roce", "congestion_control": "dcqcn", "cnp_interval": "9us", "minimum_rate": "3Gbps"})
    roce = plan.transports["roce"]
    assert isinstance(roce, Roce)
    assert (roce.parameters.cnp_interval_ps, roce.parameters.minimum_rate_bps) == (9 * US, 3 * GBPS)
    assert roce.parameters.control_parameters["minimum_rate"] == 3 * GBPS


def test_a_key_that_contradicts_the_set_is_named() -> None:
    with pytest.raises(ValueError, match=r"t_low': 1ms is above t_high, 500us \(of parameters: scaled\)"):
        numbers({"kind": "timely", "t_low": "1ms"})
    with pytest.raises(InputError, match="t_low': 1ms is above t_high, 500us"):
        plan_of({"kind": "roce", "congestion_control": {"kind": "timely", "t_low": "1ms"}})
    assert numbers({"kind": "timely", "t_low": "500us"}).numbers["t_low"] == 500 * US


def plan_of(transport: object, rate: str = "100Gbps", switch: dict[str, Any] | None = None) -> NetworkPlan:
    network: NetworkConfig = parse_network(star(transport, rate, switch))
    return plan_network(network)


def marking(control_keys: object, rate: str = "100Gbps", **switch: Any) -> list[tuple[int, int, float]]:
    plan = plan_of({"kind": "roce", "congestion_control": control_keys}, rate, switch)
    return [(each.kmin_bytes, each.kmax_bytes, each.pmax) for each in plan.graph.switch_configs[0].marking]


def test_marking_follows_the_port_where_a_control_waits_for_it() -> None:
    assert marking("dcqcn") == [(400_000, 1_600_000, 0.2)]
    assert marking("dcqcn", "25Gbps") == [(100_000, 400_000, 0.2)]
    assert marking("dctcp") == [(300_000, 300_000, 1.0)]
    for kind in ("none", "static-window", "timely", "hpcc", "hpcc-pint", "swift"):
        assert marking(kind) == []
    assert marking("timely", ecn="scaled") == [(400_000, 1_600_000, 0.2)]


def test_what_the_file_says_of_marking_holds() -> None:
    assert marking("dcqcn", ecn="off") == marking("dcqcn", ecn=False) == []
    assert marking("dcqcn", ecn={"kmin": 5, "kmax": 6}) == [(5, 6, 1.0)]


def test_marks_come_before_pauses() -> None:
    """A sender may fill 1/9 of what 16 ports' headroom and reserve leave, beside its reserve: kmax is that."""
    headroom = 16 * (100_000 + 3 * 1082 + 84)  # 800 Gb/s: two delays of 500 ns
    most = 4096 + (32 * 2**20 - headroom - 16 * 4096) // 9
    ((kmin, kmax, _),) = marking("dcqcn", "800Gbps")
    assert kmin == most // 4
    assert kmax == 4 * kmin
    # A buffer that all may use, without PFC.
    assert marking("dcqcn", "800Gbps", pfc=None, buffer="4MB") == [(1_000_000, 4_000_000, 0.2)]


def test_a_long_round_trip_needs_a_queue_that_outlasts_a_cut() -> None:
    """A seventh of 100 Gb/s x a round trip of 2 ms and 187 ns."""
    keys = star({"kind": "roce", "congestion_control": "dctcp"}, switch={"buffer": "1GB", "pfc": None})
    keys["topology"]["link"]["delay"] = "500us"
    (found,) = plan_network(parse_network(keys)).graph.switch_configs[0].marking
    assert found.kmin_bytes == found.kmax_bytes == 2_000_186_880 // 80 // 7


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_alone_needs_no_path(kind: str) -> None:
    """All NPUs share a host: no round trip, and nothing to scale by."""
    keys = star({"kind": "roce", "congestion_control": kind})
    keys["topology"] |= {"npus": 4, "npus_per_host": 4}
    assert "roce" in plan_network(parse_network(keys)).transports


@pytest.mark.parametrize("kind", ["dcqcn", "dctcp"])
@pytest.mark.parametrize("switch", [{"buffer": "64KB"}, {"buffer": 3, "pfc": None}])
def test_a_buffer_too_small_for_thresholds_is_refused_by_its_name(kind: str, switch: dict[str, Any]) -> None:
    network = parse_network(star({"kind": "roce", "congestion_control": kind}, switch=switch))
    plan = plan_network(network)
    with pytest.raises(InputError, match=r"topology\.switch\.buffer"):
        check_transports(network, plan.outline, plan.transports)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", ["10Gbps", "100Gbps", "800Gbps"])
def test_what_the_program_chooses_it_does_not_warn_of(kind: str, rate: str) -> None:
    network = parse_network(star({"kind": "roce", "congestion_control": kind}, rate, {"buffer": "16MB"}))
    plan = plan_network(network)
    warnings = check_transports(network, plan.outline, plan.transports)
    assert [warning for warning in warnings if "kmin" in warning or "congestion_control" in warning] == []


def test_tcp_marks_where_it_is_told_to() -> None:
    plan = plan_of({"kind": "tcp", "congestion_control": "Dctcp"}, switch={"ecn": "scaled"})
    assert [(each.kmin_bytes, each.kmax_bytes) for each in plan.graph.switch_configs[0].marking] == [(300_000, 300_000)]
    assert plan_of("tcp").graph.switch_configs[0].marking == ()


def test_switches_that_differ_in_ports_share_what_they_can() -> None:
    keys = star({"kind": "roce", "congestion_control": "dcqcn"})
    keys["topology"] = {
        "kind": "leaf-spine",
        "leaves": 4,
        "spines": 2,
        "hosts_per_leaf": 8,
        "oversubscription": 2,
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "64MB", "pfc": {}},
    }
    configs = plan_network(parse_network(keys)).graph.switch_configs
    assert [len({id(config) for config in part}) for part in (configs[:4], configs[4:])] == [1, 1]
    leaf, spine = configs[0], configs[-1]
    assert [getattr(each, "rate_bps", 0) for each in leaf.marking] == [100 * GBPS, 200 * GBPS]
    assert [getattr(each, "rate_bps", 0) for each in spine.marking] == [200 * GBPS]


@pytest.mark.parametrize(
    ("keys", "own"),
    [
        *((kind, kind in ("dctcp", "swift")) for kind in KINDS),
        ({"kind": "dctcp", "parameters": "paper"}, True),
        ({"kind": "dctcp", "parameters": "hpcc"}, False),
        ({"kind": "dctcp", "parameters": "hpcc", "window": True}, True),
        ({"kind": "dctcp", "window": False}, False),
    ],
    ids=str,
)
def test_keys_alone_say_whether_a_control_has_a_window_of_its_own(keys: object, own: bool) -> None:
    found = control(keys)
    assert (found.owns_window, found.moves_window(numbers(keys).numbers)) == (own, own)
