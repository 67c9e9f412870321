"""The facts that transports must know of a network to judge their numbers: its ports, its switches, its slowest
path."""

from __future__ import annotations

from astra_ns3.config.topology.idle_lines import idle_lines_ps
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.frozen import dataclass


@dataclass(frozen=True, order=True)
class PortOutline:
    """One direction of a link; ``most_rate_bps`` and ``most_delay_ps``: the most that changes ever give it."""

    rate_bps: int
    delay_ps: int
    error_rate: float = 0.0
    most_rate_bps: int = 0
    most_delay_ps: int = 0


@dataclass(frozen=True)
class SwitchOutline:
    """A switch and all its ports."""

    config: SwitchConfig
    ports: tuple[PortOutline, ...]


@dataclass(frozen=True)
class NetworkOutline:
    """A network in outline; switches that are alike stand once.

    ``path``: the links, in order, of a shortest path between two hosts that takes as long as any. ``host_ports``: the
    links of hosts, those that are alike once; ``shared_nics``: those that lead out of NICs that hosts share.
    ``cut_through``: of each switch on the path, in order, the bytes of a frame it waits for before it sends it on, 0
    for all; empty: all store. ``slower_way_ps``: what the slowest of equally short ways takes longer than ``path``.
    """

    npus: int
    npus_per_host: int
    switches: tuple[SwitchOutline, ...]
    host_ports: tuple[PortOutline, ...]
    path: tuple[PortOutline, ...]
    nic_buffer_bytes: int | None = None
    cut_through: tuple[int, ...] = ()
    shared_nics: tuple[PortOutline, ...] = ()
    slower_way_ps: int = 0

    @property
    def line_rates_bps(self) -> list[int]:
        """Rates of the lines by which hosts send, those of NICs that they share too, the slowest first."""
        return sorted({port.rate_bps for port in (*self.host_ports, *self.shared_nics)})

    @property
    def largest_buffer_bytes(self) -> int:
        """Buffer of the switch that has most; 0 without a switch."""
        return max((switch.config.buffer_bytes for switch in self.switches), default=0)

    def idle_round_trip_ps(self, *sizes_bytes: int) -> int:
        """From the first bit of a frame sent over the idle path to the last of its answer; sizes on the line.

        With one size nothing is said of the answer, which takes the delays alone.
        """
        rates = [port.rate_bps for port in self.path]
        there, *back = sizes_bytes
        lines = idle_lines_ps(there, rates, self.cut_through)
        lines += sum(idle_lines_ps(size, rates[::-1], self.cut_through[::-1]) for size in back)
        return lines + 2 * sum(port.delay_ps for port in self.path)

    @property
    def slowest_bps(self) -> int:
        """Rate of the slowest link of the path."""
        return min(port.rate_bps for port in self.path)
