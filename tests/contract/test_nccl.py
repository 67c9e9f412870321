"""Runs whose collectives NCCL plays: what is foreseen is played, on every backend, with any cores, by any tenant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from oracles.causal_chain import CausalChain
from support.graphs import chakra_bytes as raw
from support.lengths import some_slow
from support.many_networks import DLRM

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.network.analytical_network import AnalyticalDimension, AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl.machine import machine_of
from astra_ns3.network.recorded import CHANNELS
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.parts import (
    BUSY,
    CHANNEL,
    COPYING,
    KERNEL,
    LATENCY,
    MESSAGE,
    OTHER,
    SIGNAL,
    SLOT_COPYING,
    SLOT_LATENCY,
)
from astra_ns3.report.explanation.what_ifs import FASTER_LINES
from astra_ns3.system.file import parse_system
from astra_ns3.system.nccl.parts import of_name
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload

BACKENDS = ("ns3", "flow", "analytical", "analytical-queues")
SWITCH = {"buffer": "64MiB", "pfc": {}}
DATA = "DATA\n1\nonly -1 500 NONE 0 700 NONE 0 900 ALLREDUCE 600000 0\n"
MODEL = """kind: transformer
name: small
model: {layers: 2, hidden: 128, heads: 8, vocabulary: 512}
training: {sequence: 64, micro_batch: 1, micro_batches: 2}
parallel: {tensor: 4}
compute: {device: H100, scale_up_efficiency: 1}
"""
PARTS = {"star": 1, "nodes": 4, "pcie": 4}


def network(kind: str, npus: int = 8, speed: int = 1, *, reduces: bool = False, between: bool = False) -> NetworkConfig:
    link = {"rate": f"{400 * speed}Gbps", "delay": "500ns"}
    if kind == "star":
        topology: dict[str, Any] = {"kind": "single-switch", "npus": npus, "link": link, "switch": SWITCH}
    else:
        topology = {
            "kind": "hierarchical",
            "nodes": npus // 4,
            "npus_per_node": 4,
            "scale_up": {
                "link": {"rate": f"{3600 * speed}Gbps", "delay": "250ns"},
                "switch": {**SWITCH, **({"reduction": {}} if reduces else {})},
            },
            "scale_out": {"kind": "single-switch", "link": link, "switch": SWITCH},
        }
    if between:
        switch = {**SWITCH, "reduction": {}}
        sizes = {"leaves": 2, "spines": 2, "hosts_per_leaf": npus // 2}
        topology["scale_out"] = {"kind": "leaf-spine", **sizes, "link": link, "switch": switch}
    if kind == "pcie":
        topology |= {"nics_per_node": 2, "shared_nics": "pcie"}
    return parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})


def workload(kind: str, folder: Path) -> AnyWorkload:
    if kind == "model":
        (folder / "model.yaml").write_text(MODEL, encoding="utf-8")
        return read_workload(folder / "model.yaml")
    return _text(DLRM if kind == "dlrm" else DATA)


def _text(text: str) -> Workload:
    return parse_workload(text, "small.txt")


def system(**table: object) -> SystemConfig:
    return parse_system({"collectives": "nccl", "nccl": table})


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", PARTS)
@pytest.mark.parametrize("kind", some_slow(["dlrm", "data", "model"], ["dlrm"]))
def test_what_is_foreseen_is_played(kind: str, place: str, backend: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "workload": workload(kind, tmp_path),
        "system": system(),
        "network": network(place),
        "backend": backend,
    }
    foreseen = astra_ns3.forecast_scenario(
        network=options["network"],
        tenants=[Tenant("one", None, options["workload"], options["system"])],
        backend=backend,
    )
    result = astra_ns3.run(**options, output=tmp_path / "out", record=["flows"])
    assert result.metadata["complete"]
    assert result.metadata["statistics"]["messages"] == foreseen.messages > 0
    flows = result.flows
    if backend == "ns3":
        assert len(flows) == foreseen.messages
    # Nobody sends to itself, and all take part.
    assert set(flows["source"]) == set(flows["destination"]) == set(range(8))
    assert (flows["source"] != flows["destination"]).all()


CHOICES: dict[str, tuple[str, dict[str, object]]] = {
    "Ring Simple": ("ALLREDUCE 300000", {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}),
    "two queue pairs": ("ALLREDUCE 3000000", {"NCCL_ALGO": "Ring", "NCCL_IB_QPS_PER_CONNECTION": 2}),
    "Ring LL": ("ALLREDUCE 300000", {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}),
    "Tree LL128": ("ALLREDUCE 300000", {"NCCL_ALGO": "Tree", "NCCL_PROTO": "LL128"}),
    "NVLSTree": ("ALLREDUCE 300000", {"NCCL_ALGO": "NVLSTree"}),
    "CollNetChain": ("ALLREDUCE 300000", {"NCCL_ALGO": "CollNetChain", "NCCL_COLLNET_ENABLE": 1}),
    "NVLS and CollNet": ("ALLREDUCE 300000", {"NCCL_ALGO": "NVLS", "NCCL_COLLNET_ENABLE": 1}),
    "all-to-all": ("ALLTOALL 300000", {}),
    "narrow NICs": ("REDUCESCATTER 300000", {"nic-efficiency": 0.9}),
}


OVER_SWITCHES = ("NVLSTree", "CollNetChain", "NVLS and CollNet")


def over(transport: str, *, reduces: bool = False) -> NetworkConfig:
    document: Any = network("nodes", reduces=reduces, between=reduces).document()
    if transport == "tcp":
        for level in ("scale_up", "scale_out"):
            document["topology"][level]["switch"] = {"buffer": "64MiB"}
        document["transport"] = {"kind": "tcp"}
    return parse_network(document)


@pytest.mark.parametrize(("transport", "backend"), [("roce", "ns3"), ("tcp", "ns3"), ("roce", "flow")])
@pytest.mark.parametrize("choice", CHOICES)
def test_bytes_packets_and_connections_are_foreseen_as_a_run_counts_them(
    choice: str, transport: str, backend: str, tmp_path: Path
) -> None:
    if choice in OVER_SWITCHES and transport == "tcp":
        pytest.skip("switches reduce over RoCE")
    of = over(transport, reduces=choice in OVER_SWITCHES)
    collective, table = CHOICES[choice]
    text, own = _text(f"MICRO\n1\na -1 0 NONE 0 0 NONE 0 0 {collective} 0\n"), system(**table)
    tenants = [Tenant("one", None, text, own)]
    foreseen = astra_ns3.forecast_scenario(network=of, tenants=tenants, backend=backend)
    result = astra_ns3.run(
        workload=text, system=own, network=of, backend=backend, output=tmp_path / "o", record=["flows"]
    )
    assert result.flows["bytes"].sum() == foreseen.bytes
    counted = result.metadata["statistics"]
    assert counted["messages"] == foreseen.messages
    if backend == "flow":
        assert foreseen.packets is foreseen.queue_pairs is None
    elif transport == "roce":  # TCP's packets have acknowledgements among them
        assert (counted["packets"], counted["queue_pairs"]) == (foreseen.packets, foreseen.queue_pairs)
    else:
        assert counted["connections"] == foreseen.connections


def test_lines_carry_what_the_messages_have_and_their_headers(tmp_path: Path) -> None:
    """Ring, Simple: 2(n-1)/n of the data from each NPU, in whole blocks, and one byte more for each signal at most."""
    table = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
    result = astra_ns3.run(
        workload=_text(DATA),
        system=system(**table),
        network=network("nodes"),
        backend="ns3",
        output=tmp_path / "out",
        record=["flows"],
    )
    sent = result.flows.groupby("source")["bytes"].sum()
    expected = 600_000 * 2 * 7 / 8
    messages = result.flows.groupby("source").size()
    assert (abs(sent - expected) <= messages).all()


@pytest.mark.parametrize("kind", ["dlrm", "model"])
def test_two_cores_play_what_one_does(kind: str, tmp_path: Path) -> None:
    texts = []
    for cores in (1, 2):
        folder = tmp_path / str(cores)
        result = astra_ns3.run(
            workload=workload(kind, tmp_path),
            system=system(),
            network=network("nodes", 16 if kind == "dlrm" else 8),
            backend="ns3",
            cores=cores,
            output=folder,
            record=["flows", "timeline"],
        )
        texts.append((result.finish_ps, result.flows, (folder / "EndToEnd.csv").read_text("utf-8")))
    one, two = texts
    assert one[0] == two[0]
    assert one[1].equals(two[1])
    assert one[2] == two[2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tenant_on_a_server_of_its_own_plays_as_it_does_alone(backend: str) -> None:
    """NPUs 4 to 7 are the second server."""
    both = astra_ns3.run_scenario(
        network=network("nodes"),
        tenants=[
            Tenant("one", range(4), _text(DATA), system(), seed=1),
            Tenant("other", range(4, 8), _text(DLRM), system(), seed=1),
        ],
        backend=backend,
    )
    alone = {
        name: astra_ns3.run_scenario(
            network=network("nodes"), tenants=[Tenant(name, npus, work, system(), seed=1)], backend=backend
        )
        for name, npus, work in (("one", range(4), _text(DATA)), ("other", range(4, 8), _text(DLRM)))
    }
    for name, result in alone.items():
        assert both.tenants[name].finish_ps == result.tenants[name].finish_ps > 0


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_quarter_of_a_nic_takes_longer(backend: str) -> None:
    """What is said of NICs counts between servers only."""

    def finish(place: str, **table: object) -> int:
        work = _text(DATA.replace("600000", "60000000"))
        return astra_ns3.run(
            workload=work, system=system(NCCL_ALGO="Ring", **table), network=network(place), backend=backend
        ).finish_ps

    whole, quarter = (finish("nodes", **{"nic-efficiency": share}) for share in (1.0, 0.25))
    assert whole * 1.2 < quarter < whole * 4.4


def explained_run(
    folder: Path,
    text: str = DATA,
    record: Sequence[str] = ("timeline", "flows"),
    jitter_ns: int = 0,
    backend: str = "flow",
    speed: int = 1,
    nodes: int = 2,
    reduces: bool = False,
    between: bool = False,
    **table: object,
) -> Any:
    """A run on servers of four."""
    keys = {"collectives": "nccl", "nccl": {"server": "dgx-h100", **table}, "start-jitter": jitter_ns}
    return astra_ns3.run(
        workload=_text(text),
        system=parse_system(keys),
        network=network("nodes", 4 * nodes, speed=speed, reduces=reduces, between=between),
        backend=backend,
        output=folder,
        record=record,
    )


def follow(result: Any) -> dict[tuple[str, str], int]:
    """The time of the links by kind and protocol; the oracle walks the chain forward again."""
    explained = explain(result)
    times = Counter[tuple[str, str]]()
    for link in explained.segments:
        times[link.kind, link.protocol] += link.time_ps
    assert sum(times.values()) == result.finish_ps
    assert {kind for kind, _ in times} & {OTHER, CHANNEL} == set()
    assert CausalChain(result).problems(explained.segments) == []
    assert {(each.kind, each.protocol): each.time_ps for each in explained.channels} == {
        key: ps for key, ps in times.items() if key[1]
    }
    return dict(times)


@pytest.mark.parametrize("record", [("timeline", "flows"), ("timeline", "accounts")], ids="+".join)
@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_the_chain_leads_through_channels(backend: str, record: tuple[str, ...], tmp_path: Path) -> None:
    """An all-to-all and all-reduces by trees; each link lets the next one happen."""
    times = follow(explained_run(tmp_path / "run", DLRM, record, backend=backend))
    assert {kind for kind, _ in times} >= {KERNEL, LATENCY, COPYING, MESSAGE}
    assert {protocol for _, protocol in times} == {"", "LL", "Simple"}


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("protocol", ["LL", "LL128", "Simple"])
@pytest.mark.parametrize("algorithm", ["Ring", "Tree", "NVLSTree"])
def test_what_kernels_do_adds_up_to_the_run(algorithm: str, protocol: str, backend: str, tmp_path: Path) -> None:
    if algorithm == "NVLSTree" and protocol != "Simple":
        pytest.skip("NVLS has Simple alone")
    text = DATA.replace("600000", "6000000")
    table: dict[str, Any] = {"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol, "reduces": algorithm == "NVLSTree"}
    times = follow(explained_run(tmp_path / "run", text, backend=backend, **table))
    assert {name for _, name in times} == {"", protocol}
    if (algorithm, protocol) == ("Ring", "Simple"):
        assert min(times[kind, protocol] for kind in (SIGNAL, SLOT_LATENCY, SLOT_COPYING)) > 0


@pytest.mark.parametrize(("nodes", "algorithm"), [(1, "NVLS"), (2, "NVLSTree")])
@pytest.mark.parametrize("kind", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER"])
def test_switches_of_servers_reduce_what_nvls_sends(kind: str, nodes: int, algorithm: str, tmp_path: Path) -> None:
    if kind != "ALLREDUCE" and algorithm == "NVLSTree":
        pytest.skip("NVLSTree is an all-reduce")
    text = DATA.replace("ALLREDUCE", kind).replace("600000", "6000000")
    run = explained_run(tmp_path / "run", text, nodes=nodes, reduces=True, NCCL_ALGO=algorithm)
    assert {name for _, name in follow(run)} == {"", "Simple"}
    flows = run.flows
    switches = set(range(4 * nodes, 5 * nodes))
    inside = flows[(flows["source"] // 4 == flows["destination"] // 4) | flows["destination"].isin(switches)]
    assert set(inside["destination"]) & switches == switches
    of_npus = flows[(flows["source"] < 4 * nodes) & (flows["destination"] < 4 * nodes)]
    assert (of_npus["source"] // 4 != of_npus["destination"] // 4).all()  # inside, all goes by the switch


@pytest.mark.parametrize(("nodes", "algorithm"), [(1, "NVLS"), (2, "NVLSTree")])
def test_nvls_sends_the_same_messages_on_every_backend(nodes: int, algorithm: str, tmp_path: Path) -> None:
    text = DATA.replace("600000", "6000000")
    table: dict[str, Any] = {"NCCL_ALGO": algorithm, "channels": "merged"}
    columns, found = ["source", "destination", "row", "bytes"], []
    for backend in BACKENDS:
        run = explained_run(tmp_path / backend, text, nodes=nodes, reduces=True, backend=backend, **table)
        if backend == "analytical":  # pieces come at one picosecond, so several chains are right
            assert sum(link.time_ps for link in explain(run).segments) == run.finish_ps
        else:
            assert {name for _, name in follow(run)} == {"", "Simple"}
        found.append(run.flows[["chunk", *columns]].sort_values(["chunk", *columns]).to_numpy().tolist())
    assert max(row[2] for row in found[0]) >= 4 * nodes  # some go to switches
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_the_switches_of_an_analytical_network_s_servers_reduce(backend: str, tmp_path: Path) -> None:
    """Two servers of four, whose NPUs reach each other by a switch; without one, NVLS is never chosen."""

    def run(topology: Literal["switch", "ring"]) -> Any:
        inner = AnalyticalDimension(topology=topology, npus=4, bytes_per_ns=450.0, link_latency_ns=250.0)
        outer = AnalyticalDimension(topology="switch", npus=2, bytes_per_ns=50.0, link_latency_ns=500.0)
        return astra_ns3.run(
            workload=_text(DATA.replace("600000", "6000000")),
            system=system(server="dgx-h100", NCCL_ALGO="NVLSTree"),
            network=AnalyticalNetwork(grid=(inner, outer)),
            backend=backend,
            output=tmp_path / topology,
            record=("flows",),
        )

    played = run("switch")
    flows = played.flows
    assert {*flows["destination"]} == {*range(10)}
    # All that an NPU sends to its switch and hears from it takes the one line, at 450 bytes a ns.
    for ends, others in (("source", "destination"), ("destination", "source")):
        own = flows[(flows[ends] < 8) & (flows[others] >= 8)].groupby(ends)["bytes"].sum()
        assert played.metadata["floor"]["lines_ps"] >= own.max() / 450 * 1000
    assert played.metadata["floor"]["lines_ps"] <= played.finish_ps
    inside = flows[flows[["source", "destination"]].max(axis=1) < 8]
    assert (inside["source"] // 4 != inside["destination"] // 4).all()
    with pytest.raises(InputError, match="NCCL_ALGO=NVLSTree leave no algorithm for AllReduce"):
        run("ring")


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("algorithm", ["CollNetDirect", "CollNetChain", "NVLS"])
@pytest.mark.parametrize("kind", ["ALLREDUCE", "ALLGATHER", "REDUCESCATTER"])
def test_switches_between_servers_reduce_what_collnet_sends(
    kind: str, algorithm: str, backend: str, tmp_path: Path
) -> None:
    """Four servers on two leaves and two spines: each NIC carries its GPU's part of the data each way."""
    if kind != "ALLREDUCE" and algorithm == "CollNetChain":
        pytest.skip("CollNetChain is an all-reduce")
    nodes, size = 4, 6_000_000
    text = DATA.replace("ALLREDUCE", kind).replace("600000", str(size))
    table: dict[str, Any] = {"NCCL_ALGO": algorithm, "NCCL_COLLNET_ENABLE": 1, "version": "2.28"}
    own = algorithm == "NVLS"
    run = explained_run(tmp_path / "run", text, nodes=nodes, reduces=own, between=True, backend=backend, **table)
    assert {name for _, name in follow(run)} == {"", "Simple"}
    flows, npus = run.flows, 4 * nodes
    of_npus = flows[(flows["source"] < npus) & (flows["destination"] < npus)]
    assert (of_npus["source"] // 4 == of_npus["destination"] // 4).all()  # to other servers, all goes by switches
    assert own == of_npus.empty
    switches = sorted({*flows["destination"]} - {*range(npus)})
    between = switches[:-nodes] if own else switches
    out = flows[(flows["source"] < npus) & flows["destination"].isin(between)]
    whole = size * npus if kind == "ALLGATHER" else size
    expected = {"ALLREDUCE": nodes, "ALLGATHER": 1, "REDUCESCATTER": nodes - 1}[kind] * whole
    assert out["bytes"].sum() == pytest.approx(expected, rel=0.01)  # and signals of a byte
    if kind == "ALLREDUCE" and algorithm != "CollNetChain":  # whose 18 channels take turns with 4 chains
        by_npu = out.groupby("source")["bytes"].sum()
        assert len(by_npu) == npus
        assert by_npu.max() <= size / 4 * 1.02


def test_collnet_chain_on_64_h100_reaches_what_is_published_with_sharp() -> None:
    """coreweave/nccl-tests, whose job has NCCL_ALGO=COLLNETCHAIN, out of place. Nothing was fitted on it.

    NICs would let S / 400 GB/s. Chains take S (2 x 7 / 8) over each NVLink, so 371 GB/s of it let 417 of bus bandwidth.
    """
    published = {512 << 20: 356.01, 1 << 30: 365.90, 2 << 30: 380.73, 4 << 30: 383.23, 8 << 30: 386.56}
    changes = ["NCCL_COLLNET_ENABLE=1", "NCCL_ALGO=COLLNETCHAIN"]
    rows = machine_of("8xhgx-h100", nccl_version="2.28", changes=changes).bench("all_reduce", [*published])
    assert {(row.algorithm, row.binds) for row in rows} == {("CollNetChain", "NVLink")}
    assert [row.bus_gbytes_per_s for row in rows] == pytest.approx([*published.values()], rel=0.07)
    assert rows[-1].bus_gbytes_per_s == pytest.approx(386.56, rel=0.035)


def test_nvls_on_8_h100_reaches_what_is_published() -> None:
    """Some 480 GB/s of bus bandwidth at 8 GiB (NVIDIA/nccl-tests#212), with the bound of docs/hardware.md.

    Each GPU's line carries S (1 + 1/8) each way, of which a switch loads and stores an eighth for it alone.
    """
    (row,) = machine_of("1xhgx-h100", nccl_version="2.26").bench("all_reduce", [8 << 30])
    assert row.algorithm == "NVLS"
    assert row.bus_gbytes_per_s == pytest.approx(480, rel=0.07)


SHARED = """
topology:
  kind: hierarchical
  nodes: 2
  npus_per_node: 8
  nics_per_node: 2
  scale_up: {link: {rate: 3600Gbps, delay: 100ns}, switch: {buffer: 64MB, pfc: {}}}
  scale_out: {link: {rate: 400Gbps, delay: 500ns}, switch: {buffer: 64MB, pfc: {}}}
transport: {kind: roce, payload: 4096}
"""


@pytest.mark.parametrize("shared", ["scale-up", "pcie"])
def test_messages_take_no_more_of_nics_than_there_is(shared: str, tmp_path: Path) -> None:
    """NICs on NVSwitches serve any GPU of their node, so two of 50 GB/s may carry one GPU's 59 GB/s."""
    (tmp_path / "net.yaml").write_text(SHARED.replace("  scale_up", f"  shared_nics: {shared}\n  scale_up"))
    (row,) = machine_of(None, network=tmp_path / "net.yaml").bench("sendrecv", [64 << 20])
    assert row.share <= 1


@pytest.mark.parametrize(("backend", "told"), [("flow", False), ("analytical", True), ("analytical-queues", True)])
def test_a_formula_warns_of_unlike_pairs_of_gpus(backend: str, told: bool) -> None:
    """Pairs of a DGX-1 have two NVLinks, one, or none, which a formula takes for one line between every two."""
    warnings = machine_of("dgx-1v", backend=backend).warnings
    assert any("pairs of scale_up" in words for words in warnings) == told


@pytest.mark.parametrize("record", [(), ("timeline",), ("timeline", "accounts")], ids="+".join)
def test_faster_lines_save_nothing_where_kernels_bind(record: tuple[str, ...], tmp_path: Path) -> None:
    """Eight kernels copy 160 GB/s, so NICs that carry 200 are busy for most of the run."""
    text = DATA.replace("600000", "200000000")
    table: dict[str, Any] = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MAX_CTAS": 8}
    run = explained_run(tmp_path / "run", text, record, **table)
    faster = explained_run(tmp_path / "faster", text, record, speed=2, **table)
    assert run.metadata["floor"]["lines_ps"] > 0.5 * run.finish_ps
    found_ps = run.finish_ps - faster.finish_ps
    assert found_ps < 0.03 * run.finish_ps
    said_ps = sum(each.time_ps for each in explain(run).what_ifs if each.change == FASTER_LINES)
    assert not said_ps or found_ps <= said_ps
    assert bool(said_ps) == ("accounts" in record)


@pytest.mark.parametrize("kind", ["ALLGATHER", "REDUCESCATTER", "ALLTOALL"])
def test_the_chain_leads_through_other_collectives(kind: str, tmp_path: Path) -> None:
    follow(explained_run(tmp_path / "run", DATA.replace("ALLREDUCE", kind)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("channels", ["each", "merged"])
@pytest.mark.parametrize("kind", ["BROADCAST", "REDUCE"])
def test_what_follows_a_broadcast_or_a_reduce_begins_once_its_data_have_been_copied(
    kind: str, channels: str, backend: str, tmp_path: Path
) -> None:
    """A channel of Simple copies 20 GB/s. The chain of causes leads through the signal that ends a rank's part."""
    size = 8 << 20
    nodes = [
        raw.node(1, raw.COLLECTIVE, comm_type=COLLECTIVE_TYPES.index(kind), comm_size=size, is_cpu_op=False),
        raw.node(2, raw.COMPUTE, (1,), duration_us=1_000, is_cpu_op=False),
    ]
    own, traces = system(channels=channels, NCCL_PROTO="Simple"), raw.write_traces(tmp_path / "traces", [nodes] * 8)
    tenants = [Tenant("one", None, traces, own)]
    foreseen = astra_ns3.forecast_scenario(network=network("nodes"), tenants=tenants, backend=backend)
    result = astra_ns3.run(
        workload=traces,
        system=own,
        network=network("nodes"),
        backend=backend,
        output=tmp_path / "run",
        record=("timeline", "flows"),
    )
    algorithm, protocol, count = of_name(result.collectives["algorithm"][0])
    assert (algorithm, protocol) == ("Ring", "Simple")
    ends_ps = result.phases.groupby("npu")["end_ps"].max()
    assert len(ends_ps) == 8
    assert ends_ps.min() >= size * 1_000_000 // (count * 20_000)
    assert result.metadata["statistics"]["messages"] == foreseen.messages
    assert follow(result)[SIGNAL, "Simple"] > 0


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_a_measured_broadcast_or_reduce_ends_with_its_last_gpu(operation: str, tmp_path: Path) -> None:
    nodes = [raw.node(1, raw.COLLECTIVE, comm_type=COLLECTIVE_TYPES.index(operation.upper()), comm_size=8 << 20)]
    keys: dict[str, Any] = {"version": "2.30", "server": "dgx-h100"}
    machine = machine_of("2xdgx-h100")
    (row,) = machine.bench(operation, [8 << 20])
    result = astra_ns3.run(
        workload=raw.write_traces(tmp_path / "traces", [nodes] * 16),
        system=parse_system({"collectives": "nccl", "endpoint-delay": 0, "nccl": keys}),
        network=machine.network,
        backend="flow",
        output=tmp_path / "run",
        record=("timeline",),
    )
    assert row.time_us == pytest.approx(result.phases["end_ps"].max() / 1e6)


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize(
    ("protocol", "start_us", "near_us", "far_us", "bytes_per_us", "share"),
    [("LL", 6.6, 0.6, 1.2, 5_900, 1 / 2), ("LL128", 14.0, 1.9, 2.5, 18_750, 15 / 16)],
)
def test_a_broadcast_or_a_reduce_of_lines_takes_little_longer_than_all_latencies_and_its_data_once(
    protocol: str,
    start_us: float,
    near_us: float,
    far_us: float,
    bytes_per_us: int,
    share: float,
    servers: int,
    operation: str,
) -> None:
    """The costs are those of docs/reference/devices.md; a hop's links, and the signal at the end, take 1 us at most.

    A GPU's NVLinks carry 370.8 GB/s, of LL's bytes a half, of LL128's 15 of 16. Filling the chain takes a twentieth of
    the time, or all but two GPUs' turns with one piece of 128.
    """
    machine, ranks = machine_of(f"{servers}xdgx-h100", changes=[f"NCCL_PROTO={protocol}"]), 8 * servers
    rows = machine.bench(operation, [1 << power for power in range(16, 28, 2)])
    latency_us = start_us + (ranks - servers) * near_us + (servers - 1) * far_us
    for row in rows:
        data_us = row.size_bytes / min(row.channels * bytes_per_us, 370_800 * share)
        most_us = 1.05 * (latency_us + ranks + data_us) + (ranks - 2) / 128 * data_us
        assert latency_us + data_us < row.time_us < most_us, row
    assert [row.time_us for row in rows] == sorted(row.time_us for row in rows)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("disabled", [0, 1])
def test_pxn_s_hop_is_a_message_on_nvlink(disabled: int, backend: str, tmp_path: Path) -> None:
    """2 servers of 4, 75,000 bytes for each peer: 3 peers are near; of the 4 far ones 3 have another number."""
    text = DATA.replace("ALLREDUCE", "ALLTOALL")
    result = explained_run(tmp_path / "run", text, NCCL_PXN_DISABLE=disabled, backend=backend)
    flows = result.flows
    near = flows["source"] // 4 == flows["destination"] // 4
    hops = 0 if disabled else 3
    for is_near, peers in ((True, 3 + hops), (False, 4)):
        carried = flows[near == is_near].groupby("source")["bytes"].sum()
        assert len(carried) == 8
        assert (abs(carried - peers * 75_000) <= len(flows)).all()
    same_number = flows["source"] % 4 == flows["destination"] % 4
    assert bool((~near & ~same_number & (flows["bytes"] > 1)).any()) is bool(disabled)
    follow(result)


@pytest.mark.parametrize("disabled", [0, 1])
def test_pxn_keeps_to_the_rails(disabled: int) -> None:
    """A narrow spine between rails: with PXN nothing but signals crosses it, and the run is several times faster."""
    topology = {
        "kind": "rail-optimised",
        "nodes": 4,
        "npus_per_node": 4,
        "scale_up": {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": SWITCH},
        "spines": 1,
        "link": {"rate": "400Gbps", "delay": "500ns"},
        "uplink": {"rate": "100Gbps"},
        "switch": SWITCH,
    }
    rails = parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})
    result = astra_ns3.run(
        workload=_text(DATA.replace("ALLREDUCE 600000", "ALLTOALL 60000000")),
        system=system(server="dgx-h100", NCCL_PXN_DISABLE=disabled),
        network=rails,
        backend="flow",
    )
    # 12 peers of 3.75 MB each at 400 Gb/s; through a spine 9 of them share 100 Gb/s a rail of four NPUs.
    least_ps = 12 * 60_000_000 // 16 * 20
    spine_ps = 4 * 9 * 60_000_000 // 16 * 80
    assert (result.finish_ps >= spine_ps) is bool(disabled)
    assert result.finish_ps >= least_ps


def test_a_delay_at_the_start_of_a_channel_is_part_of_its_start(tmp_path: Path) -> None:
    result = explained_run(tmp_path / "run", jitter_ns=3_000)
    times, start_ps = follow(result), int(result.channels["start_ps"].max())
    (started,) = {time_ps for (kind, _), time_ps in times.items() if kind == KERNEL}
    assert start_ps <= started <= start_ps + 3_000_000


def test_a_ring_of_one_message_after_the_other_has_as_many_latencies_as_messages(tmp_path: Path) -> None:
    """Two servers of one GPU, two channels as one, LL: start, then twice a message and a hop's latency.

    A kernel copies its first and its last 2,000 bytes at 5.9 GB/s, others while they come.
    """
    result = astra_ns3.run(
        workload=_text(DATA.replace("600000", "8000")),
        system=system(NCCL_ALGO="Ring", NCCL_PROTO="LL", channels="merged"),
        network=network("star", 2),
        backend="flow",
        output=tmp_path / "run",
        record=("timeline", "flows"),
    )
    times = follow(result)
    assert times[KERNEL, "LL"] == 6_600_000 + round(2 * 2_000 * 1_000 / 5.9)
    assert times[LATENCY, "LL"] == 2 * 3_500_000
    assert times[MESSAGE, ""] == 2 * result.flows["ideal_ps"][0]
    assert (COPYING, "LL") not in times


def test_a_tenant_on_other_servers_is_told_what_is_near(tmp_path: Path) -> None:
    """NPUs 2 to 5 are two in each server."""
    tenants = [Tenant("one", range(2, 6), _text(DATA), system(), seed=1)]
    both = astra_ns3.run_scenario(
        network=network("nodes"), tenants=tenants, backend="flow", output=tmp_path / "run", record=("timeline", "flows")
    )
    times = follow(both.tenants["one"])
    assert (LATENCY, "LL") in times or (LATENCY, "Simple") in times


def test_a_run_without_costs_of_channels_is_one_lump(tmp_path: Path) -> None:
    """As runs of earlier versions are."""
    explained_run(tmp_path / "run", NCCL_ALGO="Ring")
    for name in ("channels.parquet", "channel_rows.parquet"):
        (tmp_path / "run" / name).unlink()
    document = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    document["files"] = [name for name in document["files"] if not name.startswith("channel")]
    del document["npus_per_server"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(document), encoding="utf-8")
    explained = explain(astra_ns3.Result.load(tmp_path / "run"))
    kinds = {link.kind for link in explained.segments}
    assert CHANNEL in kinds
    assert kinds & {KERNEL, LATENCY, COPYING, BUSY, SIGNAL} == set()


def test_the_costs_of_channels_are_those_that_are_planned(tmp_path: Path) -> None:
    result = explained_run(tmp_path / "run", NCCL_ALGO="Tree", NCCL_PROTO="LL128")
    rows = result.channels.to_dict("records")
    assert {row["lanes"] for row in rows} == {2}
    assert {(row["near_ps"], row["far_ps"], row["start_ps"]) for row in rows} == {(1_250_000, 7_000_000, 14_000_000)}
    assert {row["far_wire_per_mille"] for row in rows} == {round(1_000 * 128 / 120)}
    assert set(rows[0]) | {"chunk"} == {column.name for column in CHANNELS.columns}
    steps = result.channel_rows
    assert set(steps["schedule"]) == {row["schedule"] for row in rows}
    assert result.metadata["npus_per_server"] == 4
