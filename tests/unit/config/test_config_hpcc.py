"""The HPCC simulator's config.txt and topology text become a network of ours; nothing in them is skipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.graphs.imported_graphs import spectrum_x
from support.transports import checked, transport_of

from astra_ns3.config.formats.hpcc_keys import KEYS, WITHOUT_EFFECT, looks_like_hpcc
from astra_ns3.config.formats.hpcc_topology import HpccLink, parse_hpcc_topology
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.hpcc import PRESET, HpccConfig, read_hpcc_config
from astra_ns3.config.network.packet_network import NetworkConfig, Observe, RoceTransport, parse_network
from astra_ns3.config.topology.kinds import FileTopology
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.request import RECORDABLE, RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.network.graph_outline import network_outline_of
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.transport.lossless import port_headroom_bytes
from astra_ns3.transport.network_outline import PortOutline
from astra_ns3.transport.roce.control_sets import Line, in_force
from astra_ns3.transport.roce.parameters import RoceParameters, roce_parameters
from astra_ns3.workload.files.astra_sim import parse_workload

REFERENCE = Path(__file__).resolve().parents[4] / "shared" / "reference" / "astra-ns3"
GBPS = 10**9
US = 10**6
MAPS = {
    "KMAX_MAP": "3 100000000000 1600 200000000000 2400 400000000000 3200",
    "KMIN_MAP": "3 100000000000 400 200000000000 600 400000000000 800",
    "PMAX_MAP": "3 100000000000 0.2 200000000000 0.2 400000000000 0.2",
}
BASE = {
    "ENABLE_QCN": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "TOPOLOGY_FILE": "topology.txt",
    "CC_MODE": "1",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "900",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "RATE_AI": "50Mb/s",
    "RATE_HAI": "100Mb/s",
    "MIN_RATE": "200Mb/s",
    "DCTCP_RATE_AI": "700Mb/s",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "HAS_WIN": "1",
    "GLOBAL_T": "0",
    "VAR_WIN": "1",
    "FAST_REACT": "1",
    "U_TARGET": "0.9",
    "MI_THRESH": "2",
    "MULTI_RATE": "0",
    "PINT_LOG_BASE": "1.02",
    "PINT_PROB": "0.5",
    "RATE_BOUND": "1",
    **MAPS,
    "BUFFER_SIZE": "32",
}
SYSTEM: dict[str, object] = {
    "scheduling-policy": "LIFO",
    "preferred-dataset-splits": 1,
    **{f"{name}-implementation": "ring" for name in ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")},
}
# Two NICs of 100 Gb/s on a switch, an uplink of 400 Gb/s to another, and a third NIC of 200 Gb/s there.
TOPOLOGY = """5 2 4
3 4
0 3 100Gbps 0.0005ms 0
1 3 100Gbps 500ns 0
3 4 400Gbps 1us 0.001
2 4 200Gbps 0.5us 0
"""


def written(folder: Path, **changes: str | None) -> str:
    """A config.txt with its topology; a key changed to None is left out."""
    (folder / "topology.txt").write_text(TOPOLOGY, encoding="utf-8")
    lines = {**BASE, **changes}
    text = "\n".join(f"{key} {value}" for key, value in lines.items() if value is not None)
    (folder / "config.txt").write_text(text + "\n", encoding="utf-8")
    return str(folder / "config.txt")


def imported(folder: Path, **changes: str | None) -> HpccConfig:
    return read_hpcc_config(written(folder, **changes))


def roce(folder: Path, **changes: str | None) -> RoceTransport:
    transport = imported(folder, **changes).network.transport
    assert isinstance(transport, RoceTransport)
    return transport


def switch(folder: Path, **changes: str | None) -> SwitchConfig:
    topology = imported(folder, **changes).network.topology
    assert isinstance(topology, FileTopology)
    return topology.each_switch


def numbers_of(transport: RoceTransport) -> RoceParameters:
    """On a line that no number of an import may follow."""
    return roce_parameters(transport, Line(400 * 10**9, 8 * US, 1000))


def message_of(folder: Path, **changes: str | None) -> str:
    with pytest.raises(InputError) as caught:
        imported(folder, **changes)
    return str(caught.value)


def test_the_wire_is_that_of_the_known_code(tmp_path: Path) -> None:
    # Data: payload + 2 PPP + 20 IP + 8 UDP + 6 sequence. ACK: 2 + 20 and at least 26 behind it.
    found = numbers_of(roce(tmp_path))
    assert (found.payload_bytes, found.header_bytes, found.ack_bytes) == (1000, 2 + 20 + 8 + 6, 2 + 20 + 26)
    assert (found.line_gap_bytes, found.minimum_frame_bytes, found.time_rounding_ps) == (0, 0, 1000)


@pytest.mark.parametrize(
    ("mode", "data", "ack"),
    # HPCC: 5 hops of 8 bytes and a count of 2; 12 + 42 on an ACK, which replaces the 26.
    [("1", 0, 48), ("3", 42, 76), ("7", 8, 48), ("8", 0, 48), ("10", 2, 48), ("12", 0, 48)],
)
def test_telemetry_has_the_bytes_of_the_known_code(mode: str, data: int, ack: int, tmp_path: Path) -> None:
    found = numbers_of(roce(tmp_path, CC_MODE=mode))
    assert (found.telemetry_bytes, found.ack_bytes + found.ack_telemetry_bytes) == (data, ack)


def test_a_message_is_a_queue_pair_that_ends_with_its_last_ack(tmp_path: Path) -> None:
    found = numbers_of(roce(tmp_path))
    assert (found.per_message, found.acknowledged, found.port_of_message, found.cnp_on_ack) == (True,) * 4
    assert (found.window_of_path, found.window_scales, found.payload_round_trip) == (True, True, True)
    assert (found.longest_round_trip, found.paced, found.ack_every) == (False, True, 1)
    assert found.minimum_rate_bps == 200 * 10**6


def test_the_error_rate_of_all_links_is_that_of_links_without_their_own(tmp_path: Path) -> None:
    topology = imported(tmp_path, ERROR_RATE_PER_LINK="0.02").network.topology
    assert [link.error_rate for link in build_graph(topology).links] == [0.02, 0.02, 0.001, 0.02]
    assert [link.error_rate for link in build_graph(imported(tmp_path).network.topology).links] == [0, 0, 0.001, 0]


def test_each_mode_has_the_parameters_of_its_keys(tmp_path: Path) -> None:
    def parameters(mode: int) -> dict[str, Any]:
        control = roce(tmp_path, CC_MODE=str(mode)).congestion_control
        numbers = in_force(control, Line(400 * 10**9, 8 * US, 1000)).numbers
        told = {name: float(value) for name, value in numbers.items() if name not in control.of_the_fabric}
        return {"kind": control.kind, **told}

    assert parameters(1) == {
        "kind": "dcqcn",
        "rate_ai": 50e6,
        "rate_hai": 100e6,
        "g": 1 / 256,
        "alpha_timer": 1.0 * US,
        "decrease_timer": 4.0 * US,
        "increase_timer": 900.0 * US,
        "byte_counter": 0.0,
        "fast_recovery_times": 1.0,
        "clamp_target_rate": 0.0,
        "rate_on_first_cnp": 1.0,
    }
    rule = {"rate_ai": 50e6, "eta": 0.9, "max_stage": 2.0, "fast_react": 1.0}
    assert parameters(3) == {"kind": "hpcc", **rule, "multiple_rates": 0.0, "base_rtt": 0.0}
    assert parameters(10) == {"kind": "hpcc-pint", **rule}
    pint = numbers_of(roce(tmp_path, CC_MODE="10"))
    assert (pint.utilisation_log_base, pint.utilisation_probability) == (1.02, 0.5)
    timely = parameters(7)
    assert (timely["t_low"], timely["t_high"], timely["minimum_rtt"]) == (50.0 * US, 500.0 * US, 20.0 * US)
    assert (timely["rate_ai"], timely["rate_hai"], timely["segment"]) == (50e6, 100e6, 0.0)
    dctcp = parameters(8)
    assert (dctcp["rate_ai"], dctcp["g"], dctcp["window"]) == (700e6, 1 / 256, 0.0)
    assert parameters(12) == {"kind": "none"}
    assert "CC_MODE is 2, allowed: 1 (DCQCN), 3 (HPCC), 7 (TIMELY)" in message_of(tmp_path, CC_MODE="2")


def test_the_switch_is_that_of_the_known_code(tmp_path: Path) -> None:
    found = switch(tmp_path)
    assert found.buffer_bytes == 32 * 2**20
    assert isinstance(found.ecn, tuple)
    assert {entry.rate_bps // GBPS for entry in found.ecn} == {100, 200, 400}
    ecn = found.ecn_of(200 * GBPS)
    assert ecn is not None
    assert (ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax, ecn.at) == (600_000, 2_400_000, 0.2, "dequeue")
    pfc = found.pfc
    assert pfc is not None
    assert (pfc.priorities, pfc.reserve_bytes, pfc.resume_offset_bytes) == ((3,), 4096, 3072)
    # 1/8 for the NICs' 100 Gb/s, twice that for each doubling above.
    assert [pfc.alpha_of(rate * GBPS) for rate in (100, 200, 400)] == [0.125, 0.25, 0.5]
    assert port_headroom_bytes(pfc, PortOutline(400 * GBPS, US), 1036) == 3 * 50_000
    later = PortOutline(100 * GBPS, US, most_rate_bps=400 * GBPS, most_delay_ps=2 * US)
    assert port_headroom_bytes(pfc, later, 1036) == 3 * 100_000


def test_no_qcn_is_no_mark_and_needs_no_thresholds(tmp_path: Path) -> None:
    assert switch(tmp_path, ENABLE_QCN="0", KMAX_MAP=None, KMIN_MAP=None, PMAX_MAP=None).ecn == "off"
    assert "key 'KMIN_MAP' is missing; ENABLE_QCN needs it" in message_of(tmp_path, KMIN_MAP=None)


def test_a_pmax_of_zero_marks_above_kmax_alone(tmp_path: Path) -> None:
    maps = "3 100000000000 0 200000000000 0 400000000000 0"
    found = switch(tmp_path, PMAX_MAP=maps).ecn_of(100 * GBPS)
    assert found is not None
    assert (found.kmin_bytes, found.kmax_bytes, found.pmax) == (1_600_000, 1_600_000, 1.0)


@pytest.mark.parametrize(
    ("changes", "attribute", "value"),
    [
        ({"HAS_WIN": "0"}, "window", "none"),
        ({"VAR_WIN": "0"}, "window_scales_with_rate", False),
        ({"GLOBAL_T": "1"}, "base_rtt_of", "longest"),
        ({"GLOBAL_T": None}, "base_rtt_of", "longest"),
        ({"RATE_BOUND": "0"}, "rate_limited", False),
        ({"ACK_HIGH_PRIO": "1"}, "ack_priority", 6),
        ({"PACKET_PAYLOAD_SIZE": "4096"}, "payload_bytes", 4096),
        ({"L2_ACK_INTERVAL": "2500"}, "ack_every", 3),
    ],
)
def test_each_key_of_the_transport_has_its_effect(
    changes: dict[str, str | None], attribute: str, value: object, tmp_path: Path
) -> None:
    assert getattr(roce(tmp_path, **changes), attribute) == value != getattr(roce(tmp_path), attribute)


@pytest.mark.parametrize("changes", [{"CC_MODE": "12"}, {"CC_MODE": "1", "HAS_WIN": "0"}, {"CC_MODE": "1"}])
def test_nobody_is_told_to_leave_out_what_is_not_a_key_of_the_file(
    changes: dict[str, str | None], tmp_path: Path
) -> None:
    config = imported(tmp_path, **changes).network
    warnings = checked(config, network_outline_of(build_graph(config.topology)))
    assert [line for line in warnings if "leave it out" in line] == []


def test_a_topology_that_is_not_there_is_an_error_of_the_line_that_names_it(tmp_path: Path) -> None:
    said = message_of(tmp_path, TOPOLOGY_FILE="nope.txt")
    assert re.search(r"config\.txt:\d+: TOPOLOGY_FILE is .*nope\.txt: no such file$", said)


def test_going_back_to_zero_has_its_chunk(tmp_path: Path) -> None:
    found = roce(tmp_path, L2_BACK_TO_ZERO="1", L2_CHUNK_SIZE="8000").reliability
    assert (found.kind, found.go_back_0_chunk_bytes) == ("go-back-0", 8000)
    assert roce(tmp_path).reliability.kind == "go-back-n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"CC_MDOE": "1"}, "key 'CC_MDOE' is not known; did you mean 'CC_MODE'?"),
        ({"HAS_WIN": "2"}, "HAS_WIN is '2', expected 0 or 1"),
        ({"RP_TIMER": "900.5"}, "RP_TIMER is '900.5', expected a whole number"),
        ({"RP_TIMER": "1e999"}, "RP_TIMER has '1e999', expected at most 9223372036854775807"),
        ({"KMAX_MAP": "1 25000000000 1e308"}, "KMAX_MAP has '1e308', expected at most 9223372036854775807"),
        ({"RP_TIMER": "-1"}, "RP_TIMER has '-1', expected a number"),
        ({"EWMA_GAIN": "1.5"}, "EWMA_GAIN is 1.5, expected above 0"),
        ({"EWMA_GAIN": "nan"}, "EWMA_GAIN has 'nan', expected a number"),
        ({"RATE_AI": "50MB"}, "RATE_AI: '50MB' is not a rate"),
        ({"MIN_RATE": "0Mb/s"}, "MIN_RATE is '0Mb/s', expected more than 0"),
        ({"CC_MODE": "1 2"}, "CC_MODE has 2 words behind it, expected 1"),
        ({"CC_MODE": ""}, "CC_MODE has 0 words behind it, expected 1"),
        ({"KMAX_MAP": "2 100000000000 1600"}, "KMAX_MAP says 2 entries, so 4 numbers; found 2"),
        ({"KMAX_MAP": "2 1 1600 1 1600"}, "KMAX_MAP has rate 1 twice"),
        ({"KMAX_MAP": "1 100000000000 1600"}, "KMAX_MAP has no entry for 200000000000, a rate of "),
        (
            {"KMIN_MAP": MAPS["KMAX_MAP"], "KMAX_MAP": MAPS["KMIN_MAP"]},
            "KMIN_MAP has 1600 for rate 100000000000, above",
        ),
        ({"PMAX_MAP": MAPS["KMIN_MAP"]}, "PMAX_MAP has 400 for rate 100000000000, expected at most 1"),
        ({"LINK_DOWN": "5 0 3"}, "LINK_DOWN takes a link down, expected 0 0 0: events"),
        ({"LINK_DOWN": "0 0"}, "LINK_DOWN has 2 words behind it, expected 3"),
        ({"NIC_TOTAL_PAUSE_TIME": "3"}, "NIC_TOTAL_PAUSE_TIME makes NICs pause"),
        ({"SAMPLE_FEEDBACK": "1", "CC_MODE": "3"}, "SAMPLE_FEEDBACK is 1, which is not supported with CC_MODE 3"),
        ({"ERROR_RATE_PER_LINK": "1"}, "ERROR_RATE_PER_LINK is 1 or more, expected below 1"),
        ({"L2_ACK_INTERVAL": "0"}, "L2_ACK_INTERVAL is 0 or missing, so nothing is acknowledged"),
        ({"L2_BACK_TO_ZERO": "1", "L2_CHUNK_SIZE": "0"}, "L2_CHUNK_SIZE is 0 or missing"),
        ({"CC_MODE": "3", "HAS_WIN": "0"}, "HAS_WIN is 0, but hpcc divides by the window"),
        ({"CC_MODE": "3", "U_TARGET": "1.1"}, "U_TARGET is 1.1, expected above 0 and at most 1"),
        ({"CC_MODE": "10", "PINT_LOG_BASE": "1"}, "PINT_LOG_BASE is 1, expected above 1"),
        ({"BUFFER_SIZE": "0"}, "BUFFER_SIZE is 0, expected 1 or more"),
    ],
)
def test_what_cannot_be_meant_is_named_with_its_line(
    changes: dict[str, str | None], message: str, tmp_path: Path
) -> None:
    key = next(iter(changes))
    found = message_of(tmp_path, **changes)
    assert message in found
    lines = (tmp_path / "config.txt").read_text(encoding="utf-8").splitlines()
    named = next(
        (name for name in ("HAS_WIN", "L2_CHUNK_SIZE", "U_TARGET", "PINT_LOG_BASE") if f" {name} " in found), key
    )
    number = next(place for place, line in enumerate(lines, 1) if line.split()[0] == named)
    assert found.startswith(f"{tmp_path / 'config.txt'}:{number}: ")


@pytest.mark.parametrize("key", ["TOPOLOGY_FILE", "RP_TIMER", "RATE_AI", "RATE_HAI", "EWMA_GAIN"])
def test_what_is_needed_and_missing_is_named(key: str, tmp_path: Path) -> None:
    assert f"config.txt: key '{key}' is missing" in message_of(tmp_path, **{key: None})


def test_a_key_may_stand_once_and_comments_are_ours(tmp_path: Path) -> None:
    path = Path(written(tmp_path))
    path.write_text("# ours\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert read_hpcc_config(str(path)).network.npus == 3
    with path.open("a", encoding="utf-8") as file:
        file.write("CC_MODE 1\n")
    count = len(path.read_text(encoding="utf-8").splitlines())
    with pytest.raises(InputError, match=rf":{count}: key 'CC_MODE' stands twice \(first on line 6\)"):
        read_hpcc_config(str(path))


def test_every_key_without_effect_is_warned_of_by_name(tmp_path: Path) -> None:
    assert imported(tmp_path).warnings == ()
    values = dict.fromkeys(WITHOUT_EFFECT, "1")
    (warning,) = imported(tmp_path, **values).warnings
    assert all(key in warning for key in WITHOUT_EFFECT)
    assert set(WITHOUT_EFFECT) <= set(KEYS)


def test_departures_are_warned_of(tmp_path: Path) -> None:
    assert "telemetry is exact" in imported(tmp_path, INT_MULTI="4", CC_MODE="3").warnings[0]
    assert "priority 6" in imported(tmp_path, ACK_HIGH_PRIO="1").warnings[0]
    assert "one acknowledgement in so many bytes" in imported(tmp_path, L2_ACK_INTERVAL="2500").warnings[0]


def test_outputs_become_what_we_observe(tmp_path: Path) -> None:
    assert not imported(tmp_path).network.observe.pauses
    assert imported(tmp_path, PFC_OUTPUT_FILE="pfc.txt").network.observe.pauses
    watched = imported(tmp_path, QLEN_MON_FILE="qlen.txt", QLEN_MON_START="0").network.observe
    assert (watched.queues, watched.queue_interval_ps) == (("all",), 100_000)
    never = imported(tmp_path, QLEN_MON_FILE="qlen.txt", QLEN_MON_START="9000000000000000000")
    assert (never.network.observe.queues, never.warnings) == ((), ())


def test_the_file_is_known_by_its_keys_and_brings_its_preset(tmp_path: Path) -> None:
    found = read_network_file(written(tmp_path))
    assert isinstance(found.network, NetworkConfig)
    assert (found.compat, found.network.npus) == (PRESET, 3)
    (tmp_path / "wrong.txt").write_text("ENABEL_QCN 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="did you mean 'ENABLE_QCN'"):
        read_network_file(tmp_path / "wrong.txt")
    (tmp_path / "two.yaml").write_text("topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [1]\n")
    other = read_network_file(tmp_path / "two.yaml")
    assert isinstance(other.network, AnalyticalNetwork)
    assert other.compat is None


@pytest.mark.parametrize("word", ["FOO", "QCN", "cc_mode", "FOO_bar"])
def test_a_key_that_is_not_known_is_named_with_its_line_also_where_it_comes_first(word: str, tmp_path: Path) -> None:
    path = Path(written(tmp_path))
    path.write_text(f"# ours\n{word} 1\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(InputError, match=rf"config\.txt:2: key '{word}' is not known"):
        read_network_file(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FOO 1\n", True),
        ("FOO 1\nBAR 2\nbaz 3\n", True),
        ("foo 1\nCC_MODE 1\nbar 2\nbaz 3\n", True),
        ("CC_MODE\n", True),
        ("", False),
        ("# CC_MODE 1\ntopology:\n  kind: ring\n", False),
        ("CC_MODE: 1\n", False),
        ("CC_MODE : 1\n", False),
        ("topology:\n  kind: ring\n  FOO bar\n", False),
        ('{"topology-name": "Hierarchical"}\n', False),
    ],
)
def test_a_config_txt_is_known_by_all_its_lines(text: str, expected: bool) -> None:
    assert looks_like_hpcc(text) is expected


@pytest.mark.parametrize(("ours", "kept"), [(False, False), (True, False), (True, True)])
def test_what_is_observed_is_missed_where_a_file_of_ours_asks_for_it_and_nobody_keeps_it(
    ours: bool, kept: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, PFC_OUTPUT_FILE="pfc.txt")
    network = read_network_file(path).network
    assert isinstance(network, NetworkConfig)
    assert network.observe.pauses
    workload = parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 3000 0\n", "micro")
    system = parse_system(SYSTEM)
    with caplog.at_level("WARNING", logger="astra_ns3"):  # whatever a test before has set
        request = RunRequest(
            workload=workload,
            system=system,
            network=network if ours else path,
            backend=FakeBackend(3),
            isolated=False,
        )
        execute(request, tables_kept=kept)
    assert ("what the network file observes is lost" in caplog.text) == (ours and not kept)


def test_the_preset_holds_unless_another_one_is_asked_for(tmp_path: Path) -> None:
    keys = {**SYSTEM, "endpoint-delay": 77, "injection-scale": 3}
    workload = parse_workload("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4096 0\n", "micro")
    inputs = load_inputs(workload, parse_system(keys), written(tmp_path))
    assert inputs.compat == PRESET
    assert inputs.compatibility.truncate_messages
    assert inputs.system.scaled_endpoint_delay_ns == 231  # as the file says: the known code takes it, too
    other = load_inputs(workload, parse_system(keys), written(tmp_path), options=Options(compat="astra-sim-1.0"))
    assert other.compat == "astra-sim-1.0"
    assert other.compatibility.phase_barrier


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the samples are not beside this repository")
def test_the_sample_of_the_known_code_is_read() -> None:
    found = read_hpcc_config(str(REFERENCE / "config.txt"))
    assert found.network.npus == 8
    assert len(found.warnings) == 1
    transport = found.network.transport
    assert isinstance(transport, RoceTransport)
    assert transport.congestion_control.kind == "dcqcn"


def test_a_topology_text_is_read() -> None:
    found = parse_hpcc_topology(TOPOLOGY)
    assert (found.nodes, found.switch_ids, found.host_ids, found.nvswitch_ids) == (5, (3, 4), (0, 1, 2), ())
    assert found.links[1] == HpccLink(1, 3, 100 * GBPS, 500_000, 0.0)
    assert found.links[2] == HpccLink(3, 4, 400 * GBPS, 1_000_000, 0.001)


def test_simais_header_names_the_nvswitches() -> None:
    text = "5 2 1 1 3 H100\n3\n4\n0 3 2400Gbps 25ns 0\n1 3 2400Gbps 25ns 0\n2 4 100Gbps 1us 0\n"
    found = parse_hpcc_topology(text)
    assert (found.switch_ids, found.nvswitch_ids, found.gpus_per_server, found.gpu_type) == ((3, 4), (3,), 2, "H100")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t:1: found 0 words, expected 'nodes switches links' or 'nodes gpus_per_server nvswitches"),
        ("5 2", "t:1: found 2 words"),
        ("0 0 0", "t:1: nodes is '0', expected a whole number from 1"),
        ("2 1 1\n2\n0 1 1Gbps 1ns 0", "t:2: switch is '2', expected a whole number from 0 to 1"),
        ("3 2 0\n1 1", "t:2: switch 1 stands twice"),
        ("3 1 0\n1 2", "t:2: found 2 switch numbers, the first line says 1"),
        ("3 2 0\n1", "t:2: the file ends after 1 of 2 switch numbers"),
        ("1 1 0\n0", "t:1: all 1 nodes are switches"),
        ("2 1 2\n1\n0 1 1Gbps 1ns 0", "t:1: says 2 links, found 1 line of links"),
        ("2 1 1\n1\n0 1 1Gbps 1ns", "t:3: found 4 words, expected 5: a, b, rate, delay, error rate"),
        ("2 1 1\n1\n0 5 1Gbps 1ns 0", "t:3: node b is '5', expected a whole number from 0 to 1"),
        ("2 1 1\n1\n0 0 1Gbps 1ns 0", "t:3: the link joins node 0 to itself"),
        ("2 1 1\n1\n0 1 1GB/s 1ns 0", "t:3: '1GB/s' is not a rate"),
        ("2 1 1\n1\n0 1 0Gbps 1ns 0", "t:3: rate is '0Gbps', expected more than 0"),
        ("2 1 1\n1\n0 1 1Gbps 5 0", "t:3: '5' has no unit"),
        ("2 1 1\n1\n0 1 1Gbps 1ns 1", "t:3: error rate is '1', expected a number, 0 or more and below 1"),
        ("2 1 1\n1\n0 1 1Gbps 1ns -0.1", "t:3: error rate is '-0.1'"),
    ],
)
def test_mistakes_in_a_topology_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_hpcc_topology(text, "t")
    assert str(caught.value).startswith(message)


def test_a_topology_is_looked_up_in_the_folder_above_too_where_hpcc_is_started(tmp_path: Path) -> None:
    mix = tmp_path / "mix"
    mix.mkdir()
    (mix / "config.txt").write_text(
        "".join(f"{key} {value}\n" for key, value in BASE.items()).replace("topology.txt", "mix/t.txt")
    )
    (mix / "t.txt").write_text(TOPOLOGY)
    network = read_hpcc_config(str(mix / "config.txt")).network
    assert network.npus == 3
    (mix / "mix").mkdir()  # the folder of the file itself goes first
    (mix / "mix" / "t.txt").write_text("2 1 2\n1\n0 1 1Gbps 1ns 0")
    with pytest.raises(InputError, match="says 2 links, found 1"):
        read_hpcc_config(str(mix / "config.txt"))


def test_lines_after_the_links_that_the_header_counts_are_ignored_with_a_warning(tmp_path: Path) -> None:
    config = written(tmp_path)
    exact = read_hpcc_config(config)
    (tmp_path / "topology.txt").write_text(TOPOLOGY + "this is no link\n0 3 100Gbps 0.0005ms 0\n")
    more = read_hpcc_config(config)
    assert build_graph(more.network.topology).links == build_graph(exact.network.topology).links
    (warning,) = set(more.warnings) - set(exact.warnings)
    assert warning.endswith("topology.txt: 2 more lines of links than its first line says, ignored as HPCC does")


SIMAI = {
    # What SimAI.conf has beside or instead of the other's keys.
    "PACKET_PAYLOAD_SIZE": "9000",
    "TOPOLOGY_FILE": None,
    "KMAX_MAP": "1 100000000000 1600",
    "KMIN_MAP": "1 100000000000 400",
    "PMAX_MAP": "1 100000000000 0.2",
    "QLEN_MON_FILE": "qlen.txt",
    "BW_MON_FILE": "bw.txt",
    "RATE_MON_FILE": "rate.txt",
    "CNP_MON_FILE": "cnp.txt",
    "MON_START": "0",
    "MON_END": "20000",
    "QP_MON_INTERVAL": "100",
    "QLEN_MON_INTERVAL": "10000",
    "BW_MON_INTERVAL": "10000",
}
SIMAI_TOPOLOGY = """7 2 2 1 8 A100
4 5 6
0 4 2880Gbps 0.000025ms 0
0 6 100Gbps 0.0005ms 0
1 4 2880Gbps 0.000025ms 0
1 6 100Gbps 0.0005ms 0
2 5 2880Gbps 0.000025ms 0
2 6 100Gbps 0.0005ms 0
3 5 2880Gbps 0.000025ms 0
3 6 100Gbps 0.0005ms 0
"""


def joined(folder: Path, **changes: str | None) -> Path:
    """A SimAI.conf, a topology called as SimAI calls it, without an ending, and the file that joins them."""
    written(folder, **{**SIMAI, **changes})
    (folder / "config.txt").rename(folder / "SimAI.conf")
    (folder / "Spectrum-X_4g_2gps_100Gbps_A100").write_text(SIMAI_TOPOLOGY)
    (folder / "simai.yaml").write_text("config: SimAI.conf\ntopology: Spectrum-X_4g_2gps_100Gbps_A100\n")
    return folder / "simai.yaml"


def test_two_lines_join_simais_conf_with_a_topology(tmp_path: Path) -> None:
    found = read_network_file(joined(tmp_path))
    assert (found.compat, found.imported) == (PRESET, True)
    assert isinstance(found.network, NetworkConfig)
    graph = build_graph(found.network.topology)
    assert (graph.hosts, graph.switches, len(graph.links)) == (4, 3, 8)
    # NVSwitches, which carry 2880 Gb/s, have no entry in the maps and don't mark.
    assert [config.ecn == "off" for config in graph.switch_configs] == [True, True, False]
    assert [config.pfc is not None for config in graph.switch_configs] == [True] * 3
    assert found.network.observe.queues == ()
    roce = transport_of(found.network, RoceTransport)
    assert roce is not None
    assert roce.payload_bytes == 9000
    (warning,) = found.warnings
    for key in ("BW_MON_FILE", "RATE_MON_FILE", "CNP_MON_FILE", "MON_START", "QP_MON_INTERVAL"):
        assert key in warning


def test_what_stands_for_a_key_without_effect_is_there() -> None:
    told = [words for words in WITHOUT_EFFECT.values() if words.startswith("see ")]
    observed = {f"see observe.{field.alias or name}" for name, field in Observe.model_fields.items()}
    assert set(told) <= observed | {f"see --record {table}" for table in RECORDABLE}
    assert len(told) > 3


def test_a_topology_that_the_conf_names_besides_is_warned_of(tmp_path: Path) -> None:
    found = read_network_file(joined(tmp_path, TOPOLOGY_FILE="other.txt"))
    assert [warning for warning in found.warnings if "TOPOLOGY_FILE" in warning] == [
        f"{tmp_path / 'SimAI.conf'}: TOPOLOGY_FILE other.txt is passed over, {tmp_path / 'simai.yaml'} says topology: "
        "Spectrum-X_4g_2gps_100Gbps_A100"
    ]


def test_a_conf_without_a_topology_says_the_two_lines(tmp_path: Path) -> None:
    joined(tmp_path)
    with pytest.raises(
        InputError, match=r"key 'TOPOLOGY_FILE' is missing; a network file of two lines, 'config: .*conf'"
    ):
        read_network_file(tmp_path / "SimAI.conf")
    (tmp_path / "three.yaml").write_text("topology: a\nconfig: SimAI.conf\ntransport: roce\n")
    with pytest.raises(InputError, match=r"three.yaml:2: key 'config' stands in a file of two lines"):
        read_network_file(tmp_path / "three.yaml")


def test_rails_with_one_switch_each_are_read_under_simais_name(tmp_path: Path) -> None:
    # By its rules: 4 servers of 8 GPUs in segments of 2 servers, so 2 x 8 leaves, each joined to 4 spines.
    path = tmp_path / "Rail_Opti_SingleToR_32g_8gps_400Gbps_H100"
    path.write_text(spectrum_x(4, 2, 4))
    graph = build_graph(
        parse_network({"topology": {"kind": "file", "path": str(path), "switch": {"buffer": "32MB"}}}).topology
    )
    assert (graph.hosts, graph.switches, len(graph.links)) == (32, 4 + 16 + 4, 32 + 32 + 16 * 4)
    ends = {(link.a, link.b) for link in graph.links}
    assert {(5, 32), (5, 36 + 5), (16 + 5, 34), (16 + 5, 36 + 8 + 5), (36, 52), (51, 55)} <= ends
    assert [len(graph.ports[node]) for node in (0, 32, 36, 52)] == [2, 8, 2 + 4, 16]


def test_a_server_of_nvswitches_alone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "H100_8g_nvlink_only.topo"
    wires = "".join(f"{gpu} {8 + switch} 1800Gbps 0.000025ms 0\n" for gpu in range(8) for switch in range(2))
    path.write_text(f"10 8 2 0 16 H100\n8 9 \n{wires}")
    graph = build_graph(
        parse_network({"topology": {"kind": "file", "path": str(path), "switch": {"buffer": "32MB"}}}).topology
    )
    assert (graph.hosts, graph.switches, len(graph.links)) == (8, 2, 16)


def test_a_topology_that_simai_drew_needs_no_format_and_no_ending(tmp_path: Path) -> None:
    joined(tmp_path)
    path = tmp_path / "Spectrum-X_4g_2gps_100Gbps_A100"
    topology = {"kind": "file", "path": str(path), "switch": {"buffer": "32MB"}, "scale_up_switch": {"buffer": "4MB"}}
    graph = build_graph(parse_network({"topology": topology}).topology)
    assert graph.switch_buffer_bytes == (4_000_000, 4_000_000, 32_000_000)
    with pytest.raises(InputError, match="is a graph alone; in a network file"):
        read_network_file(path)
