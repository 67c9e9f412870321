"""What transports must know of a network to judge their numbers: its ports, its switches, its slowest path."""

from __future__ import annotations

from dataclasses import dataclass

from astra_ns3.config.topology.switch import SwitchConfig


@dataclass(frozen=True, order=True)
class PortShape:
    """One direction of a link."""

    rate_bps: int
    delay_ps: int
    error_rate: float = 0.0


@dataclass(frozen=True)
class SwitchShape:
    """A switch and all its ports."""

    config: SwitchConfig
    ports: tuple[PortShape, ...]


@dataclass(frozen=True)
class NetworkShape:
    """A network in outline; switches that are alike stand once.

    ``path``: the links, in order, of a shortest path between two hosts that takes as long as any. ``host_ports``: the
    links of hosts, those that are alike once.
    """

    npus: int
    npus_per_host: int
    switches: tuple[SwitchShape, ...]
    host_ports: tuple[PortShape, ...]
    path: tuple[PortShape, ...]
    nic_buffer_bytes: int | None = None

    @property
    def largest_buffer_bytes(self) -> int:
        """Buffer of the switch that has most; 0 without a switch."""
        return max((switch.config.buffer_bytes for switch in self.switches), default=0)

    @property
    def slowest_bps(self) -> int:
        """Rate of the slowest link of the path."""
        return min(port.rate_bps for port in self.path)
