"""Network files: what is read, and each kind of mistake in one line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from support.documents.schemas import schema_of

from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import (
    EcnConfig,
    NetworkConfig,
    SingleSwitch,
    TcpTransport,
    parse_network,
    read_network,
)
from astra_ns3.errors import InputError

NETWORK = """\
topology:
  kind: single-switch
  npus: 16
  npus_per_host: 2
  link: {rate: 100Gbps, delay: 500ns}
  switch:
    buffer: 1GB
    ecn: {kmin: 100KB, kmax: 400KB, pmax: 0.2}
  nic: {buffer: 2MB}
  local: {rate: 2400Gbps, delay: 25ns}
transport:
  kind: tcp
  congestion_control: cubic
  window: 0.5MB
  min_rto: 20ms
  ecn: on
observe:
  connections: [rtt]
  queues: [host3, "switch0:3"]
  queue_interval: 1us
  pcap: [host0]
"""


def read(tmp_path: Path, text: str) -> NetworkConfig:
    path = tmp_path / "network.yaml"
    path.write_text(text, encoding="utf-8")
    return read_network(path)


def parts(network: NetworkConfig) -> tuple[SingleSwitch, TcpTransport]:
    assert isinstance(network.topology, SingleSwitch)
    assert isinstance(network.transport, TcpTransport)
    return network.topology, network.transport


def test_every_key_arrives_in_its_base_unit(tmp_path: Path) -> None:
    network = read(tmp_path, NETWORK)
    topology, transport = parts(network)
    assert (network.npus, network.dimensions, topology.hosts) == (16, (16,), 8)
    assert topology.link.rate_bps == 100_000_000_000
    assert topology.link.delay_ps == 500_000
    assert topology.switch.buffer_bytes == 1_000_000_000
    assert isinstance(topology.switch.ecn, EcnConfig)
    assert topology.switch.ecn.at is None
    assert topology.switch.ecn.kmin_bytes == 100_000
    assert topology.switch.ecn.kmax_bytes == 400_000
    assert topology.switch.ecn.pmax == 0.2
    assert topology.nic.buffer_bytes == 2_000_000
    assert topology.local.rate_bps == 2_400_000_000_000
    assert transport.congestion_control == "Cubic"
    assert transport.window_bytes == 500_000
    assert transport.min_rto_ps == 20_000_000_000
    assert transport.ecn is True
    assert network.observe.connections == ("rtt",)
    assert network.observe.queues == ("host3", "switch0:3")
    assert network.observe.queue_interval_ps == 1_000_000
    assert network.observe.pcap == ("host0",)


def test_transport_defaults_are_for_a_data_centre() -> None:
    _, transport = parts(parse_network(minimal()))
    assert transport.congestion_control == "NewReno"
    assert (transport.mtu_bytes, transport.segment_bytes, transport.initial_window_segments) == (1500, None, 10)
    assert (transport.min_rto_ps, transport.clock_granularity_ps) == (10_000_000_000, 10_000_000)
    assert (transport.delayed_ack_count, transport.delayed_ack_timeout_ps) == (2, 40_000_000)
    assert (transport.ecn, transport.sack, transport.timestamps) == (None, True, False)
    assert (transport.connect_timeout_ps, transport.connect_retries, transport.data_retries) == (5_000_000_000, 6, 15)


def test_a_document_reads_back_to_an_equal_network(tmp_path: Path) -> None:
    for network in (read(tmp_path, NETWORK), parse_network(minimal())):
        assert parse_network(json.loads(json.dumps(network.document()))) == network


def test_models_are_frozen(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="frozen"):
        parts(read(tmp_path, NETWORK))[1].window_bytes = 1


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "npus: 16",
            "npsu: 16",
            r"network\.yaml:3: key 'topology\.npsu': unknown key; .*; did you mean 'topology.npus'\?",
        ),
        ("npus: 16", "npus: 15", r":3: key 'topology\.npus': found 15, expected a multiple of npus_per_host, 2"),
        ("npus: 16", "npus: 0", r":3: key 'topology\.npus': found 0"),
        ("npus: 16", "npus: -2", r":3: key 'topology\.npus': found -2"),
        ("npus: 16", "npus: 16.0", r":3: key 'topology\.npus': found 16\.0"),
        ("npus: 16", "npus: yes", r":3: key 'topology\.npus': found True"),
        ("npus: 16", "npus: 2000000", r":3: key 'topology\.npus': found 2000000"),
        ("  npus: 16\n", "", r":1: key 'topology\.npus' is missing"),
        ("single-switch", "single-swich", r":2: key 'topology\.kind': .*did you mean 'single-switch'\?"),
        ("rate: 100Gbps", "rate: 0", r":5: key 'topology\.link\.rate': found 0, expected greater than 0"),
        ("delay: 500ns", "delay: -1ns", r":5: key 'topology\.link\.delay': '-1ns' is not a time"),
        ("delay: 500ns", "delay: 500", r":5: key 'topology\.link\.delay': 500 has no unit"),
        ("buffer: 1GB", "buffer: 0", r":7: key 'topology\.switch\.buffer': found 0"),
        ("kmax: 400KB", "kmax: 99KB", r":8: key 'topology\.switch\.ecn\.kmin': 100000 bytes is above kmax, 99000"),
        ("pmax: 0.2", "pmax: 1.1", r":8: key 'topology\.switch\.ecn\.pmax': found 1\.1"),
        (
            "kind: tcp",
            "kind: rocce",
            r":12: key 'transport\.kind': found 'rocce', allowed: tcp, roce; did you mean 'roce'",
        ),
        ("cubic", "cubik", r":13: key 'transport\.congestion_control': found 'cubik', .*did you mean 'Cubic'\?"),
        (
            "cubic",
            "dcqcn",
            r":13: key 'transport\.congestion_control': found 'dcqcn', a control of 'kind: roce', allowed",
        ),
        (
            "cubic",
            "DCQCN",
            r":13: key 'transport\.congestion_control': found 'DCQCN', a control of 'kind: roce', allowed",
        ),
        ("window: 0.5MB", "window: 0", r":14: key 'transport\.window': found 0, expected greater than 0"),
        ("window: 0.5MB", "window: 1GiB", r":14: key 'transport\.window': .*1073725440"),
        ("window: 0.5MB", "mtu: 67", r":14: key 'transport\.mtu': found 67"),
        ("min_rto: 20ms", "min_rto: 0", r":15: key 'transport\.min_rto': found 0"),
        ("ecn: on", "ecn: 1", r":16: key 'transport\.ecn': found 1"),
        ("[rtt]", "[rtts]", r":18: key 'observe\.connections\.0': found 'rtts'.*did you mean 'rtt'\?"),
        ("[host3,", "[hots3,", r":19: key 'observe\.queues': found 'hots3', expected a port"),
        ("[host3,", "[all,", r":19: key 'observe\.queues': 'all' must stand alone"),
        ("pcap: [host0]", "pcap: [switch0]", r":21: key 'observe\.pcap\.0': found 'switch0', expected a port"),
        ("observe:", "observed:", r":17: key 'observed': unknown key; .*; did you mean 'observe'\?"),
        ("nic: {buffer: 2MB}", "nic: 2MB", r":9: key 'topology\.nic': found '2MB', expected keys and values"),
        (
            "buffer: 1GB",
            "reduction: on",
            r":7: key 'topology\.switch\.reduction': found true \(on\), expected .*; \{\} takes the defaults",
        ),
        ("buffer: 1GB", "pfc: off", r"pfc': found false \(off\), .*; \{\} takes the defaults; null leaves the key out"),
        (
            "buffer: 1GB",
            "scheduler: off",
            r"scheduler': found false \(off\), .*: kind, weights; \{\} takes the defaults(?!; null)",
        ),
        (
            "  link:",
            "  routing: sprai\n  link:",
            r":5: key 'topology.routing': found 'sprai', allowed: ecmp, spray, .*; did you mean 'spray'\?",
        ),
        (
            "[host3,",
            "{ports: all} #",
            r":19: key 'observe\.queues': found \{'ports': 'all'\}, expected all, or a list of ports such as \[host3, ",
        ),
    ],
)
def test_a_mistake_is_one_line_with_file_line_and_key(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in NETWORK
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, NETWORK.replace(before, after, 1))
    assert "\n" not in str(caught.value)


def test_several_mistakes_are_told_in_one_line(tmp_path: Path) -> None:
    text = NETWORK.replace("window: 0.5MB", "window: 0").replace("npus: 16", "npus: 0")
    more = r"\(and 1 more: line 14: key 'transport\.window': found 0, expected greater than 0\)$"
    with pytest.raises(InputError, match=rf":3: key 'topology\.npus': found 0, expected .* {more}"):
        read(tmp_path, text)


def test_an_unknown_key_hides_no_other_mistake(tmp_path: Path) -> None:
    text = NETWORK.replace("npus: 16", "npus: 0\n  colour: red")
    with pytest.raises(
        InputError, match=r":3: key 'topology\.npus'.* \(and 1 more: line 4: key 'topology\.colour': unknown"
    ):
        read(tmp_path, text)


def test_an_unknown_key_may_stand_for_the_only_one_that_is_missing(tmp_path: Path) -> None:
    text = NETWORK.replace("npus: 16", "gpus_in_all: 16")
    words = r":3: key 'topology\.gpus_in_all'.*did you mean 'topology\.npus', which is missing\?$"
    with pytest.raises(InputError, match=words):
        read(tmp_path, text)


def test_plain_data_is_refused_by_key() -> None:
    data = minimal()
    data["topology"]["link"]["rate"] = "100000000"
    assert parts(parse_network(data))[0].link.rate_bps == 100_000_000
    for nothing in (1, [1], "x"):
        with pytest.raises(InputError, match=r"^network: key 'topology': found .*, expected keys and values$"):
            parse_network({**data, "topology": nothing})
    data["topology"]["link"]["rate"] = float("nan")
    with pytest.raises(InputError, match=r"^network: key 'topology\.link\.rate': nan is not a rate"):
        parse_network(data)
    with pytest.raises(InputError, match=r"^here: found 3, expected keys and values"):
        parse_network(3, "here")


def test_the_schema_has_the_keys_of_a_file() -> None:
    definitions = schema_of("network")["$defs"]
    assert set(definitions["LinkConfig"]["properties"]) == {"rate", "delay", "error_rate"}
    assert "Dctcp" in definitions["TcpTransport"]["properties"]["congestion_control"]["enum"]
    assert definitions["SingleSwitch"]["additionalProperties"] is False


def minimal() -> dict[str, Any]:
    """The keys that must be there."""
    return copy.deepcopy(
        {
            "topology": {
                "npus": 4,
                "link": {"rate": "100Gbps", "delay": "500ns"},
                "switch": {"buffer": "1GB"},
            }
        }
    )


@pytest.mark.parametrize(
    "observe",
    [{"queues": ["host0"]}, {"pcap": ["host0"]}, {"connections": ["rtt"]}, {"utilisation": ["all"]}, {"pauses": True}],
)
def test_whatever_is_observed_is_something(observe: dict[str, Any]) -> None:
    assert parse_network({**minimal(), "observe": observe}).observe.anything
    assert not parse_network({**minimal(), "observe": {"queue_interval": "1us"}}).observe.anything


@pytest.mark.parametrize(
    ("key", "value"), [("bandwidth", "1e300"), ("bandwidth", "1e-300"), ("latency", "1e300"), ("bandwidth", "0")]
)
def test_analytical_numbers_beyond_any_network_are_refused(key: str, value: str, tmp_path: Path) -> None:
    numbers = {"bandwidth": "50", "latency": "500", key: value}
    file = tmp_path / "network.yml"
    file.write_text(
        f"topology: [Ring]\nnpus_count: [4]\nbandwidth: [{numbers['bandwidth']}]\nlatency: [{numbers['latency']}]\n"
    )
    with pytest.raises(InputError, match=rf"network\.yml:\d: key '{key}\.0': found .*, expected "):
        read_network_file(file)


def test_what_costs_nothing_may_be_left_out_of_a_network_of_version_1(tmp_path: Path) -> None:
    """The tutorials of ASTRA-sim leave NICs, switches and memory out."""
    short = {"topologies-per-dim": ["Ring", "Switch"], "dimensions-count": 2, "units-count": [4, 2]}
    short |= {"links-count": [2, 1], "link-latency": [500, 1], "link-bandwidth": [50, 6.25]}
    zeros = {key: [0, 0] for key in ("nic-latency", "router-latency", "hbm-latency", "hbm-scale")}
    for name, keys in (("short", short), ("long", {**short, **zeros, "hbm-bandwidth": [1, 1]})):
        (tmp_path / f"{name}.json").write_text(json.dumps(keys))
    assert read_network_file(tmp_path / "short.json") == read_network_file(tmp_path / "long.json")
    (tmp_path / "wrong.json").write_text(json.dumps({**short, "nic-latency": []}))
    with pytest.raises(InputError, match=r"'nic-latency': found 0 entries, expected dimensions-count, 2"):
        read_network_file(tmp_path / "wrong.json")


def test_keys_of_groups_of_another_kind_are_not_suggested(tmp_path: Path) -> None:
    text = NETWORK.replace("topology:", "hosts_per_leaf: 2\nnpus: 4\ntopology:")
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert "did you mean 'topology.npus' for 'npus'?" in str(caught.value)
    assert "leaf'," not in str(caught.value).partition("did you mean")[2]


def test_all_unknown_keys_are_told_at_once(tmp_path: Path) -> None:
    text = NETWORK.replace("npus: 16", "npus: 16\n  nqus: 16\n  linq: 1").replace("window: 0.5MB", "windov: 0.5MB")
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "unknown key, so is 'linq'; allowed: " in message
    assert "did you mean 'topology.npus' for 'topology.nqus', 'topology.link' for 'topology.linq'?" in message
    assert "and 1 more: " in message
    assert message.endswith("key 'transport.windov': unknown key; did you mean 'transport.window'?)")


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [
        ("window: 0.5MB", "windov: 0.5MB", "'transport.window'"),
        ("transport:", "rate: 1Gbps\ntransport:", "'topology.link.rate'"),
        ("npus: 16", "npus: 16\n  delay: 1ns", "'topology.link.delay'"),
    ],
    ids=["misspelt", "of-a-group-inside", "of-a-group-of-this-group"],
)
def test_the_key_that_is_meant_is_told_by_its_path(old: str, new: str, meant: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"unknown key; allowed: .*; did you mean {meant}\?"):
        read(tmp_path, NETWORK.replace(old, new))


@pytest.mark.parametrize("key", ["links-count", "link-latency", "link-bandwidth", "hbm-scale", "units-count"])
def test_true_is_no_number_of_a_list(key: str, tmp_path: Path) -> None:
    found: dict[str, object] = {"topologies-per-dim": ["Ring", "Switch"], "dimensions-count": 2, "units-count": [4, 2]}
    found |= {"links-count": [2, 1], "link-latency": [500, 1], "link-bandwidth": [50, 6.25], "hbm-scale": [0, 0]}
    text = json.dumps({**found, key: [2, True]}, indent=1)
    line = text[: text.index("true")].count("\n") + 1
    (tmp_path / "network.json").write_text(text)
    expected = "a valid integer" if "count" in key else "a number"
    with pytest.raises(InputError, match=rf"network\.json:{line}: key '{key}\.1': found True, expected {expected}"):
        read_network_file(tmp_path / "network.json")


def test_a_mistyped_key_of_astra_sim_2_is_told_as_its_own(tmp_path: Path) -> None:
    """A list of topologies is no topology of ours."""
    (tmp_path / "network.yml").write_text(
        "topology: [ Ring ]\nnpu_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"key 'npu_count': unknown key.*did you mean 'npus_count'"):
        read_network_file(tmp_path / "network.yml")


def test_a_list_of_groups_as_topology_is_none_of_astra_sims(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"key 'topology': found .*, expected keys and values"):
        read(tmp_path, "topology:\n  - kind: ring\n    npus: 4\ntransport: tcp\n")


@pytest.mark.parametrize("key", ["queues", "utilisation"])
def test_all_ports_are_asked_for_as_a_word_or_as_a_list(key: str, tmp_path: Path) -> None:
    plain = NETWORK[: NETWORK.index("observe:")]
    words = [read(tmp_path, f"{plain}observe: {{{key}: {each}}}\n") for each in ("all", "[all]")]
    assert words[0] == words[1]
    assert getattr(words[0].observe, key) == ("all",)


def test_true_is_no_number() -> None:
    with pytest.raises(InputError, match=r"link\.error_rate': found True, expected a number"):
        parse_network(
            {
                "topology": {
                    "kind": "single-switch",
                    "npus": 2,
                    "link": {"rate": "1Gbps", "delay": "1ns", "error_rate": True},
                    "switch": {"buffer": "1MB"},
                }
            }
        )


def test_a_kind_alone_is_a_group_with_its_defaults(tmp_path: Path) -> None:
    def described(routing: str) -> NetworkConfig:
        return read(tmp_path, NETWORK.replace("  switch:\n", f"  routing: {routing}\n  switch:\n", 1))

    assert described("spray") == described("{kind: spray}") != described("ecmp")
