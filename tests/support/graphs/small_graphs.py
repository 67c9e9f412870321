"""A workload of graphs that a test writes down, and its play on a network without ns-3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from astra_ns3.config.compute_slowdown import ComputeSlowdown
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.network.api import Limits
from astra_ns3.network.records import RunRecords
from astra_ns3.playing.graphs.graph_driver import GraphDriver
from astra_ns3.system.file import parse_system
from support.fake_backend import FakeBackend

US = 1_000_000
"""Picoseconds."""


@dataclass(frozen=True)
class SmallGraphs:
    """``graphs``: the nodes of each NPU."""

    graphs: tuple[tuple[GraphNode, ...], ...]
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    source: str = "small"
    format: str = "test"
    warnings: tuple[str, ...] = ()

    @property
    def npus(self) -> int:
        return len(self.graphs)

    def nodes(self, npu: int) -> Iterable[GraphNode]:
        return iter(self.graphs[npu])

    def file_of(self, npu: int) -> str:
        return f"{self.source}.{npu}"

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> SmallGraphs:
        return self


def compute(number: int, us: int, *parents: int, **others: object) -> GraphNode:
    return GraphNode(number, f"c{number}", NodeKind.COMPUTE, parents, us * US)._replace(**others)  # type: ignore[arg-type]


def collective(number: int, bytes: int, *parents: int, group: str = "", **others: object) -> GraphNode:
    node = GraphNode(number, f"x{number}", NodeKind.COLLECTIVE, parents, bytes=bytes, group=group)
    return node._replace(**{"collective": CollectiveKind.ALL_REDUCE, **others})  # type: ignore[arg-type]


def send(number: int, peer: int, bytes: int, *parents: int, tag: int = 0) -> GraphNode:
    return GraphNode(number, f"s{number}", NodeKind.SEND, parents, bytes=bytes, peer=peer, tag=tag)


def receive(number: int, peer: int, bytes: int, *parents: int, tag: int = 0) -> GraphNode:
    return GraphNode(number, f"r{number}", NodeKind.RECEIVE, parents, bytes=bytes, peer=peer, tag=tag)


def mark(number: int, *parents: int) -> GraphNode:
    return GraphNode(number, f"m{number}", NodeKind.MARK, parents)


def system_of(**keys: object) -> SystemConfig:
    kinds = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    usual: dict[str, object] = {f"{kind}-implementation": "ring" for kind in kinds}
    usual |= {"scheduling-policy": "FIFO", "endpoint-delay": 0, "preferred-dataset-splits": 1}
    usual["active-chunks-per-dimension"] = 4
    return parse_system(usual | {key.replace("_", "-"): value for key, value in keys.items()})


class Played:
    """``times``: of each NPU's node when it began and ended, in microseconds."""

    def __init__(
        self,
        *graphs: tuple[GraphNode, ...],
        groups: Mapping[str, tuple[int, ...]] | None = None,
        system: SystemConfig | None = None,
        rules: Compatibility = OURS,
        dimensions: Sequence[int] | None = None,
        slowdown: ComputeSlowdown | None = None,
    ) -> None:
        self.times: dict[tuple[int, int], tuple[float, float]] = {}
        network = FakeBackend(len(graphs), latency_ps=US, ps_per_byte=0)
        self.driver = GraphDriver(
            network,
            system or system_of(),
            SmallGraphs(graphs, groups or {}),
            dimensions=dimensions,
            compatibility=rules,
            told=self._note,
            slowdown=slowdown,
        )
        self.driver.run(Limits())

    @property
    def records(self) -> RunRecords:
        return self.driver.records()

    def _note(self, npu: int, node: GraphNode, begin_ps: int, end_ps: int) -> None:
        self.times[npu, node.number] = begin_ps / US, end_ps / US
