"""The servers, network and NCCL that a measurement asks for."""

from __future__ import annotations

import os
from collections.abc import Sequence

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.nccl import NcclConfig
from astra_ns3.config.network.file import AnyNetwork, read_network_file
from astra_ns3.errors import refuse
from astra_ns3.experiments.nccl.bench import BenchRow, bench
from astra_ns3.experiments.nccl.network_of_servers import network_of
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.servers import parse_servers


@dataclass(frozen=True)
class Machine:
    """What is measured; ``words`` name it."""

    words: str
    network: AnyNetwork
    table: NcclConfig
    backend: str

    def bench(self, operation: str, sizes: Sequence[int], seed: int = 1) -> list[BenchRow]:
        """Measure an operation at each size."""
        return bench(operation, sizes, self.network, self.table, backend=self.backend, seed=seed)


def machine_of(
    servers: str,
    gpus: int | None = None,
    network: str | os.PathLike[str] | None = None,
    nccl_version: str = "2.30",
    changes: Sequence[str] = (),
    backend: str = "flow",
) -> Machine:
    """Read what was asked for; raises InputError.

    ``servers``: how many of which, as ``2xdgx-h100``. ``changes``: ``KEY=VALUE`` of the table ``nccl``.
    """
    count, server = parse_servers(servers)
    used = server.gpus if gpus is None else gpus
    refuse(used > server.gpus, f"--gpus: found {used}, expected at most the {server.gpus} of server '{server.name}'")
    words = [change.partition("=") for change in changes]
    for change, (key, equals, value) in zip(changes, words, strict=True):
        refuse(not key or not equals or not value, f"--set: found '{change}', expected KEY=VALUE")
    data = {"version": nccl_version, "server": server.name, **{key: value for key, _, value in words}}
    table = validated(NcclConfig, Document("nccl", data), {})
    found: AnyNetwork = network_of(server, count, used) if network is None else read_network_file(network).network
    refuse(
        found.npus != count * used,
        f"-n: the network has {found.npus} NPUs, expected {count * used}: {count} servers of {used} GPUs",
    )
    refuse(found.npus == 1, "one GPU alone has nobody to send to; expected at least two")
    return Machine(f"{count} x {server.name}" + ("" if gpus is None else f" ({used} GPUs each)"), found, table, backend)
