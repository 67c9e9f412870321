"""What programs lose on a device: launches, a share of the lines inside a node, computing beside collectives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.studies import INPUTS

from astra_ns3 import Tenant, forecast_scenario, run
from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.document import Document
from astra_ns3.config.model.compute import AnyCompute, Given, Roofline, Table
from astra_ns3.config.model.devices import DEVICES, Device
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import InputError
from astra_ns3.experiments.device import lost_share, network_as_reached, slowdown_on_device
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.nccl.network_of_servers import network_of
from astra_ns3.experiments.validate import validate
from astra_ns3.frozen import replace
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.report.foreseen_text import foreseen_rows
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import graphml, node_link
from astra_ns3.workload.computing.clocks import clock_of
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload, read_model

LLAMA = read_model(INPUTS / "workload" / "models" / "llama-3-8b.yaml")
NOTHING = {"compute.launch_overhead": 0, "compute.scale_up_efficiency": 1, "compute.overlap_slowdown": 1}
USUAL = parse_system({"scheduling-policy": "LIFO", "preferred-dataset-splits": 1})
NCCL = parse_system({"collectives": "nccl"})
NODES = INPUTS / "network" / "roce-nvswitch-clos-128.yaml"


def on(**keys: float | str) -> ModelWorkload:
    return changed(LLAMA, {f"compute.{key}": value for key, value in keys.items()})


def network(**scale_up: object) -> NetworkConfig:
    inside = {"link": {"rate": "1000Gbps", "delay": "100ns"}, "switch": {"buffer": "32MiB"}, **scale_up}
    outside = {"link": {"rate": "400Gbps", "delay": "1us"}, "switch": {"buffer": "32MiB"}}
    topology = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": inside, "scale_out": outside}
    return parse_network({"topology": topology, "transport": {"kind": "roce"}})


def inside(network: Any) -> Any:
    return network.topology.scale_up


# Read in the sources that astra_ns3/config/model/devices.py names: 213.87 of 300 GB/s; the mean of 325.65, 328.51,
# 326.37 and 326.74 of 450 GB/s; 48 of 64 GB/s; a kernel of 1.8124 us in each of 1,000 loops, 3,414,647 ns in all.
@pytest.mark.parametrize(
    ("name", "share"), [("A100-80GB", 213.87 / 300), ("H100", 326.82 / 450), ("MI300X", 48 / 64)], ids=str
)
def test_losses_are_those_of_their_sources(name: str, share: float) -> None:
    device = DEVICES[name]
    assert device.scale_up_efficiency == pytest.approx(share, abs=0.005)
    assert device.launch_overhead_ps == pytest.approx(3_414_647e3 / 1000 - 1_812_400, abs=5e4)
    assert device.overlap_slowdown == 1.189


def test_a_device_of_ones_own_loses_nothing_unless_it_says_so() -> None:
    numbers = {"name": "a", "peak": {"float16": "1TFLOPS"}, "memory": "1GB", "memory_bandwidth": "1TB/s"}
    assert Roofline.model_validate({"device": numbers}).losses == (0, 1, 1)
    slow = Device.model_validate(
        {**numbers, "launch_overhead": "2us", "scale_up_efficiency": 0.5, "overlap_slowdown": 2}
    )
    assert Roofline.model_validate({"device": slow}).losses == (2_000_000, 0.5, 2)


@pytest.mark.parametrize(
    ("compute", "losses"),
    [
        (Roofline(), (1_600_000, 0.73, 1.189)),
        (Roofline.model_validate({"launch_overhead": 0}), (0, 0.73, 1.189)),
        (Roofline.model_validate({"scale_up_efficiency": 1, "overlap_slowdown": 1}), (1_600_000, 1, 1)),
        (Table(kind="table", file="times.csv"), (0, 1, 1)),
        (Table.model_validate({"kind": "table", "file": "times.csv", "device": "A100-40GB"}), (1_600_000, 0.71, 1.189)),
        (Given(kind="given"), (0, 1, 1)),
    ],
    ids=str,
)
def test_keys_of_compute_go_before_the_devices(compute: AnyCompute, losses: tuple[float, ...]) -> None:
    assert compute.losses == losses


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("scale_up_efficiency", 0, "expected greater than 0"),
        ("scale_up_efficiency", 1.1, "expected less than or equal to 1"),
        ("overlap_slowdown", 0.9, "expected greater than or equal to 1"),
    ],
)
def test_a_loss_that_can_not_be_is_refused(key: str, value: float, message: str) -> None:
    with pytest.raises(InputError, match=f"key 'compute.{key}': found {value}, {message}"):
        on(**{key: value})


@pytest.mark.parametrize(
    "compute", [{"kind": "given"}, {"kind": "table", "file": "a.csv"}, {"kind": "roofline"}], ids=str
)
def test_a_loss_of_a_device_that_nobody_names_is_told_where_it_goes(compute: dict[str, Any]) -> None:
    data = {"kind": "transformer", "name": "m", "model": {"layers": 1, "hidden": 8, "heads": 1, "vocabulary": 8}}
    data |= {"training": {"sequence": 8}, "compute": {**compute, "device": {"overlap_slowdown": 1.2}}}
    with pytest.raises(InputError, match=r"key 'compute\.device.*; did you mean 'compute\.overlap_slowdown'\?$"):
        parse_model_file(Document("m.yaml", data))


def test_every_operation_takes_the_launch_of_its_device_besides() -> None:
    empty = Operation("nothing", OperationKind.OPTIMIZER)
    assert clock_of(Roofline.model_validate({"device": "A100-80GB"})).time_ps(empty) == 1_600_000
    assert clock_of(Roofline.model_validate({"device": "A100-80GB", "launch_overhead": 0})).time_ps(empty) == 0


def test_lines_inside_nodes_have_the_share_that_is_reached_and_others_all() -> None:
    config = network()
    found: Any = network_as_reached(config, on(scale_up_efficiency=0.75), USUAL)
    assert inside(found).link.rate_bps == 750_000_000_000
    assert inside(found).link.delay_ps == inside(config).link.delay_ps
    assert found.topology.scale_out == inside_out(config)
    assert network_as_reached(config, on(scale_up_efficiency=1), USUAL) == config


def inside_out(config: Any) -> Any:
    return config.topology.scale_out


def test_a_rings_injection_has_the_share_too() -> None:
    config = network(kind="ring", injection={"rate": "3000Gbps"})
    found = inside(network_as_reached(config, on(scale_up_efficiency=0.5), USUAL))
    assert (found.link.rate_bps, found.injection.rate_bps) == (500_000_000_000, 1_500_000_000_000)


def test_marking_by_rate_holds_at_the_rate_that_is_reached() -> None:
    marking = [{"rate": f"{rate}Gbps", "kmin": f"{rate}KB", "kmax": f"{rate}KB"} for rate in (400, 1000)]
    config = network(switch={"buffer": "32MiB", "ecn": marking})
    switch = inside(network_as_reached(config, on(scale_up_efficiency=0.5), USUAL)).switch
    assert switch.ecn_of(500_000_000_000).kmin_bytes == 1_000_000
    assert switch.ecn_of(400_000_000_000).kmin_bytes == 400_000


OWN = """
import json
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.topology.builders import build_graph
def servers():
    return build_graph(parse_network(json.loads({document!r})).topology)
