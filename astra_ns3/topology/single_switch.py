"""Every host on one switch."""

from __future__ import annotations

from astra_ns3.config.topology.kinds import SingleSwitch
from astra_ns3.topology.graph import Graph
from astra_ns3.topology.wiring import Wiring


def single_switch(config: SingleSwitch) -> Graph:
    """Host h is node h and sits on port h of the switch; NPU r is on host ``r // npus_per_host``."""
    wiring = Wiring(config.hosts)
    switch = wiring.switch(config.switch, 1, "switch 0")
    for host in range(config.hosts):
        wiring.join(host, switch, config.link, "link")
    npu_host = [npu // config.npus_per_host for npu in range(config.npus)]
    return wiring.graph(config, npu_host=npu_host, local=config.local)
