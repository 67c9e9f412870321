"""The tools of builders: switches and links as they come, and the graph of them in the end."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.topology.base import TopologyBase, default_local
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.errors import wrong
from astra_ns3.topology.graph import MOST_LINKS, Graph, Link


class Wiring:
    """A network in the making; its hosts are counted beforehand, since they are the first nodes."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.links: list[Link] = []
        self.configs: list[SwitchConfig] = []
        self.levels: list[int] = []
        self.names: list[str] = []

    def switch(self, config: SwitchConfig, level: int, name: str) -> int:
        """A new switch's node. ``level``: rows above the hosts in a picture, -1 below them."""
        self.configs.append(config)
        self.levels.append(level)
        self.names.append(name)
        return self.hosts + len(self.configs) - 1

    def switches(self, count: int, config: SwitchConfig, level: int, name: str) -> int:
        """So many alike; the first one's node."""
        if count + len(self.configs) > MOST_LINKS:
            raise wrong(f"topology: has more than {MOST_LINKS} switches; look at its counts")
        first = self.hosts + len(self.configs)
        for number in range(count):
            self.switch(config, level, f"{name} {number}")
        return first

    def join(self, a: int, b: int, link: LinkConfig, kind: str, cost: int = 1) -> None:
        """A link of class ``kind``."""
        if len(self.links) == MOST_LINKS:
            raise wrong(f"topology: has more than {MOST_LINKS} links; look at its counts")
        self.links.append(Link.of(a, b, link, kind, cost))

    def graph(
        self,
        config: TopologyBase,
        *,
        npu_host: Sequence[int] | None = None,
        local: LinkConfig | None = None,
        host_boxes: Sequence[int] = (),
        inside_levels: int = 0,
    ) -> Graph:
        """The network; NPU r is on host r unless ``npu_host`` says otherwise."""
        return Graph(
            hosts=self.hosts,
            switches=len(self.configs),
            links=tuple(self.links),
            npu_host=tuple(range(self.hosts) if npu_host is None else npu_host),
            switch_configs=tuple(self.configs),
            nic_buffer_bytes=config.nic.buffer_bytes,
            dimensions=config.logical_dimensions,
            bandwidths=config.bandwidths,
            switch_levels=tuple(self.levels),
            switch_names=tuple(self.names),
            host_boxes=tuple(host_boxes),
            inside_levels=inside_levels,
            link_dimensions=tuple(
                (kind, dimension)
                for kind in dict.fromkeys(link.kind for link in self.links)
                if (dimension := config.dimension_of(kind)) is not None
            ),
            local=local or default_local(),
        )
