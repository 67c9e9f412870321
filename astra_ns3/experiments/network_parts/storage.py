"""The memory beyond the device that a workload asks for: the network's storage hosts, or the system's remote memory."""

from __future__ import annotations

from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import refuse
from astra_ns3.experiments.network_parts.packet_graph import Asked, Ground
from astra_ns3.experiments.network_parts.reduction import told_trees
from astra_ns3.topology.storage import GraphStorage
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.models.workload import ModelWorkload


def with_storage(system: SystemConfig, workload: AnyWorkload, ground: Ground, *, first_root: int) -> SystemConfig:
    """Return a system told the storage hosts, and the trees on the way there, that its workload asks for.

    Any other system is returned as it is. ``first_root``: the number of the tenant. Raises InputError where there is
    nothing to store on.
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
    network = ground.packets_for(Asked(where, "storage hosts", "storage hosts stand", "storage"))
    refuse(
        network.topology.storage is None,
        "asks for storage hosts, and the network has none; give its topology a key 'storage'",
        where,
    )
    if workload.file.reduces_on_the_way is not None:
        by = f"{workload.source}: {workload.file.reduces_on_the_way}"
        refuse(
            network.topology.storage is not None and network.topology.storage.per == "node",
            "found storage per node, which hangs on no switch; expected per: rack or fabric",
            by,
        )
        refuse(not ground.graph.reducers, "no switch of the network reduces; give one 'reduction'", by)
        system = told_trees(system, ground, by, first_root)
    return system.with_storage_hosts(GraphStorage(ground.graph, ground.tenancy.npus))
