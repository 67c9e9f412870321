"""Rates and latencies of kernels, proxies and links, which slow messages. The tuner's beliefs play no part here.

Each figure is NCCL's own measured constant (its ``src/graph/tuning.cc``: hardware latencies, bounds of LL. ``topo.h``:
rate of a link), or was fitted on one published table, which is named beside it. docs/hardware.md says how well they do
on other tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from astra_ns3.frozen import dataclass, replace
from astra_ns3.nccl.server import Server

BYTES_PER_US = 1_000
"""Bytes per microsecond in one GB/s (10**9 bytes)."""
BYTES_PER_MS = 1_000 * BYTES_PER_US
SWITCHES_INCLUDED_US = 1.5
"""NCCL's latencies between servers include a network of a switch or two; what is simulated is taken off."""


@dataclass(frozen=True)
class Work:
    """Costs of a channel. Times in microseconds, rates in GB/s (10**9 bytes of data), of one channel.

    ``start_us``: from the call to the first send. ``near_us``, ``far_us``: latency of a hop inside a server and between
    servers; ``near_gbytes_per_s``, ``far_gbytes_per_s``: how fast what comes is copied. ``near_wire``, ``far_wire``:
    bytes on the wire for one of data. ``has_flags``: flags in the data say what of a message is there.
    """

    start_us: float
    near_us: float
    far_us: float
    near_gbytes_per_s: float
    far_gbytes_per_s: float
    near_wire: float = 1.0
    far_wire: float = 1.0
    has_flags: bool = False


# Base latencies, and latencies of a hop inside a server and between servers: NCCL 2.30's constants (tuning.cc).
_START: Mapping[str, float] = MappingProxyType({"LL": 6.6, "LL128": 14.0, "Simple": 8.4})
_RING_NEAR: Mapping[str, float] = MappingProxyType({"LL": 0.6, "LL128": 1.9, "Simple": 3.4})
_TREE_NEAR: Mapping[str, float] = MappingProxyType({"LL": 0.6, "LL128": 1.25, "Simple": 4.0})
_RING_FAR: Mapping[str, float] = MappingProxyType({"LL": 2.7, "LL128": 4.0, "Simple": 14.0})
_TREE_FAR: Mapping[str, float] = MappingProxyType({"LL": 5.0, "LL128": 8.5, "Simple": 14.0})
_PCI = 1.6  # latencies over PCIe instead of NVLink: 1.0, 2.5 and 5.7 of NCCL's ring
_FLAGS: Mapping[str, float] = MappingProxyType({"LL": 2.0, "LL128": 128 / 120, "Simple": 1.0})
"""Bytes on the wire for one of data: LL has a flag of 4 bytes behind each 4, LL128 one of 8 behind 120."""
# Copying of a channel with Simple. Hopper: one cluster of 10 x 8 H100 (all-reduce of 1, 2, 4, 8 GPUs a server; NCCL
# 2.29.2): 16 channels of 20 GB/s give all four. Others: Hopper's times NCCL's rates of an NVLink, 20, 20.6, 40.1.
_SIMPLE: Mapping[int, float] = MappingProxyType({70: 20.0, 80: 20.0, 90: 20.0, 100: 40.0})
# LL: the tuner's bounds for one server (39, 87.7, 141 and 282 GB/s), over the channels of a DGX.
_LL: Mapping[int, float] = MappingProxyType({70: 3.3, 80: 3.7, 90: 5.9, 100: 11.8})
# LL128 has 120 bytes of data in 128.
_LL128_SHARE = 120 / 128
# Send/recv between servers, a kernel that has only one of the two: fitted on 10 x 8 H100 alone, with one channel a peer
# (15.2 GB/s; NCCL 2.29.2): 128 KiB in 8.6 us, of which a step takes 4. A kernel that has both copies as all else does.
_ONE_WAY: Mapping[int, float] = MappingProxyType({70: 28.4, 80: 28.4, 90: 28.4, 100: 56.8})
_STEP_US = 4.0  # a kernel's step in which it goes on with nothing else: NCCL's latency of a hop, Simple
# NVLS: what a kernel's stage moves of the data of all heads of a server, besides its step. Hopper: 480 GB/s of bus
# bandwidth on 8 H100 (nccl-tests 212): 16 MiB in 61.2 us, of which a step takes 4. Blackwell: a rack of 72
# (coreweave/nccl-tests, 8 GiB in 20,299 us; NCCL 2.26.2): 59 times 144 MiB.
_NVLS: Mapping[int, float] = MappingProxyType({90: 293.0, 100: 443.0})
# PAT: NCCL 2.30's constants of its latency (tuning.cc): 8.0 us, 14.0/3.5 us a hop between servers, 2.8 us a rank. A
# piece is copied when it comes, and half of the pieces once more: those of leaves are copied out by themselves.
_PAT_START_US, _PAT_FAR_US, _PAT_PIECE_US, _PAT_COPIES = 8.0, 4.0, 2.8, 1.5
_NVLS_STAGES = 3  # scatter, reduce and gather
_NVLS_START_US = 25.0 - _NVLS_STAGES * _STEP_US  # NCCL's latency of NVLS has all three


