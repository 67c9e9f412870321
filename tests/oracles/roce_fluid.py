"""Where DCQCN rests: the fluid model's fixed point, and a renewal model of one flow; imports nothing of the program.

N flows share a port of C packets/s that marks each packet with probability p. Of a flow with rate R and target R_T:

* a CNP sets R_T to R and takes R alpha / 2 from R; the next comes with the first marked packet after tau;
* alpha goes up with each CNP, and down by the share g in each interval tau' without one;
* every T, and after every B packets, R goes half of the way to R_T; beyond F times since the CNP, R_T first grows by
  R_AI.

The fluid model (Zhu et al., SIGCOMM 2015, section 5; "ECN or Delay", CoNEXT 2016, theorem 1) takes a period of T for
one whose packets all were unmarked, and expands for rare marks. At rest N R = C, alpha = p tau' R, and

    p^3 = R_AI N^2 / (tau' C^2) (1 / B + N / (T C))^2

The renewal model lets the flow go from CNP to CNP at a fixed p, as the rules above say; p is where the mean rate is
C / N. Marks in the first tau after a CNP do nothing in it, so its p is a little higher for few flows.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

INTERVALS = 20_000
"""From CNP to CNP; with them the mean rate is known to about 1%."""


@dataclass(frozen=True)
class Dcqcn:
    """Flows, the port in packets a second, and DCQCN's numbers: packets, packets a second, seconds."""

    flows: int
    capacity: float
    rate_ai: float
    byte_counter: float
    timer: float = 55e-6
    cnp_interval: float = 50e-6
    alpha_timer: float = 55e-6
    fast_recovery: int = 5
    g: float = 1 / 256

    def fluid_marking(self) -> float:
        """The marking probability of the fluid model's fixed point."""
        events = 1 / self.byte_counter + self.flows / (self.timer * self.capacity)
        return math.pow(self.rate_ai * self.flows**2 / (self.alpha_timer * self.capacity**2) * events**2, 1 / 3)

    def renewal_marking(self) -> float:
        """The marking probability at which a flow's mean rate is its share, by bisection."""
        low, high = self.fluid_marking() / 4, self.fluid_marking() * 4
        for _ in range(9):
            middle = math.sqrt(low * high)
            too_fast = _Flow(self, middle).mean_rate() > self.capacity / self.flows
            low, high = (middle, high) if too_fast else (low, middle)
        return math.sqrt(low * high)


def red_queue(p: float, kmin: float, kmax: float, pmax: float) -> float:
    """The queue at which RED marks with a probability of ``p``."""
    assert p <= pmax, "more marks than RED gives below kmax"
    return kmin + p / pmax * (kmax - kmin)


@dataclass
class _Flow:
    """One flow at a fixed marking probability."""

    numbers: Dcqcn
    p: float
    alpha: float = 0.1
    rate: float = field(init=False)
    target: float = field(init=False)

    def __post_init__(self) -> None:
        self.rate = self.target = self.numbers.capacity / self.numbers.flows

    def mean_rate(self) -> float:
        """Packets over time, from CNP to CNP."""
        draws = random.Random(1)
        packets = seconds = 0.0
        for _ in range(INTERVALS):
            self.target = self.rate
            self.rate *= 1 - self.alpha / 2
            self.alpha += self.numbers.g * (1 - self.alpha)
            sent, taken = self.until_next_cnp(draws.expovariate(1.0))
            self.alpha *= (1 - self.numbers.g) ** int(taken / self.numbers.alpha_timer)
            packets, seconds = packets + sent, seconds + taken
        return packets / seconds

    def until_next_cnp(self, marks: float) -> tuple[float, float]:
        """Packets sent and seconds taken until as many marks as ``marks`` were expected beyond the CNP's interval."""
        n = self.numbers
        now = sent = counted = 0.0
        timers = counters = 0
        while True:
            timer_due, counter_due = (timers + 1) * n.timer, now + (n.byte_counter - counted) / self.rate
            due = min(timer_due, counter_due)
            expected = self.p * self.rate * max(0.0, due - max(now, n.cnp_interval))
            if expected >= marks:
                end = max(now, n.cnp_interval) + marks / (self.p * self.rate)
                return sent + self.rate * (end - now), end
            marks -= expected
            sent += self.rate * (due - now)
            counted = 0.0 if due == counter_due else counted + self.rate * (due - now)
            now = due
            if max(timers, counters) >= n.fast_recovery:
                self.target = min(n.capacity, self.target + n.rate_ai)
            self.rate = min(n.capacity, (self.rate + self.target) / 2)
            timers, counters = (timers, counters + 1) if due == counter_due else (timers + 1, counters)