"""


@pytest.mark.parametrize("own", [False, True], ids=["file", "function"])
def test_a_graph_has_the_share_on_its_links_inside_servers_alone(tmp_path: Path, own: bool) -> None:
    marking = [{"rate": f"{rate}Gbps", "kmin": f"{rate}KB", "kmax": f"{rate}KB"} for rate in (400, 1000)]
    switch = {"buffer": "32MB", "ecn": marking}
    nodes = network(switch=switch)
    path = tmp_path / ("servers.py" if own else "servers.graphml")
    graph = build_graph(nodes.topology)
    path.write_text(OWN.format(document=json.dumps(nodes.document())) if own else graphml(graph, nodes.topology))
    topology = {"kind": f"{path}:servers"} if own else {"kind": "file", "path": str(path), "switch": switch}
    config = parse_network({"topology": topology, "transport": {"kind": "roce"}})
    found: Any = network_as_reached(config, on(scale_up_efficiency=0.75), USUAL)
    before, after = build_graph(config.topology), build_graph(found.topology)
    shares = {(old.kind, new.rate_bps / old.rate_bps) for old, new in zip(before.links, after.links, strict=True)}
    assert shares == {("scale-up", 0.75), ("scale-out", 1)}
    marked = after.switch_configs[-1].ecn_of(750_000_000_000)
    assert marked is not None
    assert marked.kmin_bytes == 1_000_000
    assert lost_share(on(scale_up_efficiency=0.75), config, found) == []


def test_a_share_that_no_link_has_is_warned_of() -> None:
    config = parse_network(
        {"topology": {"npus": 8, "link": {"rate": "1Tbps", "delay": "1us"}, "switch": {"buffer": "1MB"}}}
    )
    told = "nothing says which lines are inside nodes (scale_up does), so the model's scale_up_efficiency of 0.5 has "
    model = on(scale_up_efficiency=0.5)
    assert lost_share(model, config, network_as_reached(config, model, USUAL)) == [f"{told}no effect"]
    assert lost_share(on(), config, network_as_reached(config, on(), USUAL)) == []


def test_networks_that_do_not_know_their_nodes_keep_their_rates() -> None:
    config = parse_network(
        {"topology": {"npus": 8, "link": {"rate": "1Tbps", "delay": "1us"}, "switch": {"buffer": "1MB"}}}
    )
    assert network_as_reached(config, on(scale_up_efficiency=0.5), USUAL) == config


def test_collectives_slow_computing_by_the_devices_factor() -> None:
    found = slowdown_on_device(None, on(overlap_slowdown=1.25))
    assert found is not None
    assert found.communication is not None
    assert found.communication.processors == found.communication.memory_bandwidth == pytest.approx(0.2)
    assert slowdown_on_device(None, on(overlap_slowdown=1)) is None


def test_a_slowdown_of_the_runs_own_goes_before_the_devices() -> None:
    own = ComputeSlowdown.model_validate({"communication": {"processors": 0.5}})
    assert slowdown_on_device(own, LLAMA) is own
    straggler = ComputeSlowdown.model_validate({"stragglers": [{"npus": 0, "factor": 2}]})
    both = slowdown_on_device(straggler, on(overlap_slowdown=2))
    assert both is not None
    assert both.stragglers == straggler.stragglers
    assert both.communication is not None
    assert both.communication.processors == 0.5


def test_a_run_has_the_losses_of_its_models_device_unless_the_model_sets_them() -> None:
    system, usual = INPUTS / "system" / "hier.txt", Options()
    lossy = load_inputs(LLAMA, system, NODES, usual)
    assert inside(lossy.network).link.rate_bps == round(2.4e12 * 0.73)
    assert lossy.slowdown is not None
    ideal = load_inputs(changed(LLAMA, NOTHING), system, NODES, usual)
    assert inside(ideal.network).link.rate_bps == 2_400_000_000_000
    assert ideal.slowdown is None
    assert lossy.expected(1).bytes == ideal.expected(1).bytes


def own_device(**losses: float) -> dict[str, object]:
    peak = {"bfloat16": "1TFLOPS"}
    return {"name": "H100", "peak": peak, "memory": "1GB", "memory_bandwidth": "1TB/s", **losses}


# Lines of NCCL's rate (18 NVLinks x 20.6 GB/s and headers) lose what is left of 0.73 of the data sheet's 18 x 25 GB/s.
@pytest.mark.parametrize(
    ("rate", "device", "keys", "reached_gbps"),
    [
        ("3600Gbps", "H100", {}, 2628),
        ("3026Gbps", "H100", {}, 2628),
        # NCCL's rate of data alone, and any other up to the data sheet's: a faster line is never slower.
        ("2966Gbps", "H100", {}, 2628),
        ("3300Gbps", "H100", {}, 2628),
        ("3025.7Gbps", "H200", {}, 2628),
        ("2900Gbps", "H100", {}, 0.73 * 2900),
        # The rates of other GPUs' NVLinks, of A100s and of B200s.
        ("1958Gbps", "H100", {}, 0.73 * 1958),
        ("5900Gbps", "H100", {}, 0.73 * 5900),
        ("979Gbps", "A100-40GB", {}, 0.71 * 979),
        ("1958Gbps", "A100-80GB", {}, 0.71 * 2400),
        ("5890Gbps", "B200", {}, 0.73 * 7200),
        ("3026Gbps", "H100", {"scale_up_efficiency": 0.73}, 0.73 * 3026),
        ("3026Gbps", own_device(scale_up_efficiency=0.5), {}, 1513),
        # Another memory or peak of a listed device is no other line.
        ("3026Gbps", "H100", {"device.memory": "94GB"}, 2628),
        ("3026Gbps", "H100", {"device.peak": {"bfloat16": "500TFLOPS"}}, 2628),
        ("3026Gbps", "H100", {"device.scale_up_efficiency": 0.5}, 1513),
    ],
    ids=str,
)
def test_a_devices_share_is_one_of_the_data_sheets_rate(
    rate: str, device: Any, keys: dict[str, Any], reached_gbps: float
) -> None:
    model = changed(LLAMA, {"compute.device": device})
    if keys:
        model = changed(model, {f"compute.{key}": value for key, value in keys.items()})
    config = network(link={"rate": rate, "delay": "250ns"})
    assert inside(network_as_reached(config, model, USUAL)).link.rate_bps == pytest.approx(reached_gbps * 1e9, rel=1e-9)


# NCCL counts 20 GB/s and headers for each NVLink of an A100, whose data sheet says 25: 4 join it to each other one.
@pytest.mark.parametrize("gpus", [2, 3, 4])
@pytest.mark.parametrize("own", [False, True], ids=["kind", "function"])
def test_the_share_holds_for_the_used_nvlinks_of_servers_without_switches_and_in_graphs_of_functions(
    gpus: int, own: bool, tmp_path: Path
) -> None:
    inside = {"kind": "full-mesh", "link": {"rate": "652.7Gbps", "delay": "250ns"}}
    outside = {"link": {"rate": "400Gbps", "delay": "1us"}, "switch": {"buffer": "32MiB"}}
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": gpus, "scale_up": inside, "scale_out": outside}
    config = parse_network({"topology": nodes, "transport": {"kind": "roce"}})
    if own:
        path = tmp_path / "servers.py"
        path.write_text(OWN.format(document=json.dumps(config.document())))
        config = parse_network({"topology": {"kind": f"{path}:servers"}, "transport": {"kind": "roce"}})
    reached: Any = network_as_reached(config, on(device="A100-80GB"), USUAL)
    rates = {link.rate_bps for link in build_graph(reached.topology).links if link.kind == "scale-up"}
    assert rates == {0.71 * 4 * 25 * 8 * 10**9}


def of_file(document: Any, folder: Path) -> Any:
    """Return the network of a graph in node-link JSON."""
    (folder / "graph.json").write_text(json.dumps(document))
    switch = {"buffer": "32MiB"}
    topology = {"kind": "file", "path": str(folder / "graph.json"), "switch": switch}
    return parse_network({"topology": topology, "transport": {"kind": "roce"}})


@pytest.mark.parametrize("rate", [2600, 3026])
@pytest.mark.parametrize("hosts", [range(8), (0, 4, 1, 5, 2, 6, 3, 7), range(7)], ids=["alike", "in turns", "unlike"])
def test_nics_are_no_nvlinks_of_servers_that_are_unlike_or_numbered_in_turns(
    hosts: Any, rate: int, tmp_path: Path
) -> None:
    """A line of 2600 Gb/s is slower than NCCL's, and reaches 0.73 of its own rate; with its NIC it has 3000."""
    config = network(link={"rate": f"{rate}Gbps", "delay": "100ns"})
    document = json.loads(node_link(build_graph(config.topology), config.topology))
    names = [f"host{host}" for host in hosts]
    switches = [node for node in document["nodes"] if node["kind"] == "switch"]
    document["nodes"] = [*({"id": name, "kind": "host"} for name in names), *switches]
    document["graph"] = {}
    document["links"] = [link for link in document["links"] if link["source"] in names or link["target"] in names]
    reached = build_graph(network_as_reached(of_file(document, tmp_path), on(), USUAL).topology)  # type: ignore[union-attr]
    rates = {link.kind: link.rate_bps for link in reached.links}
    assert rates == {
        "scale-up": {2600: 1898, 3026: 2628}[rate] * 10**9,
        "scale-out": 400 * 10**9,
    }