class Cost(NamedTuple):
    """A cost in words: what it is, its value, and where that comes from."""

    words: str
    value: str
    source: str


def _told(values: Iterable[float], unit: str) -> str:
    return f"{', '.join(f'{value:.3g}' for value in values)} {unit}".strip()


def costs() -> tuple[Cost, ...]:
    """Return all costs of a channel in words, for the reference."""
    by_protocol = "LL, LL128, Simple"
    less = f"NCCL's hardware latencies, less {SWITCHES_INCLUDED_US} us for the switches that are simulated"
    bounds = "the tuner's bounds for one server over the channels of a DGX"
    step = "NCCL's latency of a hop, tree, Simple"
    us, rate = "us", "GB/s"
    return (
        Cost(
            f"before the first send: {by_protocol}", _told(_START.values(), us), "NCCL's base latencies (`tuning.cc`)"
        ),
        Cost(
            f"a hop inside a server, ring: {by_protocol}",
            _told(_RING_NEAR.values(), us),
            f"NCCL's hardware latencies; over PCIe {_PCI} times as long",
        ),
        Cost(f"a hop inside a server, tree: {by_protocol}", _told(_TREE_NEAR.values(), us), "the same"),
        Cost(f"a hop between servers, ring: {by_protocol}", _told(_RING_FAR.values(), us), less),
        Cost(
            f"a hop between servers, tree, and ring of one GPU a server: {by_protocol}",
            _told(_TREE_FAR.values(), us),
            less,
        ),
        Cost(f"bytes on the wire for one of data: {by_protocol}", _told(_FLAGS.values(), ""), "the protocols"),
        Cost(
            "copying of a channel, Simple: Volta, Ampere, Hopper, Blackwell",
            _told(_SIMPLE.values(), rate),
            "fitted on the all-reduces of 10 x 8 H100; Blackwell: Hopper's times the rates of an NVLink",
        ),
        Cost("copying of a channel, LL: Volta, Ampere, Hopper, Blackwell", _told(_LL.values(), rate), bounds),
        Cost("copying of a channel, LL128, over Simple", _told([_LL128_SHARE], ""), "120 bytes of 128"),
        Cost(
            "a step before each chunk, in each stage of NVLS and in send/recv between servers", f"{_STEP_US} us", step
        ),
        Cost(
            "send/recv between servers, a kernel that only sends or only receives: Volta, Ampere, Hopper, Blackwell",
            _told(_ONE_WAY.values(), rate),
            "fitted on the send/recv of 10 x 8 H100",
        ),
        *_costs_of_nvls_and_pat(),
    )


def _costs_of_nvls_and_pat() -> tuple[Cost, ...]:
    us, rate = "us", "GB/s"
    rack = "fitted on 480 GB/s of 8 H100 (NVIDIA/nccl-tests#212), and on the GB200 rack"
    start = f"NCCL's 25 us less the steps of {_NVLS_STAGES} stages"
    return (
        Cost("NVLS, data of all heads that a stage moves: Hopper, Blackwell", _told(_NVLS.values(), rate), rack),
        Cost("NVLS, before the first scatter", f"{_NVLS_START_US} us", start),
        Cost(
            "PAT, before the first send, a hop (with switches), a piece besides copying it",
            _told([_PAT_START_US, _PAT_FAR_US, _PAT_PIECE_US], us),
            "NCCL's constants of PAT's latency (`tuning.cc`); 4.0 is 14.0 / 3.5",
        ),
        Cost(
            "PAT, copies of a piece", f"{_PAT_COPIES}", "NCCL's order of work: pieces of leaves are copied out besides"
        ),
    )


def generation(compute_capability: int) -> int:
    """The generation of GPUs: 70, 80, 90 or 100."""
    return max((known for known in _SIMPLE if known <= compute_capability), default=70)


@dataclass(frozen=True)
class Stars:
    """How NVLS plays in servers: ``heads`` of each, ``chunk_bytes`` of a head and a channel, up, down or both ways.

    ``pieces``: messages of a chunk.
    """

    heads: int
    chunk_bytes: int
    ways: int = 2
    pieces: int = 1


