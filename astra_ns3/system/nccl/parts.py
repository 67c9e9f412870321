"""The part that a channel has of a collective, its costs, and the name of what NCCL plays."""

from __future__ import annotations

from astra_ns3.config.nccl import NcclConfig
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.copying import (
    BYTES_PER_MS,
    Work,
)
from astra_ns3.network.channel import ChannelCosts
from astra_ns3.units import PS_PER_US

_PER_MILLE = 1_000
_NAME = "nccl"


@dataclass(frozen=True)
class Part:
    """The part of one channel, or of several that do the same: ``order`` of a ring, or a tree's ``parents``.

    In a forest the heads of servers have no parents, until switches join them. ``head``: its number among its server's;
    ``gpu``: the number of that GPU. ``root``: the rank that gets or has the data, if that isn't the tree's own root.
    """

    number: int
    channels: int
    bytes: int
    order: tuple[int, ...]
    parents: tuple[int, ...] = ()
    head: int = 0
    gpu: int = 0
    root: int | None = None


def named(algorithm: str, protocol: str, channels: int) -> str:
    """Return the name of what NCCL plays, ``nccl Ring Simple x16``: 16 channels, of send/recv those of one peer."""
    return f"{_NAME} {algorithm} {protocol} x{channels}"


def of_name(name: str) -> tuple[str, str, int]:
    """Return algorithm, protocol and channels of a name that :func:`named` made."""
    _, algorithm, protocol, channels = name.split()
    return algorithm, protocol, int(channels.removeprefix("x"))


def costs_of(config: NcclConfig, part: Part, work: Work, protocol: str) -> ChannelCosts:
    """Return what the kernels of a part spend, alone or for several channels."""
    overhead_us = config.overhead_us(protocol)
    return ChannelCosts(
        servers=(),
        start_ps=round(work.start_us * PS_PER_US),
        near_ps=round(work.near_us * PS_PER_US),
        far_ps=round((work.far_us + overhead_us) * PS_PER_US),
        near_copy_bytes_per_ms=round(work.near_gbytes_per_s * BYTES_PER_MS * part.channels),
        far_copy_bytes_per_ms=round(work.far_gbytes_per_s * BYTES_PER_MS * part.channels),
        near_wire_per_mille=round(work.near_wire * _PER_MILLE),
        far_wire_per_mille=round(work.far_wire / config.nic_efficiency * _PER_MILLE),
        copies_as_it_comes=work.has_flags,
        channel=part.number,
    )
