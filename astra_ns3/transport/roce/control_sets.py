"""Named sets of numbers for RoCE's congestion controls, and what of them is in force.

``scaled``, the default: rates in proportion to the line's, times from the longest base round trip, so that a control
does at 10 and at 800 Gb/s what its authors tuned it to do at one rate. ``paper``: the numbers of its paper as they are
printed. ``hpcc``: those of the simulator published with HPCC (run.py of Li et al., SIGCOMM 2019), which scales rates
with the NIC's. ``nvidia``: the decrease of a vendor's NIC (NVIDIA DOCA 3.4, "DCQCN CC parameters") with the increase of
``scaled``, since the increase side isn't published.

Sources: DCQCN, Zhu et al., SIGCOMM 2015; TIMELY, Mittal et al., SIGCOMM 2015; DCTCP, Alizadeh et al., SIGCOMM 2010, and
RFC 8257; HPCC, Li et al., SIGCOMM 2019; PINT, Ben Basat et al., SIGCOMM 2020; Swift, Kumar et al., SIGCOMM 2020. The
rules and where each comes from: docs/congestion-control.md. Model limits: lines of hosts alone scale numbers, those of
switches don't, and the round trip is one for a whole network, that of its longest path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from astra_ns3.config.transports.roce_control import RoceControl
from astra_ns3.frozen import dataclass
from astra_ns3.units import PS_PER_SECOND, PS_PER_US

_MBPS = 10**6
_GBPS = 10**9

Numbers = Mapping[str, float]
_HALF_REGAINED_PS = 1_375_000_000


@dataclass(frozen=True)
class Line:
    """The line that numbers are scaled by: the rate of a host's line, the longest base round trip, a packet's
    payload."""

    rate_bps: int
    round_trip_ps: int
    payload_bytes: int

    @property
    def cnp_interval_ps(self) -> int:
        """A cut is felt after a round trip, so there is no more than one in it; NICs need 4 us (DOCA, HPCC)."""
        return max(4 * PS_PER_US, self.round_trip_ps)


@dataclass(frozen=True)
class InForce:
    """The numbers that a set and a file together say: the numbers of the control, and those of the transport that go
    with it."""

    numbers: Numbers
    cnp_interval_ps: int
    minimum_rate_bps: int


def in_force(control: RoceControl, line: Line) -> InForce:
    """The numbers of a control's set, those that the file gives in their place; what a set lacks is ``scaled``.

    Numbers are as in :meth:`~astra_ns3.config.transports.roce_control.RoceControl.given`. Raises ValueError with the
    key and what is wrong, if a given number contradicts one of the set.
    """
    sets, name = _SETS.get(control.kind, _NONE), control.set_name
    merged = {**sets["scaled"](line), **sets[name](line), **control.given()}
    numbers = {key: float(value) for key, value in merged.items()}
    found = control.contradiction(numbers)
    if found is not None:
        raise ValueError(f"key 'congestion_control.{found[0]}': {found[1]} (of parameters: {name})")
    return InForce(numbers, *_of_the_transport(name, line, needs_cnps=control.needs_cnps))


def _of_the_transport(name: str, line: Line, *, needs_cnps: bool) -> tuple[int, int]:
    """Least time between two CNPs, and the rate that no control goes below; the papers name no such rate."""
    interval_ps = line.cnp_interval_ps if needs_cnps else 50 * PS_PER_US
    scaled = interval_ps, line.rate_bps // 1000
    named = {"hpcc": (4 * PS_PER_US, _GBPS), "nvidia": (4 * PS_PER_US, _MBPS), "paper": (50 * PS_PER_US, 100 * _MBPS)}
    interval_ps, rate_bps = named.get(name, scaled)
    return interval_ps, min(rate_bps, line.rate_bps)


def _nothing(_: Line) -> Numbers:
    return {}


def _dcqcn_scaled(line: Line) -> Numbers:
    """The paper's ratios: timers 55/50 of the CNP interval, 10 MB at 40 Gb/s, hyper increase 5 times the additive one.

    The additive one is in proportion to the timer, so that steps of the timer alone regain half of the line in 1.4 ms
    whatever the round trip. That is ours: the paper's thousandth of the line (40 Mb/s) in each 5.5 us would be 2.75 ms,
    longer than many a collective at 400 Gb/s.
    """
    timer_ps = line.cnp_interval_ps * 11 // 10
    rate_ai = line.rate_bps * timer_ps // (2 * _HALF_REGAINED_PS)
    return {
        "rate_ai": rate_ai,
        "rate_hai": 5 * rate_ai,
        "g": 1 / 256,
        "alpha_timer": timer_ps,
        "decrease_timer": 0,
        "increase_timer": timer_ps,
        "byte_counter": 10_000_000 * line.rate_bps * timer_ps // (40 * _GBPS * 55 * PS_PER_US),
        "fast_recovery_times": 5,
        "clamp_target_rate": True,
        "rate_on_first_cnp": 1.0,
    }


def _dcqcn_paper(_: Line) -> Numbers:
    return {
        "rate_ai": 40 * _MBPS,
        "rate_hai": 200 * _MBPS,
        "alpha_timer": 55 * PS_PER_US,
        "increase_timer": 55 * PS_PER_US,
        "byte_counter": 10_000_000,
    }


def _dcqcn_hpcc(line: Line) -> Numbers:
    return {
        "rate_ai": line.rate_bps // 5000,
        "rate_hai": line.rate_bps // 500,
        "alpha_timer": PS_PER_US,
        "decrease_timer": 4 * PS_PER_US,
        "increase_timer": 300 * PS_PER_US,
        "byte_counter": 0,
        "fast_recovery_times": 1,
        "clamp_target_rate": False,
    }


def _dcqcn_nvidia(_: Line) -> Numbers:
    return {"g": 5 / 1024, "alpha_timer": PS_PER_US, "decrease_timer": 4 * PS_PER_US}


def _timely_scaled(line: Line) -> Numbers:
    """The paper's times, of 20, 50 and 500 us, or their ratios above a longer round trip; one update a round trip.

    The paper's 10 Mb/s at 10 Gb/s come with each 16 KB, so about four times in the 50 us of a round trip that it calls
    congested; here as much comes at once, a 250th of the line. One update takes half of the rate at most, as in Swift
    (section 3.1): two flows that open on one link at line rate have a gradient of 2, which would leave nothing, and a
    rate of nothing hears of its next round trip a packet later.
    """
    minimum_rtt_ps = max(20 * PS_PER_US, line.round_trip_ps)
    return {
        "rate_ai": line.rate_bps // 250,
        "rate_hai": line.rate_bps // 50,
        "ewma": 0.875,
        "beta": 0.8,
        "t_low": minimum_rtt_ps * 5 // 2,
        "t_high": minimum_rtt_ps * 25,
        "minimum_rtt": minimum_rtt_ps,
        "hai_after": 5,
        "hai_below_t_low": False,
        "segment": 0,
        "max_decrease": 0.5,
    }


def _timely_paper(_: Line) -> Numbers:
    return {
        "rate_ai": 10 * _MBPS,
        "rate_hai": 50 * _MBPS,
        "t_low": 50 * PS_PER_US,
        "t_high": 500 * PS_PER_US,
        "minimum_rtt": 20 * PS_PER_US,
        "segment": 16_384,
        "max_decrease": 1.0,
    }


def _timely_hpcc(line: Line) -> Numbers:
    rates = {"rate_ai": line.rate_bps // 1000, "rate_hai": line.rate_bps // 200}
    return {**_timely_paper(line), **rates, "segment": 0, "hai_below_t_low": True}


def _dctcp_scaled(line: Line) -> Numbers:
    """By rate, a packet more each round trip, as a window does: 1000 bytes in 13 us are the 615 Mb/s of run.py."""
    rate_ai = line.payload_bytes * 8 * PS_PER_SECOND // max(1, line.round_trip_ps)
    return {"window": True, "g": 1 / 16, "rate_ai": rate_ai, "minimum_window": 0}


def _dctcp_paper(_: Line) -> Numbers:
    return {"rate_ai": _GBPS}


def _dctcp_hpcc(_: Line) -> Numbers:
    return {"window": False, "rate_ai": 615 * _MBPS}


def _hpcc_scaled(line: Line) -> Numbers:
    """The paper's rule for the increase, (1 - eta) B T / N bytes a round trip; N of 50 flows is ours."""
    return {
        "rate_ai": line.rate_bps // 1000,
        "eta": 0.95,
        "max_stage": 5,
        "fast_react": True,
        "multiple_rates": False,
        "base_rtt": 0,
    }


