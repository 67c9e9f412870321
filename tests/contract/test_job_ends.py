"""A job that is stopped sends nothing more of its collectives; what is under way still arrives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.small_run import small_system

import astra_ns3
from astra_ns3 import ScenarioResult, Tenant
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.workload.files.astra_sim import parse_workload

US, MIB = 10**6, 1 << 20
NETWORKS = [("ns3", "roce"), ("ns3", "tcp"), ("flow", "roce"), ("analytical", "roce"), ("analytical-queues", "roce")]
RING_OF_4 = 4 * 2 * 3
"""Messages of an all-reduce."""


def job(name: str, first: int, size: int = 8 * MIB, **more: Any) -> Tenant:
    text = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n"
    system = small_system(**{"all-reduce-implementation": "ring", "preferred-dataset-splits": 1})
    return Tenant(name, range(first, first + 4), parse_workload(text, name), system, **more)


def play(backend: str, transport: str, *jobs: Tenant, **options: Any) -> ScenarioResult:
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": 8, "link": link, "switch": {"buffer": "1GB"}}
    network = parse_network({"topology": topology, "transport": {"kind": transport}})
    return astra_ns3.run_scenario(network=network, tenants=jobs, backend=backend, **options)


def messages(result: ScenarioResult) -> int:
    return int(result.metadata["statistics"]["messages"])


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
def test_a_job_that_is_stopped_sends_no_more_than_the_round_under_way(backend: str, transport: str) -> None:
    """A round of 2 MiB takes 170 us and more; within 10 us each of four NPUs has begun to send its first message."""
    result = play(backend, transport, job("stopped", 0, end_ps=10 * US), job("other", 4))
    assert messages(result) == 4 + RING_OF_4
    alone = play(backend, transport, job("other", 4))
    assert result.tenants["other"].finish_ps == alone.tenants["other"].finish_ps


def test_a_job_is_stopped_alike_on_any_number_of_cores() -> None:
    jobs = job("stopped", 0, size=MIB, end_ps=50 * US), job("other", 4)
    one, more = play("ns3", "roce", *jobs), play("ns3", "roce", *jobs, cores=2)
    assert (messages(more), more.finish_ps) == (messages(one), one.finish_ps)
    assert RING_OF_4 < messages(more) < 2 * RING_OF_4


@pytest.mark.parametrize("policy", ["LIFO", "FIFO"])
@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
def test_a_stopped_job_has_done_the_passes_whose_collective_has_ended(
    backend: str, transport: str, policy: str
) -> None:
    """With LIFO the later passes' collectives go before those of earlier ones. No NPU ends the last pass before all."""
    whole = replace(job("whole", 0, size=MIB, passes=8), system=small_system(**{"scheduling-policy": policy}))
    whole_ps = play(backend, transport, whole).finish_ps
    result = play(backend, transport, replace(whole, end_ps=whole_ps * 5 // 8))
    collectives = result.tenants["whole"].collectives
    ended = {*collectives["iteration"][collectives["end_us"].notna()]}
    assert (7 in ended) == (policy == "LIFO")
    assert result.metadata["jobs"][0]["passes_done"] == len(ended - {7}) > 2
