"""Who takes part in a collective, as far as NCCL's decisions depend on it."""

from __future__ import annotations

from functools import cached_property

from astra_ns3.frozen import dataclass, field
from astra_ns3.nccl.environment import Environment
from astra_ns3.nccl.server import Server
from astra_ns3.nccl.version import Version

NEWEST = Version(2, 30)


@dataclass(frozen=True)
class Communicator:
    """``servers`` times ``gpus_per_server`` ranks, server after server; of each server the first GPUs.

    ``sockets``: the network is NCCL's own TCP sockets, without GPUDirect; ``in_network``: its switches reduce (CollNet,
    SHARP); ``nvls``: those of servers do, if the server's can.
    """

    server: Server
    servers: int
    gpus_per_server: int
    version: Version = NEWEST
    environment: Environment = field(default_factory=Environment)
    sockets: bool = False
    in_network: bool = False
    nvls: bool = True

    @cached_property
    def ranks(self) -> int:
        """Number of GPUs."""
        return self.servers * self.gpus_per_server
