"""What a training loop yields: compute, issue a collective, wait for one, move on to the next step."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from astra_ns3.network.records import PassKind
from astra_ns3.system.request import CollectiveRequest, Handle


@dataclass(frozen=True)
class Compute:
    """Compute for ``time_ps`` in one pass of a layer."""

    pass_number: int
    layer: int
    pass_kind: PassKind
    time_ps: int


@dataclass(frozen=True)
class Issue:
    """Issue a collective and go on; what comes back from the ``yield`` is its handle."""

    request: CollectiveRequest


@dataclass(frozen=True)
class Wait:
    """Go on when the collective counts as done, or one of the ``others`` does.

    ``tail``: after the last pass, see ``LayerTimes.tail_ps``.
    """

    handle: Handle
    tail: bool = False
    others: tuple[Handle, ...] = ()

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.handle.done or any(other.done for other in self.others)


@dataclass(frozen=True)
class Move:
    """Go on to the next pass of a layer; takes no time but ``Compatibility.step_tick_ns``."""


Operation = Compute | Issue | Wait | Move
Blocking = Compute | Wait | Move
Program = Generator[Operation, "Handle | None", None]
