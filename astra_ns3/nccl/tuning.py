"""NCCL's choice for a collective: algorithm, protocol, channels, threads, chunks, and the time it believes in.

Source of the rules: NVIDIA/nccl, ``src/enqueue.cc`` (topoGetAlgoInfo, scheduleCollTasksToPlan, calcCollChunking), at
the tags v2.18.6-1 to v2.30.7-1. ``bytes`` are counted as NCCL counts them. An all-gather has all that one rank
receives, a reduce-scatter all that it sends (both are the ranks' parts together). All others have the buffer of one
rank.

*Limits*: one collective at a time, elements of four bytes, sums, buffers that aren't registered, no tuner plugin. The
last chunks of a call are cut by the kernels to what is left; :class:`Choice` has the size of a full chunk.
"""

from __future__ import annotations

from functools import cache

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.channels import launched_channels, nvls_channels, ring_channels
from astra_ns3.nccl.choices import allowed_pairs
from astra_ns3.nccl.chunks import chunk_bytes, chunk_steps
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import MAX_THREADS, SLOTS, Algorithm, Protocol, least_traffic
from astra_ns3.nccl.graphs import graph_of
from astra_ns3.nccl.model import belief, corrected
from astra_ns3.nccl.rounding import divided_up, rounded_up

_WARP = 32
_PCI_WIDTH = 12.0  # rings not wider than this have half the threads


@dataclass(frozen=True)
class Candidate:
    """The time that NCCL compares: the believed time is the latency plus bytes / bandwidth (GB/s of the call's
    bytes)."""

    algorithm: Algorithm
    protocol: Protocol
    believed_us: float
    latency_us: float
    bandwidth: float


@dataclass(frozen=True)
class Choice:
    """The choice that NCCL runs.

    ``part_bytes``: the largest part of the call that one channel moves; ``chunk_bytes``: payload that a step of the
    algorithm moves on one channel; ``slice_bytes``: of it, what is passed on at a time; ``slots``: steps of a buffer,
    of which a chunk of a ring takes several.
    """

    algorithm: Algorithm
    protocol: Protocol
    channels: int
    threads: int
    part_bytes: int
    chunk_bytes: int
    slice_bytes: int
    slots: int
    believed_us: float
    candidates: tuple[Candidate, ...]


def candidates(communicator: Communicator, kind: CollectiveKind, bytes: int) -> tuple[Candidate, ...]:
    """Return what NCCL may choose, in its own order; raises InputError if NCCL_ALGO and NCCL_PROTO leave nothing."""
    if communicator.ranks == 1:
        return (Candidate("Ring", "Simple", 0.0, 0.0, float("inf")),)
    channels, found = launched_channels(communicator), []
    for algorithm, protocol in allowed_pairs(communicator, kind):
        one = belief(communicator, kind, algorithm, protocol)
        if one.bandwidth > 0:
            if kind is CollectiveKind.ALL_REDUCE:
                one = corrected(communicator, algorithm, protocol, one, bytes, channels)
            time = one.latency_us + bytes / (1000 * one.bandwidth)
            found.append(Candidate(algorithm, protocol, time, one.latency_us, one.bandwidth))
    return tuple(found)


def choose(communicator: Communicator, kind: CollectiveKind, bytes: int) -> Choice:
    """Return NCCL's choice, which is the same out of place and in place."""
    found = candidates(communicator, kind, bytes)
    best = min(found, key=lambda one: one.believed_us)
    most, threads = _channels_and_threads(communicator, best.algorithm, best.protocol, bytes)
    channels, part = _scheduled(communicator, kind, best, most, bytes)
    chunk = chunk_bytes(communicator, kind, best.algorithm, best.protocol, part)
    steps, slices = chunk_steps(kind, best.algorithm, best.protocol)
    return Choice(
        algorithm=best.algorithm,
        protocol=best.protocol,
        channels=channels,
        threads=threads,
        part_bytes=part,
        chunk_bytes=chunk,
        slice_bytes=chunk // steps * slices,
        slots=SLOTS,
        believed_us=best.believed_us,
        candidates=found,
    )


def believed_us(communicator: Communicator, kind: CollectiveKind, bytes: int) -> float:
    """Return the time that NCCL's own formulas give for what it chooses, in microseconds."""
    return min(one.believed_us for one in candidates(communicator, kind, bytes))


@cache
def max_threads(communicator: Communicator, algorithm: Algorithm, protocol: Protocol) -> int:
    """Return the threads of one channel for many bytes, without those that only synchronize."""
    if protocol == "LL128":
        return MAX_THREADS
    if algorithm not in ("Ring", "Tree"):
        return MAX_THREADS
    ring = graph_of(communicator, "ring")
    slow = (algorithm, protocol) == ("Ring", "Simple") and ring.bw_intra * ring.channels <= _PCI_WIDTH
    asked = communicator.environment.nthreads
    if not asked or asked < 0:
        return 256 if slow else 512
    return min(512, max(64, asked)) if asked % _WARP == 0 else 512


