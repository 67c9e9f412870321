"""Random delays before NPUs start their phases, so that no two begin at the very same picosecond.

Each is drawn from the seed, the NPU and the phase alone, by SplitMix64's mixing function (Steele, Lea and Flood, "Fast
splittable pseudorandom number generators", OOPSLA 2014). The order in which phases start has no part in it.
"""

from __future__ import annotations

_WORD_BITS = 64
WORD = (1 << _WORD_BITS) - 1
STEP = 0x9E3779B97F4A7C15
"""From one draw to the next."""


def mixed(word: int) -> int:
    """A word that looks random, of another; both have 64 bits."""
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & WORD
    return word ^ (word >> 31)


class StartJitter:
    """Delays from 0 to ``longest_ps``, each picosecond as likely as any other."""

    def __init__(self, longest_ps: int, seed: int) -> None:
        self._choices = longest_ps + 1
        self._seed = mixed((seed * STEP) & WORD)

    def delay_ps(self, npu: int, instance: int) -> int:
        """Time that ``npu`` waits before it starts phase ``instance``."""
        word = mixed((self._seed + (instance + 1) * STEP) & WORD)
        word = mixed((word + (npu + 1) * STEP) & WORD)
        return word * self._choices >> _WORD_BITS
