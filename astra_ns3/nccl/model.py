"""The tuner's belief of an algorithm and protocol: its latency, and its width for the bytes of a call.

Source of the formulas: NVIDIA/nccl, ``src/graph/tuning.cc`` (ncclTopoTuneModel), at the tags v2.18.6-1 to v2.30.7-1;
the constants are in :mod:`astra_ns3.nccl.constants`. They only choose: how fast messages are is not told by them.
"""

from __future__ import annotations

from functools import cache

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.choices import graph_for
from astra_ns3.nccl.communicator import Communicator
from astra_ns3.nccl.constants import NVLS_EFFICIENCY, PROTOCOLS, Algorithm, Protocol, Rows, generation, tables
from astra_ns3.nccl.graphs import Graph

_ALL_REDUCE = CollectiveKind.ALL_REDUCE
_PARTED = (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)


@dataclass(frozen=True)
class Belief:
    """Latency in microseconds, and width in GB/s of the bytes of a call (algorithm bandwidth)."""

    latency_us: float
    bandwidth: float


@cache
def belief(communicator: Communicator, kind: CollectiveKind, algorithm: Algorithm, protocol: Protocol) -> Belief:
    """Return what is believed, before corrections by the number of bytes."""
    one = _Model(communicator, kind, algorithm, protocol)
    return Belief(one.latency(), one.bandwidth())