def _threshold(communicator: Communicator, algorithm: Algorithm, protocol: Protocol) -> int:
    """Return the bytes below which a thread isn't worth its while."""
    if algorithm in ("CollNetDirect", "CollNetChain"):
        return 512
    if protocol == "Simple":
        return 64
    return 8 * communicator.ranks if (algorithm, protocol) == ("Ring", "LL") else 8


def _channels_and_threads(
    communicator: Communicator, algorithm: Algorithm, protocol: Protocol, bytes: int
) -> tuple[int, int]:
    """Return channels, fewer for few bytes, and threads, fewer once one channel is left."""
    channels, threads = launched_channels(communicator), max_threads(communicator, algorithm, protocol)
    threshold = _threshold(communicator, algorithm, protocol)
    if algorithm == "PAT":
        return channels, MAX_THREADS
    if algorithm in ("NVLS", "NVLSTree"):
        several = algorithm == "NVLS" and communicator.servers > 1 and communicator.version.rules >= (2, 28)
        return min([nvls_channels(communicator), *([channels] if several else [])]), threads
    if algorithm == "CollNetDirect":
        return _collnet_channels(communicator, channels, threads, bytes), threads
    channels = max(1, min(channels, bytes // (threads * threshold)))
    while bytes < channels * threads * threshold and threads % 128 == 0:
        threads //= 2
    return channels, _with_helpers(communicator, algorithm, protocol, threads)


def _with_helpers(communicator: Communicator, algorithm: Algorithm, protocol: Protocol, threads: int) -> int:
    """Return threads with the warps that synchronize; a tree uses all since 2.22."""
    if algorithm == "Tree" and communicator.version.rules >= (2, 22):
        return MAX_THREADS
    if protocol == "Simple":
        threads += {"Ring": _WARP, "Tree": 4 * _WARP}.get(algorithm, 0)
    return max(3 * _WARP, threads)


def _collnet_channels(communicator: Communicator, channels: int, threads: int, bytes: int) -> int:
    """Return the channels of CollNetDirect: down to 16, 8, ... while there are too few bytes for them."""
    heads, threshold, switch = graph_of(communicator, "collnet_direct").channels, 512, 16
    few = True
    while switch >= 1 and few:
        few = bytes < channels * threads * heads * threshold
        while few and channels > switch:
            threshold //= 2 if channels == switch + switch // 2 else 1
            channels -= 1
            few = bytes < channels * threads * heads * threshold
        switch //= 2
    return channels


def _scheduled(
    communicator: Communicator, kind: CollectiveKind, best: Candidate, most: int, bytes: int
) -> tuple[int, int]:
    """Return the channels that get a part, and the largest part in bytes of the call.

    Since 2.22 the bytes are dealt in cells of the least traffic of a channel; before, all ``most`` channels are used.
    """
    rules = communicator.version.rules
    if rules < (2, 22) or best.algorithm.startswith("CollNet") or not bytes:
        return most, divided_up(bytes, most)
    parted = kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)
    count = divided_up(bytes, communicator.ranks) if parted else bytes
    weight = 2 if kind is CollectiveKind.ALL_REDUCE else communicator.ranks if parted else 1
    share = rounded_up(max(least_traffic(rules), count * weight) // most, 16)
    weight *= 4 if best.protocol == "LL" and rules >= (2, 26) else 1
    cell = rounded_up(divided_up(least_traffic(rules), weight), 16)
    cells = divided_up(count, cell)
    each = min(cells, divided_up(share, cell * weight))
    channels, largest = _dealt(cells, each, _available(communicator, best.algorithm))
    part = min(count, largest * cell)
    return channels, min(bytes, part * communicator.ranks) if parted else part


def _dealt(cells: int, each: int, channels: int) -> tuple[int, int]:
    """Return the channels that get cells, and the most that one gets: the first ``each``, the others alike.

    If that needs more channels than there are, those after the first share the rest. With LL they do, for a cell of LL
    counts four times: the first channel then gets little.
    """
    if channels == 1:
        return 1, cells
    needed = divided_up(cells, each)
    if needed <= channels:
        return needed, each
    rest = cells - each
    return channels, max(each, rest // (channels - 1) + rest % (channels - 1))


def _available(communicator: Communicator, algorithm: Algorithm) -> int:
    if algorithm in ("NVLS", "NVLSTree"):
        return nvls_channels(communicator)
    return max(launched_channels(communicator), ring_channels(communicator))
