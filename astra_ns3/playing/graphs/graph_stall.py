"""Says in one line which nodes of which NPUs wait for what when nothing happens any more."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.errors import some_of
from astra_ns3.network.api import NetworkBackend
from astra_ns3.playing.graphs.npu_player import NpuPlayer
from astra_ns3.system.layer import SystemLayer
from astra_ns3.system.request import Handle, MessageRequest
from astra_ns3.units import format_time

_MOST_NPUS = 4
_MOST_NODES = 3


def describe_stall(
    network: NetworkBackend,
    system: SystemLayer,
    waiting: Sequence[tuple[int, NpuPlayer]],
    handles: Sequence[tuple[Handle, GraphNode]],
) -> str:
    """``waiting``: NPUs that aren't done; ``handles``: what goes on on all NPUs, and the node that asked for it."""
    lines = []
    of_npu: dict[int, list[str]] = {}
    for handle, node in handles:
        of_npu.setdefault(handle.npu, []).append(f"{name_of(node)} waits for {_waited_for(system, handle)}")
    for npu, player in waiting[:_MOST_NPUS]:
        found = of_npu.get(npu) or [_idle(player)]
        lines.append(f"NPU {npu}: " + some_of(found, _MOST_NODES, more=", and"))
    more = f"; and {len(waiting) - _MOST_NPUS} more" if len(waiting) > _MOST_NPUS else ""
    return (
        f"nothing is left to happen at {format_time(network.now_ps())} but {len(waiting)} of {network.npus} NPUs "
        f"aren't done: {'; '.join(lines)}{more}{system.hint_at_a_stall}"
    )


def name_of(node: GraphNode) -> str:
    """A node for a person to read."""
    return f"node {node.number} ('{node.name}')"


def _idle(player: NpuPlayer) -> str:
    """Why an NPU that does nothing is stuck: its nodes wait for each other."""
    nodes = player.window.waiting
    found = [
        f"{name_of(node)} waits for {', '.join(map(str, player.window.unfinished_parents(node)[:_MOST_NODES]))}"
        for node in nodes[: _MOST_NODES + 1]
    ]
    return "its nodes wait for each other: " + some_of(found, _MOST_NODES, more=", and") if found else "has not started"


def _waited_for(system: SystemLayer, handle: Handle) -> str:
    request = handle.request
    absent = system.not_there_yet(handle)
    if isinstance(request, MessageRequest):
        ends = f"NPU {request.source} to NPU {request.destination}"
        lacks = f", whose other end NPU {absent[0]} has not posted" if absent else ""
        return f"a message of {request.bytes} bytes tagged {request.tag} from {ends}{lacks}"
    who = "all NPUs" if request.communicator is None else f"group {request.communicator}"
    has = "has" if len(absent) == 1 else "have"
    lacks = f", which NPU {some_of(map(str, absent), _MOST_NODES, more=', and')} {has} not issued" if absent else ""
    return f"{request.kind.name.lower()} of {request.bytes} bytes of {who}{lacks}"
