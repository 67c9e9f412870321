"""Servers and communicators that tests of NCCL's decisions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.environment import Environment
from astra_ns3.nccl.server import Nic, Server
from astra_ns3.nccl.version import parse_version

Make = Callable[..., Communicator]
_EACH_PAIR_OF_4 = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_CUBE = (
    *((0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2)),
    *((2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2)),
)
SERVERS = {
    "h100": Server("h100", 8, 90, 18, 450, tuple(Nic(400, (i,)) for i in range(8)), multicast=True),
    "h100 with 4 NICs": Server(
        "h100 with 4 NICs", 8, 90, 18, 450, tuple(Nic(400, (i, i + 1)) for i in range(0, 8, 2)), multicast=True
    ),
    "h800 with 2 NICs": Server("h800", 8, 90, 8, 200, (Nic(400, (0,)), Nic(400, (7,)))),
    "h20 with 2 NICs": Server("h20", 2, 90, 18, 450, (Nic(400, (0,), "pix"), Nic(400, (1,), "pix"))),
    "b200": Server("b200", 8, 100, 18, 900, tuple(Nic(400, (i,)) for i in range(8)), multicast=True),
    "nvl72": Server(
        "nvl72", 72, 100, 18, 900, tuple(Nic(400, (i,), "phb") for i in range(72)), cpu="arm", multicast=True
    ),
    "a100": Server("a100", 8, 80, 12, 300, tuple(Nic(200, (i // 2 * 2, i // 2 * 2 + 1)) for i in range(8)), cpu="amd"),
    "4 a100": Server(
        "4 a100",
        4,
        80,
        12,
        300,
        (Nic(200, (0, 1), "phb"), Nic(200, (2, 3), "phb")),
        cpu="amd",
        switched=False,
        pairs=tuple((a, b, 4) for a, b in _EACH_PAIR_OF_4),
    ),
    "dgx-1v": Server(
        "dgx-1v",
        8,
        70,
        6,
        150,
        tuple(Nic(100, (i, i + 1)) for i in range(0, 8, 2)),
        switched=False,
        pairs=_CUBE,
    ),
    "2 over PCIe": Server("2 over PCIe", 2, 80, 0, 0, (Nic(100, (0, 1), "phb"),), switched=False),
}


def _make(name: str, servers: int, gpus: int, version: str = "2.29", **settings: Any) -> Communicator:
    sockets, in_network = settings.pop("sockets", False), settings.pop("in_network", False)
    return Communicator(
        SERVERS[name], servers, gpus, parse_version(version), Environment(**settings), sockets, in_network
    )


@pytest.fixture
def make() -> Make:
    """A communicator of a server's name, servers, GPUs of each, a version, and what is set."""
    return _make
