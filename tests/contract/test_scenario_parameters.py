"""Events that change a switch's memory and pauses, and numbers of congestion controls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from contract.test_scenario_files import LINK, Files, leaf_spine, star

from astra_ns3 import ScenarioResult
from astra_ns3.errors import InputError

US = 10**6
FRAME_BYTES, WIRE_BYTES, PAUSE_WIRE_BYTES = 1062, 1082, 84
ENDPOINT_PS = 10_000
DELAY_PS = 500_000
PS_PER_BYTE = 80
"""At 100 Gb/s."""
FRAME_PS = WIRE_BYTES * PS_PER_BYTE
PACKETS = 2000
"""Of each of two flows into one NPU."""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def flow(files: Files, size: int) -> str:
    return files.write(f"flow-{size}.csv", f"source,destination,bytes,start\n0,1,{size},0ns\n")


def incast(files: Files, switch: Mapping[str, Any], events: list[dict[str, Any]], **observe: Any) -> ScenarioResult:
    """Two flows of 2,000 packets at line rate into NPU 2; nothing is sent again while it matters."""
    rows = "".join(f"{sender},2,{1000 * PACKETS},0ns\n" for sender in (0, 1))
    workload = files.write("incast.csv", f"source,destination,bytes,start\n{rows}")
    network = star(3, congestion_control="none", reliability={"kind": "go-back-n", "timeout": "1s"})
    network["topology"]["switch"] = dict(switch)
    network["observe"] = observe
    return files.play(network, [files.job("a", workload)], events)


FIRST_PS = ENDPOINT_PS + FRAME_PS + DELAY_PS
"""When the first packets of the incast are at the switch; more follow a frame's time apart."""