def _hpcc_paper(_: Line) -> Numbers:
    return {"rate_ai": 50 * _MBPS}


def _hpcc_hpcc(line: Line) -> Numbers:
    return {"rate_ai": line.rate_bps // 2500, "max_stage": 0}


def _pint_scaled(line: Line) -> Numbers:
    """As HPCC, but each update below the target raises in proportion (run.py's stages, none).

    The paper's five additive steps first would be many round trips: without a window a slow queue pair has less than a
    packet, and so less than an update, in one.
    """
    shared = ("rate_ai", "eta", "fast_react")
    return {**{key: _hpcc_scaled(line)[key] for key in shared}, "max_stage": 0, "log_base": 1.05, "sampling": 1.0}


def _pint_paper(line: Line) -> Numbers:
    return {**_hpcc_paper(line), "max_stage": 5}


def _pint_hpcc(line: Line) -> Numbers:
    return {"rate_ai": line.rate_bps // 2500, "max_stage": 0, "log_base": 1.01}


def _swift_scaled(line: Line) -> Numbers:
    """The paper's ratios of 25, 1 and 100 us, with half of a base round trip as room for queues."""
    target_ps = line.round_trip_ps * 3 // 2
    return {
        "base_target": target_ps,
        "per_hop": target_ps // 25,
        "ai": 1.0,
        "beta": 0.8,
        "max_mdf": 0.5,
        "fs_range": target_ps * 4,
        "fs_min_cwnd": 0.1,
        "fs_max_cwnd": 100.0,
        "min_cwnd": 0.01,
        "max_cwnd": 0.0,
        "retransmit_reset": 5,
    }


def _swift_paper(_: Line) -> Numbers:
    return {"base_target": 25 * PS_PER_US, "per_hop": PS_PER_US, "fs_range": 100 * PS_PER_US}


_Rule = Callable[[Line], Numbers]
# Of each control the sets; each but ``scaled`` says only where it differs from that.
_SETS: Mapping[str, Mapping[str, _Rule]] = MappingProxyType(
    {
        "dcqcn": {"scaled": _dcqcn_scaled, "paper": _dcqcn_paper, "hpcc": _dcqcn_hpcc, "nvidia": _dcqcn_nvidia},
        "timely": {"scaled": _timely_scaled, "paper": _timely_paper, "hpcc": _timely_hpcc},
        "dctcp": {"scaled": _dctcp_scaled, "paper": _dctcp_paper, "hpcc": _dctcp_hpcc},
        "hpcc": {"scaled": _hpcc_scaled, "paper": _hpcc_paper, "hpcc": _hpcc_hpcc},
        "hpcc-pint": {"scaled": _pint_scaled, "paper": _pint_paper, "hpcc": _pint_hpcc},
        "swift": {"scaled": _swift_scaled, "paper": _swift_paper},
    }
)
# Of controls without numbers, and of the user's own.
_NONE: Mapping[str, _Rule] = MappingProxyType({"scaled": _nothing})
