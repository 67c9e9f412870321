"""Starts flows on a network: each is the one-message schedule, played by the pair of NPUs at its ends."""

from __future__ import annotations

import numpy as np

from astra_ns3.config.flow_list import FlowList
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance

_NOT_YET = -1


class FlowLauncher:
    """Launches flows by number; each connection of two NPUs is made known to the network with its first flow.

    ``schedule``: the number of the schedule of one message.
    """

    def __init__(self, network: NetworkBackend, flows: FlowList, schedule: int) -> None:
        self._network = network
        self._flows = flows
        self._schedule = schedule
        pairs = flows.sources.astype(np.int64) * network.npus + flows.destinations
        self._connections = np.zeros_like(pairs) if flows.connections is None else flows.connections
        keys = pairs * (int(self._connections.max()) + 1) + self._connections
        distinct, group_of = np.unique(keys, return_inverse=True)
        self._group_of = group_of.astype(np.int32)
        self._groups = np.full(len(distinct), _NOT_YET, dtype=np.int32)

    def launch(self, flow: int) -> None:
        """Start a flow now: its message goes, and its destination is ready for it."""
        network, flows = self._network, self._flows
        source, destination = int(flows.sources[flow]), int(flows.destinations[flow])
        place = self._group_of[flow]
        group = int(self._groups[place])
        if group == _NOT_YET:
            connection = int(self._connections[flow])
            group = self._groups[place] = network.register_group_on((source, destination), connection, None)
        instance, size = pack_instance(flow, 0, 0), int(flows.sizes_bytes[flow])
        network.launch(destination, self._schedule, int(group), instance, size)
        network.launch(source, self._schedule, int(group), instance, size)
