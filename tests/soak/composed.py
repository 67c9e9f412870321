"""Relations of runs and what they consist of: a job, jobs beside each other, iterations, halves of a collective."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.scenario.tenant import Tenant
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from soak.draw import Draw
from soak.jobs import draw_workload, read_text
from soak.relations import (
    SHARE,
    Found,
    all_at_once,
    apart,
    changed_network,
    drawn_request,
    finish_ps,
    played,
    quiet,
    usable_case,
)
from soak.topologies import Parts, draw_scale_up

_TIES = 1.05
"""Packets that come at the same time go in the order of NPUs, which makes a difference of a few packets."""
_BYTES = 20_000_000
_LINK = {"link": {"rate": "200Gbps", "delay": "500ns"}}
_RINGS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER")
_RING_SYSTEM = {
    "scheduling-policy": "FIFO",
    "preferred-dataset-splits": 1,
    **{f"{kind}-implementation": ["ring"] for kind in ("all-reduce", "all-gather", "reduce-scatter")},
    "all-to-all-implementation": ["direct"],
}
_GRAINS = 1.001
"""All queues of flows change their proportions a grain at a time."""


def same_as_a_job(seed: int, folder: Path) -> Found:
    """A run, and a scenario with the run as its only job, take equally long."""
    case = usable_case(seed)
    if case is None or case.job["kind"] != "workload" or '"storage"' in case.document():
        return None
    request = drawn_request(case, folder, backend=Draw(f"as a job {seed}").pick("ns3", "flow"))
    job = Tenant("job", None, request.workload, request.system, passes=request.passes, seed=request.seed)
    return apart(f"finish on {request.backend}", finish_ps(request), finish_ps(_scenario(request, job)), 1.0)


def _scenario(request: RunRequest, *tenants: Tenant) -> ScenarioRequest:
    names = ("network", "seed", "backend", "comm_scale", "compute_scale", "compat", "isolated")
    return ScenarioRequest(tenants=tenants, **{name: getattr(request, name) for name in names})


def _on_one_switch(draw: Draw, npus: int, sizes: list[int]) -> tuple[ScenarioRequest, list[Tenant]]:
    """A scenario without tenants on one switch that keeps and marks nothing, and tenants of so many NPUs."""
    parts = Parts(draw)
    topology = {"kind": "single-switch", "npus": npus, "link": {"rate": parts.rate, "delay": parts.delay}}
    network = parse_network(quiet({**topology, "switch": {"buffer": "1GB"}}, draw.pick(1000, 4096, 9000)))
    tenants, order, first = [], draw.sample(range(npus), npus), 0
    endpoint: dict[str, Any] = {"endpoint-delay": draw.pick(0, 10, 700), "reduction-bytes-per-ns": draw.pick(100, 1600)}
    for number, size in enumerate(sizes):
        job = draw_workload(draw, [size], [1.0], _BYTES // npus)
        workload, system = read_text(job["text"]), parse_system(job["system"] | endpoint)
        seats = order[first : first + size]
        tenants.append(Tenant(f"job {number}", seats, workload, system, passes=draw.randint(1, 2), seed=number + 1))
        first += size
    scale = SHARE * job["options"]["comm_scale"]
    backend = draw.pick("ns3", "ns3", "flow", "analytical-queues")
    asked: dict[str, Any] = {"network": network, "backend": backend, "comm_scale": scale, "isolated": False}
    return ScenarioRequest(tenants=tenants, **asked), tenants


def jobs_apart(seed: int, folder: Path) -> Found:
    """Two jobs on NPUs of their own of one switch without limits take as long as each alone."""
    draw = Draw(f"apart {seed}")
    sizes = [draw.randint(2, 6), draw.randint(2, 6)]
    both, tenants = _on_one_switch(draw, sum(sizes) + draw.randint(0, 2), sizes)
    times = {job["name"]: job["finish_ps"] for job in played(both)["jobs"]}
    found = []
    for tenant in tenants:
        alone = played(replace(both, tenants=[tenant]))["jobs"][0]["finish_ps"]
        found += apart(
            f"{tenant.name} on {both.backend}", alone, times[tenant.name], _GRAINS if both.backend == "flow" else 1.0
        )
    return found


def other_seats(seed: int, folder: Path) -> Found:
    """A job on other NPUs of one switch, or on other servers, takes as long, but for packets that come together."""
    draw = Draw(f"seats {seed}")
    size, more, each = draw.randint(2, 8), draw.randint(0, 4), draw.pick(1, 1, 2, 4)
    one, (job,) = _on_one_switch(draw, size + more, [size])
    if each > 1:
        one, job = _on_servers(draw, one, job, size + more, each)
    seats = [server * each + place for server in draw.sample(range(size + more), size) for place in range(each)]
    first, other = (finish_ps(replace(one, tenants=[replace(job, npus=npus)])) for npus in (range(size * each), seats))
    return apart(f"finish on {one.backend}", first, other, _TIES)


def _on_servers(
    draw: Draw, one: ScenarioRequest, job: Tenant, servers: int, each: int
) -> tuple[ScenarioRequest, Tenant]:
    """The scenario with a server of ``each`` NPUs in the place of each NPU, and another job for so many more."""
    size = len(job.npus)  # type: ignore[arg-type]
    drawn = draw_workload(draw, [each, size], [1.0, 1.0], _BYTES // size)
    switch = {"kind": "single-switch", **_LINK, "switch": {"buffer": "1GB"}}
    scale_up = draw_scale_up(draw, Parts(draw), each, shared=False)
    topology = {"nodes": servers, "npus_per_node": each, "scale_up": scale_up, "scale_out": switch}
    scenario = replace(
        one,
        network=parse_network(quiet({"kind": "hierarchical", **topology}, 4096)),
        comm_scale=SHARE * drawn["options"]["comm_scale"],
    )
    workload, system = read_text(drawn["text"]), parse_system(drawn["system"])
    return scenario, replace(job, workload=workload, system=system, dimensions=[each, size])


def iterations(seed: int, folder: Path) -> Found:
    """An iteration more takes as long as the one before, once the first are over."""
    draw = Draw(f"iterations {seed}")
    one, (tenant,) = _on_one_switch(draw, 8, [draw.randint(2, 8)])
    if all_at_once(tenant.workload):
        return None
    times = [finish_ps(replace(one, tenants=[replace(tenant, passes=passes)])) for passes in (3, 4, 5)]
    return apart(f"iterations on {one.backend}", times[1] - times[0], times[2] - times[1], _TIES)


def halves(seed: int, folder: Path) -> Found:
    """Two collectives of half the bytes, one after the other, take no less time than one, and at most twice."""
    draw = Draw(f"halves {seed}")
    one, (tenant,) = _on_one_switch(draw, 8, [draw.randint(2, 8)])
    size, word = draw.between(10_000, 4_000_000), draw.pick("ALLREDUCE", "ALLTOALL", "ALLGATHER", "REDUCESCATTER")
    times = []
    for passes in (1, 2):
        text = f"DATA\n1\none -1 0 NONE 0 0 NONE 0 0 {word} {2 * size // passes} 0\n"
        job = replace(tenant, workload=parse_workload(text, "soak.txt"), passes=passes)
        times.append(finish_ps(replace(one, tenants=[job], comm_scale=1.0)))
    whole, parts = times
    return [] if whole <= _TIES * parts and parts <= _TIES * 2 * whole else apart("whole and halves", whole, parts, 1.0)


def ring_alone(seed: int, folder: Path) -> Found:
    """Rings one after the other, in which each NPU hears one other, don't take longer if anything is faster."""
    draw = Draw(f"ring {seed}")
    one, (tenant,) = _on_one_switch(draw, 8, [draw.randint(2, 8)])
    word, size, compute_ns = draw.pick(*_RINGS), draw.between(10_000, 400_000), draw.pick(0, 3_000, 30_000)
    text = f"DATA\n1\none -1 {compute_ns} NONE 0 0 NONE 0 0 {word} {size} 0\n"
    system = parse_system({**_RING_SYSTEM, "endpoint-delay": draw.pick(0, 700)})
    job = replace(tenant, workload=parse_workload(text, "soak.txt"), system=system, passes=2)
    one = replace(one, tenants=[job], comm_scale=1.0)
    assert isinstance(one.network, NetworkConfig)
    document = one.network.document()
    document["transport"] |= draw.some(0.5, window=draw.pick("8KB", "64KB"))
    one = replace(one, network=parse_network(document))
    changes: dict[str, dict[str, Any]] = {
        "lines twice as fast": {"network": changed_network(one, bps=2)},
        "half the delays": {"network": changed_network(one, ps=Fraction(1, 2))},
        "half the computing": {"compute_scale": 0.5},
    }
    whole_ps = finish_ps(one)
    times = {name: finish_ps(replace(one, **keys)) for name, keys in changes.items()}
    return [f"{name} on {one.backend}: {whole_ps:,}, then {ps:,}" for name, ps in times.items() if ps > whole_ps]