# 6 of the 18 NVLinks of a GH200 and 4 of the 12 of an A100 lead to one other, but none through a switch.
@pytest.mark.parametrize(
    ("rate", "device", "kind", "reached_gbps"),
    [
        (1000, "H100", "switch", 730),
        (1200, "H100", "switch", 876),
        (1009, "H100", "full-mesh", 876),
        (700, "A100-80GB", "switch", 0.71 * 700),
        (700, "A100-80GB", "full-mesh", 0.71 * 800),
        (180, "V100", "switch", 0.71 * 180),
        (180, "V100", "full-mesh", 0.71 * 200),
    ],
    ids=str,
)
@pytest.mark.parametrize("as_graph", [False, True], ids=["kind", "file"])
def test_nvlinks_of_pairs_count_where_two_are_joined_without_a_switch(
    as_graph: bool, rate: int, device: str, kind: str, reached_gbps: float, tmp_path: Path
) -> None:
    inside: dict[str, Any] = {"kind": kind, "link": {"rate": f"{rate}Gbps", "delay": "250ns"}}
    inside |= {"switch": {"buffer": "32MiB"}} if kind == "switch" else {}
    outside = {"link": {"rate": "400Gbps", "delay": "1us"}, "switch": {"buffer": "32MiB"}}
    nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 2, "scale_up": inside, "scale_out": outside}
    config = parse_network({"topology": nodes, "transport": {"kind": "roce"}})
    if as_graph:
        config = of_file(json.loads(node_link(build_graph(config.topology), config.topology)), tmp_path)
    keys = {"compute.device": device, "training.datatype": "float16"}
    reached: Any = network_as_reached(config, changed(LLAMA, keys), USUAL)
    rates = {link.rate_bps for link in build_graph(reached.topology).links if link.kind == "scale-up"}
    assert [*rates] == [pytest.approx(reached_gbps * 1e9, rel=1e-6)]


