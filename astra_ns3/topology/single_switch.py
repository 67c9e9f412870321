"""Every host on one switch."""

from __future__ import annotations

from astra_ns3.config.topology import SingleSwitch
from astra_ns3.topology.graph import Graph, Link


def single_switch(config: SingleSwitch) -> Graph:
    """Host h is node h and sits on port h of the switch; NPU r is on host ``r // npus_per_host``."""
    switch = config.hosts
    return Graph(
        hosts=config.hosts,
        switches=1,
        links=tuple(Link(host, switch, config.link.rate_bps, config.link.delay_ps) for host in range(config.hosts)),
        rank_host=tuple(rank // config.npus_per_host for rank in range(config.npus)),
        switch_buffer_bytes=(config.switch.buffer_bytes,),
    )
