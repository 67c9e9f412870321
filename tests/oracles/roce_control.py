"""The rules of RoCE's congestion controls, written from the papers, step by step; imports nothing of the program.

Each class plays a list of :class:`Event` and gives rate and window after each; HPCC counts in windows, as the paper.
Sources: TIMELY, SIGCOMM 2015; DCTCP, SIGCOMM 2010 and RFC 8257; HPCC, SIGCOMM 2019; PINT, SIGCOMM 2020; Swift, SIGCOMM
2020; DCQCN is in :mod:`oracles.roce_dcqcn`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from oracles.roce_dcqcn import DcqcnClocked, DcqcnPaper
from oracles.roce_events import MBPS, US, Control, Event, Hop, Path

__all__ = ["MBPS", "US", "Event", "Hop", "Path", "control"]


class StaticWindow(Control):
    """A window of the bandwidth-delay product, if none is given."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.window = float(path.window or path.bandwidth_delay)


class Timely(Control):
    """Algorithm 1, with hyperactive increase (paper, section 4.3)."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.previous: int | None = None
        self.difference = 0.0
        self.good = self.mark = 0
        self.segment = int(self.number("segment", 16384))

    def on_ack(self, event: Event) -> None:
        """A completion event, if a segment or a round trip is over."""
        if self.segment:
            over = self.acknowledged // self.segment > self.mark
            self.mark = self.acknowledged // self.segment
        else:
            over = self.acknowledged > self.mark
            self.mark = self.sent if over else self.mark
        if over:
            if self.previous is not None:
                self.rate = self.bounded(self.updated(event.round_trip, event.round_trip - self.previous))
            self.previous = event.round_trip

    def updated(self, rtt: int, difference: int) -> float:
        """The rate after a completion event."""
        weight = self.number("ewma", 0.875)
        beta = self.number("beta", 0.8)
        low, high = self.number("t_low", 50 * US), self.number("t_high", 500 * US)
        self.difference = (1 - weight) * self.difference + weight * difference
        gradient = self.difference / (self.number("minimum_rtt", 20 * US) or self.path.base_round_trip)
        small, large = self.number("rate_ai", 10 * MBPS), self.number("rate_hai", 50 * MBPS)
        before = self.good
        self.good = 0
        if rtt < low and not self.number("hai_below_t_low", 0):
            return self.rate + small
        if rtt > high:
            return self.rate * max(1 - self.number("max_decrease", 1), 1 - beta * (1 - high / rtt))
        if rtt < low or gradient <= 0:
            self.good = before + 1
            return self.rate + (large if self.good > self.number("hai_after", 5) else small)
        return self.rate * max(1 - self.number("max_decrease", 1), 1 - beta * gradient)


class Dctcp(Control):
    """RFC 8257, section 3.3, and 3.2 of RFC 5681 for growth; ``window`` 0: the same on the rate."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.by_window = bool(self.number("window", 1))
        self.floor = self.number("minimum_window", 0) or 2 * path.payload
        if self.by_window:
            self.window = max(self.floor, float(path.window or path.bandwidth_delay))
        self.alpha = 1.0
        self.threshold = 0.0
        self.total = self.marked = self.windows = 0
        self.window_end = 0
        self.recovery_end: int | None = None

    def on_ack(self, event: Event) -> None:
        """Count, update alpha at a window's end, then cut or grow."""
        self.total += event.size
        self.marked += event.size * event.marked
        ended = self.acknowledged > self.window_end
        if ended:
            if self.windows and self.total:
                g = self.number("g", 1 / 16)
                self.alpha = self.alpha * (1 - g) + g * self.marked / self.total
            if self.windows:
                self.total = self.marked = 0
            self.windows += 1
            self.window_end = self.sent
        if self.recovery_end is not None and self.acknowledged > self.recovery_end:
            self.recovery_end = None
        if event.marked and self.recovery_end is None:
            self.cut(1 - self.alpha / 2)
        if self.recovery_end is None and (self.by_window or ended):
            self.grow(event.size)

    def grow(self, size: int) -> None:
        """One packet, or ``rate_ai``, in a round trip; a window only if it was in use."""
        if not self.by_window:
            self.rate = self.bounded(self.rate + self.number("rate_ai", 1000 * MBPS))
            return
        in_flight = max(0, self.sent - self.acknowledged) + size
        if in_flight + self.path.payload > self.window:
            self.window += size if self.window < self.threshold else self.path.payload * size / self.window

    def cut(self, factor: float) -> None:
        """Once until what is sent by now has been acknowledged."""
        self.recovery_end = self.sent
        if self.by_window:
            self.window = max(self.floor, self.window * factor)
        else:
            self.rate = self.bounded(self.rate * factor)

    def on_nack(self, event: Event) -> None:
        """As TCP."""
        if self.by_window and self.recovery_end is None:
            self.cut(0.5)

    def on_timeout(self, event: Event) -> None:
        """As TCP."""
        if self.by_window:
            self.threshold = max(self.floor, self.window / 2)
            self.cut(0.0)


