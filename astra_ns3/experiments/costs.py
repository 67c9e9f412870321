"""What the parts of a run cost in memory and CPU time: constants of the forecast, and of the refusal of what won't fit.

Measured on one core of an x86-64 machine with Python 3.11. ``benchmarks/forecast.py`` runs whole cases and prints how
far estimates and measurements are apart; ``tests/unit/test_results_capacity.py`` measures the bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BYTES_PER_NPU = 3_700
"""Its program, its queue of one dimension, and its application in C++."""
BYTES_PER_HOST = 10_000
"""Of a network of packets, with its link and the switch's port."""
BYTES_PER_ROW = 80
"""A message of a schedule as C++ holds it."""
BYTES_PER_COLLECTIVE = 2_000
"""Issued and not finished; shared by all NPUs."""
BYTES_PER_TASK = 250
"""A phase of a chunk of such a collective; shared by all NPUs."""
BYTES_PER_HANDLE = 220
"""Such a collective on one NPU."""
BYTES_PER_PLACE = 50
"""Such a chunk in the queue of one NPU."""
BYTES_PER_MET_PAIR = 550
"""Of RoCE with a queue pair for each message: what stays of two NPUs that had one, the queue pair being used again."""
IDLE_BYTES = 250_000_000
"""Python, cppyy and ns-3 loaded, nothing built."""
PROGRAM_SECONDS = 1.7
"""Loading Python, cppyy and ns-3, reading the files, writing the results."""
WARM_SECONDS = 0.05
"""What is left of this in a process that has played before: reading the files, writing the results."""
SECONDS_PER_HOST = 200e-6
"""Building it with its link and its port of a switch."""
SECONDS_PER_ROW = 0.17e-6
"""A message of a schedule, built and handed over."""
SECONDS_PER_COLLECTIVE = 280e-6
"""Planned, and written down."""


@dataclass(frozen=True)
class BackendCosts:
    """CPU time that a launch and a message take on a backend.

    ``seconds_per_launch``: Python's part when one NPU starts and ends a phase of a chunk. Packets part NPUs that begin
    in step; by formula most stay in step, and are played as one. ``seconds_per_message``: at its ends, and by formula
    on its way; that of packets is in :data:`TRANSPORTS`.
    """

    seconds_per_launch: float
    seconds_per_message: float


PACKETS = BackendCosts(15e-6, 0.65e-6)
BY_FORMULA: Mapping[str, BackendCosts] = {
    "analytical": BackendCosts(5.5e-6, 0.45e-6),
    "analytical-queues": BackendCosts(5.5e-6, 0.75e-6),
}
"""By the name of the backend; that of a user who brings one without packets is taken for the first."""


@dataclass(frozen=True)
class TransportCosts:
    """CPU time and memory of a transport over ns-3's events.

    A packet, its acknowledgement counted, takes ``seconds_per_packet`` at its ends and ``seconds_per_link`` on the way;
    with more pairs than ``pairs_in_cache`` up to ``slowdown`` times more. Up to ``messages_that_share`` messages of
    chunks that run together share a packet.
    """

    seconds_per_packet: float
    seconds_per_link: float
    seconds_per_pair: float
    seconds_per_message: float
    slowdown: float
    pairs_in_cache: int
    messages_that_share: int
    bytes_per_pair: int
    bytes_in_flight: int


TRANSPORTS: Mapping[str, TransportCosts] = {
    "tcp": TransportCosts(
        seconds_per_packet=13.5e-6,
        seconds_per_link=0.2e-6,
        seconds_per_pair=200e-6,
        seconds_per_message=2.5e-6,
        slowdown=0.4,
        pairs_in_cache=4_000,
        messages_that_share=4,
        bytes_per_pair=17_000,  # two idle sockets of 8.4 KB
        bytes_in_flight=1_000,  # headers, tags, the sender's list of segments; ns-3's packets hold no payload here
    ),
    "roce": TransportCosts(
        seconds_per_packet=0.0,
        seconds_per_link=0.4e-6,
        seconds_per_pair=5e-6,
        seconds_per_message=0.1e-6,
        slowdown=0.7,
        pairs_in_cache=4_000,
        messages_that_share=1,
        bytes_per_pair=1_000,
        bytes_in_flight=50,  # of those that wait: a frame of the fabric is 200, and few are on their way at once
    ),
}
"""By ``kind``."""
