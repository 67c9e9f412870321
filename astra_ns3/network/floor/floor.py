"""The floor under a run's time: what its lines need for its bytes, or the longest chain of its computations."""

from __future__ import annotations

import math

import numpy as np

from astra_ns3.frozen import dataclass
from astra_ns3.network.floor.carried import CarriedBytes
from astra_ns3.network.floor.cuts import cuts_of
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

    ``chain``: what takes its time on any network; if that is more, it is the floor. ``changes``: lines change during
    the run; the highest rate that each ever has counts then, so the floor is low.
    """

    lines_ps: int
    lines: str
    bytes: int
    bytes_per_ns: float
    chain: Chain = Chain()
    changes: bool = False

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
            "lines_change": self.changes,
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


def floor_of(plan: AnyPlan, carried: CarriedBytes, chain: Chain) -> Floor | None:
    """Return the highest of all cuts' least times, and the longest chain; None if there is neither.

    The floor holds for every transport: bytes are payload alone, and a line has the highest rate that it ever has.
    """
    packets = plan.of_packets
    changes = packets is not None and bool(packets.changes)
    best = Floor(0, "", 0, 0.0, chain, changes)
    for cuts in cuts_of(plan, carried):
        open_cuts = (cuts.bytes > 0) & (cuts.bytes_per_ns > 0)
        if not open_cuts.any():
            continue
        times_ns = np.divide(cuts.bytes, cuts.bytes_per_ns, out=np.zeros(len(cuts.bytes)), where=open_cuts)
        most = int(times_ns.argmax())
        time_ps = math.floor(times_ns[most] * PS_PER_NS)
        if time_ps > best.lines_ps:
            rate = float(cuts.bytes_per_ns[most])
            best = Floor(time_ps, cuts.where(most), int(cuts.bytes[most]), rate, chain, changes)
    return best if best.time_ps else None
