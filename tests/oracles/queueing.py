"""Closed forms of queues on one line with Poisson arrivals; times are in units of the mean service, E[S] = 1.

L. Kleinrock, Queueing Systems I (1975), 3.2 (M/M/1) and 5.7 (M/G/1, Pollaczek and Khinchin), II (1976), 4.4 (processor
sharing); A. K. Erlang's waiting time of M/D/1 as in D. Gross et al., Fundamentals of Queueing Theory (2008), 5.1.3.
"""

from __future__ import annotations

import math


def mm1_mean(load: float) -> float:
    """Mean time in an M/M/1 queue, first come, first served."""
    return 1 / (1 - load)


def mm1_percentile(load: float, percent: float) -> float:
    """A percentile of that time, which is exponential."""
    return -math.log(1 - percent / 100) / (1 - load)


def md1_mean(load: float) -> float:
    """Mean time in an M/D/1 queue, first come, first served."""
    return 1 + load / (2 * (1 - load))


def md1_percentile(load: float, percent: float) -> float:
    """A percentile of that time, up to 21, by halving."""
    low, high = 0.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if md1_waits_no_longer(load, middle) < percent / 100 else (low, middle)
    return 1 + high


def md1_waits_no_longer(load: float, time: float) -> float:
    """Probability that one waits no longer in an M/D/1 queue: Erlang's sum, whose terms change signs."""
    terms = []
    for number in range(math.floor(time) + 1):
        late = load * (time - number)
        terms.append((-late) ** number / math.factorial(number) * math.exp(late))
    return (1 - load) * math.fsum(terms)


def sharing_mean_slowdown(load: float) -> float:
    """Mean of the time over that alone in an M/G/1 queue with processor sharing, whatever the sizes."""
    return 1 / (1 - load)
