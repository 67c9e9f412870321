"""The thing that keeps an NPU, or several in step, from going on."""

from __future__ import annotations

from typing import NamedTuple

from astra_ns3.frozen import dataclass
from astra_ns3.playing.programs.operations import Compute, Move
from astra_ns3.system.request import Handle, Joint


@dataclass(frozen=True)
class Joined(Compute):
    """Several computations without a break, played as one. ``parts``: in their order."""

    parts: tuple[Compute, ...] = ()


class Awaited(NamedTuple):
    """A wait for one of ``joints``; the time is booked on the first. ``tail``: as of a wait."""

    joints: tuple[Joint, ...]
    tail: bool

    @property
    def first(self) -> Handle:
        """The handle that the time is booked on, if one NPU waits."""
        return self.joints[0].handles[0]

    def handles(self, npu: int) -> tuple[Handle, ...]:
        """Return all that one NPU waits for."""
        return tuple(handle for joint in self.joints for handle in joint.handles if handle.npu == npu)


Held = Compute | Move | Awaited