def work_of_stars(server: Server, channels: int, servers: int, stars: Stars) -> Work:
    """Return the costs of one of ``channels`` around one of the heads.

    A kernel's stages follow each other: scatter, reduce, gather. Each does one chunk after the other and begins with a
    step. Scatter and gather move the chunks of all heads. The reduction is passed on the way. In one server it moves
    all heads' data both ways through the switches, and takes as long. Between servers a head's kernel moves its own
    chunk, once more for the network.
    """
    of, chunk = generation(server.compute_capability), stars.chunk_bytes
    moved = 2 * stars.heads + 1  # chunks: scattered, reduced, gathered
    share = 1.0 if servers == 1 else moved / (moved + 1)
    of_channel = min(_NVLS.get(of, _NVLS[90]) / channels, _SIMPLE[of])  # few channels don't fill the switches
    near = _stepped(chunk, of_channel * share / stars.heads)
    far = _stepped(chunk, _SIMPLE[of])
    reduction_us = chunk / (near if servers == 1 else far) / BYTES_PER_US
    # Two stages copy one piece after the other at once; a kernel begins the second when it has ended the first.
    at_once = 1 - 1 / stars.pieces if stars.ways > 1 else 0.0
    far_us = _far(_TREE_FAR, "Simple")
    return Work(_NVLS_START_US, reduction_us * (1 + at_once) / stars.ways, far_us, near, far)


@dataclass(frozen=True)
class Messages:
    """How messages are played: NCCL's ``chunk_bytes``; ``kernels``: how much of a kernel each has; ``one_way``: whether
    a kernel that sends to another server receives from none."""

    chunk_bytes: int
    kernels: float = 1.0
    one_way: bool = False


def work_of_messages(server: Server, protocol: str, gpus: int, servers: int, messages: Messages) -> Work:
    """Return the costs of a message's channel. Between servers each chunk begins with a step."""
    work, kernels = work_of(server, "SendRecv", protocol, gpus), messages.kernels
    rate = _ONE_WAY[generation(server.compute_capability)] if messages.one_way else work.far_gbytes_per_s
    far = _stepped(messages.chunk_bytes, rate * kernels) if servers > 1 else work.far_gbytes_per_s * kernels
    return replace(work, near_gbytes_per_s=work.near_gbytes_per_s * kernels, far_gbytes_per_s=far)


def _stepped(chunk_bytes: int, gbytes_per_s: float) -> float:
    """The rate in GB/s with a step before each chunk."""
    return chunk_bytes / (_STEP_US * BYTES_PER_US + chunk_bytes / gbytes_per_s)


def work_of(server: Server, algorithm: str, protocol: str, gpus: int) -> Work:
    """Return the costs of a channel on ``gpus`` GPUs a server, of all but NVLS and messages."""
    of = generation(server.compute_capability)
    ring = algorithm != "Tree"
    scale = 1.0 if server.nvlinks else _PCI
    near = (_RING_NEAR if ring else _TREE_NEAR)[protocol] * scale
    far = _far(_TREE_FAR if not ring or gpus == 1 else _RING_FAR, protocol)
    rate = {"LL": _LL[of], "LL128": _SIMPLE[of] * _LL128_SHARE, "Simple": _SIMPLE[of]}[protocol]
    flags = _FLAGS[protocol]
    return Work(_START[protocol], near, far, rate, rate, flags, flags, has_flags=flags > 1)


def work_of_pat(server: Server, piece_bytes: int) -> Work:
    """Return the costs of a channel of PAT, which moves pieces of so many bytes one after the other."""
    rate = _SIMPLE[generation(server.compute_capability)] / _PAT_COPIES
    of_piece = piece_bytes / (_PAT_PIECE_US * BYTES_PER_US + piece_bytes / rate)
    return Work(_PAT_START_US, 0.0, _PAT_FAR_US - SWITCHES_INCLUDED_US, of_piece, of_piece)


def _far(latencies: Mapping[str, float], protocol: str) -> float:
    return max(latencies[protocol] - SWITCHES_INCLUDED_US, 0.0)


# GB/s of one NVLink, each way, as NCCL 2.30 counts it (topo.h); PCIe Gen3 x16 for GPUs without NVLinks.
_NVLINK: Mapping[int, float] = MappingProxyType({70: 20.0, 80: 20.0, 90: 20.6, 100: 40.1})
_PCIE = 12.0


def nvlink_gbytes_per_s(server: Server) -> float:
    """Return the rate of all NVLinks of a GPU together, each way."""
    return server.nvlinks * _NVLINK[generation(server.compute_capability)] if server.nvlinks else _PCIE
