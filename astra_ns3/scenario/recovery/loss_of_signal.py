"""Detection by loss of signal: hardware sees at once that the light of a link goes or comes."""

from __future__ import annotations

from astra_ns3.config.scenario.recovery import LossOfSignal
from astra_ns3.topology.reactions import LinkTurn


def loss_of_signal(turn: LinkTurn, _config: LossOfSignal, _seed: int) -> int:
    """Return when the ends of a link notice a turn of it, in ps."""
    return turn.time_ps
