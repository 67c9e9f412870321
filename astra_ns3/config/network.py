"""The network file: topology, transport, and what to observe."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from astra_ns3.config.document import Document
from astra_ns3.config.model import ConfigModel, PositiveTimePs, validated
from astra_ns3.config.reading import read_text
from astra_ns3.config.tcp import TcpTransport, TransportConfig
from astra_ns3.config.topology import EcnConfig, LinkConfig, NicConfig, SingleSwitch, SwitchConfig, TopologyConfig
from astra_ns3.config.yaml_document import parse_yaml
from astra_ns3.units import PS_PER_US

__all__ = [
    "EcnConfig",
    "LinkConfig",
    "NetworkConfig",
    "NicConfig",
    "Observe",
    "SingleSwitch",
    "SwitchConfig",
    "TcpTransport",
    "TopologyConfig",
    "TransportConfig",
    "json_schema",
    "parse_network",
    "read_network",
]

_PORT_NAME = re.compile(r"host[0-9]{1,9}|switch[0-9]{1,9}:[0-9]{1,9}")


def _port_name(name: str) -> str:
    if not _PORT_NAME.fullmatch(name):
        raise ValueError(f"found {name!r}, expected a port: 'host3' (a host's NIC) or 'switch0:3' (port 3 of switch 0)")
    return name


def _port_names_or_all(names: tuple[str, ...]) -> tuple[str, ...]:
    if names == ("all",):
        return names
    for name in names:
        if name == "all":
            raise ValueError("'all' must stand alone")
        _port_name(name)
    return names


class Observe(ConfigModel):
    """What is written down while the simulation runs, by name; nothing unless asked for."""

    connections: tuple[Literal["congestion_window", "rtt", "retransmissions", "timeouts"], ...] = ()
    queues: Annotated[tuple[str, ...], AfterValidator(_port_names_or_all)] = ()
    queue_interval_ps: PositiveTimePs = Field(alias="queue_interval", default=10 * PS_PER_US)
    pcap: tuple[Annotated[str, AfterValidator(_port_name)], ...] = ()


class NetworkConfig(ConfigModel):
    """One network: everything below the system layer."""

    topology: TopologyConfig
    transport: TransportConfig = TcpTransport()
    observe: Observe = Observe()

    @property
    def npus(self) -> int:
        """How many NPUs the network joins."""
        return self.topology.npus

    @property
    def dimensions(self) -> tuple[int, ...]:
        """NPUs along each dimension of the topology, the innermost first."""
        return self.topology.dimensions or (self.topology.npus,)

    @property
    def bandwidths(self) -> tuple[float, ...]:
        """Bits per second of an NPU in each dimension, for policies that weigh them: all share its one link."""
        return (float(self.topology.link.rate_bps),) * len(self.dimensions)


def read_network(path: str | os.PathLike[str]) -> NetworkConfig:
    """Read a YAML network file; raises InputError with file, line and key."""
    source = os.fspath(path)
    return validated(NetworkConfig, parse_yaml(read_text(path), source))


def parse_network(data: object, source: str = "network") -> NetworkConfig:
    """The network that plain data (a mapping as in a file) describes; ``source`` names it in messages."""
    return validated(NetworkConfig, Document(source, data))


def json_schema() -> dict[str, Any]:
    """JSON schema of a network file."""
    return NetworkConfig.model_json_schema(by_alias=True)
