"""What the workload asks of the system, and what it gets in return."""

from __future__ import annotations

from dataclasses import dataclass

from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.network.records import PassKind


@dataclass(frozen=True)
class CollectiveRequest:
    """A collective on ``bytes`` per NPU over all NPUs, or over those that differ in ``dimensions`` (numbers) only.

    ``policy`` is one of :data:`astra_ns3.system.policies.POLICIES`, a priority (the higher goes first), or None for the
    system file's policy. ``layer`` is an index into the workload's layers.
    """

    kind: CollectiveKind
    bytes: int
    layer: int
    pass_number: int
    pass_kind: PassKind
    policy: str | int | None = None
    dimensions: tuple[int, ...] | None = None


class Handle:
    """One NPU's part of a collective. ``collective`` is its number in program order, -1 if there is nothing to do.

    ``done`` is set by whoever issued it, when the collective counts as done (the update time comes after its end).
    """

    __slots__ = ("collective", "done", "issue_ps", "rank", "request")

    def __init__(self, rank: int, collective: int, request: CollectiveRequest, issue_ps: int, *, done: bool) -> None:
        self.rank = rank
        self.collective = collective
        self.request = request
        self.issue_ps = issue_ps
        self.done = done