def arrived(time_ps: int) -> int:
    """Packets of each flow that have come to the switch before a time."""
    return max(0, -(-(time_ps - FIRST_PS) // FRAME_PS))


def crowded(result: ScenarioResult) -> Mapping[str, str]:
    """The row of the port to NPU 2."""
    (found,) = (row for row in result.rows("switch.csv") if row["port"] == "switch0:2")
    return found


def test_a_buffer_smaller_than_what_it_holds_drops_what_comes_after_and_nothing_else(files: Files) -> None:
    shrinks = [{"at": "100us", "switch": "switch 0", "buffer": "100KB"}]
    result = incast(files, {"buffer": "1GB"}, shrinks)
    port = crowded(result)
    # Each time two come one has left, but for the first. From then on nothing fits until 94 packets are left.
    assert int(port["highest_queue_bytes"]) == arrived(100 * US) * FRAME_BYTES
    assert int(port["dropped_frames"]) > 0
    assert incast(files, {"buffer": "1GB"}, []).metadata["statistics"]["dropped_frames"] == 0
    assert result.metadata["jobs"][0]["complete"]


def test_a_buffer_is_as_the_file_says_once_its_event_is_over(files: Files) -> None:
    event = {"at": "100us", "for": "1us", "switch": 0, "buffer": "100KB"}
    result = incast(files, {"buffer": "1GB"}, [event])
    assert int(crowded(result)["dropped_frames"]) == 2 * (arrived(101 * US) - arrived(100 * US)) == 22


def test_thresholds_below_what_waits_stop_both_senders_at_once_and_lose_nothing(files: Files) -> None:
    tight = {"alpha": 0.001, "reserve": 1000}
    result = incast(
        files, {"buffer": "32MB", "pfc": {}}, [{"at": "100us", "for": "20us", "switch": 0, "pfc": tight}], pauses=True
    )
    assert result.metadata["statistics"]["dropped_frames"] == 0
    table = result.pauses
    first: dict[tuple[str, bool], int] = {}
    for time_ps, port, priorities in table.sort_values("time_ps").itertuples(index=False):
        first.setdefault((port, bool(priorities)), time_ps)
    # The pause takes its own time and that of the way.
    way_ps = PAUSE_WIRE_BYTES * PS_PER_BYTE + DELAY_PS
    for sender in ("host0", "host1"):
        assert first[sender, True] == 100 * US + way_ps
        assert first[sender, False] == 120 * US + way_ps


def test_as_the_file_says_and_as_an_event_at_the_beginning_says_are_one(files: Files) -> None:
    other = {"alpha": 0.01, "headroom": "200KB", "reserve": "2KB", "resume_offset": "5KB"}
    built = {"buffer": "4MB", "pfc": other, "ecn": {"kmin": "20KB", "kmax": "80KB", "pmax": 0.3}}
    event = {"at": 0, "switch": 0, "buffer": "4MB", "pfc": other, "ecn": built["ecn"]}
    by_file = incast(files, built, [])
    by_event = incast(files, {"buffer": "32MB", "pfc": {}, "ecn": {"kmin": "1MB", "kmax": "2MB"}}, [event])
    assert by_file.finish_ps == by_event.finish_ps
    assert by_file.rows("switch.csv") == by_event.rows("switch.csv")
    assert by_file.metadata["statistics"]["pauses"] > 10


CONTROLS: Mapping[str, Mapping[str, Any]] = {
    "dcqcn": {
        "rate_ai": "3Gbps", "rate_hai": "9Gbps", "g": 0.1, "alpha_timer": "9us", "increase_timer": "7us",
        "byte_counter": "100KB", "fast_recovery_times": 2, "clamp_target_rate": False, "rate_on_first_cnp": 0.6,
        "decrease_timer": "5us",
    },
    "timely": {
        "rate_ai": "1Gbps", "rate_hai": "2Gbps", "ewma": 0.3, "beta": 0.4, "t_low": "9us", "t_high": "60us",
        "minimum_rtt": "3us", "hai_after": 2, "segment": "32KB", "max_decrease": 0.4, "hai_below_t_low": True,
    },
    "dctcp": {"g": 0.3, "minimum_window": "4KB", "rate_ai": "3Gbps"},
    "hpcc": {"rate_ai": "500Mbps", "eta": 0.7, "max_stage": 2, "fast_react": False, "base_rtt": "9us"},
    "hpcc-pint": {"rate_ai": "500Mbps", "eta": 0.7, "max_stage": 2, "fast_react": False},
    "swift": {
        "base_target": "9us", "per_hop": "2us", "ai": 3.0, "beta": 0.5, "max_mdf": 0.3, "fs_range": "20us",
        "fs_min_cwnd": 0.2, "fs_max_cwnd": 50.0, "min_cwnd": 0.05, "max_cwnd": 60.0, "retransmit_reset": 3,
    },
}  # fmt: skip
"""Other values of all numbers that may change."""


def controlled(files: Files, control: Any, events: list[dict[str, Any]] = [], start: str = "0ns") -> ScenarioResult:  # noqa: B006
    """Three flows into one NPU, on one line at the end."""
    network = leaf_spine(spines=1, hosts=3, congestion_control=control)
    network["topology"]["switch"] = {"buffer": "32MB", "pfc": {}, "ecn": {"kmin": "20KB", "kmax": "80KB", "pmax": 0.2}}
    rows = "".join(f"{sender},3,2MB,0ns\n" for sender in (0, 1, 2))
    workload = files.write("fan-in.csv", f"source,destination,bytes,start\n{rows}")
    return files.play(network, [files.job("a", workload, npus=[0, 1, 2, 3], start=start)], events)


@pytest.mark.parametrize(("control", "form"), [*((name, {}) for name in CONTROLS), ("dctcp", {"window": False})])
def test_numbers_that_change_at_the_beginning_are_those_of_a_file_that_says_so(
    files: Files, control: str, form: Mapping[str, Any]
) -> None:
    built, numbers = {"kind": control, **form}, CONTROLS[control]
    by_file = controlled(files, {**built, **numbers})
    by_event = controlled(files, built, [{"at": 0, "npu": "all", "control": dict(numbers)}])
    assert by_event.finish_ps == by_file.finish_ps
    assert by_event.rows("switch.csv") == by_file.rows("switch.csv")
    assert by_event.rows("switch.csv") != controlled(files, built).rows("switch.csv")


def test_the_events_try_every_number_that_may_change() -> None:
    from astra_ns3.config.transports.roce_control import Dcqcn, Dctcp, Hpcc, HpccPint, Swift, Timely

    for model in (Dcqcn, Timely, Dctcp, Hpcc, HpccPint, Swift):
        control = model()
        left = {*control.names_with_units()} - {*control.lasting, *control.of_the_fabric}
        assert {*CONTROLS[control.kind]} == left


@pytest.mark.parametrize("control", CONTROLS)
def test_numbers_are_those_of_the_file_once_an_event_is_over(files: Files, control: str) -> None:
    event = {"at": "10us", "for": "20us", "npu": "all", "control": dict(CONTROLS[control])}
    late = controlled(files, control, [event], start="40us")
    assert late.finish_ps == controlled(files, control, start="40us").finish_ps


def test_a_flow_goes_on_by_the_new_number_from_then_on(files: Files) -> None:
    # HPCC holds a line at eta: half of it is sent at 0.9, then the rest at 0.45.
    network = star(2, congestion_control={"kind": "hpcc", "eta": 0.9})
    size, at_ps = 8_000_000, 400 * US
    job = [files.job("a", flow(files, size))]
    whole = files.play(network, job).finish_ps
    slower = files.play(network, job, [{"at": "400us", "npu": 0, "control": {"eta": 0.45}}]).finish_ps
    other = files.play(network, job, [{"at": "400us", "npu": 1, "control": {"eta": 0.45}}]).finish_ps
    assert slower == pytest.approx(at_ps + 2 * (whole - at_ps), rel=0.02)
    assert other == whole


def test_the_last_that_began_holds_and_then_the_one_before(files: Files) -> None:
    network = star(2, congestion_control={"kind": "hpcc", "eta": 0.9})
    job = [files.job("a", flow(files, 8_000_000))]
    eta: list[dict[str, Any]] = [
        {"at": "100us", "npu": "all", "control": {"eta": 0.45}},
        {"at": "200us", "for": "100us", "npu": 0, "control": {"eta": 0.9}},
    ]
    whole = files.play(network, job).finish_ps
    # By 300 us the flow has gone on for 200 us at 0.9, and for 100 at half of it.
    assert files.play(network, job, eta).finish_ps == pytest.approx(300 * US + 2 * (whole - 250 * US), rel=0.02)


SWITCH = {"switch": 0}
REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"switch": 0, "buffer": "1KB"}, {}, "1000 bytes are less than the"),
    ({"switch": 0, "pfc": {"reserve": "100MB"}}, {}, "are less than the"),
    ({"switch": 0, "pfc": {"xoff": 3}}, {}, "xoff"),
    ({"switch": 0, "pfc": {}}, {}, "found none of alpha, headroom, reserve, resume_offset"),
    ({"npu": 0, "control": {"rate_aii": "1Gbps"}}, {}, "did you mean 'rate_ai'"),
    ({"npu": 0, "control": {"rate_ai": "much"}}, {}, "rate_ai"),
    ({"npu": 0, "control": {"parameters": "paper"}}, {}, "stays as it is while the network is played"),
    ({"npu": 9, "control": {"rate_ai": "1Gbps"}}, {}, "npu"),
    ({"npu": "all", "up": False}, {}, "found all, with up; expected one NPU"),
    ({"npu": 0, "control": {"window": False}}, {"congestion_control": "dctcp"}, "'control.window': stays as it is"),
    ({"npu": 0, "control": {"t_low": "1s"}}, {"congestion_control": "timely"}, "is above t_high"),
    ({"npu": 0, "control": {"g": 0.1}}, {"congestion_control": "none"}, "g"),
]


