"""Random factors of computations, each drawn from the seed, the NPU and the computation's number alone.

By SplitMix64's mixing function (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014),
so the order in which computations begin has no part in it.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp
from statistics import NormalDist

from astra_ns3.config.compute_slowdown import Jitter
from astra_ns3.system.start_jitter import STEP, WORD, mixed

_CHOICES = 1 << 64
_MILLION = 10**6


class JitterFactors:
    """``seed``: the run's, for where the file has none."""

    def __init__(self, jitter: Jitter, seed: int) -> None:
        own = seed if jitter.seed is None else jitter.seed
        self._seed = mixed(~(own * STEP) & WORD)  # inverted: other numbers than the delays before phases have
        self._spread = jitter.spread
        self._lognormal = jitter.distribution == "lognormal"

    def factor(self, npu: int, number: int) -> Fraction:
        """The factor of a computation, a whole number of millionths."""
        word = mixed((self._seed + (number + 1) * STEP) & WORD)
        word = mixed((word + (npu + 1) * STEP) & WORD)
        share = (word + 0.5) / _CHOICES
        if self._lognormal:
            drawn = exp(self._spread * NormalDist().inv_cdf(min(share, 1 - 2**-53)))
        else:
            drawn = 1 + self._spread * (2 * share - 1)
        return Fraction(round(drawn * _MILLION), _MILLION)
