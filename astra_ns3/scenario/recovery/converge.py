"""Routes that converge: the ends of a link repair their own tables first, all other nodes follow some time later.

All nodes change in one moment, so that no tables of two times lead in a circle.
"""

from __future__ import annotations

from astra_ns3.config.scenario.recovery import Converge
from astra_ns3.topology.reactions import Known, LinkTurn


def converge(_turn: LinkTurn, noticed_ps: int, config: Converge) -> Known:
    """Return when a turn of a link that its ends have noticed is known."""
    converged_ps = noticed_ps + config.after_ps
    local_ps = config.after_ps if config.local_repair_ps is None else config.local_repair_ps
    return Known(noticed_ps, noticed_ps + local_ps, converged_ps)
