"""Names of senders and receivers: NPUs, and behind the last one reducers and storage hosts."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.core.plain import Json
from astra_ns3.frozen import dataclass
from astra_ns3.report.network_of import network_of
from astra_ns3.report.tables import Records


@dataclass(frozen=True)
class Players:
    """The names of players by their numbers. ``beyond``: what those from ``npus`` on are; None: all are NPUs.

    ``network_npus``: of a job among several, the NPUs of its network, behind which all jobs' others are; None: unknown.
    """

    npus: int | None = None
    beyond: str = ""
    network_npus: int | None = None

    def name(self, player: int) -> str:
        """Return a player's name."""
        return self._name(player, self.npus)

    def way(self, source: int, destination: int) -> str:
        """Return the names of a sender and a receiver."""
        return self._way(source, destination, self.npus)

    def way_in_another_job(self, source: int, destination: int) -> str:
        """Return the names of a sender and a receiver, whose numbers are those of another job on the network."""
        return self._way(source, destination, self.network_npus)

    def _name(self, player: int, npus: int | None) -> str:
        return f"{'NPU' if npus is None or player < npus else self.beyond} {player}"

    def _way(self, source: int, destination: int, npus: int | None) -> str:
        begin, end = self._name(source, npus), self._name(destination, npus)
        return f"{begin} to {end.removeprefix('NPU ') if begin.startswith('NPU ') else end}"


def players_of(records: Records) -> Players:
    """Return the names of the players of a run; reducers and storage hosts of one network aren't told apart."""
    topology = (records.metadata.get("network") or {}).get("topology") or {}
    kinds = ["reducer"] if _reduces(topology) or not topology.get("storage") else []
    kinds += ["storage host"] if topology.get("storage") else []
    has_others = "job" in records.metadata and (_reduces(topology) or topology.get("storage"))
    network = network_of(records.metadata["network"]) if has_others else None
    return Players(int(records.metadata["npus"]), " or ".join(kinds), None if network is None else network.npus)


def _reduces(part: Json) -> bool:
    """Return whether a part of a topology has switches that reduce."""
    if isinstance(part, Mapping):
        return part.get("reduction") is not None or any(map(_reduces, part.values()))
    return isinstance(part, list | tuple) and any(map(_reduces, part))
