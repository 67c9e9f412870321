"""Routes that follow at once: all nodes know of a link as soon as its ends do."""

from __future__ import annotations

from astra_ns3.config.scenario.recovery import AtOnce
from astra_ns3.topology.reactions import Known, LinkTurn


def at_once(_turn: LinkTurn, noticed_ps: int, _config: AtOnce) -> Known:
    """Return when a turn of a link that its ends have noticed is known."""
    return Known(noticed_ps, noticed_ps, noticed_ps)
