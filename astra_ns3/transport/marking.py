"""ECN thresholds that a file leaves to the program: ``ecn: scaled``, or absent under a control that waits for marks.

In proportion to the port's rate, as the public configurations of HPCC and SimAI have them for 25 to 100 Gb/s: 100 KB
and 400 KB for each 25 Gb/s, at most one packet of five between them; for DCTCP, over RoCE or TCP, one step at 30 KB for
each 10 Gb/s (run.py of Li et al., SIGCOMM 2019). Not less than a seventh of rate x round trip, below which the line
would run dry between two cuts (Alizadeh et al., SIGCOMM 2010, section 3.4), and not more than a queue can hold before
PFC stops its only sender, or before it has its share of the buffer: Zhu et al., SIGCOMM 2015, section 4, want marks
before pauses.
"""

from __future__ import annotations

from astra_ns3.config.topology.switch import EcnConfig, EcnRate, SwitchConfig
from astra_ns3.transport.lossless import lossless_bytes
from astra_ns3.transport.network_outline import SwitchOutline
from astra_ns3.transport.transport import Transport
from astra_ns3.units import PS_PER_SECOND

STEP_BYTES, STEP_RATE_BPS = 30_000, 10 * 10**9
LOW_BYTES, LOW_RATE_BPS = 100_000, 25 * 10**9
HIGH_OVER_LOW = 4
MOST_PROBABLE = 0.2
UNDERFLOW_SHARE = 7
"""A seventh of rate x round trip keeps the line busy."""


def with_marking(switch: SwitchOutline, transport: Transport, largest_wire_bytes: int) -> SwitchConfig:
    """The switch with thresholds for the rates of its ports and that transport.

    ``largest_wire_bytes``: of any frame on the network.
    """
    entries = []
    for rate_bps in sorted({port.rate_bps for port in switch.ports}):
        most = queue_before_pause(switch, rate_bps, largest_wire_bytes, transport.priority)
        ecn = _thresholds(rate_bps, transport.base_round_trip_ps, most, step=transport.marks_at_a_step)
        entries.append(EcnRate.model_construct(**dict(ecn), rate_bps=rate_bps))
    return switch.config.model_copy(update={"ecn": tuple(entries)})


def queue_before_pause(switch: SwitchOutline, rate_bps: int, wire_bytes: int, priority: int) -> int:
    """The longest queue that one ingress port of that rate can build before it is stopped, or has its share.

    With q bytes of the shared part S in use, a queue may have alpha (S - q): q is alpha S / (1 + alpha).
    ``wire_bytes``: of the largest frame on the network.
    """
    pfc, size = switch.config.pfc, switch.config.buffer_bytes
    if pfc is not None and priority in pfc.priorities:
        shared, alpha = max(0, size - lossless_bytes(switch, wire_bytes)), pfc.alpha_of(rate_bps)
        return min(size, pfc.reserve_bytes + int(shared * alpha / (1 + alpha)))
    if switch.config.credits is not None:
        return min(size, switch.config.credits.bytes_)
    share = switch.config.alpha
    return size if share is None else int(size * share / (1 + share))


def _thresholds(rate_bps: int, round_trip_ps: int, most_bytes: int, *, step: bool) -> EcnConfig:
    least = rate_bps * round_trip_ps // (8 * PS_PER_SECOND * UNDERFLOW_SHARE)
    # A buffer too small for any of it is refused later, by its own name.
    most_bytes = max(HIGH_OVER_LOW, most_bytes)
    if step:
        kmin = min(max(STEP_BYTES * rate_bps // STEP_RATE_BPS, least), most_bytes // 2)
        return EcnConfig(kmin=kmin, kmax=kmin)
    low = min(max(LOW_BYTES * rate_bps // LOW_RATE_BPS, least), most_bytes // HIGH_OVER_LOW)
    return EcnConfig(kmin=low, kmax=HIGH_OVER_LOW * low, pmax=MOST_PROBABLE)
