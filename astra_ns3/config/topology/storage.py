"""Keys of the storage hosts of a topology: memory and disks on the network, without an NPU."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Le

from astra_ns3.config.core.link import LinkConfig
from astra_ns3.config.core.model import ConfigModel, Count

_MOST = 4096


class StorageConfig(ConfigModel):
    """Hosts that keep what NPUs store: memory or disks behind a line of the network."""

    per: Literal["node", "rack", "fabric"]
    """`node`: beside each host or server, with a line to each host in it. `rack`: below each switch that hosts or
    servers hang on. `fabric`: below the switches farthest from hosts, in turn."""
    count: Annotated[Count, Le(_MOST)] = 1
    """Storage hosts of each node or rack, or of the whole fabric."""
    link: LinkConfig
    """The lines of a storage host."""
