"""How many bytes a step of a collective moves on one channel.

Source of the rules: NVIDIA/nccl, ``src/enqueue.cc`` (calcCollChunking; computeColl until 2.21),
``src/include/collectives.h`` (steps of a chunk, trees of PAT), ``src/init.cc`` (buffers), ``src/transport/nvls.cc``,
at the tags v2.18.6-1 to v2.30.7-1.
"""

from __future__ import annotations

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.nccl.channels import blackwell_nvls_tree
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import (
    BUFFER_BYTES,
    GRAIN_BYTES,
    KIB,
    LL128_DATA,
    LL128_LINE,
    SLOTS,
    Algorithm,
    Protocol,
)
from astra_ns3.nccl.graphs import graph_of
from astra_ns3.nccl.model import belief

_NVLS_CHUNK = 128 * KIB
_SLOW_NVLS = 150.0


def chunk_steps(kind: CollectiveKind, algorithm: Algorithm, protocol: Protocol) -> tuple[int, int]:
    """Return the slots of a chunk and of a slice: 4 and 2 for rings of Simple that don't start or end at one rank."""
    rooted = kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE)
    ring = (algorithm, protocol) == ("Ring", "Simple")
    return (SLOTS // 2, SLOTS // 4) if ring and not rooted else (1, 1)


def step_bytes(communicator: Communicator, protocol: Protocol) -> int:
    """Return the bytes of one slot of a buffer, flags included."""
    asked = communicator.environment.buffsize
    return (asked if asked and asked > 0 and protocol == "Simple" else BUFFER_BYTES[protocol]) // SLOTS


def chunk_bytes(
    communicator: Communicator,
    kind: CollectiveKind,
    algorithm: Algorithm,
    protocol: Protocol,
    part: int,
) -> int:
    """Return the payload of a full chunk, for a channel whose part of the call is ``part`` bytes."""
    chunk = step_bytes(communicator, protocol) * chunk_steps(kind, algorithm, protocol)[0]
    if protocol == "LL":
        chunk //= 2
    if protocol == "LL128":
        chunk = chunk // LL128_LINE * LL128_DATA
    chunk = _shrunk(communicator, kind, algorithm, protocol, part, chunk)
    return chunk // GRAIN_BYTES[protocol] * GRAIN_BYTES[protocol]


def _shrunk(
    communicator: Communicator, kind: CollectiveKind, algorithm: Algorithm, protocol: Protocol, part: int, chunk: int
) -> int:
    """Return a smaller chunk, if that starts a pipeline sooner."""
    if algorithm == "Tree":
        return _tree(communicator, protocol, part, chunk)
    if algorithm == "NVLS":
        return _nvls(communicator, part, chunk)
    if algorithm == "NVLSTree":
        return _nvls_tree(communicator, part, chunk)
    if algorithm == "CollNetDirect":
        heads = graph_of(communicator, "collnet_direct").channels
        depth = 2 if communicator.gpus_per_server > 1 or heads > 1 else 1
        return _halved(part // max(1, heads), chunk, (depth * 64, 128), (depth * 8, 64), (depth * 8, 32))
    if algorithm == "CollNetChain":
        depth = communicator.gpus_per_server
        return _halved(part, min(256 * KIB, chunk), (depth * 64, 128), (depth * 8, 64), (depth, 32))
    return _pat(kind, part, chunk) if algorithm == "PAT" else chunk


def _pat(kind: CollectiveKind, part: int, chunk: int) -> int:
    least = 32 if kind is CollectiveKind.ALL_GATHER else 16
    while chunk * least > part and chunk > 64 * KIB:
        chunk //= 2
    return chunk


def pat_trees(ranks: int, chunk: int, part: int) -> tuple[int, int]:
    """Return how many of PAT's trees go at once, and how many pieces of theirs share a message, powers of two.

    ``part``: the bytes of one rank in a channel. As many pieces share a slot of ``chunk`` bytes as find room in it, and
    the trees that go at once fill all slots.
    """
    together = 1
    while chunk // (part * together) >= 2 and together < ranks // 2:
        together *= 2
    trees = together
    while trees < min(together * SLOTS, ranks // 2):
        trees *= 2
    return trees, together


def _tree(communicator: Communicator, protocol: Protocol, part: int, chunk: int) -> int:
    """LL128 always, Simple until 2.21."""
    gpus, doublings = communicator.gpus_per_server, communicator.servers.bit_length() - 1
    if protocol == "LL128":
        steps = 1 + doublings + 0.1 * gpus
        return _halved(part, chunk, (steps * 64 / gpus, 128), (steps * 16 / gpus, 32))
    if protocol == "Simple" and communicator.version.rules < (2, 22):
        depth = gpus - 1 + doublings
        return _halved(part, chunk, (depth * 8, 128), (depth * 4, 64), (depth, 32))
    return chunk


def _halved(part: int, chunk: int, *limits: tuple[float, int]) -> int:
    """Halve a chunk while there are fewer than so many of them, down to so many KiB."""
    for chunks, floor in limits:
        while part // chunk < chunks and chunk > floor * KIB:
            chunk //= 2
    return chunk


def _nvls(communicator: Communicator, part: int, chunk: int) -> int:
    rules, heads = communicator.version.rules, graph_of(communicator, "nvls").channels
    _, tuned, _ = _blackwell(communicator)
    most = tuned or _NVLS_CHUNK
    if rules >= (2, 22) and communicator.servers > 1:
        believed = belief(communicator, CollectiveKind.ALL_REDUCE, "NVLS", "Simple").bandwidth
        most = 32 * KIB if believed < _SLOW_NVLS else most
    return _stepped(part, heads, min(chunk, most), (64, 64), (8, 32), (2, 16))


def _nvls_tree(communicator: Communicator, part: int, chunk: int) -> int:
    rules, heads = communicator.version.rules, graph_of(communicator, "nvls").channels
    many = communicator.servers >= 4
    _, tuned, most = _blackwell(communicator)
    if rules >= (2, 20):
        chunk = tuned or _NVLS_CHUNK
    if rules >= (2, 19):
        chunk = min(chunk, most or (64 * KIB if many else chunk))
    return _stepped(part, heads, chunk, (32, 256), (16, 128), (4, 64), (1, 32))


def _blackwell(communicator: Communicator) -> tuple[int, int, int]:
    new = communicator.server.compute_capability >= 100 and communicator.version.rules >= (2, 30)
    return blackwell_nvls_tree(communicator) if new and communicator.servers > 1 else (0, 0, 0)


def _stepped(part: int, heads: int, chunk: int, *limits: tuple[int, int]) -> int:
    """Cut a chunk to so many KiB if there are fewer than so many of each head."""
    for chunks, size in limits:
        if part < chunks * heads * chunk and chunk > size * KIB:
            chunk = size * KIB
    return chunk
