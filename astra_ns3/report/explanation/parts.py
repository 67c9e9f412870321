"""The words for links of the chain and parts of a message's time."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.frozen import dataclass

COMPUTE, WORK, STEP, UPDATE, ENDPOINT, CHANNEL, MESSAGE, STOPPED, OTHER = (
    "compute",
    "work",
    "step",
    "update",
    "endpoint",
    "channel",
    "message",
    "stopped",
    "other",
)
KERNEL, LATENCY, COPYING, BUSY, SIGNAL, LOST_SIGNAL, SLOT_LATENCY, SLOT_COPYING = (
    "kernel",
    "latency",
    "copying",
    "busy",
    "signal",
    "lost_signal",
    "slot_latency",
    "slot_copying",
)
"""Parts of the time in a channel of NCCL. :data:`CHANNEL` is the sum, for runs without the tables of channels."""

REMOTE = "remote"
"""An access to a remote memory, with its wait for others."""
STILL = "still"
"""From when an NPU was to handle a message, or begin a part of a phase, until it no longer stands still."""


@dataclass(frozen=True)
class Segment:
    """A link of the chain, on ``npu`` (of a message: its source) from ``start_ps`` to ``end_ps``.

    ``operation``: the row of operations.parquet that it is about, or -1; ``collective``: the number of the collective,
    or -1; ``message``: the row of the messages, or -1. ``whole``: False if an end of it was cut off. ``protocol``: of a
    channel of NCCL, else empty.
    """

    kind: str
    npu: int
    start_ps: int
    end_ps: int
    operation: int = -1
    collective: int = -1
    message: int = -1
    whole: bool = True
    protocol: str = ""

    @property
    def time_ps(self) -> int:
        """How long it takes."""
        return self.end_ps - self.start_ps


WHOLE = "message"
PARTS: Mapping[str, str] = {
    "turn_ps": "behind other messages",
    "window_ps": "window closed",
    "pacing_ps": "held by its rate",
    "nic_paused_ps": "NIC paused",
    "nic_queue_ps": "NIC busy",
    "transport_ps": "held by TCP",
    "lost_ps": "lost and sent again",
    "switch_queue_ps": "queues of switches",
    "switch_paused_ps": "switches paused",
    "slowed_ps": "slowed by events",
    "serialisation_ps": "on the line",
    "propagation_ps": "on the way",
    "acknowledgement_ps": "until acknowledged",
}
"""Parts of a message's time and what they are called; they add up to end less start. ``slowed_ps`` is told by
:mod:`astra_ns3.report.own_bytes`, the others are columns of accounts.parquet."""

NIC_WAITS = ("nic_queue_ps", "turn_ps")
"""Parts that are waiting for other messages of the same line."""
PAUSED = ("nic_paused_ps", "switch_paused_ps")
"""Parts that wait for PFC, or for credit."""

OPEN_WINDOW = "with a window that never closes"
LINE_RATE = "at line rate always"
LOSSES = "without losses"
IN_ORDER = "with packets in order, so that none is taken for lost"
LOSSES_AND_IN_ORDER = "without losses, and with packets in order"
NO_ACKNOWLEDGEMENTS = "without waiting for acknowledgements"
MORE_CREDIT = "with credit for all of a round trip"
WHAT_IFS: tuple[tuple[str, str], ...] = (
    (LINE_RATE, "pacing_ps"),
    (OPEN_WINDOW, "window_ps"),
    (LOSSES, "lost_ps"),
    (NO_ACKNOWLEDGEMENTS, "acknowledgement_ps"),
)
"""Changes, and the part of messages that would go; other waits may go with it."""

KINDS: Mapping[str, str] = {
    COMPUTE: "computing",
    WORK: "hosts, memory and other work of graphs",
    STEP: "steps of the training loop",
    UPDATE: "updates after collectives",
    ENDPOINT: "NPUs' own delays",
    CHANNEL: "kernels and proxies of NCCL's channels",
    KERNEL: "start of NCCL's kernels",
    LATENCY: "latency of NCCL's hops",
    COPYING: "copying by NCCL's kernels",
    BUSY: "NCCL's kernels busy copying earlier messages",
    SIGNAL: "waiting for a free slot: signals on their way",
    LOST_SIGNAL: "waiting for a free slot: signals lost and sent again",
    SLOT_LATENCY: "waiting for a free slot: latency before its signal",
    SLOT_COPYING: "waiting for a free slot: copying before its signal",
    REMOTE: "accesses to remote memory",
    STILL: "NPUs standing still",
    STOPPED: "not over when the run was stopped",
    OTHER: "not followed",
}
"""Links of the chain that are no messages, in words."""