# 0 - 1 has one NVLink of a DGX-1, 0 - 3 has two: 5 of 6 lead from GPU 2 to others of the first four.
@pytest.mark.parametrize("gpus", [4, 8])
@pytest.mark.parametrize("as_graph", [False, True], ids=["kind", "file"])
def test_all_nvlinks_of_a_dgx_1_have_the_share(as_graph: bool, gpus: int, tmp_path: Path) -> None:
    config = network_of(SERVERS["dgx-1v"], 2, gpus)
    if as_graph:
        config = of_file(json.loads(node_link(build_graph(config.topology), config.topology)), tmp_path)
    keys = {"compute.device": "V100", "training.datatype": "float16"}
    reached: Any = network_as_reached(config, changed(LLAMA, keys), USUAL)
    rates = {link.rate_bps for link in build_graph(reached.topology).links if link.kind == "scale-up"}
    one_bps = DEVICES["V100"].scale_up_efficiency * 25 * 8 * 10**9
    assert sorted(rates) == [pytest.approx(one_bps, rel=1e-6), pytest.approx(2 * one_bps, rel=1e-6)]


@pytest.mark.parametrize("rate", ["3026Gbps", "3600Gbps"])
def test_a_ring_of_8_h100_has_its_measured_bandwidth_on_the_ready_network_and_on_the_data_sheets(rate: str) -> None:
    """All-gathers of 8 x 32 MiB: nccl-tests measure a bus bandwidth of 326 GB/s; ours has RoCE's acknowledgements."""
    shape = {"layers": 1, "hidden": 16384, "heads": 64, "feed_forward": 1024, "vocabulary": 8}
    data = {"kind": "transformer", "name": "m", "model": shape, "training": {"sequence": 8192}, "compute": "H100"}
    model = parse_model_file(Document("m.yaml", {**data, "parallel": {"tensor": 8, "sequence": True}}))
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    rings = {f"{kind}-implementation": ["ring", "ring"] for kind in kinds}
    ready = yaml.safe_load((INPUTS / "network" / "roce-dgx-h100.yaml").read_text())
    ready["topology"]["scale_up"]["link"]["rate"] = rate
    system = parse_system({**USUAL.document(), **rings})
    result = run(workload=ModelWorkload(model, "m.yaml"), system=system, network=parse_network(ready), backend="flow")
    gathers = result.collectives[result.collectives["kind"] == "ALLGATHER"]
    assert set(gathers["bytes"]) >= {2**25}
    gather_us = gathers[gathers["bytes"] == 2**25]["duration_us"]
    assert (7 * 2**25 / gather_us / 1e3).median() == pytest.approx(326, rel=0.05)
    words = dict(foreseen_rows(result.metadata))["device losses"]
    assert f"lines inside nodes reach {2628 / float(rate[:-4]):.0%} of their rate" in words


