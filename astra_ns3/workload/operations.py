"""What a training loop yields: compute, issue a collective, wait for one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from astra_ns3.config.workload import Workload
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
    """Go on when the collective counts as done. ``tail``: after the last pass, see ``LayerTimes.tail_ps``."""

    handle: Handle
    tail: bool = False


Operation = Compute | Issue | Wait
Program = Generator[Operation, "Handle | None", None]
Loop = Callable[[Workload, int], Program]
