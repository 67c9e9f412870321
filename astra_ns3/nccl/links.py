"""Links inside one server as NCCL believes them: NVLink, PCIe, the NICs, the way between sockets.

Source: NVIDIA/nccl v2.30.7, ``src/graph/topo.h`` (widths) and ``src/graph/paths.cc`` (which path a GPU takes to a NIC).
*Limits*: a :class:`~astra_ns3.nccl.server.Server` doesn't state its PCIe, so the generation follows from the GPU's
(Volta 3, Ampere 4, Hopper and Blackwell 5, a NIC above 400 Gb/s 6). All links have 16 lanes; two sockets have one link.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Literal

from astra_ns3.frozen import dataclass, replace
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import Rules, nvlink_width
from astra_ns3.nccl.server import Nic, Reach, Server, socket_of

PathType = Literal["LOC", "NVL", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"]
#: From near to far, as NCCL compares them.
PATH_TYPES: tuple[PathType, ...] = ("LOC", "NVL", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")

_PCI_3, _PCI_4, _PCI_5, _PCI_6 = 12.0, 24.0, 48.0, 96.0
_CHIP_TO_CHIP = 400.0  # Grace reaches its GPU by NVLink-C2C, which never limits a NIC
_BITS_PER_GBYTE = 8.0


@dataclass(frozen=True)
class NicLink:
    """A NIC: width in GB/s, the used GPUs next to it, the one of them that a channel enters first."""

    number: int
    width: float
    near: tuple[int, ...]
    local: int
    reach: Reach


@dataclass(frozen=True)
class Links:
    """Links of the used GPUs of one server, widths in GB/s a direction.

    ``nvlink``: of one GPU, together; ``pairs``: of two GPUs joined directly; ``socket``: between two sockets;
    ``nic_path``: the path from a GPU to the NIC next to it; ``relay``: a GPU may send through another one to that one's
    NIC (PXN); ``sockets``: the socket of each GPU, by numbers that begin at 0.
    """

    gpus: int
    switched: bool
    nvlink: float
    pairs: tuple[tuple[int, int, float], ...]
    pci: float
    socket: float
    nics: tuple[NicLink, ...]
    nic_path: PathType
    relay: bool
    sockets: tuple[int, ...]
    compute_capability: int
    cpu: str

    @property
    def all_nvlink(self) -> bool:
        """Whether each two GPUs have NVLink between them."""
        return self.gpus == 1 or self.switched or 2 * len(self.pairs) == self.gpus * (self.gpus - 1)

    @property
    def some_nvlink(self) -> bool:
        """Whether any GPU has NVLink."""
        return self.gpus == 1 or self.switched or bool(self.pairs)

    @property
    def widest_pair(self) -> float:
        """Width of the widest path between two GPUs."""
        return self.nvlink if self.switched else max((width for *_, width in self.pairs), default=0.0)

    @property
    def total(self) -> float:
        """Width of the GPU with most links (NCCL's totalBw)."""
        if self.switched or not self.pairs:
            return max(self.nvlink, self.pci)
        sums = [sum(width for a, b, width in self.pairs if gpu in (a, b)) for gpu in range(self.gpus)]
        return max(*sums, self.pci)


@cache
def links_of(communicator: Communicator) -> Links:
    """Return the links of one server as a communicator uses it."""
    server, rules = communicator.server, communicator.version.rules
    used, width = communicator.gpus_per_server, nvlink_width(server.compute_capability, rules)
    pairs = tuple((a, b, count * width) for a, b, count in server.pairs if max(a, b) < used)
    switched = server.switched and server.nvlinks > 0
    near = _near(server, rules)
    direct = not communicator.sockets and _gpu_direct(communicator, near)
    nics = tuple(_nics(server, used, direct))
    return Links(
        gpus=used,
        switched=switched,
        nvlink=server.nvlinks * width if switched else 0.0,
        pairs=() if switched else pairs,
        pci=_gpu_pci(server),
        socket=_between_sockets(server, rules),
        nics=nics,
        nic_path=near if direct or near == "SYS" else "PHB",
        relay=(switched or bool(pairs)) and direct and _relays(communicator, near),
        sockets=_sockets(server, used),
        compute_capability=server.compute_capability,
        cpu=server.cpu,
    )


def likeness(communicator: Communicator) -> Links:
    """Return what of :func:`links_of` decides: NICs by numbers that begin at 0, none in a single server.

    Sockets only count where GPUs have no NVLink, or may not send by the NIC of another one.
    """
    links, several = links_of(communicator), communicator.servers > 1
    used = links.nics if several else ()
    by_socket = not links.some_nvlink or (several and not links.relay)
    nics = tuple(replace(nic, number=number) for number, nic in enumerate(used))
    return replace(links, nics=nics, sockets=links.sockets if by_socket else ())


def _sockets(server: Server, used: int) -> tuple[int, ...]:
    sockets = [socket_of(server, gpu) for gpu in range(used)]
    numbers = {socket: number for number, socket in enumerate(dict.fromkeys(sockets))}
    return tuple(numbers[socket] for socket in sockets)


def _near(server: Server, rules: Rules) -> PathType:
    """Return the path from a GPU to the NIC next to it; Grace's, over NVLink-C2C and the CPU, is P2C since 2.27."""
    types: dict[Reach, PathType] = {"pix": "PIX", "pxb": "PXB", "phb": "PHB", "sys": "SYS"}
    reached = [types[nic.reach] for nic in server.nics]
    near: PathType = min(reached, key=PATH_TYPES.index) if reached else "SYS"
    grace = server.cpu == "arm" and server.compute_capability >= 90 and rules >= (2, 27)
    return "P2C" if near == "PHB" and grace else near


def _gpu_direct(communicator: Communicator, near: PathType) -> bool:
    """Return whether GPUDirect reaches the nearest NIC: by default over at most P2C, else NCCL_NET_GDR_LEVEL."""
    farthest: PathType = communicator.environment.net_gdr_level or "P2C"
    return PATH_TYPES.index(near) <= PATH_TYPES.index(farthest)


def _relays(communicator: Communicator, near: PathType) -> bool:
    """Return whether PXN may be used: through PCIe switches, since 2.28 also through Grace."""
    through_grace = near == "P2C" and communicator.version.rules >= (2, 28)
    return communicator.environment.pxn_disable != 1 and (near in ("PIX", "PXB") or through_grace)


def _nics(server: Server, used: int, direct: bool) -> Iterator[NicLink]:
    seen: dict[tuple[int, ...], int] = {}
    for number, nic in enumerate(server.nics):
        near = tuple(gpu for gpu in nic.near if gpu < used)
        if near:
            turn = seen[near] = seen.get(near, -1) + 1
            reach: Reach = nic.reach if direct else "sys" if nic.reach == "sys" else "phb"
            yield NicLink(number, _nic_width(server, nic), near, near[turn % len(near)], reach)


def _nic_width(server: Server, nic: Nic) -> float:
    slot = _generation_pci(server)
    if slot == _PCI_5 and nic.gbits_per_s > _PCI_5 * _BITS_PER_GBYTE * 2:
        slot = _PCI_6
    return min(nic.gbits_per_s / _BITS_PER_GBYTE, slot)


def _generation_pci(server: Server) -> float:
    capability = server.compute_capability
    return _PCI_3 if capability < 80 else _PCI_4 if capability < 90 else _PCI_5


def _gpu_pci(server: Server) -> float:
    if server.cpu == "arm" and server.compute_capability >= 90:
        return _CHIP_TO_CHIP
    return max([_generation_pci(server), *(_nic_width(server, nic) for nic in server.nics)])


def _between_sockets(server: Server, rules: Rules) -> float:
    """Width of the link between two sockets: Skylake's, of newer Intel CPUs theirs since 2.27; AMD, ARM, POWER9."""
    if server.cpu == "intel":
        newer = 40.0 if server.compute_capability >= 100 else 22.0 if server.compute_capability >= 90 else 10.0
        return newer if rules >= (2, 27) else 10.0
    return {"amd": 16.0, "arm": 6.0, "power": 32.0}[server.cpu]
