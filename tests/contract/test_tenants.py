"""Two tenants on one network that share no link: each plays as it does alone, in every table, to the picosecond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.job_tables import frame_of, text_of
from support.lengths import some_slow
from support.small_run import small_system, small_workload

import astra_ns3
from astra_ns3 import Result, Tenant
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.workload import Workload
from astra_ns3.network.run_document import chosen
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload

INPUTS = Path(__file__).resolve().parents[2] / "inputs" / "workload"
OWN = 8
NETWORKS = [("ns3", "tcp"), ("ns3", "roce"), ("flow", "roce"), ("analytical", "tcp"), ("analytical-queues", "tcp")]
NPUS = {"one": range(OWN), "other": range(OWN, 2 * OWN)}
"""NPUs of each tenant, in the order of their ranks and of the hosts: rows of one moment stand in that of the hosts."""
OF_THE_NETWORK = {"switch.csv"}
RECORDS = {
    "loop": ("flows", "accounts", "layers", "timeline"),
    "flows": ("flows",),
    "graphs": ("flows", "timeline", "nodes"),
    "model": ("flows", "layers", "timeline"),
}
"""What is recorded with each kind of workload."""


def _network(transport: str, npus: int, backend: str) -> NetworkConfig:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": npus, "link": link, "switch": {"buffer": "1GB"}}
    observe = {"tcp": {"connections": ["rtt"]}, "roce": {"queue_pairs": ["rate", "window"]}}[transport]
    more = {"observe": observe} if backend == "ns3" else {}
    return parse_network({"topology": topology, "transport": {"kind": transport}, **more})


def _workload(kind: str, folder: Path) -> AnyWorkload:
    if kind == "loop":
        return small_workload()
    if kind == "graphs":
        return read_workload(INPUTS / "chakra" / "step")
    if kind == "model":
        return read_workload(INPUTS / "models" / "mlp-gemms.yaml")
    rows = [(0, 1, 40_000, 0), (2, 1, 9_000, 500), (3, 0, 70_000, 1_500), (1, 3, 1_000, 40_000)]
    text = "".join(f"{source},{to},{size},{start}ns\n" for source, to, size, start in rows)
    (folder / "flows.csv").write_text(f"source,destination,bytes,start\n{text}", encoding="utf-8")
    return read_workload(folder / "flows.csv")


def _other() -> Workload:
    return parse_workload("DATA\n1\nonly -1 500 NONE 0 700 NONE 0 900 ALLREDUCE 30000 0\n", "other.txt")


def _same(tenant: Result, alone: Result) -> None:
    """Every table of one is that of the other; those of its ports may be named otherwise."""
    assert tenant.folder is not None
    assert alone.folder is not None
    names = {file.name for file in alone.folder.iterdir()} - OF_THE_NETWORK - {"run.json"}
    assert {file.name for file in tenant.folder.iterdir()} == {*names, "run.json"}
    for name in names:
        if name.endswith(".csv"):
            own = text_of(tenant.folder / name, str(tenant.metadata["run_name"]))
            assert own == (alone.folder / name).read_text("utf-8"), name
        else:
            one, other = (getattr(result, name.removesuffix(".parquet")) for result in (tenant, alone))
            assert len(one) or name == "account_served.parquet"  # nobody may have waited
            one = frame_of(one)
            assert one.drop(columns="port", errors="ignore").equals(other.drop(columns="port", errors="ignore")), name
    times = ("complete", "finish_ps", "compute_ps", "exposed_ps", "exposed_by_layer")
    one_run, other_run = (
        chosen(result.metadata, (*times, "report_npu", "collectives", "chunks")) for result in (tenant, alone)
    )
    assert one_run == other_run
    assert one_run


@pytest.mark.parametrize(("backend", "transport"), some_slow(NETWORKS, [("ns3", "roce"), ("flow", "roce")]))
@pytest.mark.parametrize("kind", RECORDS)
def test_two_tenants_without_shared_links_play_as_each_does_alone(
    kind: str, backend: str, transport: str, tmp_path: Path
) -> None:
    workload = _workload(kind, tmp_path)
    record = [word for word in RECORDS[kind] if backend == "ns3" or word != "accounts"]
    options: dict[str, Any] = {"backend": backend, "record": record}
    together: dict[str, Any] = {
        "network": _network(transport, 2 * OWN, backend),
        "tenants": [
            Tenant("one", NPUS["one"], workload, small_system(), seed=1, report_npu=2),
            Tenant(
                "other", NPUS["other"], _other(), small_system(), passes=3, start_ps=3_000_017, seed=1, report_npu=5
            ),
        ],
        **options,
    }
    result = astra_ns3.run_scenario(output=tmp_path / "together", **together)
    own = {"network": _network(transport, OWN, backend), "system": small_system(), **options}
    one = astra_ns3.run(workload=workload, run_name="one", report_npu=2, output=tmp_path / "one", **own)
    other = astra_ns3.run(workload=_other(), passes=3, run_name="other", report_npu=5, output=tmp_path / "other", **own)
    _same(result.tenants["one"], one)
    _same(result.tenants["other"], other)
    assert astra_ns3.forecast_scenario(**together).messages == result.metadata["statistics"]["messages"]
    assert result.finish_ps == max(one.finish_ps, 3_000_017 + other.finish_ps)
    if "accounts" in record:
        explained = (astra_ns3.explain(each).text() for each in (result.tenants["one"], one))
        alike = (text.replace(" (explain --play plays each change)", "") for text in explained)
        of_tenant, of_run = (text.split("ports with most trouble")[0].strip() for text in alike)
        assert of_tenant == of_run


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
def test_tenants_that_share_a_link_slow_each_other(backend: str, transport: str) -> None:
    link, switch = {"rate": "100Gbps", "delay": "500ns"}, {"buffer": "1GB"}
    topology = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": OWN, "spines": 1, "link": link, "switch": switch}
    network = parse_network({"topology": topology, "transport": {"kind": transport}})
    halves = {"one": [0, 8, 1, 9, 2, 10, 3, 11], "other": [4, 12, 5, 13, 6, 14, 7, 15]}

    def finishes(*names: str) -> dict[str, int]:
        tenants = [Tenant(name, halves[name], _other(), small_system(), seed=1) for name in names]
        result = astra_ns3.run_scenario(network=network, tenants=tenants, backend=backend)
        return {name: tenant.finish_ps for name, tenant in result.tenants.items()}

    together = finishes("one", "other")
    alone = {**finishes("one"), **finishes("other")}
    if backend in ("ns3", "flow"):
        assert max(together.values()) > max(alone.values())
    else:  # where a fabric of switches has no lines inside that could be shared
        assert together == alone