@pytest.mark.parametrize(("event", "transport", "words"), REFUSED)
def test_what_cannot_be_is_refused_by_its_line(
    files: Files, event: dict[str, Any], transport: dict[str, Any], words: str
) -> None:
    network = star(2, **{"congestion_control": "dcqcn", **transport})
    network["topology"]["switch"] = {"buffer": "1MB", "pfc": {}}
    with pytest.raises(InputError, match=r"scenario\.yaml") as found:
        files.play(network, [files.job()], [{"at": 0, **event}])
    assert words in str(found.value)


def test_two_events_of_one_time_do_not_disagree(files: Files) -> None:
    events = [{"at": 0, "npu": npu, "control": {"g": g}} for npu, g in ((0, 0.1), ("all", 0.2))]
    with pytest.raises(InputError, match=r"g becomes 0\.2 at 0ps, and 0\.1 by another event"):
        files.play(star(2, congestion_control="dcqcn"), [files.job()], events)


def test_a_switch_without_pauses_has_no_thresholds_of_them(files: Files) -> None:
    with pytest.raises(InputError, match="switch 0 pauses nobody, expected a switch with pfc"):
        files.play(star(2), [files.job()], [{"at": 0, "switch": 0, "pfc": {"alpha": 0.1}}])


@pytest.mark.parametrize(
    ("event", "key"),
    [({"npu": 0, "control": {"g": 0.1}}, "control"), ({**SWITCH, "buffer": "1MB"}, "buffer")],
)
def test_flows_know_nothing_of_these(files: Files, event: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=f"'{key}' changes nothing on the backend flow, expected ns3"):
        files.play(star(2, congestion_control="dcqcn"), [files.job()], [{"at": 0, **event}], backend="flow")


def test_tcp_and_controls_of_a_user_have_no_numbers_that_change(files: Files) -> None:
    event = {"at": 0, "npu": 0, "control": {"g": 0.1}}
    with pytest.raises(InputError, match="transport tcp has no control whose numbers change, expected roce"):
        files.play(star(2, "tcp"), [files.job()], [event])
    own = str(Path(__file__).parents[2] / "inputs/congestion-control/additive.py") + ":Additive"
    with pytest.raises(InputError, match="is a class of the user's, whose numbers stay as they are"):
        files.play(star(2, congestion_control=own), [files.job()], [event])


def test_both_cores_play_changes_as_one_does(files: Files) -> None:
    network = leaf_spine(spines=2, hosts=3, congestion_control="dcqcn")
    network["topology"] |= {"link": LINK, "switch": {"buffer": "1MB", "pfc": {}}}
    rows = "".join(f"{sender},{(sender + 3) % 6},1MB,0ns\n{sender},4,300KB,9us\n" for sender in (0, 1, 2, 3))
    jobs = [files.job("a", files.write("flows.csv", f"source,destination,bytes,start\n{rows}"))]
    events: list[dict[str, Any]] = [
        {"at": "20us", "for": "30us", "switch": "leaf 1", "pfc": {"alpha": 0.02}},
        {"at": "30us", "switch": "spine 0", "buffer": "2MB"},
        {"at": "25us", "for": "90us", "npu": 1, "control": {"g": 0.2, "rate_ai": "2Gbps"}},
    ]
    one, two = (files.play(network, jobs, events, cores=cores) for cores in (1, 2))
    assert one.finish_ps == two.finish_ps
    assert one.rows("switch.csv") == two.rows("switch.csv")
