"""The analytical backends: messages travel by formula, on the same executor and event core as packets do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from astra_ns3.config.network.analytical_network import AnalyticalDimension
from astra_ns3.errors import InputError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.door.hook import HookContext
from astra_ns3.network.door.library import native_namespace
from astra_ns3.network.door.session import Description
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.network.grid import NpuGrid
from astra_ns3.network.plan import AnyPlan
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.graph import Graph
from astra_ns3.units import PS_PER_NS


@dataclass(frozen=True)
class AnalyticalModel:
    """``queues``: each link serves one message at a time; else messages never meet.

    ``highest_dimension_only`` charges a message for the highest dimension in which its ends differ and no other (a rule
    of ASTRA-sim 1.0), ``lowest_dimension_only`` for the lowest (of ASTRA-sim 2). ``truncate`` keeps whole nanoseconds
    after each addend, or of each link (both).
    """

    queues: bool = False
    highest_dimension_only: bool = False
    lowest_dimension_only: bool = False
    truncate: bool = False


class AnalyticalBackend(SessionBackend):
    """Messages by formula; arguments and errors as for :class:`SessionBackend`.

    Raises InputError if the network file asks to observe, or the run to record, what only packets have.
    """

    def __init__(
        self,
        plan: AnyPlan,
        *,
        model: AnalyticalModel,
        seed: int = 1,
        recorder: RecorderOptions | None = None,
        on_built: Callable[[HookContext], object] | None = None,
    ) -> None:
        grid = checked_grid(plan, queues=model.queues)
        if recorder is not None and recorder.accounts:
            raise InputError(
                "record 'accounts': the analytical network has no packets whose time could be accounted for"
            )
        npus = grid.network.npus
        super().__init__(
            Graph(npus, 0, (), tuple(range(npus)), ()),
            grid.network.observe,
            lambda description: _describe(description, grid, plan.endpoint, model),
            seed=seed,
            recorder=recorder,
            on_built=on_built,
        )


def checked_grid(plan: AnyPlan, *, queues: bool) -> NpuGrid:
    """The grid that a plan stands for; raises InputError for what the analytical backends can't do."""
    grid = plan.grid
    if grid.network.observe.anything:
        raise InputError("key 'observe': the analytical network has no connections, queues or packets to observe")
    if queues and plan.endpoint.rendezvous_bytes:
        raise InputError("the rendezvous protocol needs the analytical network without queues")
    return grid


def _describe(description: Description, grid: NpuGrid, endpoint: EndpointModel, model: AnalyticalModel) -> None:
    npus = grid.network.npus
    description.set(hosts=npus, hostOfNpu=np.arange(npus, dtype=np.uint32))
    description.part("endpoint", {"delayPs": endpoint.delay_ps, "reductionBytesPerNs": endpoint.reduction_bytes_per_ns})
    description.add("Transport", {"npus": npus, "transport": "queues" if model.queues else "formula"})
    native = description.part(
        "analytical",
        {
            "highestDimensionOnly": model.highest_dimension_only,
            "lowestDimensionOnly": model.lowest_dimension_only,
            "truncate": model.truncate,
            "rendezvousBytes": endpoint.rendezvous_bytes,
        },
    )
    for dimension in grid.network.grid:
        description.add("Dimension", _values(dimension), to=native)
    if grid.fabric is not None and grid.delays is not None:
        latencies = {
            "latencyDimension": grid.fabric,
            "latencyClasses": len(grid.delays.delays_ps),
            "classOfPlace": grid.delays.class_of.astype(np.uint32),
            "latenciesNs": np.ascontiguousarray(grid.delays.delays_ps / PS_PER_NS, dtype=np.float64),
        }
        description.part("analytical", latencies)


def _values(dimension: AnalyticalDimension) -> dict[str, object]:
    kinds = native_namespace().AnalyticalTopology
    return {
        "topology": getattr(kinds, dimension.topology.replace("-", "_").upper()),
        "npus": dimension.npus,
        "bytesPerNs": dimension.bytes_per_ns,
        "linkLatencyNs": dimension.link_latency_ns,
        "nicLatencyNs": dimension.nic_latency_ns,
        "routerLatencyNs": dimension.router_latency_ns,
        "memoryLatencyNs": dimension.memory_latency_ns,
        "memoryBytesPerNs": dimension.memory_bytes_per_ns,
        "memoryScale": dimension.memory_scale,
    }