# 0.73 of the line is what a ring of NCCL's reaches, and NCCL's channels lose that share by themselves.
@pytest.mark.parametrize(
    ("keys", "rate_bps"),
    [
        ({}, 1_000_000_000_000),
        ({"launch_overhead": "2us"}, 1_000_000_000_000),
        ({"scale_up_efficiency": 0.73}, 730_000_000_000),
        ({"scale_up_efficiency": 0.5}, 500_000_000_000),
        ({"device": own_device(scale_up_efficiency=0.5)}, 500_000_000_000),
        ({"device": own_device()}, 1_000_000_000_000),
        ({"device.memory": "94GB"}, 1_000_000_000_000),
    ],
    ids=str,
)
def test_lines_keep_their_rate_where_nccls_channels_play_unless_the_user_says_otherwise(
    keys: dict[str, Any], rate_bps: int
) -> None:
    workload = changed(LLAMA, {f"compute.{key}": value for key, value in keys.items()})
    assert inside(network_as_reached(network(), workload, NCCL)).link.rate_bps == rate_bps


def test_people_and_run_json_are_told_that_nccl_loses_the_share() -> None:
    told = "lines inside nodes keep their rate, for NCCL's channels lose what the device's 73% stands for"
    with_nccl = validate(LLAMA, NCCL, NODES).foreseen
    assert with_nccl["device_losses"]["scale_up_efficiency"] == 1
    assert with_nccl["scale_up_efficiency_left_to_nccl"] == 0.73
    assert dict(foreseen_rows(with_nccl))["device losses"].endswith(f"; {told}")
    others = validate(LLAMA, INPUTS / "system" / "hier.txt", NODES).foreseen
    assert "scale_up_efficiency_left_to_nccl" not in others
    assert others["device_losses"]["scale_up_efficiency"] == 0.73


def test_a_job_of_several_on_such_a_device_is_told_the_key_that_keeps_the_lines() -> None:
    job = Tenant("a", range(8), LLAMA, INPUTS / "system" / "hier.txt")
    with pytest.raises(InputError) as raised:
        forecast_scenario(network=network(), tenants=[job])
    key = "workload.compute.scale_up_efficiency"
    told = f"tenant 'a': its model, {LLAMA.source}, reaches a share of the rates inside nodes"
    assert str(raised.value).startswith(told)
    assert f"expected set: {{{key}: 1}} in this job" in str(raised.value)
    fits = {"workload.parallel.tensor": 8, "workload.parallel.pipeline": 1}
    forecast_scenario(network=network(), tenants=[replace(job, changes={**fits, key: 1})])
