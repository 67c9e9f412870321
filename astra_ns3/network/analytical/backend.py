"""The analytical backends: messages travel by formula, on the same executor and event core as packets do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from astra_ns3.config.analytical import AnalyticalDimension
from astra_ns3.config.network_file import AnyNetwork
from astra_ns3.errors import InputError
from astra_ns3.network.analytical.grid import NpuGrid, npu_grid
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.ns3 import _runtime
from astra_ns3.network.ns3.hook import HookContext
from astra_ns3.network.ns3.session_backend import SessionBackend
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.units import PS_PER_NS

_NUMBERS = {"ring": 0, "fully-connected": 1, "switch": 2}


@dataclass(frozen=True)
class AnalyticalModel:
    """``queues``: each link serves one message at a time; else messages never meet, and the other options count:

    ``highest_dimension_only`` charges a message for the highest dimension in which its ends differ and no other,
    ``truncate`` keeps whole nanoseconds after each addend (both are rules of ASTRA-sim 1.0).
    """

    queues: bool = False
    highest_dimension_only: bool = False
    truncate: bool = False


class AnalyticalBackend(SessionBackend):
    """Messages by formula; arguments and errors as for :class:`SessionBackend`.

    Raises InputError if the network file asks to observe what only packets have.
    """

    def __init__(
        self,
        config: AnyNetwork,
        endpoint: EndpointModel,
        *,
        model: AnalyticalModel,
        seed: int = 1,
        recorder: RecorderOptions | None = None,
        on_built: Callable[[HookContext], object] | None = None,
    ) -> None:
        grid = checked_grid(config, queues=model.queues, rendezvous=endpoint.rendezvous_bytes > 0)
        network = grid.network
        hosts = tuple(range(network.npus))
        super().__init__(
            Graph(network.npus, 0, (), hosts, ()),
            network.observe,
            lambda session: _describe(session, grid, endpoint, model),
            seed=seed,
            recorder=recorder,
            on_built=on_built,
        )


def checked_grid(config: AnyNetwork, *, queues: bool, rendezvous: bool) -> NpuGrid:
    """The grid that ``config`` stands for; raises InputError for what the analytical backends can't do."""
    grid = npu_grid(config)
    if grid.network.observe.anything:
        raise InputError("key 'observe': the analytical network has no connections, queues or packets to observe")
    if queues and rendezvous:
        raise InputError("the rendezvous protocol needs the analytical network without queues")
    return grid


def _describe(session: Any, grid: NpuGrid, endpoint: EndpointModel, model: AnalyticalModel) -> None:
    network = grid.network
    session.AddHosts(network.npus)
    session.SetNpus(np.arange(network.npus, dtype=np.uint32), network.npus)
    session.SetEndpoint(endpoint.delay_ps, endpoint.reduction_bytes_per_ns)
    for dimension in network.grid:
        session.AddAnalyticalDimension(_native(dimension))
    if grid.fabric is not None and grid.delays is not None:
        class_of = grid.delays.class_of.astype(np.uint32)
        latencies_ns = np.ascontiguousarray(grid.delays.delays_ps / PS_PER_NS, dtype=np.float64)
        session.SetAnalyticalLatencies(
            grid.fabric, class_of, len(class_of), latencies_ns.ravel(), len(grid.delays.delays_ps)
        )
    if model.queues:
        session.UseAnalyticalQueues()
    else:
        session.SetFormula(model.highest_dimension_only, model.truncate, endpoint.rendezvous_bytes)


def _native(dimension: AnalyticalDimension) -> Any:
    native = _runtime.load().AnalyticalDimensionParameters()
    native.topology = _NUMBERS[dimension.topology]
    native.npus = dimension.npus
    native.bytesPerNs = dimension.bytes_per_ns
    native.linkLatencyNs = dimension.link_latency_ns
    native.nicLatencyNs = dimension.nic_latency_ns
    native.routerLatencyNs = dimension.router_latency_ns
    native.memoryLatencyNs = dimension.memory_latency_ns
    native.memoryBytesPerNs = dimension.memory_bytes_per_ns
    native.memoryScale = dimension.memory_scale
    return native
