"""Detection by hellos, as routing protocols and BFD (RFC 5880) do it.

Each link says hello at multiples of the interval after a moment of its own, which is drawn, both directions alike. A
link is taken to be down once ``multiplier`` intervals have passed since the last hello that came through, and to be up
with the first hello that does. So a failure is noticed ``multiplier - 1`` to ``multiplier`` intervals later, and a
repair up to one. The way of a hello along the link is left out, and no hello is lost on a link that is up.
"""

from __future__ import annotations

from random import Random

from astra_ns3.config.scenario.recovery import Hello
from astra_ns3.topology.reactions import LinkTurn


def hello(turn: LinkTurn, config: Hello, seed: int) -> int:
    """Return when the ends of a link notice a turn of it, in ps."""
    phase_ps = Random(f"{seed if config.seed is None else config.seed} hello {turn.link}").randrange(config.interval_ps)
    passed = (turn.time_ps - phase_ps) // config.interval_ps
    last_ps = phase_ps + passed * config.interval_ps
    if not turn.up:
        return last_ps + config.multiplier * config.interval_ps
    return last_ps if last_ps == turn.time_ps else last_ps + config.interval_ps
