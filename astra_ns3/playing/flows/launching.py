"""Starts flows on a network: each is the one-message schedule, played by the pair of NPUs at its ends."""

from __future__ import annotations

import numpy as np

from astra_ns3.config.flow_list import FlowList
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.instance import pack_instance

_NOT_YET = -1


class FlowLauncher:
    """Launches flows by number; a pair of NPUs is made known to the network with its first flow.

    ``schedule``: the number of the schedule of one message.
    """

    def __init__(self, network: NetworkBackend, flows: FlowList, schedule: int) -> None:
        self._network = network
        self._flows = flows
        self._schedule = schedule
        pairs = flows.sources.astype(np.int64) * network.npus + flows.destinations
        distinct, pair_of = np.unique(pairs, return_inverse=True)
        self._pair_of = pair_of.astype(np.int32)
        self._groups = np.full(len(distinct), _NOT_YET, dtype=np.int32)

    @property
    def pairs(self) -> int:
        """Number of pairs of NPUs that have a flow."""
        return len(self._groups)

    def launch(self, flow: int) -> None:
        """Start a flow now: its message goes, and its destination is ready for it."""
        network, flows = self._network, self._flows
        source, destination = int(flows.sources[flow]), int(flows.destinations[flow])
        pair = self._pair_of[flow]
        group = int(self._groups[pair])
        if group == _NOT_YET:
            group = self._groups[pair] = network.register_group((source, destination))
        instance, size = pack_instance(flow, 0, 0), int(flows.sizes_bytes[flow])
        network.launch(destination, self._schedule, int(group), instance, size)
        network.launch(source, self._schedule, int(group), instance, size)
