"""A server as NCCL sees it: its GPUs, how they reach each other, and its network interfaces (NICs)."""

from __future__ import annotations

from functools import cache
from typing import Literal

from astra_ns3.frozen import dataclass, replace

Cpu = Literal["intel", "amd", "arm", "power"]
Reach = Literal["pix", "pxb", "phb", "sys"]
"""How a GPU reaches its NIC: one PCIe switch, several, the host bridge, another socket (NCCL's names of paths)."""


@dataclass(frozen=True)
class Nic:
    """One network interface. ``near``: the GPUs closest to it; ``reach``: how they reach it."""

    gbits_per_s: float
    near: tuple[int, ...]
    reach: Reach = "pxb"


@dataclass(frozen=True)
class Server:
    """A server, or a whole NVLink domain of several trays, such as NVL72, which NCCL takes for one.

    ``compute_capability``: 70 is Volta, 80 Ampere, 90 Hopper, 100 and 103 Blackwell. ``nvlinks``: of each GPU,
    together; ``nvlink_gbytes_per_s``: of each GPU and direction, by the data sheet. ``switched``: all GPUs meet at
    NVSwitches, else ``pairs`` has the links between two GPUs joined directly, ``(0, 1, 2)`` two links between 0 and 1.
    ``multicast``: the switches multiply and add (NVLS). ``sockets``: the socket of each GPU; empty: the first half has
    one, the second half another. ``source``: where all this was read.
    """

    name: str
    gpus: int
    compute_capability: int
    nvlinks: int
    nvlink_gbytes_per_s: float
    nics: tuple[Nic, ...]
    cpu: Cpu = "intel"
    switched: bool = True
    multicast: bool = False
    pairs: tuple[tuple[int, int, int], ...] = ()
    source: str = ""
    sockets: tuple[int, ...] = ()


@cache
def beginning_with(server: Server, gpus: tuple[int, ...]) -> Server:
    """Return a server whose GPUs are numbered anew: first ``gpus``, in their order, then the others.

    NICs are in the order of the first GPU next to each.
    """
    if gpus == tuple(range(len(gpus))):
        return server
    order = (*gpus, *(gpu for gpu in range(server.gpus) if gpu not in gpus))
    number = {gpu: place for place, gpu in enumerate(order)}
    nics = (replace(nic, near=tuple(sorted(number[gpu] for gpu in nic.near))) for nic in server.nics)
    ends = (((number[one], number[other]), links) for one, other, links in server.pairs)
    pairs = ((min(two), max(two), links) for two, links in ends)
    return replace(
        server,
        nics=tuple(sorted(nics, key=lambda nic: nic.near[:1])),
        pairs=tuple(sorted(pairs)),
        sockets=tuple(socket_of(server, gpu) for gpu in order),
    )


def socket_of(server: Server, gpu: int) -> int:
    """Return the socket that a GPU belongs to."""
    return server.sockets[gpu] if server.sockets else int(gpu >= max(1, server.gpus // 2))
