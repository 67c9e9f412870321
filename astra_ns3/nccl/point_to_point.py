"""How NCCL sends a message to one peer, and in which order a rank talks to all of them in an all-to-all.

Source of the rules: NVIDIA/nccl, ``src/enqueue.cc`` (scheduleP2pTasksToPlan, addP2pToPlan), ``src/init.cc``
(computeBuffSizes, ncclP2pSchedule), ``src/include/channel.h``, ``src/graph/search.cc`` (ncclTopoGetNetDev), at the
tags v2.18.6-1 to v2.30.7-1. *Limits*: buffers that aren't registered; until 2.21 peers took turns in another order, for
which that of 2.22 stands here; NCCL_P2P_PXN_LEVEL is 2, its default.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from math import gcd

from astra_ns3.frozen import dataclass
from astra_ns3.nccl.channels import channels_per_peer, p2p_channels, power_of_2
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import BUFFER_BYTES, KIB, P2P_AT_ONCE, SLOTS, Protocol
from astra_ns3.nccl.links import links_of
from astra_ns3.nccl.orders import nics_of_gpus
from astra_ns3.nccl.rounding import divided_up, rounded_up

_LL_BYTES = 16 * KIB  # of a channel (NCCL_P2P_LL_THRESHOLD)
_PAGE = 4 * KIB


@dataclass(frozen=True)
class PointToPoint:
    """A message to one peer. ``channels``: of all messages; ``channels_per_peer``: that one may use at most;
    ``parts``: channels that this one uses, each for ``part_bytes``, sent as chunks of ``chunk_bytes`` (payload).

    ``uses_pxn``: a message to another server first goes over NVLink to the GPU next to the peer's rail.
    """

    channels: int
    channels_per_peer: int
    parts: int
    part_bytes: int
    chunk_bytes: int
    protocol: Protocol
    uses_pxn: bool


def p2p_of(communicator: Communicator, bytes: int, remote: bool | None = None) -> PointToPoint:
    """Return how ``bytes`` go to one peer, in another server if ``remote`` (default: if there is another one)."""
    remote = communicator.servers > 1 if remote is None else remote
    protocol = _protocol(communicator, bytes, remote)
    parts = _parts(communicator, bytes, protocol)
    if _counts_parts_first(communicator):
        protocol = "LL" if not remote and bytes <= parts * _LL_BYTES else "Simple"
    return PointToPoint(
        channels=p2p_channels(communicator),
        channels_per_peer=channels_per_peer(communicator),
        parts=parts,
        part_bytes=min(bytes, _part_bytes(communicator, bytes, parts, protocol)),
        chunk_bytes=_chunk_bytes(communicator, bytes, protocol, remote),
        protocol=protocol,
        uses_pxn=remote and uses_pxn(communicator),
    )


def uses_pxn(communicator: Communicator) -> bool:
    """Return whether a message may leave by the NIC next to another GPU of its server, joined by NVLink."""
    return communicator.servers > 1 and why_no_pxn(communicator) is None


def why_no_pxn(communicator: Communicator) -> str | None:
    """Return what keeps a message between servers from NVLink and the NIC of another GPU; None if nothing does."""
    links = links_of(communicator)
    if links.gpus == 1:
        return "a server has one GPU"
    if communicator.environment.pxn_disable == 1:
        return "NCCL_PXN_DISABLE=1"
    if communicator.sockets:
        return "sockets have no GPUDirect"
    if not links.switched and not links.pairs:
        return "the GPUs have no NVLink"
    return None if links.relay else f"a GPU's path to its NIC is {links.nic_path}"


@cache
def gates_of(communicator: Communicator) -> tuple[int, ...]:
    """Return for each GPU of a server the GPU that sends to its number in other servers; empty without PXN.

    The sender takes the NIC next to the GPU with the peer's number, and the first GPU of that NIC sends.
    """
    nics = nics_of_gpus(communicator)
    return tuple(nics.index(nic) for nic in nics) if uses_pxn(communicator) else ()


def _counts_parts_first(communicator: Communicator) -> bool:
    return communicator.version.rules >= (2, 29)


def _protocol(communicator: Communicator, bytes: int, remote: bool) -> Protocol:
    """Return LL for few bytes inside a server; connections through the network have no buffers for it."""
    limit = channels_per_peer(communicator) * _LL_BYTES if communicator.version.rules >= (2, 22) else _LL_BYTES
    if _counts_parts_first(communicator) or remote or bytes > limit:
        return "Simple"
    return "LL"


def _step_bytes(communicator: Communicator, protocol: Protocol) -> int:
    """Return the slot of a message: 128 KiB through network (Grace with Blackwell: 256) or PCIe, 512 over NVLink."""
    if protocol == "LL":
        return BUFFER_BYTES["LL"] // SLOTS
    environment, server = communicator.environment, communicator.server
    if communicator.servers > 1:
        twice = server.cpu == "arm" and server.compute_capability >= 100 and communicator.version.rules >= (2, 29)
        step = (2 if twice else 1) * (environment.p2p_net_chunksize or 128 * KIB)
    else:
        step = 512 * KIB if links_of(communicator).all_nvlink else 128 * KIB
    return min(step, (environment.buffsize or BUFFER_BYTES["Simple"]) // SLOTS)


@cache
def _least_and_most_channels(communicator: Communicator) -> tuple[int, int]:
    """Return with how many channels a message begins, and how many it may get if it is large."""
    channels, most = p2p_channels(communicator), channels_per_peer(communicator)
    least, old = most, communicator.version.rules < (2, 22)
    if not old or communicator.servers == 1:
        while least * communicator.ranks > channels and least > 1:
            least //= 2
    while old and communicator.servers == 1 and most * communicator.ranks > 4 * channels and most > 1:
        most //= 2
    return least, most


def _parts(communicator: Communicator, bytes: int, protocol: Protocol) -> int:
    """Return the channels of a message: parts of half a slot at least (an eighth in one server), as few as allowed."""
    if not bytes:
        return 1
    step, several = _step_bytes(communicator, protocol), communicator.servers > 1
    least, most = _least_and_most_channels(communicator)
    old = communicator.version.rules < (2, 22)
    smallest = step // 2 if several and not old else step // 8
    count = least if old else min(least, divided_up(bytes, smallest))
    part = max(smallest, divided_up(bytes, count))
    while part > (step if several else 32 * step) and count <= most // 2:
        count *= 2
        part = divided_up(bytes, count)
    return min(count, divided_up(bytes, rounded_up(part, smallest))) if old else count


def _part_bytes(communicator: Communicator, bytes: int, parts: int, protocol: Protocol) -> int:
    grain = _step_bytes(communicator, protocol) // 8 if communicator.version.rules < (2, 22) else _PAGE
    return rounded_up(divided_up(bytes, parts), grain)


def _chunk_bytes(communicator: Communicator, bytes: int, protocol: Protocol, remote: bool) -> int:
    """Return a slot; through the network a quarter of it for less than one slot, half for less than eight."""
    step = _step_bytes(communicator, protocol)
    if protocol == "LL":
        return step // 2
    if not remote:
        return step
    return step // 4 if bytes < step else step // 2 if bytes < 8 * step else step


def group_size(communicator: Communicator) -> int:
    """Return the ranks of a group in an all-to-all."""
    gpus, grouped = communicator.gpus_per_server, communicator.version.rules >= (2, 28)
    return gcd(P2P_AT_ONCE, gpus) if grouped and communicator.servers > 1 else gpus


@cache
def rounds_of(communicator: Communicator) -> tuple[tuple[int, int], ...]:
    """Return the rounds of an all-to-all: how many groups on the peer is, and how many places on in its group."""
    size = group_size(communicator)
    inner = tuple(range(size)) if communicator.version.rules >= (2, 28) else _quadratic(size)
    return tuple((far, near) for far in _quadratic(communicator.ranks // size) for near in inner)


def turns_of_channels(communicator: Communicator, parts: int, turns: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return for each channel in use the rounds of which it carries a part, of those with the numbers ``turns``."""
    dealt = defaultdict[int, list[int]](list)
    for turn in turns:
        for channel in channels_of_round(communicator, turn, parts):
            dealt[channel].append(turn)
    return {channel: tuple(dealt[channel]) for channel in sorted(dealt)}


@cache
def _quadratic(count: int) -> tuple[int, ...]:
    """Return 0, 1, 3, 6, 10, ... modulo the next power of two, without those that aren't below ``count``."""
    modulus = power_of_2(count)
    return tuple(value for x in range(modulus) if (value := x * (x + 1) // 2 % modulus) < count)


@cache
def channels_of_round(communicator: Communicator, turn: int, parts: int) -> tuple[int, ...]:
    """Return the channels of a message's parts in a round of :func:`rounds_of`."""
    count, gpus = p2p_channels(communicator), communicator.gpus_per_server
    bits, mirrored = count.bit_length() - 1, communicator.version.rules >= (2, 28)
    size = gcd(P2P_AT_ONCE, gpus) if mirrored else gpus
    base = turn
    if communicator.servers > 1:
        base = turn // size * divided_up(size, P2P_AT_ONCE) + turn % size // P2P_AT_ONCE
    if mirrored:
        return tuple((_reversed_bits(base, bits) + part) % count for part in range(parts))
    return tuple((base + _reversed_bits(part, bits)) % count for part in range(parts))


def _reversed_bits(value: int, bits: int) -> int:
    return int(format(value % (1 << bits), f"0{bits}b")[::-1], 2) if bits else 0