class Reference:
    """``ComputeWind`` of HPCC's algorithm 1; windows are bytes."""

    def __init__(self, control: Control, base_round_trip: float) -> None:
        self.control = control
        self.bytes_per_bps = base_round_trip / 8e12
        self.reference = control.line * self.bytes_per_bps
        self.stage = 0

    def rate(self, u: float, update: bool) -> float:
        """R = W / T."""
        control = self.control
        eta = control.number("eta", 0.95)
        stays = u < eta and self.stage < control.number("max_stage", 5)
        additive = control.number("rate_ai", 50 * MBPS) * self.bytes_per_bps
        window = self.reference if stays else self.reference / (u / eta) if u > 0 else math.inf
        window += additive
        rate = control.bounded(window / self.bytes_per_bps)
        if update:
            self.reference = rate * self.bytes_per_bps
            self.stage = self.stage + 1 if stays else 0
        return rate


class Hpcc(Control):
    """Algorithm 1; with ``multiple_rates`` a window for each hop."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.base = self.number("base_rtt", 0) or float(path.base_round_trip)
        self.links: tuple[Hop, ...] = ()
        self.references: list[Reference] = []
        self.u: list[float] = []
        self.last_update = 0

    def on_ack(self, event: Event) -> None:
        """``NewAck``."""
        update = self.acknowledged > self.last_update
        if update:
            self.last_update = self.sent
        if not update and not self.number("fast_react", 1):
            return
        if not self.links:
            count = len(event.hops) if self.number("multiple_rates", 0) else 1
            self.references = [Reference(self, self.base) for _ in range(count)]
            self.u = [1.0] * count
        else:
            self.rate = min(self.rates(self.measured(event.hops), update))
        self.links = event.hops

    def measured(self, hops: tuple[Hop, ...]) -> list[tuple[float, float]]:
        """``MeasureInflight``: each link's normalised inflight bytes, and tau."""
        result = []
        for now, before in zip(hops, self.links, strict=True):
            tau = now.time - before.time
            transmit = (now.sent - before.sent) * 8e12 / tau
            queue = min(now.queue, before.queue) / (now.rate * self.base / 8e12)
            result.append((queue + transmit / now.rate, min(float(tau), self.base)))
        return result

    def rates(self, measured: list[tuple[float, float]], update: bool) -> Iterator[float]:
        """The rate of each window."""
        if len(self.references) < len(measured):
            measured = [max(measured, key=lambda link: link[0])]
        for number, (u, tau) in enumerate(measured):
            self.u[number] = (1 - tau / self.base) * self.u[number] + tau / self.base * u
            yield self.references[number].rate(self.u[number], update)


