"""The context that a user's hook is given: the live simulation through ns-3's own Python API, before the first
event."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from astra_ns3.errors import refuse
from astra_ns3.network.door import hooking
from astra_ns3.network.door.library import Native
from astra_ns3.network.door.session import Session
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.ports import resolve_port
from astra_ns3.topology.reducers import helper_players


class HookContext:
    """The objects that were built, as ns-3 objects; they live until the run ends.

    ``ns`` is ns-3's C++ namespace (``ns.Simulator``, ``ns.Config``, ...), ``graph`` the network as it was described.
    What :meth:`schedule` and :meth:`trace` are given is kept alive; to whatever else Python hands to ns-3 directly, the
    hook must keep a reference.
    """

    def __init__(self, ns: Native, session: Session, graph: Graph, call: Callable[..., None]) -> None:
        """``call(function, *arguments)`` calls Python from the simulation and sees to what it raises."""
        self.ns = ns
        self.graph = graph
        self._session = session
        self._call = call
        self._kept: list[object] = []

    def now_ps(self) -> int:
        """The simulated time."""
        return int(self._session.GetNowPs())

    def schedule(self, delay_ps: int, function: Callable[[], object]) -> None:
        """Call ``function()`` after ``delay_ps``. A hook that never stops scheduling hides a stalled simulation."""
        self._kept.append(hooking.schedule(delay_ps, partial(self._call, function)))

    def trace(self, source: Native, name: str, signature: str, function: Callable[..., object]) -> None:
        """Call ``function`` whenever the trace source ``name`` of an ns-3 object fires.

        ``signature`` is its C++ signature, such as ``"void(uint32_t, uint32_t)"``. Raises InputError if there is no
        such trace source, or if other threads play it already.
        """
        if self._session.GetCores() > 1 and hasattr(source, "GetFarGroup"):
            apart = source.GetGroup() or (name == "Drop" and source.GetFarGroup())
            refuse(bool(apart), f"{name} of a port is traced while several cores play it: trace it before the run")
        self._kept.append(hooking.trace(source, name, signature, partial(self._call, function)))

    @cached_property
    def nodes(self) -> list[Native]:
        """``ns3::Node`` of every host, then of every switch."""
        return [self.ns.NodeList.GetNode(self._session.GetNs3NodeId(node)) for node in range(self.graph.nodes)]

    @cached_property
    def devices(self) -> list[Native]:
        """``ns3::FabricNetDevice`` of every host."""
        kind = self.ns.FabricNetDevice
        return [self.ns.DynamicCast[kind](self.nodes[host].GetDevice(0)) for host in range(self.graph.hosts)]

    @cached_property
    def switches(self) -> list[Native]:
        """``ns3::FabricSwitch`` of every switch."""
        return [node.GetObject[self.ns.FabricSwitch]() for node in self.nodes[self.graph.hosts :]]

    @cached_property
    def applications(self) -> list[Native]:
        """``ns3::CollectiveApplication`` of every NPU, then of parts of switches that reduce and of storage hosts."""
        kind = self.ns.CollectiveApplication
        found: list[Native] = []
        first: dict[int, int] = {}
        for host in (*self.graph.npu_host, *helper_players(self.graph)):
            index = first.get(host, 0)
            first[host] = index + 1
            found.append(self.ns.DynamicCast[kind](self.nodes[host].GetApplication(index)))
        return found

    def port(self, name: str) -> Native:
        """``ns3::FabricPort`` by its name: ``host3`` or ``switch0:3``; raises InputError if there is none."""
        node, port = resolve_port(self.graph, name)
        if node < self.graph.hosts:
            return self.devices[node].GetPort(port)
        return self.switches[node - self.graph.hosts].GetPort(port)
