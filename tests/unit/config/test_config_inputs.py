"""Every file in inputs/ is read; those that others name have the numbers they are named for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.lengths import some_slow

from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS
from astra_ns3.config.network.packet_network import RoceTransport, TcpTransport, parse_network, read_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.kinds import Mesh, SingleSwitch
from astra_ns3.config.topology.routing import RoutingConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.validate import validate
from astra_ns3.network.plan import plan_network
from astra_ns3.system.file import read_system
from astra_ns3.transport.check import check_transports
from astra_ns3.transport.tcp import tcp_parameters
from astra_ns3.workload.files import workload_formats
from astra_ns3.workload.files.astra_sim import read_workload

INPUTS = Path(__file__).parents[3] / "inputs"
WORKLOADS = sorted((INPUTS / "workload").glob("*.txt"))
SYSTEMS = sorted([*(INPUTS / "system").glob("*.txt"), *(INPUTS / "system").glob("*.yaml")])
NETWORKS = sorted((INPUTS / "network").glob("*.yaml"))


def test_the_files_that_the_readme_names_are_there() -> None:
    assert {"DLRM_HybridParallel.txt", "dlrm-128.txt"} <= {path.name for path in WORKLOADS}
    assert {"flat.txt", "flat.yaml", "flat-128.txt", "hier.txt", "hier-opt.txt", "three-dimensional.txt"} <= {
        path.name for path in SYSTEMS
    }
    assert {"single-switch-16.yaml", "flat-100g.yaml", "hier-mixed.yaml"} <= {path.name for path in NETWORKS}


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.name)
def test_each_workload_is_read(path: Path) -> None:
    assert workload_formats.read_workload(path).source == str(path)


@pytest.mark.parametrize("path", SYSTEMS, ids=lambda path: path.name)
def test_each_system_has_the_dimensions_of_the_network_that_it_is_named_for(path: Path) -> None:
    system = read_system(path)
    dimensions = {"hier": 2, "three": 3}.get(path.stem.split("-")[0], 1)
    for kind in TEXT_FORMAT_KINDS:
        assert len(system.algorithms(kind, dimensions)) == dimensions


LARGE = ("roce-nvswitch-clos-16384.yaml",)
"""Building it takes a quarter of a minute."""
QUICK = [path for path in NETWORKS if path.name not in LARGE]


@pytest.mark.parametrize("path", some_slow(NETWORKS, QUICK), ids=lambda path: path.name)
def test_each_network_is_built_without_a_warning(path: Path) -> None:
    network = read_network(path)
    plan = plan_network(network)
    assert check_transports(network, plan.outline, plan.transports) == []
    assert len(plan.graph.npu_host) == network.npus


RINGS = SystemConfig.model_validate(
    {f"{kind}-implementation": "oneRing" for kind in ("all-reduce", "all-gather", "reduce-scatter")}
    | {"all-to-all-implementation": "oneDirect", "scheduling-policy": "LIFO", "preferred-dataset-splits": 1}
)


@pytest.mark.parametrize("path", some_slow(NETWORKS, QUICK), ids=lambda path: path.name)
def test_each_network_whose_topology_formulas_know_is_played_by_them(path: Path) -> None:
    options = Options(backend="analytical")
    if isinstance(read_network(path).topology, Mesh):
        with pytest.raises(InputError, match="topology 'mesh' has no counterpart"):
            load_inputs(INPUTS / "workload" / "micro-all-reduce.txt", RINGS, path, options)
        return
    inputs = load_inputs(INPUTS / "workload" / "micro-all-reduce.txt", RINGS, path, options)
    assert not inputs.network.observe.anything
    observes = read_network(path).observe.anything
    assert [words for words in inputs.warnings if "without effect" in words and "observe" in words] == [
        f"{path}:{_line(path, 'observe:')}: key 'observe': without effect on the analytical network, which has no "
        "connections, queues or packets"
    ] * observes


def test_what_only_packets_need_is_no_matter_to_formulas() -> None:
    keys = read_network(INPUTS / "network" / "roce-16.yaml").document()
    keys["topology"]["switch"] |= {"buffer": "10KB", "pfc": {}}
    network, workload = parse_network(keys), INPUTS / "workload" / "micro-all-reduce.txt"
    with pytest.raises(InputError, match="headroom"):
        load_inputs(workload, RINGS, network)
    assert load_inputs(workload, RINGS, network, Options(backend="analytical")).warnings == ()


@pytest.mark.parametrize("backend", ["flow", "analytical", "analytical-queues"])
def test_links_that_lose_packets_are_warned_of_where_nothing_is_lost(backend: str) -> None:
    workload, network = INPUTS / "workload" / "micro-all-reduce.txt", INPUTS / "network" / "roce-lossy.yaml"
    words = f"error_rate of links: without effect with the backend {backend}, on which nothing is lost"
    assert load_inputs(workload, RINGS, network, Options(backend=backend)).warnings.count(words) == 1
    assert not [words for words in load_inputs(workload, RINGS, network).warnings if "error_rate" in words]


@pytest.mark.parametrize(
    ("backend", "routing", "warned"),
    [
        ("ns3", "ecmp", 1),
        ("flow", "ecmp", 1),
        ("flow", "spray", 1),
        ("ns3", "adaptive", 0),  # ports with less to send, for their rate, get more
        ("ns3", "flowlet", 0),
        ("flow", "adaptive", 0),
        ("flow", "flowlet", 0),
        ("analytical-queues", "ecmp", 0),
    ],
)
def test_ways_of_unequal_rate_are_warned_of_where_routes_share_evenly(backend: str, routing: Any, warned: int) -> None:
    workload, file = INPUTS / "workload" / "micro-all-reduce.txt", INPUTS / "network" / "graphs" / "five-cities.yaml"
    given = read_network(file)
    topology = given.topology.model_copy(update={"routing": RoutingConfig(kind=routing)})
    network = given.model_copy(update={"topology": topology})
    warnings = load_inputs(workload, RINGS, network, Options(backend=backend)).warnings
    assert len([words for words in warnings if "equally short ways of 40 Gb/s and 100 Gb/s" in words]) == warned


def _line(path: Path, beginning: str) -> int:
    lines = path.read_text().splitlines()
    return next((number for number, line in enumerate(lines, 1) if line.startswith(beginning)), 0)


def test_flat_is_the_same_as_text_and_as_yaml() -> None:
    assert read_system(INPUTS / "system" / "flat.txt") == read_system(INPUTS / "system" / "flat.yaml")


def test_the_case_study_has_the_numbers_of_its_table() -> None:
    network = read_network(INPUTS / "network" / "flat-100g.yaml")
    assert isinstance(network.topology, SingleSwitch)
    assert isinstance(network.transport, TcpTransport)
    assert (network.npus, network.topology.hosts) == (128, 128)
    assert (network.topology.link.rate_bps, network.topology.link.delay_ps) == (100 * 10**9, 500 * 10**3)
    assert (network.topology.switch.buffer_bytes, network.transport.window_bytes) == (10**9, 500_000)
    system = read_system(INPUTS / "system" / "flat-128.txt")
    assert (system.all_reduce, system.all_to_all) == (("doubleBinaryTree",), ("direct",))
    assert (system.preferred_dataset_splits, system.active_chunks_per_dimension) == (32, 64)
    assert (system.scheduling_policy, system.endpoint_delay_ns) == ("LIFO", 10)


CHUNKS_OF_THE_TABLE = {
    "flat-128-1024-chunks": ("flat-128", "flat-100g", 1024),
    "hier-128-chunks": ("hier", "hier", 128),
    "hier-opt-128-chunks": ("hier-opt", "hier-opt", 128),
}


@pytest.mark.parametrize("name", CHUNKS_OF_THE_TABLE)
def test_the_files_with_the_chunks_of_the_table_differ_in_their_chunks_alone(name: str) -> None:
    plain, _, chunks = CHUNKS_OF_THE_TABLE[name]
    system, fewer = (read_system(INPUTS / "system" / f"{each}.txt") for each in (name, plain))
    assert (system.preferred_dataset_splits, system.active_chunks_per_dimension) == (chunks, 64)
    assert system.model_copy(update={"preferred_dataset_splits": 32}) == fewer


@pytest.mark.parametrize("name", CHUNKS_OF_THE_TABLE)
def test_the_files_with_the_chunks_of_the_table_fit_the_case_study(name: str) -> None:
    """They are too long to play here: a collective of n chunks has n times the messages of one."""
    plain, network, chunks = CHUNKS_OF_THE_TABLE[name]
    found, fewer = (
        validate(
            INPUTS / "workload" / "dlrm-128.txt",
            INPUTS / "system" / f"{each}.txt",
            INPUTS / "network" / f"{network}.yaml",
        )
        for each in (name, plain)
    )
    assert found.warnings == ()
    assert found.forecast.messages == fewer.forecast.messages * chunks // 32


def test_hier_and_hier_opt_differ_in_how_they_use_their_dimensions_alone() -> None:
    hier, optimised = (read_system(INPUTS / "system" / f"{name}.txt") for name in ("hier", "hier-opt"))
    assert (hier.collective_optimization, optimised.collective_optimization) == ("baseline", "localBWAware")
    assert optimised.model_copy(update={"collective_optimization": "baseline"}) == hier


def test_dctcp_runs_with_ecn_and_a_marking_switch() -> None:
    network = read_network(INPUTS / "network" / "single-switch-16-dctcp.yaml")
    assert isinstance(network.topology, SingleSwitch)
    assert isinstance(network.transport, TcpTransport)
    assert tcp_parameters(network.transport).ecn
    assert network.topology.switch.ecn is not None


@pytest.mark.parametrize(("name", "control", "window"), [("roce-16", "dcqcn", None), ("roce-16-hpcc", "hpcc", None)])
def test_lossless_roce_has_pauses_and_marks(name: str, control: str, window: str | None) -> None:
    network = read_network(INPUTS / "network" / f"{name}.yaml")
    assert isinstance(network.topology, SingleSwitch)
    assert isinstance(network.transport, RoceTransport)
    assert (network.transport.congestion_control.kind, network.transport.window) == (control, window)
    assert network.topology.switch.pfc is not None
    assert network.transport.priority in network.topology.switch.pfc.priorities
    assert (network.topology.switch.ecn is not None) == network.transport.congestion_control.needs_ecn


def test_lossy_roce_loses_and_repeats_selectively() -> None:
    network = read_network(INPUTS / "network" / "roce-lossy.yaml")
    assert isinstance(network.topology, SingleSwitch)
    assert isinstance(network.transport, RoceTransport)
    assert network.topology.switch.pfc is None
    assert network.topology.link.error_rate > 0
    assert network.transport.reliability.kind == "selective-repeat"


def test_the_sample_dlrm_has_the_columns_that_its_authors_printed() -> None:
    workload = read_workload(INPUTS / "workload" / "DLRM_HybridParallel.txt")
    assert (workload.loop, workload.last_bottom_layer, len(workload.layers)) == ("HYBRID_DLRM", 4, 8)
    assert [layer.weight_gradient.bytes for layer in workload.layers] == [
        0,
        13 * 512 * 2,
        512 * 512 * 2,
        512 * 512 * 2,
        512 * 16 * 2,
        1040 * 512 * 2,
        512 * 512 * 2,
        512 * 512 * 2,
    ]
    assert [layer.update_ns for layer in workload.layers] == [98, 13, 524, 524, 16, 1065, 524, 524]
    assert [layer.forward.compute_ns for layer in workload.layers] == [300, 1280, 2560, 2560, 800, 6400, 2560, 2560]
    assert [layer.input_gradient.compute_ns for layer in workload.layers] == [
        300, 794, 2560, 2560, 1280, 6400, 2560, 2560,
    ]  # fmt: skip
    assert [layer.weight_gradient.compute_ns for layer in workload.layers] == [
        300, 896, 1792, 1792, 800, 4480, 1792, 1792,
    ]  # fmt: skip
    assert workload.layers[0].forward.bytes == workload.layers[0].input_gradient.bytes == 48 * 64 * 16 * 2


def test_copied_data_keeps_its_licence_beside_it() -> None:
    licence = (INPUTS / "workload" / "LICENSE.astra-sim").read_text(encoding="utf-8")
    assert "MIT License" in licence
    assert "Copyright (c) 2020 Georgia Institute of Technology" in licence


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("switch9:0", "port 'switch9:0': there is no switch 9, expected 0 to 0"),
        ("host3:1", "port 'host3:1': host 3 has ports 0 to 0"),
    ],
)
@pytest.mark.parametrize("key", ["queues", "utilisation", "pcap"])
def test_a_port_to_observe_that_the_network_has_not_is_named_with_key_and_line(
    key: str, port: str, message: str, tmp_path: Path
) -> None:
    text = (INPUTS / "network" / "roce-16.yaml").read_text()
    line = text.count("\n") + 4
    path = tmp_path / "network.yaml"
    path.write_text(f"{text}observe:\n  {key}:\n  - host0\n  - '{port}'\n")
    with pytest.raises(InputError) as caught:
        load_inputs(INPUTS / "workload" / "micro-all-reduce.txt", INPUTS / "system" / "flat.yaml", path)
    assert str(caught.value) == f"{path}:{line}: key 'observe.{key}.1': {message}"
