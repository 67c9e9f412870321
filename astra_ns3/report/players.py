"""Names of senders and receivers: NPUs, and behind the last one reducers and storage hosts."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.plain import Json
from astra_ns3.frozen import dataclass
from astra_ns3.report.tables import Records


@dataclass(frozen=True)
class Players:
    """The names of players by their numbers. ``beyond``: what those from ``npus`` on are; None: all are NPUs."""

    npus: int | None = None
    beyond: str = ""

    def name(self, player: int) -> str:
        """Return a player's name."""
        return f"{'NPU' if self.npus is None or player < self.npus else self.beyond} {player}"


def players_of(records: Records) -> Players:
    """Return the names of the players of a run; reducers and storage hosts of one network aren't told apart."""
    topology = (records.metadata.get("network") or {}).get("topology") or {}
    kinds = ["reducer"] if _reduces(topology) or not topology.get("storage") else []
    kinds += ["storage host"] if topology.get("storage") else []
    return Players(int(records.metadata["npus"]), " or ".join(kinds))


def _reduces(part: Json) -> bool:
    """Return whether a part of a topology has switches that reduce."""
    if isinstance(part, Mapping):
        return part.get("reduction") is not None or any(map(_reduces, part.values()))
    return isinstance(part, list | tuple) and any(map(_reduces, part))
