"""Says in one line which flows are left when nothing happens any more."""

from __future__ import annotations

import numpy as np

from astra_ns3.config.flow_list import FlowList
from astra_ns3.network.api import NetworkBackend
from astra_ns3.playing.flows.completions import Completions
from astra_ns3.playing.flows.launching import instance_of
from astra_ns3.units import format_bytes, format_time


def describe_stall(network: NetworkBackend, flows: FlowList, completions: Completions) -> str:
    """The flow told about is the first that started and was not delivered."""
    left = len(flows) - completions.delivered
    on_their_way = np.flatnonzero((completions.starts_ps >= 0) & (completions.ends_ps < 0))
    stuck = f"nothing is left to happen at {format_time(network.now_ps())} but {left} of {len(flows)} flows are left"
    if not len(on_their_way):
        return stuck
    flow = int(on_their_way[np.argmin(completions.starts_ps[on_their_way])])
    source, destination = int(flows.sources[flow]), int(flows.destinations[flow])
    unsent = network.pending(source, instance_of(flow))
    how = "has not been sent" if unsent else "was sent and has not arrived"
    return (
        f"{stuck}: {flows.place(flow)}, {format_bytes(int(flows.sizes_bytes[flow]))} from NPU {source} to NPU "
        f"{destination}, {how}"
    )
