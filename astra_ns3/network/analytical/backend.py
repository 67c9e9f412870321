"""The analytical backends: messages travel by formula, on the same executor and event core as packets do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from astra_ns3.config.network.analytical_network import AnalyticalDimension
from astra_ns3.errors import refuse
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.door.description import Description, NativeValue
from astra_ns3.network.door.hook import HookContext
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.network.npu_grid import NpuGrid
from astra_ns3.network.plan import AnyPlan
from astra_ns3.network.records import RecorderOptions
from astra_ns3.topology.reducers import helper_players
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
        refuse(
            bool(recorder is not None and recorder.accounts),
            "record 'accounts': the analytical network has no packets whose time could be accounted for",
        )
        super().__init__(
            grid.graph,
            grid.network.observe,
            lambda description: _describe(description, grid, plan.endpoint, model),
            seed=seed,
            recorder=recorder,
            on_built=on_built,
        )


def checked_grid(plan: AnyPlan, *, queues: bool) -> NpuGrid:
    """The grid that a plan stands for; raises InputError for what the analytical backends can't do."""
    grid = plan.queued_grid if queues else plan.grid
    refuse(
        bool(grid.network.observe.anything),
        "key 'observe': the analytical network has no connections, queues or packets to observe",
    )
    refuse(
        bool(queues and plan.endpoint.rendezvous_bytes),
        "the rendezvous protocol needs the analytical network without queues",
    )
    return grid


def _describe(description: Description, grid: NpuGrid, endpoint: EndpointModel, model: AnalyticalModel) -> None:
    npus, helpers = grid.network.npus, helper_players(grid.graph)
    players = np.array([*grid.graph.npu_host, *helpers], dtype=np.uint32)
    description.add("network", {"hosts": grid.graph.hosts, "hostOfNpu": players, "reducers": len(helpers)})
    description.endpoint(endpoint)
    kind = "queues" if model.queues else "formula"
    description.add("dimension", {"npus": npus, "transport": kind})
    description.transport(kind, {**_grid(grid.network.grid), "truncate": model.truncate})
    if not model.queues:
        rules: dict[str, NativeValue] = {
            "highest_dimension_only": model.highest_dimension_only,
            "lowest_dimension_only": model.lowest_dimension_only,
            "rendezvous_bytes": endpoint.rendezvous_bytes,
        }
        description.transport(kind, rules)
    if grid.port is not None:
        ports: dict[str, NativeValue] = {"port_npus": grid.port.npus, "port_lines": grid.port.lines}
        description.transport(kind, {f"{grid.fabric}.{name}": value for name, value in ports.items()})
    if grid.fabric is not None and grid.delays is not None:
        latencies: dict[str, NativeValue] = {
            "latency_dimension": grid.fabric,
            "latency_classes": len(grid.delays.delays_ps),
            "class_of_place": grid.delays.class_of.astype(np.uint32),
            "latencies_ns": np.ascontiguousarray(grid.delays.delays_ps / PS_PER_NS, dtype=np.float64),
        }
        description.transport(kind, latencies)


def _grid(dimensions: Sequence[AnalyticalDimension]) -> dict[str, NativeValue]:
    """Numbers of the dimensions, the innermost first, each behind the number of its dimension."""
    values: dict[str, NativeValue] = {"dimensions": len(dimensions)}
    for number, dimension in enumerate(dimensions):
        values |= {f"{number}.{name}": getattr(dimension, name) for name in _NUMBERS}
    return values


_NUMBERS = (
    "topology",
    "npus",
    "bytes_per_ns",
    "link_latency_ns",
    "nic_latency_ns",
    "router_latency_ns",
    "memory_latency_ns",
    "memory_bytes_per_ns",
    "memory_scale",
)