class HpccPint(Control):
    """HPCC with U from the switches."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.reference: Reference | None = None
        self.last_update = 0

    def on_ack(self, event: Event) -> None:
        """``NewAck``, for a packet that was sampled."""
        if event.utilisation is None:
            return
        update = self.acknowledged > self.last_update
        if update:
            self.last_update = self.sent
        if self.reference is None:
            self.reference = Reference(self, float(self.path.base_round_trip))
        elif update or self.number("fast_react", 1):
            self.rate = self.reference.rate(event.utilisation, update)


class Swift(Control):
    """Algorithm 1 with the target delay of section 3.5; windows are packets."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.cwnd = (path.window or path.bandwidth_delay) / path.payload
        longest = self.number("base_target", 25 * US) + path.switches * self.number("per_hop", US)
        by_line = path.line_rate * longest / 8e12 / path.packet
        self.most = self.number("max_cwnd", 0) or max(self.cwnd, by_line)
        self.last_decrease = -math.inf
        self.rtt = path.base_round_trip
        self.retransmits = 0
        self.take(self.cwnd)

    def target(self) -> float:
        """Base, topology scaling and flow scaling."""
        least, most = self.number("fs_min_cwnd", 0.1), self.number("fs_max_cwnd", 100)
        span = self.number("fs_range", 100 * US)
        alpha = span / (1 / math.sqrt(least) - 1 / math.sqrt(most))
        scaling = alpha / math.sqrt(self.cwnd) - alpha / math.sqrt(most)
        base = self.number("base_target", 25 * US) + self.path.switches * self.number("per_hop", US)
        return base + max(0.0, min(scaling, span))

    def take(self, cwnd: float) -> None:
        """The end of the algorithm: bounds, and pacing below one packet."""
        before = self.cwnd
        self.cwnd = min(max(cwnd, self.number("min_cwnd", 0.01)), self.most)
        if self.cwnd < before:
            self.last_decrease = self.now
        gap = self.rtt / self.cwnd if self.cwnd < 1 else 0.0
        self.rate = min(self.line, self.path.packet * 8e12 / gap) if gap else self.line
        self.window = max(1.0, self.cwnd) * self.path.payload

    def may_decrease(self) -> bool:
        """Once a round trip."""
        return self.now - self.last_decrease >= self.rtt

    def on_ack(self, event: Event) -> None:
        """``On Receiving ACK``."""
        self.retransmits = 0
        self.rtt = delay = event.round_trip
        target = self.target()
        packets = event.size / self.path.payload
        if delay < target:
            ai = self.number("ai", 1)
            self.take(self.cwnd + ai / self.cwnd * packets if self.cwnd >= 1 else self.cwnd + ai * packets)
        elif self.may_decrease():
            factor = 1 - self.number("beta", 0.8) * (delay - target) / delay
            self.take(max(factor, 1 - self.number("max_mdf", 0.5)) * self.cwnd)

    def on_timeout(self, event: Event) -> None:
        """``On Retransmit Timeout``."""
        self.retransmits += 1
        if self.retransmits >= self.number("retransmit_reset", 5):
            self.take(self.number("min_cwnd", 0.01))
        elif self.may_decrease():
            self.take((1 - self.number("max_mdf", 0.5)) * self.cwnd)

    def on_nack(self, event: Event) -> None:
        """``On Fast Recovery``."""
        self.retransmits = 0
        if self.may_decrease():
            self.take((1 - self.number("max_mdf", 0.5)) * self.cwnd)


def control(name: str, path: Path, **numbers: float) -> Control:
    """The oracle of a control of that name."""
    if name == "dcqcn":
        return (DcqcnClocked if numbers.get("decrease_timer") else DcqcnPaper)(path, **numbers)
    classes: Mapping[str, type[Control]] = {
        "none": Control,
        "static-window": StaticWindow,
        "timely": Timely,
        "dctcp": Dctcp,
        "hpcc": Hpcc,
        "hpcc-pint": HpccPint,
        "swift": Swift,
    }
    return classes[name](path, **numbers)
