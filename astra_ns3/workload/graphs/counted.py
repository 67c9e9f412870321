"""What a workload of graphs will ask for, counted ahead of the run, as far as reading it all is no burden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import Compatibility
from astra_ns3.config.graph_workload import GraphNode, GraphWorkload, NodeKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.dry_run import Counts, RequestKind, request_kind
from astra_ns3.workload.graphs.checks.place import place
from astra_ns3.workload.graphs.communication import Requests
from astra_ns3.workload.graphs.compute import Durations
from astra_ns3.workload.graphs.custom import CustomMessages, custom_messages

MOST_COUNTED = 200_000
"""So many nodes are counted; of a larger workload the first of each NPU."""


@dataclass
class GraphCounts:
    """``requests``: each kind of collective, with one that stands for all of it, and how often; ``messages``: how often
    each (source, destination, bytes). ``computations`` of all NPUs take time; ``whole``: whether all was counted."""

    kinds: Counter[RequestKind] = field(default_factory=Counter)
    messages: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    first: dict[RequestKind, CollectiveRequest] = field(default_factory=dict)
    computations: int = 0
    npu0_compute_ps: int = 0
    nodes: int = 0
    whole: bool = True

    @property
    def requests(self) -> Counts:
        """Each kind of collective, and how often."""
        return [(request, self.kinds[key]) for key, request in self.first.items()]


def counted(
    workload: GraphWorkload, system: SystemConfig, dimensions: int, compatibility: Compatibility
) -> GraphCounts:
    """Count what the NPUs of a workload ask for; raises InputError for what can't be asked."""
    requests = Requests(workload.groups, workload.npus, dimensions, compatibility)
    durations = Durations(system, compatibility)
    counts = GraphCounts()
    custom = {} if system.replay_only else custom_messages(system)
    told_by: dict[Communicator | None, int] = {}
    most = max(MOST_COUNTED // workload.npus, 1)
    for npu in range(workload.npus):
        for number, node in enumerate(workload.nodes(npu)):
            if number == most:
                counts.whole = False
                break
            counts.nodes += 1
            if system.replay_only or node.kind is NodeKind.COMPUTE:
                _count_computation(counts, npu, durations.said(node) if system.replay_only else durations.of(node))
            elif node.kind is NodeKind.SEND and node.peer != npu:
                message = requests.message(npu, node)
                counts.messages[message.source, message.destination, message.bytes] += 1
            elif node.kind is NodeKind.COLLECTIVE:
                _count_collective(counts, workload, npu, node, requests, told_by, custom)
    return counts


def _count_computation(counts: GraphCounts, npu: int, time_ps: int | None) -> None:
    if time_ps:
        counts.computations += 1
        counts.npu0_compute_ps += 0 if npu else time_ps


def _count_collective(
    counts: GraphCounts,
    workload: GraphWorkload,
    npu: int,
    node: GraphNode,
    requests: Requests,
    told_by: dict[Communicator | None, int],
    custom: Mapping[CollectiveKind, CustomMessages],
) -> None:
    """Each communicator's by the first NPU that has a part in it."""
    request = requests.collective(npu, node)
    if node.collective is not None and node.collective in custom:
        communicator = requests.communicator(node.group)
        if told_by.setdefault(communicator, npu) == npu:
            ranks = range(workload.npus) if communicator is None else communicator.ranks
            found = custom[node.collective]
            if found.ranks != len(ranks):
                raise InputError(
                    f"{place(workload, npu, node)}: is played by the graphs of {found.source}, which are for "
                    f"{found.ranks} ranks, not for the {len(ranks)} here"
                )
            for (source, destination, bytes_), times in found.messages.items():
                counts.messages[ranks[source], ranks[destination], bytes_] += times
    elif request is not None and told_by.setdefault(request.communicator, npu) == npu:
        key = request_kind(request)
        counts.kinds[key] += 1
        counts.first.setdefault(key, request)
