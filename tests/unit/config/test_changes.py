"""``--set`` and ``changes=``: other values of keys of a run's three files."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.small_run import small_run
from support.transports import transport_of

import astra_ns3
from astra_ns3.cli.validate import validate_command
from astra_ns3.config.core.changing import Setting, changed, settings_of
from astra_ns3.config.core.document import Document
from astra_ns3.config.core.plain import Json
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import NetworkFile
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.changes.setting import RunFiles
from astra_ns3.experiments.inputs import Inputs, load_inputs
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.system.file import parse_system, read_system
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.models.workload import ModelWorkload

ROOT = Path(__file__).resolve().parents[3]
WORKLOAD = ROOT / "inputs/workload/micro-all-reduce.txt"
SYSTEM = ROOT / "inputs/system/flat.txt"
NETWORK = ROOT / "inputs/network/roce-16.yaml"
MODEL = ROOT / "inputs/workload/models/llama-3-8b.yaml"
FLOWS = ROOT / "inputs/workload/flows-16.csv"


def loaded(changes: dict[str, Any], workload: Path = WORKLOAD, network: Path = NETWORK, **options: Any) -> Inputs:
    return load_inputs(workload, SYSTEM, network, Options(changes=changes, **options))


def link_rate_bps(inputs: Inputs) -> int:
    assert isinstance(inputs.network, NetworkConfig)
    rate: int = inputs.network.topology.link.rate_bps  # type: ignore[union-attr]
    return rate


@pytest.mark.parametrize("key", ["network.topology.link.rate", "topology.link.rate"])
def test_a_key_is_named_with_its_file_or_alone_where_no_other_file_has_it(key: str) -> None:
    assert link_rate_bps(loaded({})) == 100 * 10**9
    assert link_rate_bps(loaded({key: "400Gbps"})) == 400 * 10**9


def test_remote_memory_is_named_by_its_file_in_a_system_file_and_in_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 1000.0, "remote-mem-bw": 50.0}
    (tmp_path / "pool.json").write_text(json.dumps(pool), encoding="utf-8")
    system = tmp_path / "system.txt"
    system.write_text(f"{SYSTEM.read_text(encoding='utf-8')}remote-memory: pool.json\n", encoding="utf-8")
    of_file = read_system(system).remote_memory
    monkeypatch.chdir(tmp_path)
    assert of_file is not None
    assert of_file.bandwidth == 50
    for path in ("pool.json", str(tmp_path / "pool.json")):
        assert loaded({"system.remote_memory": path}).system.remote_memory == of_file
    with pytest.raises(InputError, match=r"gone\.json: no such file"):
        loaded({"system.remote-memory": "gone.json"})


def test_keys_of_text_files_are_set_with_units_by_names_of_layers_and_with_either_line() -> None:
    found = loaded({"endpoint_delay": 250, "workload.layers.all_reduce.weight_gradient.bytes": "2MB"})
    assert found.system.endpoint_delay_ns == 250
    assert isinstance(found.workload, Workload)
    assert found.workload.layers[0].weight_gradient.bytes == 2_000_000


def test_keys_of_a_model_file_are_set() -> None:
    changes = {"model.layers": 4, "workload.parallel": {"tensor": 4}, "training.micro_batches": 2}
    found = loaded(changes, MODEL, NETWORK)
    assert isinstance(found.workload, ModelWorkload)
    file = found.workload.file
    assert (found.workload.totals().layers, file.parallel.tensor, file.training.micro_batches) == (4, 4, 2)


def test_an_analytical_file_has_its_own_keys_and_ours(tmp_path: Path) -> None:
    ring = tmp_path / "ring.yaml"
    ring.write_text("topology: [Ring]\nnpus_count: [8]\nbandwidth: [50.0]\nlatency: [500.0]\n", encoding="utf-8")
    both = ({"network.bandwidth": [100.0]}, {"network.grid.0.bytes_per_ns": 100 * 2**30 / 1e9})
    for changes in both:
        network = loaded(changes, network=ring, backend="analytical").network
        assert isinstance(network, AnalyticalNetwork)
        assert network.bandwidths == pytest.approx((100 * 2**30 / 1e9,))


def test_a_config_txt_has_the_keys_of_our_network_files(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n", encoding="utf-8")
    said = ("CC_MODE 12", "L2_ACK_INTERVAL 1", "ENABLE_QCN 0", "BUFFER_SIZE 32", "TOPOLOGY_FILE topology.txt")
    text = "\n".join(("PACKET_PAYLOAD_SIZE 1000", *said))
    (tmp_path / "config.txt").write_text(text, encoding="utf-8")
    network = loaded({"transport.payload": 4000}, network=tmp_path / "config.txt").network
    assert isinstance(network, NetworkConfig)
    roce = transport_of(network, RoceTransport)
    assert roce is not None
    assert roce.payload_bytes == 4000


@pytest.mark.parametrize(
    ("mode", "changes", "telemetry"),
    [
        (12, {"network.transport.congestion_control": "hpcc"}, (None, None)),  # HPCC's own
        (3, {"transport.congestion-control": {"kind": "dcqcn"}}, (None, None)),  # none
        (3, {"transport.congestion_control.eta": 0.9}, (42, 28)),
        (3, {"transport.congestion_control": "hpcc"}, (42, 28)),
        (12, {"transport.congestion_control": "hpcc", "transport.telemetry_bytes": 7}, (7, None)),
    ],
)
def test_another_congestion_control_has_its_own_telemetry(
    mode: int, changes: dict[str, Any], telemetry: tuple[int | None, int | None], tmp_path: Path
) -> None:
    """A config.txt gives packets the telemetry of its control: 42 bytes and 28 for HPCC, 0 without one."""
    (tmp_path / "topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n", encoding="utf-8")
    said = (f"CC_MODE {mode}", "L2_ACK_INTERVAL 1", "ENABLE_QCN 0", "BUFFER_SIZE 32", "TOPOLOGY_FILE topology.txt")
    text = "\n".join((*said, "RATE_AI 40Mb/s", "RATE_HAI 400Mb/s"))
    (tmp_path / "config.txt").write_text(text, encoding="utf-8")
    network = loaded(changes, network=tmp_path / "config.txt").network
    assert isinstance(network, NetworkConfig)
    roce = transport_of(network, RoceTransport)
    assert roce is not None
    assert (roce.telemetry_bytes, roce.ack_telemetry_bytes) == telemetry


def test_what_is_changed_leaves_what_was_given_as_it_was(tmp_path: Path) -> None:
    given: dict[str, Json] = {"topology": {"link": {"rate": "1Gbps"}}, "ways": [{"cost": 1}]}
    settings = [Setting(("topology", "link", "rate"), "2Gbps"), Setting(("ways", "0", "cost"), 2)]
    data, _ = changed(given, copy.deepcopy(given), settings, tmp_path)
    assert data == {"topology": {"link": {"rate": "2Gbps"}}, "ways": [{"cost": 2}]}
    assert given == {"topology": {"link": {"rate": "1Gbps"}}, "ways": [{"cost": 1}]}


def test_options_go_before_changes_as_they_go_before_files() -> None:
    changes = {"system.injection-scale": 3, "scheduling-policy": "FIFO"}
    assert loaded(changes).system.injection_scale == 3
    assert loaded(changes, scheduling_policy="LIFO").system.scheduling_policy == "LIFO"


def test_what_is_in_force_gives_the_same_run_again() -> None:
    found = loaded({"topology.link": {"rate": "25Gbps", "delay": "2us"}, "endpoint-delay": 17})
    document = json.loads(json.dumps({"network": found.network.document(), "system": found.system.document()}))
    assert parse_network(document["network"]) == found.network
    assert parse_system(document["system"]) == found.system


def test_run_json_holds_what_was_in_force_and_the_file_stays() -> None:
    before = dict(small_run())
    result = astra_ns3.run(**before, changes={"system.endpoint-delay": 33})
    assert result.metadata["system"]["endpoint-delay"] == 33
    assert astra_ns3.run(**small_run()).metadata["system"]["endpoint-delay"] != 33


def test_validate_takes_changes_from_the_command_line() -> None:
    files = ("-w", str(WORKLOAD), "-s", str(SYSTEM), "-n", str(NETWORK))
    words = ("--set", "topology.link.rate=400Gbps", "--set", "network.topology.switch.buffer=64MB", "--json")
    done = CliRunner().invoke(validate_command, [*files, *words], standalone_mode=False)
    assert done.exception is None
    (marking,) = json.loads(done.stdout)["in_force"]["ecn"]
    assert marking["rate_bps"] == 400 * 10**9
    twice = CliRunner().invoke(validate_command, [*files, "--set", "npus=1", "--set", "npus=2"], standalone_mode=False)
    assert "--set npus: the key is given twice" in str(twice.exception)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"rate": "1Gbps"},
            "'rate' is no key of the workload, the system or the network; did you mean 'network.topology.link.rate'",
        ),
        ({"backend": "analytical"}, "'backend' is no key of a file but an option of its own: --backend"),
        ({"CC_MODE": 3}, "'CC_MODE' is a key of a config.txt; set what it becomes, as network.transport.payload"),
        ({"remote-memory-configuration": "x"}, "is no key of the workload"),
        ({"k" * 201: 1}, f"'{'k' * 160}...' (41 more letters) is no key"),
        ({"topologi.npus": 16}, "did you mean 'topology.npus'?"),
        ({"topology.lnk.rate": 1}, f"{NETWORK} (changed: topology.lnk.rate): key 'topology.lnk': unknown key"),
        ({"system.remote-memory": "nope.json"}, f"{SYSTEM} (changed: remote-memory): nope.json: no such file"),
        (
            {"system.all-reduce-implementation": ["ring", "ring", "ring"]},
            f"{SYSTEM} (changed: all-reduce-implementation): key 'all-reduce-implementation': found 3 algorithms",
        ),
        ({"npus": 16}, "the loop MICRO reads no key 'npus'; did you mean 'network.topology.npus'?"),
        ({"micro_batches": 4}, "the loop MICRO reads no key 'micro_batches'"),
        (
            {"workload.loop": "HYBRID_DLRM"},
            f"{WORKLOAD} (changed: loop): HYBRID_DLRM needs the number of its last bottom layer",
        ),
        (
            {"network.topology.npus": 3, "network.topology.dimensions": [5]},
            f"{NETWORK} (changed: topology.npus, topology.dimensions): key 'topology.dimensions': [5] make 5 NPUs",
        ),
        ({"network.topology.link.rate": "fast"}, "key 'topology.link.rate': 'fast' is not a rate"),
        ({"system.scheduling-policy": "FOO"}, "key 'scheduling-policy': found 'FOO', allowed: LIFO, FIFO"),
        ({"topology.npus": 16, "network.topology.npus": 16}, "'network.topology.npus' and 'topology.npus' are one key"),
        ({"workload.layers.top.bytes": 1}, "key 'layers': has no entry 'top', expected 0 to 0, *, or a name"),
        ({"workload.layers.1.bytes": 1}, "key 'layers': has no entry '1', expected 0 to 0, *, or a name"),
    ],
)
def test_a_bad_change_is_one_line_that_says_what_is_meant(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        loaded(changes)
    assert said in str(raised.value)


@pytest.mark.parametrize("changes", [[("a", 1)], {1: 2}, {"a..b": 1}])
def test_changes_that_are_no_mapping_of_keys_are_refused(changes: Any) -> None:
    with pytest.raises(InputError, match=r"^changes (is|has)"):
        validate(WORKLOAD, SYSTEM, NETWORK, Options(changes=changes))


def test_a_list_of_flows_has_no_keys() -> None:
    with pytest.raises(InputError, match=r"flows-16.csv: has no keys to change: it is a list of flows"):
        loaded({"workload.bytes": 1}, FLOWS)


def test_a_key_of_two_files_needs_the_name_of_one() -> None:
    # No two of today's formats have one, so the network is said to.
    ring = AnalyticalNetwork.model_validate({"grid": [{"topology": "ring", "npus": 8, "bytes_per_ns": 1.0}]})
    network = NetworkFile(ring, document=Document("ring.yaml", {"loop": 1}))
    files = RunFiles(read_workload(WORKLOAD), read_system(SYSTEM), network, {})
    with pytest.raises(InputError, match=r"key of the workload and the network; name the file: workload.loop or netw"):
        files.with_changes({"loop": "DATA"})


def test_words_of_the_command_line_are_read_as_yaml() -> None:
    found = settings_of(["a=1", "b.c=[1, 2]", "d={kind: roce}", "e=on", "f=", "g=400Gbps"])
    assert found == {"a": 1, "b.c": [1, 2], "d": {"kind": "roce"}, "e": True, "f": None, "g": "400Gbps"}
    for words, said in ((["a"], "expected KEY=VALUE"), (["=1"], "expected KEY=VALUE"), (["x-y=1", "x_y=2"], "twice")):
        with pytest.raises(InputError, match=said):
            settings_of(words)
    with pytest.raises(InputError, match="more than one value"):
        settings_of(["a=1\nb: 2"])
    for texts in (["a"], ["a=1", "a=2"], ["a=1\nb: 2"]):
        with pytest.raises(InputError, match=r"^--hold"):
            settings_of(texts, "--hold")


def test_a_kind_whose_group_has_keys_of_the_kind_before_is_refused_with_the_whole_group() -> None:
    with pytest.raises(InputError) as caught:
        loaded({"network.transport.kind": "tcp"})
    had = "transport.payload, transport.reliability, transport.congestion_control"
    told = f"key 'transport.kind': the file has {had} for kind roce; change all of 'transport', such as"
    assert str(caught.value).endswith(f"{told} transport: {{kind: tcp}}")
    assert "payload" not in str(loaded({"network.transport": {"kind": "tcp"}}).network)
