"""Runs whose collectives NCCL plays: what is foreseen is played, on every backend, with any cores, by any tenant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracles.causal_chain import CausalChain
from support.many_networks import DLRM

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Workload
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.parts import CHANNEL, OTHER
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload

BACKENDS = ("ns3", "flow", "analytical", "analytical-queues")
LINK, SWITCH = {"rate": "400Gbps", "delay": "500ns"}, {"buffer": "64MiB", "pfc": {}}
DATA = "DATA\n1\nonly -1 500 NONE 0 700 NONE 0 900 ALLREDUCE 600000 0\n"
MODEL = """kind: transformer
name: small
model: {layers: 2, hidden: 128, heads: 8, vocabulary: 512}
training: {sequence: 64, micro_batch: 1, micro_batches: 2}
parallel: {tensor: 4}
compute: {device: H100, scale_up_efficiency: 1}
"""
PARTS = {"star": 1, "nodes": 4, "pcie": 4}


def network(kind: str, npus: int = 8) -> NetworkConfig:
    if kind == "star":
        topology: dict[str, Any] = {"kind": "single-switch", "npus": npus, "link": LINK, "switch": SWITCH}
    else:
        topology = {
            "kind": "hierarchical",
            "nodes": npus // 4,
            "npus_per_node": 4,
            "scale_up": {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": SWITCH},
            "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
        }
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
@pytest.mark.parametrize("kind", ["dlrm", "data", "model"])
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


@pytest.mark.parametrize("record", [("timeline",), ("timeline", "flows"), ("timeline", "accounts")], ids="+".join)
@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_the_chain_leads_through_channels(backend: str, record: tuple[str, ...], tmp_path: Path) -> None:
    """The oracle walks the chain forward again: each link lets the next one happen."""
    result = astra_ns3.run(
        workload=workload("dlrm", tmp_path),
        system=system(server="dgx-h100"),
        network=network("nodes"),
        backend=backend,
        output=tmp_path / "run",
        record=record,
    )
    explained = explain(result)
    assert [link for link in explained.segments if link.kind == OTHER] == []
    assert sum(link.time_ps for link in explained.segments) == result.finish_ps
    assert CausalChain(result).problems(explained.segments) == []
    assert (CHANNEL in {link.kind for link in explained.segments}) == (len(record) > 1)
