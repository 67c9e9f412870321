"""The facts that the keys of every transport tell the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from astra_ns3.config.core.model import ConfigModel
from astra_ns3.config.transports.roce_control import OwnControl

Joined = Literal["connections", "queue_pairs"]


class TransportKeys(ConfigModel):
    """The keys of a transport in a network file."""

    kind: str
    title: ClassVar[str]
    """Its name for people."""
    takes_control: ClassVar[bool] = False
    """Whether the option that names a congestion control is for it."""
    joined_by: ClassVar[Joined | None] = None
    """The thing that it keeps between two NPUs, as the key of ``observe`` that records it."""

    @property
    def own_control(self) -> OwnControl | None:
        """A congestion control of the user's."""
        return None

    def control_keys(self, name: str) -> Mapping[str, object]:
        """Return the keys that change where the option names another congestion control."""
        return {}