class _Model:
    def __init__(
        self, communicator: Communicator, kind: CollectiveKind, algorithm: Algorithm, protocol: Protocol
    ) -> None:
        self.communicator, self.kind, self.algorithm, self.protocol = communicator, kind, algorithm, protocol
        self.rules = communicator.version.rules
        self.tables = tables(self.rules)
        self.graph = graph_for(communicator, algorithm)
        self.servers, self.ranks = communicator.servers, communicator.ranks
        self.gpus = communicator.gpus_per_server
        self.generation = generation(communicator.server.compute_capability)
        if self.generation == 3 and self.rules < (2, 25):
            self.generation = 2
        self.proto = PROTOCOLS.index(protocol)

    @property
    def steps(self) -> int:
        """Steps of a ring."""
        if self.kind is _ALL_REDUCE:
            return 2 * (self.ranks - 1)
        return self.ranks - 1 if self.kind in _PARTED else self.ranks

    def bound(self, rows: Rows, row: int | None = None) -> float:
        return rows[self.generation if row is None else row][min(self.servers, 3) - 1]

    @property
    def ll_bound(self) -> float:
        """One server: by the GPU; several: by the CPU."""
        return self.bound(self.tables.ll, None if self.servers == 1 else int(self.communicator.server.cpu == "amd"))

    # Width

    def bandwidth(self) -> float:
        if self.algorithm == "Ring":
            return self.ring() * self.ranks / self.steps
        parted = self.kind in _PARTED
        if self.algorithm in ("NVLS", "NVLSTree"):
            return self.nvls() * (1.0 if parted and self.rules >= (2, 23) else self.nvls_ratio)
        if self.algorithm == "PAT":
            return self.bus(self.graph) * (0.85 if self.rules < (2, 24) else 0.75)
        if self.algorithm == "Tree":
            return self.tree() * 0.5
        if self.algorithm == "CollNetDirect":
            return self.collnet_parted() if parted else self.collnet_direct() * 0.5
        return self.bus(self.graph) * 0.5

    def bus(self, graph: Graph) -> float:
        inside = self.servers <= 2 or self.algorithm in ("CollNetDirect", "CollNetChain")
        return graph.channels * (graph.bw_intra if inside else graph.bw_inter)

    def ring(self) -> float:
        bus = self.bus(self.graph)
        if self.protocol == "LL":
            paused = self.servers > 1 or self.kind in (_ALL_REDUCE, CollectiveKind.REDUCE)
            share = 1 / 2 if self.rules >= (2, 21) else 1 / 4 if paused else 1 / 3
            return min(self.ll_bound, bus * share)
        if self.protocol == "LL128":
            alone = self.gpus < 2 and self.rules < (2, 23)
            return min(bus * (0.7 if alone else 0.92), self.graph.channels * self.bound(self.tables.ring_ll128))
        return bus

    def tree(self) -> float:
        graph = self.graph
        bus = min(self.bus(graph) * 0.92, graph.channels * self.bound(self.tables.tree))
        if self.protocol == "LL":
            bus = min(bus / 3.8, self.ll_bound)
        if self.protocol == "LL128":
            share = 7 / 9 if self.servers == 1 else 120 / 128
            bus = min(bus * share, graph.channels * self.bound(self.tables.tree_ll128))
        return bus * (0.85 if graph.pattern == "tree" else 1.0)

    @property
    def nvls_ratio(self) -> float:
        if self.rules >= (2, 28):
            return self.ranks / self.steps
        if self.rules < (2, 19) and self.algorithm == "NVLSTree":
            return 0.7 * self.servers / (2 * (self.servers - 1))
        return 5 / 6

    def nvls(self) -> float:
        graph = self.graph
        if self.rules < (2, 19):
            return self.bus(graph)
        if self.rules >= (2, 28):
            return graph.channels * self.nvls_channel()
        inter = graph.bw_inter
        if self.algorithm == "NVLSTree":
            return graph.channels * min(graph.bw_intra, inter if self.servers <= 2 else inter / 2)
        if self.kind in _PARTED and self.rules >= (2, 27):
            return graph.channels * min(graph.bw_intra * (self.gpus - 1) / self.gpus, inter * 0.9)
        return graph.channels * min(graph.bw_intra, inter)

    def nvls_channel(self) -> float:
        """Width of a channel since 2.28: two operations at a time of an all-reduce, one of the others."""
        graph = self.graph
        intra = graph.bw_intra * NVLS_EFFICIENCY[self.generation] * (graph.channels - 1) / graph.channels
        intra *= 2.0 if self.kind is _ALL_REDUCE else (self.gpus - 1) / self.gpus
        if self.algorithm == "NVLS":
            return min(intra, graph.bw_inter)
        inter = graph.bw_inter * (2 if self.servers <= 2 else 1)
        rows = self.tables.nvls_tree
        return min(intra, inter, *([] if rows is None else [self.bound(rows)]))

    def collnet_direct(self) -> float:
        """Full width needs a NIC for each GPU."""
        factor = self.gpus / self.graph.channels
        factor -= (factor - 1) / 2
        return self.bus(self.graph) / factor * (0.85 if self.generation >= 2 else 1.0)

    def collnet_parted(self) -> float:
        if self.rules >= (2, 27):
            return self.gpus * min(self.graph.bw_intra, self.graph.bw_inter * 0.9)
        many = (self.gpus - 1) / 7
        return self.gpus * self.graph.bw_intra * (many * 0.85 + (1 - many) * 0.95)

    # Latency

    def latency(self) -> float:
        base = self.tables.base[self.algorithm][self.proto]
        if self.algorithm == "Ring":
            return base + self.ring_latency()
        if self.algorithm == "PAT":
            return base + self.doublings * self.inter / 3.5 + self.ranks * 2.8
        if self.algorithm in ("NVLS", "NVLSTree"):
            return base + self.nvls_latency()
        hops = self.gpus - 1
        if self.algorithm == "Tree":
            return base + 2 * (hops * self.intra + self.doublings * self.inter)
        if self.algorithm == "CollNetChain":
            return base + 2 * hops * self.intra + self.inter
        serial = 0.5 if self.rules < (2, 19) else 0.4
        return base + 2 * (min(1, hops) * self.intra + hops * serial) + self.inter

    @property
    def doublings(self) -> int:
        return self.servers.bit_length() - 1

    @property
    def intra(self) -> float:
        """A step inside a server; of one GPU and through the CPU as through PCIe."""
        if self.graph.type_intra == "NVL":
            return self.tables.nvlink[self.algorithm][self.proto]
        ring_like = self.communicator.server.cpu == "power" and self.algorithm == "Tree" and self.protocol == "Simple"
        return self.tables.pci["Ring" if ring_like else self.algorithm][self.proto]

    @property
    def inter(self) -> float:
        """A step through the network; Simple waits for the NIC's latency twice."""
        alone = self.gpus == 1 and self.rules >= (2, 23)
        latency = self.tables.network["Tree" if alone else self.algorithm][self.proto]
        return latency + self.graph.latency_inter * (2 if self.protocol == "Simple" else 1)

    def ring_latency(self) -> float:
        if self.kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE):
            return self.rooted_latency()
        inter_steps = self.inter_steps
        overhead = 0.0
        if self.servers > 1:
            overhead = (2.0 if self.communicator.server.cpu == "amd" else 1.0) * (3 if self.protocol == "Simple" else 1)
        return (self.steps - inter_steps) * max(self.intra, overhead) + inter_steps * self.inter

    @property
    def inter_steps(self) -> int:
        if self.servers == 1:
            return 0
        if self.kind is _ALL_REDUCE:
            return 2 * (self.servers - 1 if self.rules >= (2, 23) else self.servers)
        return self.servers - 1

    def rooted_latency(self) -> float:
        """Broadcast and reduce: one step if all channels are alike, else all steps."""
        through = self.tables.network if self.servers > 1 else self.tables.nvlink
        through = through if self.servers > 1 or self.graph.type_intra == "NVL" else self.tables.pci
        if self.graph.same_channels:
            return through["Ring"][self.proto]
        return self.steps * through["Tree" if self.protocol == "Simple" else "Ring"][self.proto]

    def nvls_latency(self) -> float:
        tree = self.algorithm == "NVLSTree"
        if self.rules < (2, 19):
            network = self.tables.network[self.algorithm][self.proto]
            times = 2 * (self.servers - 1) if tree else int(self.servers > 1)
            return times * network
        if tree:
            return self.intra + 2 * self.doublings * self.inter
        return self.intra + (self.inter if self.servers > 1 else 0.0)


def corrected(
    communicator: Communicator, algorithm: Algorithm, protocol: Protocol, one: Belief, bytes: int, channels: int
) -> Belief:
    """Return what is believed for so many bytes of an all-reduce: trees are slower in the middle, rings wait longer."""
    rules, server = communicator.version.rules, communicator.server
    row, size = tables(rules).correction[protocol], (bytes >> 6).bit_length() - 1
    blackwell = server.compute_capability >= 100 and server.cpu in ("intel", "amd") and rules >= (2, 29)
    falls = (algorithm == "Tree" and size < 23) or (algorithm == "NVLSTree" and blackwell and size < 24)
    if size >= 0 and falls:
        return Belief(one.latency_us, one.bandwidth * row[size])
    several = algorithm == "Ring" and protocol == "Simple" and communicator.servers > 1
    if several and bytes // (channels * communicator.ranks) >= 64:
        return Belief(one.latency_us * (1.9 if server.compute_capability < 80 else 1.4), one.bandwidth)
    return one
