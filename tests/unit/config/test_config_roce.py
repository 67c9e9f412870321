"""RoCE, switch and observe keys of a network file: defaults, bounds, spelling mistakes, and the names C++ reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.documents.schemas import schema_of

from astra_ns3.cli.main import cli
from astra_ns3.config.network.packet_network import (
    NetworkConfig,
    RoceTransport,
    TcpTransport,
    parse_network,
)
from astra_ns3.config.topology.switch import EcnConfig, PfcConfig, SwitchConfig
from astra_ns3.config.transports.roce import Reliability
from astra_ns3.config.transports.roce_control import KINDS, HpccPint, OwnControl, RoceControl
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.options import Options, network_with_options
from astra_ns3.transport.roce.control_sets import Line, in_force

ROOT = Path(__file__).resolve().parents[3]
MODELS = ROOT / "ns3-scratch" / "roce" / "model"
SHARED_RULE = "roce-control-utilisation-rate.cc"
GBPS = 10**9
US = 10**6
SOME_LINE = Line(100 * GBPS, 5 * US, 1000)


def network(transport: Any = "roce", switch: dict[str, Any] | None = None, **more: Any) -> NetworkConfig:
    return parse_network(
        {
            "topology": {
                "npus": 4,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "32MiB", **(switch or {})},
            },
            "transport": transport,
            **more,
        }
    )


def roce(**keys: Any) -> RoceTransport:
    transport = network({"kind": "roce", **keys}).transport
    assert isinstance(transport, RoceTransport)
    return transport


def control(value: Any) -> RoceControl:
    return roce(congestion_control=value).congestion_control


def switch(**keys: Any) -> SwitchConfig:
    return SwitchConfig.model_validate({"buffer": "32MiB", **keys})


def message_of(**keys: Any) -> str:
    with pytest.raises(InputError) as caught:
        network(**keys)
    return str(caught.value)


def test_a_transport_without_a_kind_is_tcp_and_a_word_is_its_kind() -> None:
    assert isinstance(network({"window": "0.1MB"}).transport, TcpTransport)
    assert isinstance(network("tcp").transport, TcpTransport)
    assert network("roce") == network({"kind": "roce"})


def test_only_selective_repeat_has_a_short_timeout_of_its_own() -> None:
    kinds = ("go-back-n", "go-back-0", "selective-repeat")
    used = [Reliability.model_validate({"kind": kind}).timeout_in_use_ps for kind in kinds]
    assert used == [16_777_216_000, 16_777_216_000, 10**9]


def test_headers_are_those_of_rocev2_on_ethernet() -> None:
    # Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4; AETH 4; 16 reserved bytes of a CNP; preamble 8 and gap 12.
    transport = roce()
    around = 14 + 20 + 8 + 12 + 4 + 4
    assert (transport.header_bytes, transport.ack_bytes, transport.cnp_bytes) == (around, around + 4, around + 16)
    assert (transport.minimum_frame_bytes, transport.line_gap_bytes) == (64, 8 + 12)


def test_what_is_written_is_read_back_equal() -> None:
    for name in (*KINDS, "mine.hpp:ns::Mine"):
        config = network({"kind": "roce", "congestion_control": name, "window": "bdp"}, {"pfc": {}})
        assert parse_network(config.document()) == config


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        ("rocce", "key 'transport': found 'rocce', allowed: tcp, roce; did you mean 'roce'?"),
        ({"kind": "rocce"}, "key 'transport.kind': found 'rocce', allowed: tcp, roce; did you mean 'roce'?"),
        ({"kind": "roce", "paylod": 1}, "key 'transport.paylod': unknown key; allowed: "),
        ({"kind": "roce", "payload": 0}, "transport.payload': found 0, expected greater than 0"),
        ({"kind": "roce", "window": "bdq"}, "transport.window': 'bdq' is not a size"),
        ({"kind": "roce", "window": 0}, "transport.window': found 0, expected a size above 0"),
        ({"kind": "roce", "priority": 8}, "transport.priority': found 8, expected less than 8"),
        ({"kind": "roce", "reliability": "go-back-m"}, "transport.reliability': found 'go-back-m'"),
        ({"kind": "roce", "reliability": {"reordering_packets": 3}}, "has no effect with go-back-n"),
        ({"kind": "roce", "queue_pairs_per_pair": 0}, "transport.queue_pairs_per_pair': found 0, expected greater"),
        ({"kind": "roce", "queue_pairs_per_pair": 257}, "found 257, expected less than or equal to 256"),
        ({"kind": "roce", "queue_pair_use": "turn"}, "did you mean 'turns'?"),
        (
            {"kind": "roce", "queue_pairs": "per-message", "queue_pairs_per_pair": 2},
            "transport.queue_pairs_per_pair': found 2 with queue_pairs per-message, which opens one for each message; "
            "expected 1, or queue_pairs per-pair",
        ),
        ({"kind": "roce", "congestion_control": "dcqn"}, "did you mean 'dcqcn'?"),
        (
            {"kind": "roce", "congestion_control": {"rate_ai": "1Mbps"}},
            "'transport.congestion_control.kind' is missing",
        ),
        (
            {"kind": "roce", "congestion_control": {"kind": "dcqcn", "rate_aj": "1Mbps"}},
            "transport.congestion_control.rate_aj': unknown key",
        ),
        ({"kind": "roce", "congestion_control": {"kind": "dcqcn", "g": 1.5}}, "found 1.5, expected less than or equal"),
        (
            {"kind": "roce", "congestion_control": {"kind": "timely", "t_low": "1ms", "t_high": "500us"}},
            "1ms is above t_high, 500us",
        ),
        (
            {"kind": "roce", "congestion_control": {"kind": "swift", "fs_min_cwnd": 200, "fs_max_cwnd": 100}},
            "not below fs_max_cwnd, 100",
        ),
        (
            {"kind": "roce", "congestion_control": {"kind": "swift", "min_cwnd": 0.01, "max_cwnd": 0.005}},
            "0.01 is above max_cwnd, 0.005",
        ),
        ({"kind": "roce", "congestion_control": {"kind": "swift", "parameters": "hpcc"}}, "allowed: scaled, paper"),
        ({"kind": "roce", "congestion_control": {"kind": "dcqcn", "parameters": "nvida"}}, "did you mean 'nvidia'?"),
        ({"kind": "roce", "congestion_control": "mine.txt:My"}, "expected FILE.hpp:Class or FILE.py:Class"),
    ],
)
def test_mistakes_are_named_with_the_nearest_key(transport: Any, message: str) -> None:
    assert message in message_of(transport=transport)


def test_parameters_are_in_base_units() -> None:
    parameters = control({"kind": "dcqcn", "rate_ai": "50Mbps", "decrease_timer": "4us", "byte_counter": "1MB"})
    assert parameters.given() == {"rate_ai": 50e6, "decrease_timer": 4.0 * US, "byte_counter": 1e6}


def test_a_users_own_control_takes_numbers_of_any_name_and_unit() -> None:
    own = control(
        {"kind": "a/b.hpp:ns::Mine", "parameters": {"r": "40Gbps", "t": "3us", "s": "2KiB", "n": 7, "on": True}}
    )
    assert isinstance(own, OwnControl)
    assert (own.path, own.class_name) == ("a/b.hpp", "ns::Mine")
    assert own.given() == {"r": 40.0 * GBPS, "t": 3.0 * US, "s": 2048.0, "n": 7.0, "on": 1.0}
    assert "'t' is '3 parsecs'" in message_of(
        transport={"kind": "roce", "congestion_control": {"kind": "b.py:Mine", "parameters": {"t": "3 parsecs"}}}
    )


def papers(kind: str) -> Mapping[str, float]:
    """Every number of a control as its paper has it."""
    plain = kind in ("none", "static-window")
    return in_force(control(kind if plain else {"kind": kind, "parameters": "paper"}), SOME_LINE).numbers


def names_told_to(kind: str) -> set[str]:
    return set(papers(kind)) - control(kind).of_the_fabric


def names_read_by_cpp(*files: str) -> set[str]:
    return {name for file in files for name in re.findall(r'Get\("(\w+)"', (MODELS / file).read_text(encoding="utf-8"))}


@pytest.mark.parametrize("kind", KINDS)
def test_cpp_reads_exactly_the_parameters_of_the_file(kind: str) -> None:
    files = [f"roce-control-{kind}.cc", *([SHARED_RULE] if kind.startswith("hpcc") else [])]
    assert names_read_by_cpp(*files) - {"minimum_rate"} == names_told_to(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_cpp_has_the_same_defaults(kind: str) -> None:
    files = [f"roce-control-{kind}.cc", *([SHARED_RULE] if kind.startswith("hpcc") else [])]
    texts = "\n".join((MODELS / file).read_text(encoding="utf-8") for file in files)
    found = {}
    for name, value in re.findall(r'Get\("(\w+)", ([^)]+)\)', texts):
        top, _, bottom = value.partition("/")
        found[name] = float(top) / float(bottom or 1)
    found.pop("minimum_rate", None)
    told = {name: value for name, value in papers(kind).items() if name in names_told_to(kind)}
    assert found == pytest.approx(told)


def test_cpp_knows_every_control() -> None:
    registry = (MODELS / "roce-control-registry.cc").read_text(encoding="utf-8")
    assert set(re.findall(r'Entry\{"([\w-]+)"', registry)) == set(KINDS)


def test_what_the_fabric_does_for_pint_is_not_told_to_the_control() -> None:
    assert {"log_base", "sampling"} <= set(HpccPint.model_fields)
    assert not {"log_base", "sampling"} & names_told_to("hpcc-pint")


def test_marking_may_differ_by_the_rate_of_a_port() -> None:
    marking = switch(ecn=[{"rate": "100Gbps", "kmin": 4, "kmax": 16}, {"rate": "400Gbps", "kmin": 8, "kmax": 32}])
    found = marking.ecn_of(400 * GBPS)
    assert found is not None
    assert (found.kmin_bytes, found.kmax_bytes) == (8, 32)
    with pytest.raises(InputError, match=r"of 200 Gb/s; it has 100 Gb/s, 400 Gb/s: add one with 'rate: 200Gbps', or"):
        marking.ecn_of(200 * GBPS)
    alike = switch(ecn={"kmin": 4, "kmax": 16, "at": "dequeue"}).ecn_of(1)
    assert isinstance(alike, EcnConfig)
    assert alike.at == "dequeue"
    assert switch().ecn_of(1) is None


def test_alpha_doubles_with_each_halving_down_to_the_reference_rate() -> None:
    pfc = PfcConfig.model_validate({"alpha": 0.125, "reference_rate": "100Gbps"})
    rates = (50, 100, 150, 200, 400, 800, 3200)
    # 150 is above 100 and 75 is not; 200 -> 100 is one halving, 400 two, 800 three, and alpha is never above 1.
    assert [pfc.alpha_of(rate * GBPS) for rate in rates] == [0.125, 0.125, 0.25, 0.25, 0.5, 1.0, 1.0]
    assert PfcConfig().alpha_of(800 * GBPS) == 0.125


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"ecn": {"kmin": 5, "kmxx": 6}}, "switch.ecn.kmxx': unknown key; allowed: kmin, kmax, pmax, at"),
        ({"ecn": [{"kmin": 5, "kmax": 6}]}, "switch.ecn.0.rate' is missing"),
        ({"ecn": []}, "found [], expected at least one entry"),
        ({"ecn": "scalled"}, "switch.ecn': found 'scalled', expected scaled, off, or keys: kmin, kmax, pmax"),
        ({"ecn": True}, "switch.ecn': found True, expected scaled, off, or keys"),
        ({"ecn": [{"rate": "1bps", "kmin": 5, "kmax": 6}] * 2}, "two entries for ports of 1 b/s"),
        ({"pfc": {"priorities": [3, 3]}}, "[3, 3] names a priority twice"),
        ({"pfc": {"priorities": []}}, "switch.pfc.priorities': found [], expected at least one entry"),
        ({"pfc": {"headroom": 1, "headroom_factor": 3}}, "headroom_factor': stands beside headroom"),
        ({"scheduler": {"kind": "dwrr"}}, "scheduler.weights': is missing"),
        ({"scheduler": {"weights": [1] * 8}}, "scheduler.weights': has no effect with kind strict"),
        ({"scheduler": {"kind": "dwrr", "weights": [1] * 7}}, "1, 1], expected at least 8 entries"),
        ({"scheduler": {"kind": "dwrr", "weights": [1] * 9}}, "1, 1], expected at most 8 entries"),
    ],
)
def test_mistakes_in_a_switch_are_named(keys: dict[str, Any], message: str) -> None:
    assert message in message_of(switch=keys)


def test_only_what_there_is_can_be_observed() -> None:
    seen = {"queue_pairs": ["rate", "alpha"], "queue_pair_interval": "1us", "pauses": True, "utilisation": ["all"]}
    observe = network("roce", observe=seen).observe
    assert (observe.queue_pairs, observe.queue_pair_interval_ps, observe.pauses) == (("rate", "alpha"), US, True)
    assert "connections are TCP's" in message_of(transport="roce", observe={"connections": ["rtt"]})
    assert "queue_pairs are RoCE's" in message_of(transport="tcp", observe={"queue_pairs": ["rate"]})


def test_the_schema_lets_a_group_stand_as_a_word() -> None:
    definitions = schema_of("network")["$defs"]
    assert {"type": "string"} in definitions["RoceTransport"]["properties"]["congestion_control"]["anyOf"]
    assert {"type": "string"} in schema_of("network")["properties"]["transport"]["anyOf"]


def test_an_option_replaces_the_files_congestion_control() -> None:
    sizes = {"telemetry_bytes": 5, "ack_telemetry_bytes": 6}
    given = network({"kind": "roce", "congestion_control": {"kind": "dcqcn", "rate_ai": "1Mbps"}, **sizes})
    replaced = network_with_options(given, Options(congestion_control="hpcc"))
    assert isinstance(replaced, NetworkConfig)
    assert isinstance(replaced.transport, RoceTransport)
    assert (replaced.transport.congestion_control.kind, replaced.transport.telemetry_bytes) == ("hpcc", None)
    assert replaced.transport.ack_telemetry_bytes is None
    assert network_with_options(given, Options(congestion_control="dcqcn")) is given
    assert network_with_options(given, Options()) is given
    with pytest.raises(InputError, match="did you mean 'timely'"):
        network_with_options(given, Options(congestion_control="timly"))
    with pytest.raises(InputError, match="needs transport roce; the network's transport is tcp"):
        network_with_options(network("tcp"), Options(congestion_control="hpcc"))


def test_a_missing_control_of_the_command_line_is_no_fault_of_the_networks_file(tmp_path: Path) -> None:
    inputs = Path(__file__).parents[3] / "inputs"
    workload, system = inputs / "workload/micro-all-reduce.txt", inputs / "system/flat.txt"
    roce, tcp = inputs / "network/roce-16.yaml", inputs / "network/single-switch-16.yaml"
    with pytest.raises(InputError, match=rf"^{tmp_path}/no.py: no such congestion control file"):
        load_inputs(workload, system, roce, Options(congestion_control=f"{tmp_path}/no.py:Mine"))
    with pytest.raises(InputError, match=r"^--congestion-control: key 'transport.congestion_control'.*mean 'dcqcn'"):
        load_inputs(workload, system, roce, Options(congestion_control="dqcn"))
    with pytest.raises(InputError, match=r"^congestion-control 'hpcc' needs transport roce"):
        load_inputs(workload, system, tcp, Options(congestion_control="hpcc"))


def test_a_users_own_control_must_be_there(tmp_path: Path) -> None:
    mine = tmp_path / "mine.hpp"
    with pytest.raises(InputError, match=rf"{mine}: no such congestion control file"):
        network_with_options(network("roce"), Options(congestion_control=f"{mine}:Mine"))
    mine.write_text("struct Mine {};", encoding="utf-8")
    found = network_with_options(network("roce"), Options(congestion_control=f"{mine}:Mine"))
    assert isinstance(found, NetworkConfig)
    assert isinstance(found.transport, RoceTransport)
    assert isinstance(found.transport.congestion_control, OwnControl)


def test_the_command_line_takes_the_option() -> None:
    files = ["-w", "workload/micro-all-reduce.txt", "-s", "system/flat.yaml", "-n", "network/roce-16.yaml"]
    paths = [word if word.startswith("-") else str(ROOT / "inputs" / word) for word in files]
    done = CliRunner().invoke(cli, ["validate", *paths, "--congestion-control", "timely"], standalone_mode=False)
    assert done.exception is None
    wrong = CliRunner().invoke(cli, ["validate", *paths, "--congestion-control", "timeli"], standalone_mode=False)
    assert isinstance(wrong.exception, InputError)


def test_a_control_of_tcp_is_named_as_such() -> None:
    with pytest.raises(InputError, match="found 'Cubic', a control of 'kind: tcp', allowed: none, static-window"):
        roce(congestion_control="Cubic")
