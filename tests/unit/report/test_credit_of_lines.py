"""How credit limits messages, line by line: the times of frames and of round trips are worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from astra_ns3.report.explanation.credit import credit_round_trips

ROCE = {
    "payload_bytes": 4980, "header_bytes": 0, "telemetry_bytes": 0, "minimum_frame_bytes": 64, "line_gap_bytes": 20,
    "ack_bytes": 64, "ack_telemetry_bytes": 0, "queue_pairs_per_pair": 1, "split_messages": False,
}  # fmt: skip
"""At 100 Gb/s a full frame takes 400 ns."""
CREDITS = [
    {"first_switch": 0, "last_switch": 0, "bytes": 49_800, "update_ps": 0},
    {"first_switch": 1, "last_switch": 2, "bytes": 9960, "update_ps": 1_000_000},
]
"""Ten frames, and two."""


def test_the_far_end_gives_credit_and_ports_are_as_fast_as_their_fastest_packet_was() -> None:
    """Only the line to switch 1 waits for credit: two frames in 2 x 400 + 2 x 1000 + 1000 ns, and 200 less twice as
    fast. The last message of two packets was complete with its first one, whose time is that of a full frame.
    """
    lines = [
        (0, "host0", 0), (0, "switch0:1", 0),
        (1, "host0", 0), (1, "switch0:5", 1_000_000), (1, "switch1:0", 0),
        (2, "host0", 0), (2, "switch0:5", 1_000_000), (2, "switch1:0", 0),
    ]  # fmt: skip
    message, port, delay = zip(*lines, strict=True)
    hops = {"message": np.array(message), "port": np.array(port), "propagation_ps": np.array(delay)}
    hops["serialisation_ps"] = np.full(len(lines), 400_000)
    run: Any = SimpleNamespace(metadata={"in_force": {"roce": ROCE, "credits": CREDITS}})
    now, twice = credit_round_trips(run, {"bytes": np.array([4980, 9960, 5460, 1])}, hops)
    assert now.tolist() == [1, 1900 / 400, 1900 / 400, 1]
    assert twice.tolist() == [1, 1700 / 200, 1700 / 200, 1]
