"""The memory beyond the device that a workload asks for: the network's storage hosts, or the system's remote memory."""

from __future__ import annotations

from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse, wrong
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.plan import AnyPlan
from astra_ns3.scenario.scenario import Tenancy
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.storage import GraphStorage
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload


def with_storage(
    system: SystemConfig,
    workload: AnyWorkload,
    network: AnyNetwork,
    tenancy: Tenancy,
    backend: str,
    plan: AnyPlan | None,
) -> SystemConfig:
    """Return a system told the storage hosts that its workload asks for; any other as it is.

    ``plan``: the network's, where it is there already. Raises InputError where there is nothing to store on.
    """
    if not isinstance(workload, ModelWorkload):
        return system
    remote, key = workload.file.uses_remote_memory, workload.file.uses_storage
    there = system.remote_memory is not None and system.remote_memory.there
    refuse(
        remote is not None and not there,
        "asks for remote memory, and the run has none; give it as --remote-memory",
        f"{workload.source}: {remote}",
    )
    if key is None:
        return system
    where = f"{workload.source}: {key}"
    refuse(
        not abilities_of(backend).needs_packets,
        f"found backend '{backend}', expected ns3 or flow: storage hosts stand in a network of packets alone",
        where,
    )
    if not isinstance(network, NetworkConfig):
        raise wrong("found an analytical network, expected one of packets, with storage hosts", where)
    refuse(
        network.topology.storage is None,
        "asks for storage hosts, and the network has none; give its topology a key 'storage'",
        where,
    )
    refuse(tenancy.berth is not None, "a job that arrives gets its NPUs too late for storage; give it NPUs", where)
    known = None if plan is None else plan.of_packets
    graph = build_graph(network.topology) if known is None else known.graph
    return system.with_storage_hosts(GraphStorage(graph, tenancy.npus))
