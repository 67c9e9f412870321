"""The floor under a run's time: what its lines need for its bytes, or the longest chain of its computations."""

from __future__ import annotations

import math

import numpy as np

from astra_ns3.frozen import dataclass, replace
from astra_ns3.network.floor.carried import CarriedBytes
from astra_ns3.network.floor.cuts import Amounts, cuts_of
from astra_ns3.network.floor.line_rates import Rates, line_rates
from astra_ns3.network.plan import AnyPlan
from astra_ns3.network.records import Chain
from astra_ns3.network.run_document import FloorDocument
from astra_ns3.units import PS_PER_NS, format_bytes, format_time

# Of the share: below it a result differs from its floor by rounding.
_TOLERANCE = 1e-6
_DIGITS = 6


@dataclass(frozen=True)
class Floor:
    """The least time that lines need, and which; ``bytes`` must cross lines of ``bytes_per_ns`` together.

    ``twice_ps``: the least time of lines twice as fast, maybe others. ``chain``: what takes its time on any network; if
    that is more, it is the floor.
    """

    lines_ps: int
    lines: str
    bytes: int
    bytes_per_ns: float
    twice_ps: int
    chain: Chain = Chain()

    @property
    def time_ps(self) -> int:
        """The least time."""
        return max(self.lines_ps, self.chain.time_ps)

    @property
    def where(self) -> str:
        """The name of the lines, or of the chain."""
        return self.lines if self.time_ps == self.lines_ps else self.chain.words.format(self.chain.npu)

    def share(self, finish_ps: int) -> float:
        """Return how many times the floor a run took; below 1 no network with these lines can be so fast."""
        return finish_ps / self.time_ps if self.time_ps else math.inf

    def document(self, finish_ps: int) -> FloorDocument:
        """Return the floor and what was reached of it as plain data."""
        share = round(self.share(finish_ps), _DIGITS) if self.time_ps else None
        return {
            "time_ps": self.time_ps,
            "kind": "lines" if self.time_ps == self.lines_ps else "chain",
            "where": self.where,
            "lines_ps": self.lines_ps,
            "chain_ps": self.chain.time_ps,
            "bytes": self.bytes,
            "bytes_per_ns": self.bytes_per_ns,
            "share": share,
            "twice_ps": self.twice_ps,
        }


def is_below(share: float | None) -> bool:
    """Return whether a result that took ``share`` of its floor lies below it, rounding aside; None: no floor."""
    return share is not None and share < 1 - _TOLERANCE


def floor_warnings(
    floor: Floor | None, finish_ps: int, who: str = "the result lies below the floor"
) -> tuple[str, ...]:
    """Return a line that says by how much a run lies below its floor; nothing for a run that doesn't."""
    if floor is None or not is_below(floor.share(finish_ps)):
        return ()
    return (
        f"{who}: {format_bytes(floor.bytes)} over {floor.where} need "
        f"{format_time(floor.time_ps)}, the result is {floor.share(finish_ps):.2g} of that; no network with these "
        "lines is so fast",
    )


def floor_of(plan: AnyPlan, carried: CarriedBytes, chain: Chain, begin_ps: int = 0, zero_ps: int = 0) -> Floor | None:
    """Return the highest of all cuts' least times, and the longest chain; None if there is neither.

    The floor holds for every transport: bytes are payload alone. ``begin_ps``: nothing was sent before;
    ``zero_ps``: times count from then on.
    """
    packets = plan.of_packets
    starts_ns = np.zeros(1) if packets is None else line_rates(packets).starts_ns
    starts_ns = np.maximum(starts_ns, begin_ps / PS_PER_NS) - zero_ps / PS_PER_NS
    best = Floor(0, "", 0, 0.0, 0, chain)
    for cuts in cuts_of(plan, carried):
        if not len(cuts.bytes):
            continue
        times_ns = _least_ns(cuts.bytes, cuts.bytes_per_ns, starts_ns)
        most = int(times_ns.argmax())
        twice_ps = math.floor(_least_ns(cuts.bytes / 2, cuts.bytes_per_ns, starts_ns).max() * PS_PER_NS)
        best = replace(best, twice_ps=max(best.twice_ps, twice_ps))
        time_ps = math.floor(times_ns[most] * PS_PER_NS)
        if time_ps > best.lines_ps:
            used_ns = np.clip(times_ns[most] - starts_ns, 0.0, np.diff(starts_ns, append=np.inf))
            rate = float(cuts.bytes_per_ns[most] @ (used_ns / used_ns.sum()))
            best = Floor(time_ps, cuts.where(most), int(cuts.bytes[most]), rate, best.twice_ps, chain)
    return best if best.time_ps else None


def _least_ns(sizes: Amounts, rates: Rates, starts_ns: Rates) -> Rates:
    """Return when lines have carried so many bytes at the earliest; 0 where they never do.

    ``rates``: a row for each of ``sizes``, with a column for each stretch, which begins at its entry of ``starts_ns``.
    """
    before = np.zeros(rates.shape)
    np.cumsum(rates[:, :-1] * np.diff(starts_ns), axis=1, out=before[:, 1:])
    rows, last = np.arange(len(sizes)), np.maximum((before < sizes[:, None]).sum(axis=1) - 1, 0)
    rate = rates[rows, last]
    own_ns = np.divide(sizes - before[rows, last], rate, out=np.zeros(len(sizes)), where=(sizes > 0) & (rate > 0))
    return np.where(own_ns > 0, starts_ns[last] + own_ns, 0.0)
